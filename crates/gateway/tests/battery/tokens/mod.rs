//! Tokens (RFC 7519, RFC 8725), keys and passwords that are forged, malformed or valid.

mod keys;
mod sign;
mod table;

use serde_json::json;

use crate::client;
use crate::lane::Battery;
use crate::vector::{AFTER, Expect, Seen, Vector};
use sign::{OTHER_SECRET, Rsa, SECRET};

pub fn battery() -> Battery {
    let rsa = Rsa::make();
    let tables = [
        table::claims(),
        table::headers(),
        table::texts(),
        table::lines(),
        table::named_keys(),
        table::public_keys(&rsa),
        keys::in_headers(),
        keys::in_queries(),
        keys::passwords(),
    ];
    let secret = |secret: &str, id: &str| json!({"hs256": {"secret": secret, "id": id}});
    let one = json!({"keys": [{"hs256": {"secret": SECRET}}], "issuer": "me", "audience": "api"});
    let named = json!({"keys": [secret(SECRET, "one"), secret(OTHER_SECRET, "two")]});
    let public = json!({"keys": [{"rs256": {"public_key": rsa.public_pem}}]});
    let key = json!([{"api_key": {"header": "X-Api-Key"}},
                     {"consumer_header": {"header": "X-Consumer"}}]);
    let route = |name: &str, policies: serde_json::Value| {
        json!({"name": name, "path": format!("/{name}"), "upstream": "origin",
               "policies": policies})
    };
    let config = json!({
        "consumers": [{"name": "alice", "keys": ["alice-key"], "password": "secret"},
                      {"name": "bob", "keys": ["bob-key"]}],
        "routes": [
            {"name": "open", "path": "/", "upstream": "origin"},
            route("token", json!([{"jwt": one}])),
            route("named", json!([{"jwt": named}])),
            route("public", json!([{"jwt": public}])),
            route("key", key),
            route("query", json!([{"api_key_query": {"name": "key"}}])),
            route("password", json!([{"basic_auth": {}}])),
        ],
        "timeouts": {"client_idle_ms": 5000},
    });
    Battery {
        name: "tokens and keys",
        config,
        vectors: tables.concat(),
        hear: client::hear,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    In,
    Out,
    /// The standards allow both decisions.
    Either,
}

fn get(name: impl Into<String>, target: &str, lines: &[u8], fate: Fate) -> Vector {
    let begin = format!("GET {target} HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n");
    let bytes = [begin.as_bytes(), lines, b"\r\n", AFTER.as_bytes()].concat();
    let requests = vec![Seen::new(target, ""), Seen::after()];
    let expect = match fate {
        Fate::In => Expect::Passed(requests),
        Fate::Out => Expect::declined(),
        Fate::Either => Expect::Either(requests),
    };
    Vector::new(name, bytes, expect)
}

fn bearing(name: &str, target: &str, token: &str, fate: Fate) -> Vector {
    let line = format!("Authorization: Bearer {token}\r\n");
    get(format!("{name} at {target}"), target, line.as_bytes(), fate)
}
