//! Finds the locations that lead to an upstream.

use super::listen::{Listeners, in_http};
use super::parse::Directive;
use crate::wire::scenario::Hint;

/// Returns a [`Hint`] for each location of the measured port that has `proxy_pass`, is not internal
/// and has a known path.
pub(super) fn hints(whole: &[Directive], listeners: &Listeners) -> Vec<Hint> {
    let mut hints = Vec::new();
    for server in in_http(whole, "server").filter(|it| listeners.is_measured(it)) {
        let host = host(server);
        for location in server.named("location") {
            collect(location, host.as_ref(), &mut hints);
        }
    }
    hints
}

fn collect(location: &Directive, host: Option<&String>, hints: &mut Vec<Hint>) {
    let has = |name| location.named(name).next().is_some();
    if has("proxy_pass") && !has("internal") {
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
        "~" | "~*" => Hint::expression(host, pattern),
        _ if pattern.starts_with('/') => Some(Hint::prefix(host, pattern)),
        _ => None,
    }
}

/// Returns the first server name that is not a regular expression, a variable or a placeholder such
/// as `_`, or `None` if there is none.
fn host(server: &Directive) -> Option<String> {
    let names = server.named("server_name").flat_map(Directive::args);
    let mut names = names.map(|word| word.text.as_str());
    let is_plain = |name: &&str| !name.is_empty() && !name.starts_with(['_', '~', '"', '$']);
    let name = names.find(is_plain)?.trim_start_matches('.');
    Some(name.replace('*', "a"))
}
