//! Adapts nginx.conf to a trial.

mod include;
mod listen;
mod parse;
mod proxy;
mod routes;

use std::collections::BTreeMap;
use std::path::Path;

use gatebench_config::Diagnostics;

use super::edits::{Change, Edits, literal};
use super::{CERTIFICATE, Files, Language, MOVED, OWN_PROCESS, OwnConfig, PLAIN, scenario};
use crate::error::ImportError;
use listen::{Listeners, ServerPorts};
use parse::Directive;

/// Directives that set the directories for nginx's temporary data.
const TEMPORARY: [&str; 5] = [
    "client_body_temp_path",
    "proxy_temp_path",
    "fastcgi_temp_path",
    "uwsgi_temp_path",
    "scgi_temp_path",
];

/// Directives with the path of a file that the user provides.
const PATHS: [&str; 6] = [
    "load_module",
    "auth_basic_user_file",
    "xslt_stylesheet",
    "geoip_country",
    "geoip_city",
    "geoip_org",
];

/// The usual prefixes of nginx. Relative paths in some directives are relative to the prefix.
const PREFIXES: [&str; 4] = [
    "/usr/share/nginx",
    "/etc/nginx",
    "/usr/lib/nginx",
    "/usr/local/nginx",
];

const NOT_HTTP: &str = "only HTTP is measured";
const RELATIVE: &str = "in a trial, the path would be relative to the folder of the trial";

/// A parsed file, without the files that it includes.
struct Source {
    file: String,
    text: String,
    directives: Vec<Directive>,
}

pub(super) fn wire(file: &str, text: &str, files: &Files<'_>) -> Result<OwnConfig, ImportError> {
    let source = source(file, text)?;
    let mut reader = include::Reader::new(files.read);
    let whole = reader.whole(&source)?;
    let listeners = Listeners::of(&whole);
    let mut wiring = Wiring {
        listeners: &listeners,
        server: ServerPorts::default(),
        upstreams: proxy::names(&whole),
        files,
        reader: &reader,
        caches: 0,
    };
    let (template, changes) = wiring.file(&source, &[]);
    let hints = routes::hints(&whole, &listeners);
    if hints.is_empty() {
        let remedy = "name a file with a `location` that has `proxy_pass`";
        return Err(ImportError::nothing(
            file,
            "nginx has no route to an upstream in this file",
            remedy,
        ));
    }
    let template = match source.directives.iter().any(|it| it.name() == "http") {
        true => template,
        false => wrapped_in_http(&template),
    };
    Ok(OwnConfig {
        language: Language::Nginx,
        // If root starts nginx, the workers must also run as root, because no other user can access
        // the folder of the trial.
        text: format!("daemon off;\nuser root;\n{template}"),
        changes,
        environment: BTreeMap::new(),
        has_tls: listeners.has_tls,
        scenario: scenario::of_hints(file, &hints, listeners.has_tls, beyond(&whole)),
    })
}

/// Returns the status of responses to requests that exceed a limit, or `None` if there is no limit.
fn beyond(directives: &[Directive]) -> Option<u16> {
    let find = |name: &'static str| find(directives, name);
    let is_limited = find("limit_req").or(find("limit_conn")).is_some();
    let status = find("limit_req_status").or(find("limit_conn_status"));
    let status = status.and_then(|it| it.arg(0).parse().ok());
    is_limited.then(|| status.unwrap_or(503))
}

/// Finds the first directive with this name, in any block.
fn find<'d>(directives: &'d [Directive], name: &str) -> Option<&'d Directive> {
    let of = |it: &'d Directive| match it.name() == name {
        true => Some(it),
        false => find(it.children(), name),
    };
    directives.iter().find_map(of)
}

/// Wraps a file that belongs inside `http` to make it a complete configuration.
fn wrapped_in_http(template: &str) -> String {
    let directories = temporary(|_| true);
    format!("events {{}}\nhttp {{{directories}\n{template}\n}}\n")
}

/// Returns the directives of [`TEMPORARY`] whose names pass `is_wanted`, set to directories of the
/// trial.
fn temporary(is_wanted: impl Fn(&str) -> bool) -> String {
    let wanted = TEMPORARY.iter().filter(|name| is_wanted(name));
    wanted
        .map(|name| format!(" {name} {{{{ work }}}}/{name};"))
        .collect()
}

fn source(file: &str, text: &str) -> Result<Source, ImportError> {
    let (directives, problems) = parse::parse(text);
    if !problems.is_empty() {
        return Err(Box::new(Diagnostics::new(file, text, problems)).into());
    }
    Ok(Source {
        file: file.to_owned(),
        text: text.to_owned(),
        directives,
    })
}

fn argument(directive: &Directive, new: &str, why: &'static str, edits: &mut Edits<'_>) {
    if let Some(word) = directive.args().first() {
        edits.replace(&word.span, new, why);
    }
}

/// Edits a file and the files that it includes.
struct Wiring<'w> {
    listeners: &'w Listeners,
    /// The ports of the last `server` block.
    server: ServerPorts,
    /// The names of `upstream` blocks.
    upstreams: Vec<String>,
    files: &'w Files<'w>,
    reader: &'w include::Reader<'w>,
    caches: usize,
}

impl Wiring<'_> {
    /// Returns the file as a template, with its changes. `blocks` contains the names of the
    /// enclosing blocks.
    fn file(&mut self, source: &Source, blocks: &[&str]) -> (String, Vec<Change>) {
        let mut edits = Edits::new(&source.file, &source.text);
        self.block(&source.directives, blocks, &mut edits);
        edits.finish()
    }

    fn block(&mut self, directives: &[Directive], blocks: &[&str], edits: &mut Edits<'_>) {
        for directive in directives {
            self.directive(directive, blocks, edits);
            let mut inner = blocks.to_vec();
            inner.push(directive.name());
            self.block(directive.children(), &inner, edits);
        }
    }

    fn directive(&mut self, directive: &Directive, blocks: &[&str], edits: &mut Edits<'_>) {
        let span = &directive.span;
        match directive.name() {
            "include" => self.include(directive, blocks, edits),
            "stream" | "mail" if blocks.is_empty() => edits.remove(span, NOT_HTTP),
            "pid" => edits.replace(span, "pid {{ work }}/nginx.pid;", MOVED),
            "user" | "daemon" | "lock_file" | "working_directory" | "worker_cpu_affinity"
                if blocks.is_empty() =>
            {
                edits.remove(span, OWN_PROCESS);
            }
            "worker_processes" => argument(directive, "{{ workers }}", OWN_PROCESS, edits),
            "error_log" => argument(directive, "stderr", MOVED, edits),
            "access_log" if directive.arg(0) != "off" => {
                argument(directive, "{{ work }}/access.log", MOVED, edits);
            }
            name if PATHS.contains(&name) => self.path(directive, edits),
            "http" => self.http(directive, edits),
            "server" if blocks.last() == Some(&"upstream") => proxy::server(directive, edits),
            "server" if directive.block.is_some() => {
                let listens = self.reader.named(directive.children(), "listen");
                self.server = self.listeners.begin(directive, &listens, edits);
            }
            "listen" if blocks.last() == Some(&"server") => {
                self.listeners.edit(directive, &mut self.server, edits);
            }
            name if name.ends_with("_cache_path") => {
                self.caches += 1;
                let path_here = format!("{{{{ work }}}}/cache-{}", self.caches);
                argument(directive, &path_here, MOVED, edits);
            }
            name if name.starts_with("ssl_") => self.tls(directive, edits),
            name if name.starts_with("proxy_ssl_") && name.contains("cert") => {
                edits.remove(span, PLAIN);
            }
            name if name.ends_with("_pass") => proxy::pass(directive, &self.upstreams, edits),
            name if TEMPORARY.contains(&name) => {
                let path_here = format!("{name} {{{{ work }}}}/{name};");
                edits.replace(span, path_here, MOVED);
            }
            _ => {}
        }
    }

    /// Makes a relative path absolute. Searches for the file in the folder of the configuration, in
    /// its parent folder, and below nginx's prefixes. If the file is in none of these places, the
    /// path leads to the folder of the configuration, so that nginx reports the missing file.
    fn path(&self, directive: &Directive, edits: &mut Edits<'_>) {
        let word = directive.args().first();
        let Some(word) = word.filter(|word| !word.text.starts_with(['/', '$'])) else {
            return;
        };
        let folder = self.files.folder;
        let own = [Some(folder), folder.parent()].into_iter().flatten();
        let folders = own.chain(PREFIXES.map(Path::new));
        let mut paths = folders.map(|folder| folder.join(&word.text));
        let found = paths.find(|path| (self.files.is_file)(path));
        let path = found.unwrap_or_else(|| folder.join(&word.text));
        let new = format!("\"{}\"", literal(&path.display().to_string()));
        edits.replace(&word.span, new, RELATIVE);
    }

    /// Adds the directories that a trial needs, unless the file sets them.
    fn http(&self, directive: &Directive, edits: &mut Edits<'_>) {
        let Some((open, _)) = &directive.block else {
            return;
        };
        let lines = temporary(|name| directive.named(name).next().is_none());
        edits.insert(*open, lines, MOVED);
    }

    /// Replaces or removes the user's certificates, which may not exist on this machine and whose
    /// keys are secret.
    fn tls(&self, directive: &Directive, edits: &mut Edits<'_>) {
        let has_path = self.listeners.has_tls && !directive.args().is_empty();
        match directive.name() {
            "ssl_certificate" if has_path => {
                let certificate = "{{ listeners[0].tls.certificate }}";
                argument(directive, certificate, CERTIFICATE, edits);
            }
            "ssl_certificate_key" if has_path => {
                argument(directive, "{{ listeners[0].tls.key }}", CERTIFICATE, edits);
            }
            "ssl_certificate"
            | "ssl_certificate_key"
            | "ssl_dhparam"
            | "ssl_trusted_certificate"
            | "ssl_client_certificate"
            | "ssl_verify_client"
            | "ssl_crl"
            | "ssl_password_file"
            | "ssl_session_ticket_key"
            | "ssl_stapling"
            | "ssl_stapling_verify"
            | "ssl_stapling_file" => edits.remove(&directive.span, CERTIFICATE),
            _ => {}
        }
    }

    fn include(&mut self, directive: &Directive, blocks: &[&str], edits: &mut Edits<'_>) {
        let reader = self.reader;
        let included = reader.included(directive.arg(0));
        if included.is_empty() {
            edits.remove(&directive.span, "no readable file matches this path");
            return;
        }
        let mut text = String::new();
        let mut changes = Vec::new();
        for source in included {
            let (template, more) = self.file(source, blocks);
            text += &template;
            text.push('\n');
            changes.extend(more);
        }
        edits.include(&directive.span, text, changes);
    }
}
