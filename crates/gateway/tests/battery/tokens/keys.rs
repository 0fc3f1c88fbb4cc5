//! API keys in header fields and in queries, and passwords.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Fate::{Either, In, Out};
use super::get;
use crate::vector::{Expect, Seen, Vector};

pub fn in_headers() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (line, fate) in [
        ("X-Api-Key: alice-key", In),
        ("X-Api-Key: bob-key", In),
        ("x-api-key:alice-key", In),
        ("X-Api-Key: \talice-key \t", In),
        ("X-Api-Key: alice-key\r\nX-Consumer: root", In),
        ("X-Api-Key: alice-key\r\nX_Consumer: root", Either),
        (
            "X-Api-Key: alice-key\r\nx_consumer: root\r\nX-Consumer: root",
            Either,
        ),
        ("X-Api-Key: alice-key\r\nX_Api_Key: bob-key", Either),
        ("X: y", Out),
        ("X-Api-Key:", Out),
        ("X-Api-Key: alice-ke", Out),
        ("X-Api-Key: alice-keyy", Out),
        ("X-Api-Key: Alice-Key", Out),
        ("X-Api-Key: alice", Out),
        ("X-Api-Key: \"alice-key\"", Out),
        ("X-Api-Key: alice-key,", Out),
        ("X-Api-Key: alice-key, bob-key", Out),
        ("X-Api-Key: alice-key alice-key", Out),
        ("X-Api-Key: alice-key\0", Out),
        ("X-Api-Key: alice-key\u{a0}", Out),
        ("X-Api-Key: alice%2dkey", Out),
        ("X-Api-Key: alice-key\r\nX-Api-Key: alice-key", Out),
        ("X-Api-Key: alice-key\r\nX-Api-Key: bob-key", Out),
        ("X-Api-Key: alice-key\r\nx-api-key:", Out),
        ("X-Api-Key: x\r\nX-Api-Key: alice-key", Out),
        ("X-Api-Key : alice-key", Out),
        ("X-Api-Key\0: alice-key", Out),
        ("X: y\r\n X-Api-Key: alice-key", Out),
        ("X_Api_Key: alice-key", Out),
        ("X-Consumer: alice", Out),
        ("Authorization: ApiKey alice-key", Out),
        ("Cookie: X-Api-Key=alice-key", Out),
    ] {
        let lines = format!("{line}\r\n");
        let name = format!("key {}", line.escape_debug());
        vectors.push(get(name, "/key", lines.as_bytes(), fate));
    }
    vectors.push(get(
        "the key of a field in the query",
        "/key?X-Api-Key=alice-key",
        b"",
        Out,
    ));
    vectors
}

pub fn in_queries() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (query, fate) in [
        ("?key=alice-key", In),
        ("?a=b&key=bob-key", In),
        ("?key=alice-key&a=b", In),
        ("?&key=alice-key", In),
        ("?key=alice%2Dkey", Either),
        ("?k%65y=alice-key", Either),
        ("?key=alice-key&key=alice-key", Either),
        ("?key=alice-key&key=x", Either),
        ("", Out),
        ("?", Out),
        ("?key", Out),
        ("?key=", Out),
        ("?key=alice-ke", Out),
        ("?key=alice-keyy", Out),
        ("?key=ALICE-KEY", Out),
        ("?Key=alice-key", Out),
        ("?keys=alice-key", Out),
        ("?key[]=alice-key", Out),
        ("?key[0]=alice-key", Out),
        ("?key==alice-key", Out),
        ("?key=alice-key%00", Out),
        ("?key=alice-key%20", Out),
        ("?key=alice-key+", Out),
        ("?key=%22alice-key%22", Out),
        ("?key=alice%252Dkey", Out),
        ("?key=x&key=alice-key", Out),
        ("?key=&key=alice-key", Out),
        ("?a=b;key=alice-key", Out),
        ("?a=key=alice-key", Out),
        ("?a?key=alice-key", Out),
    ] {
        let target = format!("/query{query}");
        let mut vector = get(format!("the query {query:?}"), &target, b"", fate);
        if fate == Either {
            // The gateway may forward encoded text in decoded form.
            let seen = Seen {
                target: None,
                body: Vec::new(),
            };
            vector.expect = Expect::Either(vec![seen, Seen::after()]);
        }
        vectors.push(vector);
    }
    vectors
}

pub fn passwords() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (text, fate) in [
        ("alice:secret", In),
        ("alice:secre", Out),
        ("alice:secrets", Out),
        ("alice:Secret", Out),
        ("alice:", Out),
        ("alice", Out),
        (":secret", Out),
        ("", Out),
        (":", Out),
        ("Alice:secret", Out),
        ("alice:secret\0", Out),
        ("alice\0:secret", Out),
        ("alice:secret\r\n", Out),
        ("alice: secret", Out),
        ("alice:secret:", Out),
        ("bob:", Out),
        ("bob:secret", Out),
        ("bob:bob-key", Out),
    ] {
        let line = format!("Authorization: Basic {}\r\n", STANDARD.encode(text));
        let name = format!("password {}", text.escape_debug());
        vectors.push(get(name, "/password", line.as_bytes(), fate));
    }
    let good = STANDARD.encode("alice:secret");
    for (line, fate) in [
        (format!("authorization:basic {good}"), In),
        (format!("Authorization: Basic {good}="), Out),
        (format!("Authorization: Basic {good}, x"), Out),
        (format!("Authorization: Basic{good}"), Out),
        (format!("Authorization: Bearer {good}"), Out),
        (format!("Authorization: {good}"), Out),
        ("Authorization: Basic alice:secret".into(), Out),
        (
            format!("Authorization: Basic {} {}", &good[..4], &good[4..]),
            Out,
        ),
        (
            format!("Authorization: Basic {good}\r\nAuthorization: Basic {good}"),
            Out,
        ),
        (
            format!("Authorization: Basic x\r\nAuthorization: Basic {good}"),
            Out,
        ),
        (format!("Proxy-Authorization: Basic {good}"), Out),
    ] {
        let lines = format!("{line}\r\n");
        let name = format!("password {}", line.escape_debug());
        vectors.push(get(name, "/password", lines.as_bytes(), fate));
    }
    let target = "http://alice:secret@h/password";
    vectors.push(get("a password in the target", target, b"", Out));
    vectors
}
