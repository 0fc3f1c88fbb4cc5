//! Adapts haproxy.cfg to a trial.

mod bind;
mod parse;
mod routes;

use std::collections::BTreeMap;

use super::edits::Edits;
use super::{Language, OWN_PROCESS, OwnConfig, TARGET, UPSTREAM, scenario};
use crate::error::ImportError;
use bind::Binds;
use parse::{Keyword, Line, Section};

const UNUSED: &str = "a trial does not use your sockets and error files";
const LOG: &str = "logs are written to the folder of the trial";
const LIMITS: &str = "otherwise, HAProxy may refuse to start for lack of file descriptors";
const CHECK: &str = "gatebench's upstream sends different content";

/// Keywords of `global` that do not apply to a trial.
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

/// Keywords of `server` that require TLS, the PROXY protocol, host names or other addresses.
const OF_SERVER: [Keyword; 28] = [
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
    ("send-proxy", 0),
    ("send-proxy-v2", 0),
    ("send-proxy-v2-ssl", 0),
    ("check-send-proxy", 0),
    ("ssl-reuse", 0),
    ("no-ssl-reuse", 0),
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
    let mut lines = sections.iter().flat_map(|it| &it.lines);
    let beyond = lines.find_map(deny_status);
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

/// Returns the status with which a line refuses requests.
fn deny_status(line: &Line) -> Option<u16> {
    let mut words = line.words.iter();
    let place = words.position(|word| word.text == "deny_status")?;
    line.word(place + 1).parse().ok()
}

fn remove_section(section: &Section, edits: &mut Edits<'_>) {
    for line in std::iter::once(&section.head).chain(&section.lines) {
        edits.remove(&line.span, OWN_PROCESS);
    }
}

fn section_global(section: &Section, edits: &mut Edits<'_>) {
    if section.named("maxconn").next().is_some() {
        edits.insert(section.head.span.end, "\n    no strict-limits", LIMITS);
    }
    section.lines.iter().for_each(|line| global(line, edits));
}

fn global(line: &Line, edits: &mut Edits<'_>) {
    match line.name() {
        "stats" if line.word(1) == "socket" || line.word(1) == "bind-process" => {
            edits.remove(&line.span, UNUSED);
        }
        "nbthread" => replace(line, 1, "{{ workers }}", OWN_PROCESS, edits),
        "log" => log(line, edits),
        name if GLOBAL.contains(&name) => edits.remove(&line.span, OWN_PROCESS),
        _ => {}
    }
}

fn replace(line: &Line, place: usize, new: &str, why: &'static str, edits: &mut Edits<'_>) {
    if let Some(word) = line.words.get(place) {
        edits.replace(&word.span, new, why);
    }
}

/// Replaces the address in `log ADDRESS [format FORMAT] FACILITY` with standard output.
fn log(line: &Line, edits: &mut Edits<'_>) {
    let new = match line.has("format") {
        true => "stdout",
        false => "stdout format raw",
    };
    if !matches!(line.word(1), "global" | "stdout") {
        replace(line, 1, new, LOG, edits);
    }
}

fn line(line: &Line, edits: &mut Edits<'_>) {
    match line.name() {
        "log" => log(line, edits),
        "errorfile" | "errorfiles" => edits.remove(&line.span, UNUSED),
        // The `mailers` section is removed.
        "email-alert" => edits.remove(&line.span, OWN_PROCESS),
        "http-check" if line.word(1) == "expect" => edits.remove(&line.span, CHECK),
        "server" => server(line, 2, edits),
        "server-template" => server(line, 3, edits),
        "default-server" => without_tls(line, 1, edits),
        "peer" => replace(line, 2, "unix@{{ cwd }}/peer.sock", UNUSED, edits),
        _ => {}
    }
}

fn server(line: &Line, place: usize, edits: &mut Edits<'_>) {
    replace(line, place, TARGET, UPSTREAM, edits);
    without_tls(line, place + 1, edits);
}

fn without_tls(line: &Line, from: usize, edits: &mut Edits<'_>) {
    for (_, span) in line.keywords(from, &OF_SERVER) {
        edits.remove(&span, UPSTREAM);
    }
}
