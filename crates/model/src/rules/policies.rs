//! Rules for the policies of a route.

use std::ops::Range;

use gatebench_config::suggest::listed;
use gatebench_config::{Data, Entry, Node, Problem};

use super::{http, not_zero, soap};

/// Policies that identify the consumer.
const AUTHENTICATIONS: [&str; 4] = ["api_key", "api_key_query", "basic_auth", "jwt"];

/// Policies that a route can have only once.
const SINGLE: [&str; 4] = ["consumer_header", "openapi", "redis_rate_limit", "soap"];

pub(super) fn check(route: &Node, problems: &mut Vec<Problem>) {
    let entries = || route.list("policies").iter().flat_map(Node::entries);
    let mut mocked = false;
    for (at, entry) in entries().enumerate() {
        if mocked {
            let message = format!("`{}` comes after `mock` and has no effect", entry.key);
            problems.push(entry.problem(message, "put it before `mock`, or remove it"));
        }
        mocked |= entry.key == "mock";
        policy(entry, problems);
        let before = || entries().take(at);
        if SINGLE.contains(&entry.key.as_str()) && before().any(|one| one.key == entry.key) {
            second(entry, problems);
        }
        let is_known = before().any(|one| AUTHENTICATIONS.contains(&one.key.as_str()));
        match entry.key.as_str() {
            "rate_limit" => rate_limit(entry, is_known, problems),
            "redis_rate_limit" => {
                rate_limit(entry, is_known, problems);
                redis(&entry.value, problems);
            }
            "consumer_header" if !is_known => no_consumer_known(entry, problems),
            _ => {}
        }
    }
    soap::together(&entries().collect::<Vec<_>>(), problems);
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
                problems.push(name.problem(message, "write a name such as api_key"));
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

fn second(entry: &Entry, problems: &mut Vec<Problem>) {
    let message = format!("the route has a second `{}`", entry.key);
    let help = match entry.key.as_str() {
        "soap" => "write both directions in one policy",
        _ => "remove one of them, or use another route",
    };
    problems.push(entry.problem(message, help));
}

/// Checks the names of a stylesheet's parameters, which cannot have a namespace prefix.
fn parameters(settings: &Node, problems: &mut Vec<Problem>) {
    let is_start = |c: char| c == '_' || c.is_alphabetic();
    let allowed = |c: char| is_start(c) || c.is_ascii_digit() || "-.".contains(c);
    let is_name = |name: &str| name.starts_with(is_start) && name.chars().all(allowed);
    let params = settings.mapping("params");
    for entry in params.iter().filter(|entry| !is_name(&entry.key)) {
        let message = format!("`{}` is not the name of a parameter", entry.key);
        let help = "write letters, digits, `-`, `_` and `.`, beginning with a letter";
        problems.push(entry.problem(message, help));
    }
}

fn quotable(realm: &Node, problems: &mut Vec<Problem>) {
    if realm.text().is_some_and(|text| text.contains(['"', '\\'])) {
        let message = "the realm contains a quote or a backslash, which gateways treat differently";
        problems.push(realm.problem(message, "write it without quotes or backslashes"));
    }
}

fn jwt(entry: &Entry, problems: &mut Vec<Problem>) {
    let settings = &entry.value;
    if settings.get("keys").is_none() && settings.get("jwks").is_none() {
        let help = "under `keys`, add for example `- hs256: {secret: ...}`";
        problems.push(entry.problem("`jwt` has no key, so no token could ever be valid", help));
    }
    for key in settings.list("keys") {
        if let Some(secret) = key.at(&["hs256", "secret"])
            && secret.text().is_some_and(|text| text.len() < 32)
        {
            let message = "the secret has fewer than the 32 bytes that RFC 7518 requires for HS256";
            problems.push(secret.problem(message, "write a longer one"));
        }
        let is_pem = |text: &str| text.trim_start().starts_with("-----BEGIN PUBLIC KEY-----");
        if let Some(public_key) = key.at(&["rs256", "public_key"])
            && public_key.text().is_some_and(|text| !is_pem(text))
        {
            let message = "this is not a public key in PEM";
            let help = "write the whole key, beginning with -----BEGIN PUBLIC KEY-----, as `openssl pkey -pubout` prints it";
            problems.push(public_key.problem(message, help));
        }
    }
}

/// Checks a rate limit; `is_known` is true if an earlier policy identifies the consumer.
fn rate_limit(entry: &Entry, is_known: bool, problems: &mut Vec<Problem>) {
    let settings = &entry.value;
    not_zero(settings, "window", "1m", problems);
    let per = settings.text_of("per").unwrap_or("route");
    if let Some(header) = settings.get("header") {
        http::policy_header(header, problems);
    }
    match (per, settings.entry("header")) {
        ("header", None) => {
            let message = "`per: header` does not name the header";
            problems.push(entry.problem(message, "add for example `header: X-Client`"));
        }
        ("route" | "consumer", Some(header)) => {
            let message = format!("the limit does not count by this header, but by the {per}");
            problems.push(header.problem(message, "write `per: header`, or remove `header`"));
        }
        _ => {}
    }
    if per == "consumer" && !is_known {
        no_consumer_known(entry, problems);
    }
}

fn no_consumer_known(entry: &Entry, problems: &mut Vec<Problem>) {
    let help = format!("put one before it: {}", listed(AUTHENTICATIONS, "or"));
    problems.push(entry.problem("no policy before this one identifies the consumer", help));
}

fn redis(settings: &Node, problems: &mut Vec<Problem>) {
    for key in ["interval", "timeout"] {
        not_zero(settings, key, "100ms", problems);
    }
    let is_wrong = |text: &str| text.parse::<std::net::SocketAddr>().is_err();
    if let Some(redis) = settings.get("redis")
        && redis.text().is_some_and(is_wrong)
    {
        let message = "this is not an IP address with a port";
        problems.push(redis.problem(message, "write an address such as 127.0.0.1:6379"));
    }
}

fn header_edits(settings: &Node, problems: &mut Vec<Problem>) {
    for name in settings.list("remove") {
        if let Some(text) = name.text() {
            http::edited_header(text, &name.span, problems);
        }
    }
    for (key, has_values) in [("rename", false), ("set", true), ("add", true)] {
        for entry in settings.mapping(key) {
            http::edited_header(&entry.key, &entry.key_span, problems);
            if has_values {
                http::field_value(&entry.value, problems);
            } else if let Some(to) = entry.value.text() {
                http::edited_header(to, &entry.value.span, problems);
            }
        }
    }
}

/// Checks that no edit is at or inside a position that another edit changes, because all edits
/// apply to the original document.
fn json_edits(entry: &Entry, problems: &mut Vec<Problem>) {
    let settings = &entry.value;
    let mut places: Vec<(&str, &Range<usize>)> = Vec::new();
    let removed = settings.list("remove").iter();
    places.extend(removed.filter_map(|node| Some((node.text()?, &node.span))));
    for key in ["rename", "add", "default"] {
        let edits = settings.mapping(key).iter();
        places.extend(edits.map(|edit| (edit.key.as_str(), &edit.key_span)));
    }
    let is_inside = |outer: &str, inner: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for (at, (pointer, span)) in places.iter().enumerate() {
        let mut before = places[..at].iter();
        if !pointer.starts_with('/') {
            let message = format!("`{pointer}` does not name a member or an item");
            let help = "write a JSON Pointer, as in /items/0/name";
            problems.push(Problem::new((*span).clone(), message, help));
        } else if before.any(|(it, _)| is_inside(it, pointer) || is_inside(pointer, it)) {
            let message = format!("another edit changes `{pointer}` or a value in it");
            let help = "keep one of the two edits, or move one to a second policy, which edits the output of the first";
            problems.push(Problem::new((*span).clone(), message, help));
        }
    }
}

/// Reports a policy that rejects every request because no consumer has a key (`api_key`) or a
/// password (`basic_auth`).
pub(super) fn somebody_may_call(root: &Node, problems: &mut Vec<Problem>) {
    for (policy, credential, what) in [
        ("api_key", "keys", "a key"),
        ("basic_auth", "password", "a password"),
    ] {
        let routes = root.list("routes").iter();
        let mut policies = routes.flat_map(|route| route.list("policies"));
        let Some(entry) = policies.find_map(|it| it.entry(policy)) else {
            continue;
        };
        // Malformed credentials count as present here, because they were already reported.
        let has_one = |consumer: &Node| {
            let found = consumer.get(credential);
            found.is_some_and(|it| !matches!(&it.data, Data::List(items) if items.is_empty()))
        };
        if !root.list("consumers").iter().any(has_one) {
            let message = format!("`{policy}` rejects every request: no consumer has {what}");
            let help = format!("under `consumers`, add a consumer with `name` and `{credential}`");
            problems.push(entry.problem(message, help));
        }
    }
}

/// Checks that passwords are not empty and consist of printable ASCII, because gateways treat other
/// passwords differently.
pub(super) fn passwords(root: &Node, problems: &mut Vec<Problem>) {
    let consumers = root.list("consumers").iter();
    for password in consumers.filter_map(|consumer| consumer.get("password")) {
        let Some(text) = password.text() else {
            continue;
        };
        if text.is_empty() || !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            let message = "the password is empty or not printable ASCII; gateways treat such \
                           passwords differently";
            problems.push(password.problem(message, "write ASCII letters, digits and punctuation"));
        }
    }
}
