//! haproxy.cfg.

mod bind;
mod parse;
mod routes;

use std::collections::BTreeMap;

use super::edits::Edits;
use super::{Language, OwnConfig, TARGET, scenario};
use crate::error::ImportError;
use bind::Binds;
use parse::{Line, Section};

const OWN_PROCESS: &str = "gatebench starts and places the process";
const MOVED: &str = "files and sockets are in the folder of the trial";
const UPSTREAM: &str = "the upstream here is gatebench's";
const LOG: &str = "logs are written to the folder of the trial";
const CHECK: &str = "the upstream here has other content";

/// Lines of `global` that do not apply to a trial.
const GLOBAL: [&str; 16] = [
    "chroot",
    "user",
    "group",
    "uid",
    "gid",
    "daemon",
    "pidfile",
    "nbproc",
    "cpu-map",
    "ca-base",
    "crt-base",
    "ssl-dh-param-file",
    "server-state-file",
    "server-state-base",
    "localpeer",
    "setenv",
];

/// Keywords of a server that need TLS, names or other addresses, with the number of arguments of
/// each.
const OF_SERVER: [(&str, usize); 22] = [
    ("ssl", 0),
    ("check-ssl", 0),
    ("no-check-ssl", 0),
    ("verify", 1),
    ("verifyhost", 1),
    ("ca-file", 1),
    ("crl-file", 1),
    ("crt", 1),
    ("sni", 1),
    ("check-sni", 1),
    ("alpn", 1),
    ("check-alpn", 1),
    ("ciphers", 1),
    ("ciphersuites", 1),
    ("resolvers", 1),
    ("resolve-prefer", 1),
    ("resolve-opts", 1),
    ("resolve-net", 1),
    ("init-addr", 1),
    ("source", 1),
    ("addr", 1),
    ("port", 1),
];

/// Keywords without which TLS and the PROXY protocol are off.
const OF_SERVER_ALONE: [&str; 6] = [
    "send-proxy",
    "send-proxy-v2",
    "send-proxy-v2-ssl",
    "check-send-proxy",
    "ssl-reuse",
    "no-ssl-reuse",
];

pub(super) fn wire(file: &str, text: &str) -> Result<OwnConfig, ImportError> {
    let sections = parse::parse(text);
    let binds = Binds::of(&sections);
    let hints = routes::hints(&sections, &binds);
    if hints.is_empty() {
        let remedy = "name a file with a frontend that leads to a backend with servers";
        return Err(ImportError::nothing(
            file,
            "HAProxy has no route to an upstream in this file",
            remedy,
        ));
    }
    let beyond = sections
        .iter()
        .flat_map(|it| &it.lines)
        .find_map(deny_status);
    let mut edits = Edits::new(file, text);
    for section in &sections {
        match section.kind() {
            "program" | "mailers" | "ring" | "log-forward" => remove_section(section, &mut edits),
            "global" => section_global(section, &mut edits),
            _ => {
                binds.edit(section, &mut edits);
                section.lines.iter().for_each(|it| line(it, &mut edits));
            }
        }
    }
    let (text, changes) = edits.finish();
    Ok(OwnConfig {
        language: Language::Haproxy,
        text,
        changes,
        environment: BTreeMap::new(),
        has_tls: binds.has_tls,
        scenario: scenario::of_hints(file, &hints, binds.has_tls, beyond),
    })
}

/// The status with which a line refuses requests.
fn deny_status(line: &Line) -> Option<u16> {
    let place = line
        .words
        .iter()
        .position(|word| word.text == "deny_status")?;
    line.word(place + 1).parse().ok()
}

fn remove_section(section: &Section, edits: &mut Edits<'_>) {
    edits.remove(&section.head.span, OWN_PROCESS);
    section
        .lines
        .iter()
        .for_each(|line| edits.remove(&line.span, OWN_PROCESS));
}

fn section_global(section: &Section, edits: &mut Edits<'_>) {
    if section.named("maxconn").next().is_some() {
        // Otherwise HAProxy refuses to start if it may not open enough descriptors.
        edits.insert(section.head.span.end, "\n    no strict-limits", OWN_PROCESS);
    }
    section.lines.iter().for_each(|line| global(line, edits));
}

fn global(line: &Line, edits: &mut Edits<'_>) {
    match line.name() {
        "stats" if line.word(1) == "socket" || line.word(1) == "bind-process" => {
            edits.remove(&line.span, MOVED);
        }
        "nbthread" => {
            if let Some(count) = line.words.get(1) {
                edits.replace(&count.span, "{{ workers }}", OWN_PROCESS);
            }
        }
        "log" => log(line, edits),
        name if GLOBAL.contains(&name) => edits.remove(&line.span, OWN_PROCESS),
        _ => {}
    }
}

/// Replaces `log ADDRESS [format FORMAT] FACILITY` with an address of the trial.
fn log(line: &Line, edits: &mut Edits<'_>) {
    let Some(address) = line
        .words
        .get(1)
        .filter(|it| it.text != "global" && it.text != "stdout")
    else {
        return;
    };
    let has_format = line.words.iter().any(|word| word.text == "format");
    let new = if has_format {
        "stdout"
    } else {
        "stdout format raw"
    };
    edits.replace(&address.span, new, LOG);
}

/// Edits a line of a proxy section.
fn line(line: &Line, edits: &mut Edits<'_>) {
    match line.name() {
        "log" => log(line, edits),
        "errorfile" | "errorfiles" => edits.remove(&line.span, MOVED),
        "http-check" if line.word(1) == "expect" => edits.remove(&line.span, CHECK),
        "server" => server(line, 2, edits),
        "server-template" => server(line, 3, edits),
        "default-server" => without_tls(line, 1, edits),
        "nameserver" | "parse-resolv-conf" => {}
        "peer" => {
            if let Some(address) = line.words.get(2) {
                edits.replace(&address.span, "unix@{{ cwd }}/peer.sock", MOVED);
            }
        }
        _ => {}
    }
}

fn server(line: &Line, place: usize, edits: &mut Edits<'_>) {
    let Some(address) = line.words.get(place) else {
        return;
    };
    edits.replace(&address.span, TARGET, UPSTREAM);
    without_tls(line, place + 1, edits);
}

fn without_tls(line: &Line, from: usize, edits: &mut Edits<'_>) {
    let words = line.from(from);
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let known = OF_SERVER.iter().find(|(name, _)| *name == word.text);
        let alone = OF_SERVER_ALONE.contains(&word.text.as_str()).then_some(0);
        match known.map(|(_, count)| *count).or(alone) {
            Some(count) => {
                let last = words.get(at + count).unwrap_or(word);
                edits.remove(&(word.span.start..last.span.end), UPSTREAM);
                at += count + 1;
            }
            None => at += 1,
        }
    }
}
