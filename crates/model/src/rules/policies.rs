//! Rules of the policies of a route.

use std::ops::Range;

use gatebench_config::suggest::listed;
use gatebench_config::{Data, Entry, Node, Problem};

use super::{http, soap};

/// Policies that find out who calls.
const AUTHENTICATIONS: [&str; 4] = ["api_key", "api_key_query", "basic_auth", "jwt"];

/// The policies of a route, in their order.
pub(super) fn check(route: &Node, problems: &mut Vec<Problem>) {
    let entries = || route.list("policies").iter().flat_map(Node::entries);
    let mut mocked = false;
    for (at, entry) in entries().enumerate() {
        if mocked {
            let message = format!("`{}` comes after `mock` and never acts", entry.key);
            let help = "put it before `mock`, or remove it";
            problems.push(Problem::new(entry.key_span.clone(), message, help));
        }
        mocked |= entry.key == "mock";
        policy(entry, problems);
        let mut before = entries().take(at);
        let is_known = before.any(|one| AUTHENTICATIONS.contains(&one.key.as_str()));
        match entry.key.as_str() {
            "rate_limit" => rate_limit(entry, is_known, problems),
            "redis_rate_limit" => {
                rate_limit(entry, is_known, problems);
                redis(&entry.value, problems);
            }
            "consumer_header" if !is_known => nobody_known(entry, problems),
            _ => {}
        }
    }
    soap::beside(&entries().collect::<Vec<_>>(), problems);
}

fn policy(entry: &Entry, problems: &mut Vec<Problem>) {
    let settings = &entry.value;
    match entry.key.as_str() {
        "api_key" | "consumer_header" => {
            if let Some(header) = settings.get("header") {
                http::policy_header(header, problems);
            }
        }
        "api_key_query" => {
            if let Some(name) = settings.get("name")
                && name.text() == Some("")
            {
                let message = "the parameter has no name";
                problems.push(Problem::new(
                    name.span.clone(),
                    message,
                    "write for example api_key",
                ));
            }
        }
        "basic_auth" => {
            if let Some(realm) = settings.get("realm") {
                http::field_value(realm, problems);
                quotable(realm, problems);
            }
        }
        "jwt" => jwt(entry, problems),
        "request_headers" | "response_headers" => header_edits(settings, problems),
        "request_json" | "response_json" => json_edits(entry, problems),
        "response_xslt" => parameters(settings, problems),
        "soap" => soap::check(entry, problems),
        "mock" => {
            if let Some(content_type) = settings.get("content_type") {
                http::field_value(content_type, problems);
            }
        }
        _ => {}
    }
}

/// Names of a stylesheet's parameters, of which those with a prefix would mean more than they say.
fn parameters(settings: &Node, problems: &mut Vec<Problem>) {
    let is_start = |c: char| c == '_' || c.is_alphabetic();
    let is_name = |name: &str| {
        name.starts_with(is_start)
            && name
                .chars()
                .all(|c| is_start(c) || c.is_ascii_digit() || "-.".contains(c))
    };
    let params = settings.get("params").map_or(&[][..], Node::entries);
    for entry in params.iter().filter(|entry| !is_name(&entry.key)) {
        let message = format!("`{}` is not the name of a parameter", entry.key);
        let help = "write letters, digits, `-`, `_` and `.`, and a letter first";
        problems.push(Problem::new(entry.key_span.clone(), message, help));
    }
}

fn quotable(realm: &Node, problems: &mut Vec<Problem>) {
    if realm.text().is_some_and(|text| text.contains(['"', '\\'])) {
        let message = "a realm with a quote or a backslash, which gateways treat differently";
        problems.push(Problem::new(
            realm.span.clone(),
            message,
            "write it without",
        ));
    }
}

fn jwt(entry: &Entry, problems: &mut Vec<Problem>) {
    let settings = &entry.value;
    if settings.get("keys").is_none() && settings.get("jwks").is_none() {
        let message = "`jwt` has no key, so no token could ever be good";
        let help = "add under `keys` for example `- hs256: {secret: ...}`";
        problems.push(Problem::new(entry.key_span.clone(), message, help));
    }
    for key in settings.list("keys") {
        if let Some(secret) = key.get("hs256").and_then(|key| key.get("secret"))
            && secret.text().is_some_and(|text| text.len() < 32)
        {
            let message = "the secret has less than 32 bytes, which RFC 7518 asks for with HS256";
            problems.push(Problem::new(
                secret.span.clone(),
                message,
                "write a longer one",
            ));
        }
        if let Some(public_key) = key.get("rs256").and_then(|key| key.get("public_key"))
            && public_key
                .text()
                .is_some_and(|text| !text.trim_start().starts_with("-----BEGIN PUBLIC KEY-----"))
        {
            let message = "this is not a public key in PEM";
            let help =
                "write it from -----BEGIN PUBLIC KEY----- on, as `openssl pkey -pubout` prints it";
            problems.push(Problem::new(public_key.span.clone(), message, help));
        }
    }
}

/// `is_known`: whether a policy before it finds out who calls.
fn rate_limit(entry: &Entry, is_known: bool, problems: &mut Vec<Problem>) {
    let settings = &entry.value;
    super::not_zero(settings, "window", "give it some time, as in 1m", problems);
    let per = settings.get("per").and_then(Node::text).unwrap_or("route");
    if let Some(header) = settings.get("header") {
        http::policy_header(header, problems);
    }
    match (per, settings.entry("header")) {
        ("header", None) => {
            let message = "`per: header` does not say which header";
            let help = "add for example `header: X-Client`";
            problems.push(Problem::new(entry.key_span.clone(), message, help));
        }
        ("route" | "consumer", Some(header)) => {
            let message = format!("the header is not counted by, but the {per}");
            let help = "write `per: header`, or remove `header`";
            problems.push(Problem::new(header.key_span.clone(), message, help));
        }
        _ => {}
    }
    if per == "consumer" && !is_known {
        nobody_known(entry, problems);
    }
}

fn nobody_known(entry: &Entry, problems: &mut Vec<Problem>) {
    let message = "no policy before this one finds out which consumer calls";
    let help = format!("put one before it: {}", listed(AUTHENTICATIONS, "or"));
    problems.push(Problem::new(entry.key_span.clone(), message, help));
}

fn redis(settings: &Node, problems: &mut Vec<Problem>) {
    for key in ["interval", "timeout"] {
        super::not_zero(settings, key, "give it some time, as in 100ms", problems);
    }
    if let Some(redis) = settings.get("redis")
        && redis
            .text()
            .is_some_and(|text| text.parse::<std::net::SocketAddr>().is_err())
    {
        let message = "this is not an IP address with a port";
        let help = "write it as 127.0.0.1:6379";
        problems.push(Problem::new(redis.span.clone(), message, help));
    }
}

fn header_edits(settings: &Node, problems: &mut Vec<Problem>) {
    for name in settings.list("remove") {
        if let Some(text) = name.text() {
            http::edited_header(text, &name.span, problems);
        }
    }
    for (key, has_values) in [("rename", false), ("set", true), ("add", true)] {
        for entry in settings.get(key).map_or(&[][..], Node::entries) {
            http::edited_header(&entry.key, &entry.key_span, problems);
            if has_values {
                http::field_value(&entry.value, problems);
            } else if let Some(to) = entry.value.text() {
                http::edited_header(to, &entry.value.span, problems);
            }
        }
    }
}

/// Edits name places apart from one another, in the document as it came.
fn json_edits(entry: &Entry, problems: &mut Vec<Problem>) {
    let settings = &entry.value;
    let mut places: Vec<(&str, &Range<usize>)> = Vec::new();
    let removed = settings.list("remove").iter();
    places.extend(removed.filter_map(|node| Some((node.text()?, &node.span))));
    for key in ["rename", "add", "default"] {
        let edits = settings.get(key).map_or(&[][..], Node::entries).iter();
        places.extend(edits.map(|edit| (edit.key.as_str(), &edit.key_span)));
    }
    for (at, (pointer, span)) in places.iter().enumerate() {
        let is_inside = |outer: &str, inner: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !pointer.starts_with('/') {
            let message = format!("`{pointer}` does not name a member or an item");
            let help = "write a JSON Pointer, as in /items/0/name";
            problems.push(Problem::new((*span).clone(), message, help));
        } else if places[..at]
            .iter()
            .any(|(other, _)| is_inside(other, pointer) || is_inside(pointer, other))
        {
            let message = format!("another edit concerns `{pointer}` or what is in it");
            let help = "keep one of them, or make two policies of them: the second sees what the first made";
            problems.push(Problem::new((*span).clone(), message, help));
        }
    }
}

/// A policy that lets nobody in, because no consumer has what it asks for; said once, at the first.
pub(super) fn somebody_may_call(root: &Node, problems: &mut Vec<Problem>) {
    for (policy, credential, what, help) in [
        (
            "api_key",
            "keys",
            "a key",
            "add under `consumers` a `name` and its `keys`",
        ),
        (
            "basic_auth",
            "password",
            "a password",
            "add under `consumers` a `name` and its `password`",
        ),
    ] {
        let routes = root.list("routes").iter();
        let mut policies = routes.flat_map(|route| route.list("policies"));
        let Some(entry) = policies.find_map(|it| it.entry(policy)) else {
            continue;
        };
        // Credentials of the wrong form were reported, and count.
        let has_one = |consumer: &Node| {
            let found = consumer.get(credential);
            found.is_some_and(|it| !matches!(&it.data, Data::List(items) if items.is_empty()))
        };
        if !root.list("consumers").iter().any(has_one) {
            let message = format!("`{policy}` lets nobody in: no consumer has {what}");
            problems.push(Problem::new(entry.key_span.clone(), message, help));
        }
    }
}

/// What a password must be for gateways to agree on it.
pub(super) fn passwords(root: &Node, problems: &mut Vec<Problem>) {
    let consumers = root.list("consumers").iter();
    for password in consumers.filter_map(|consumer| consumer.get("password")) {
        let Some(text) = password.text() else {
            continue;
        };
        if text.is_empty() || !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            let message = "a password that is empty or not ASCII, which gateways treat differently";
            let help = "write ASCII letters, digits and signs";
            problems.push(Problem::new(password.span.clone(), message, help));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_config::parse;

    use crate::Scenario;

    fn mistakes(policies: &str) -> Vec<(usize, String)> {
        let text = format!(
            "scenario: s\ntitle: t\nupstream: go-bench\nconsumers: [{{name: a, keys: [k], password: p}}]\n\
             requests: [{{path: /json/valid}}]\nroutes:\n  - name: r\n    path: /json\n    policies:\n{policies}"
        );
        match parse::<Scenario>("s.yaml", &text) {
            Ok(_) => Vec::new(),
            Err(told) => told
                .all()
                .iter()
                .map(|one| (one.line - 9, one.message.clone()))
                .collect(),
        }
    }

    #[test]
    fn good_policies_are_read() {
        let good = "
      - api_key: {header: X-Api-Key}
      - basic_auth: {}
      - jwt: {keys: [{hs256: {secret: 0123456789abcdef0123456789abcdef, id: one}}], issuer: me, leeway: 5s}
      - jwt: {jwks: {keys: [{kty: oct, k: AAAA}]}}
      - rate_limit: {limit: 10, window: 1m, per: consumer, headers: true}
      - rate_limit: {limit: 10, window: 1m, per: header, header: X-Client}
      - request_size_limit: {max_bytes: 1000}
      - request_headers: {remove: [A], rename: {B: C}, set: {D: e}, add: {F: g}}
      - response_json: {remove: [/a], rename: {/b: c}, add: {/d/-: [1, {e: null}]}, default: {/f: 1.5}}
";
        assert_eq!(mistakes(good), []);
    }

    #[test]
    fn every_mistake_is_told_at_its_line() {
        let found = mistakes(
            "      - basic_auth: {realm: 'a \"b\"'}
      - jwt: {issuer: me}
      - jwt: {keys: [{hs256: {secret: short}}, {rs256: {public_key: none}}]}
      - rate_limit: {limit: 0, window: 0s}
      - rate_limit: {limit: 1, window: 1s, per: header}
      - rate_limit: {limit: 1, window: 1s, header: X-Client}
      - request_headers: {remove: [Host], set: {'A b': x}, add: {C: ' x'}}
      - request_json: {remove: [/a], add: {/a/b: 1}}
      - response_json: {add: {b: 1}}
      - rate_limits: {limit: 1, window: 1s}
",
        );
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(
            lines,
            [1, 2, 3, 3, 4, 4, 5, 6, 7, 7, 7, 8, 9, 10],
            "{found:#?}"
        );
    }

    #[test]
    fn who_is_counted_must_be_known() {
        let limit = "      - rate_limit: {limit: 1, window: 1s, per: consumer}\n";
        assert_eq!(mistakes(limit).len(), 1);
        assert_eq!(
            mistakes(&format!("{limit}      - basic_auth: {{}}\n")).len(),
            1
        );
        assert_eq!(mistakes(&format!("      - basic_auth: {{}}\n{limit}")), []);
    }
}
