//! Replaces the addresses of upstreams.

use super::listen::in_http;
use super::parse::Directive;
use crate::wire::edits::{Edits, literal};
use crate::wire::{PLAIN, TARGET, UPSTREAM};

/// Parameters of a server in `upstream` that do not work with gatebench's upstream.
const DROPPED: [&str; 2] = ["resolve", "service="];

pub(super) fn names(whole: &[Directive]) -> Vec<String> {
    let all = in_http(whole, "upstream");
    all.map(|it| it.arg(0).to_owned()).collect()
}

pub(super) fn server(server: &Directive, edits: &mut Edits<'_>) {
    if let Some(address) = server.args().first() {
        edits.replace(&address.span, TARGET, UPSTREAM);
    }
    let is_dropped = |text: &str| DROPPED.iter().any(|word| text.starts_with(word));
    for word in server.args().iter().filter(|word| is_dropped(&word.text)) {
        edits.remove(&word.span, UPSTREAM);
    }
}

/// Replaces the address in `proxy_pass` and similar directives, unless it is the name of an
/// `upstream` block. In `proxy_pass`, also replaces `https` with `http`.
pub(super) fn pass(directive: &Directive, upstreams: &[String], edits: &mut Edits<'_>) {
    let Some(word) = directive.args().first() else {
        return;
    };
    let url = word.text.as_str();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = &rest[..authority_end(rest)];
    let is_known = upstreams.iter().any(|name| name == authority);
    let is_proxy = directive.name() == "proxy_pass";
    if is_known && scheme != "https" {
        return;
    }
    let new_authority = if is_known { authority } else { TARGET };
    let new = match (is_proxy, scheme) {
        (true, _) => format!(
            "http://{new_authority}{}",
            literal(&rest[authority.len()..])
        ),
        (false, "") => new_authority.to_owned(),
        (false, _) => format!("{scheme}://{new_authority}"),
    };
    let why = if scheme == "https" { PLAIN } else { UPSTREAM };
    // Quote the address: the original word may have been quoted because it contains spaces.
    edits.replace(&word.span, format!("\"{new}\""), why);
}

/// Finds the end of a host and a port: at the path, or at a variable that is not at the beginning.
fn authority_end(rest: &str) -> usize {
    if rest.starts_with("unix:") {
        return rest.len();
    }
    let slash = rest.find('/').unwrap_or(rest.len());
    // A variable at the beginning is the host; a later variable may be the path.
    let mut variables = rest.match_indices('$').map(|it| it.0);
    slash.min(variables.find(|at| *at > 0).unwrap_or(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_ends_at_the_path() {
        for (rest, authority) in [
            ("app:80/x", "app:80"),
            ("$host", "$host"),
            ("$host$request_uri", "$host"),
            ("backend$1", "backend"),
            ("${host}:80/", "${host}:80"),
            ("unix:/run/x.sock:/", "unix:/run/x.sock:/"),
        ] {
            assert_eq!(&rest[..authority_end(rest)], authority, "{rest}");
        }
    }
}
