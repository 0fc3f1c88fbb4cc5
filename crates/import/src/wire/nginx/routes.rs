//! The locations that lead to an upstream.

use super::listen::{Listeners, servers};
use super::parse::Directive;
use crate::regex_sample;
use crate::wire::scenario::Hint;

/// The hints for requests: one for each location with `proxy_pass` that the measured port serves.
pub(super) fn hints(whole: &[Directive], listeners: &Listeners) -> Vec<Hint> {
    let mut hints = Vec::new();
    for server in servers(whole).filter(|it| listeners.is_measured(it)) {
        let host = host(server);
        for location in server.named("location") {
            collect(location, host.as_ref(), &mut hints);
        }
    }
    hints
}

fn collect(location: &Directive, host: Option<&String>, hints: &mut Vec<Hint>) {
    if location.named("proxy_pass").next().is_some() && location.named("internal").next().is_none()
    {
        hints.extend(hint(location, host.cloned()));
    }
    for inner in location.named("location") {
        collect(inner, host, hints);
    }
}

fn hint(location: &Directive, host: Option<String>) -> Option<Hint> {
    let (modifier, pattern) = match location.args() {
        [pattern] => ("", pattern.text.as_str()),
        [modifier, pattern] => (modifier.text.as_str(), pattern.text.as_str()),
        _ => return None,
    };
    match modifier {
        "~" | "~*" => Some(Hint {
            host,
            prefix: regex_sample::literal_prefix(pattern),
            sample: regex_sample::sample(pattern).filter(|it| it.starts_with('/'))?,
        }),
        _ if pattern.starts_with('/') => Some(Hint::prefix(host, pattern)),
        _ => None,
    }
}

/// The server name that requests must have; none if any will do.
fn host(server: &Directive) -> Option<String> {
    let names = server.named("server_name").flat_map(Directive::args);
    let plain = names
        .map(|word| word.text.as_str())
        .find(|name| !name.is_empty() && !name.starts_with(['_', '~', '"', '$']));
    let name = plain?.trim_start_matches('.');
    Some(name.replace('*', "a"))
}
