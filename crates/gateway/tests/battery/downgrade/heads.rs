//! Vectors with unusual or invalid heads: names, values, pseudo-header fields, and
//! connection-specific fields.

use super::{Field, but, field, good, mark, refused, request, vector, with, without};
use crate::vector::{Expect, Seen, Vector};

/// Bytes that an HTTP/2 name may not contain (RFC 9113 8.2.1, RFC 9110 5.6.2).
const NOT_IN_NAMES: &[u8] = b"AZ\0\x01\t\n\r \"(),/:;<=>?@[\\]{}\x7f\x80\xff";

/// Bytes that a name may contain in addition to letters (RFC 9110 5.6.2).
const IN_NAMES: &[u8] = b"!#$%&'*+-.^`|~9";

fn passed() -> Expect {
    Expect::passed("hello")
}

fn either() -> Expect {
    Expect::either("hello")
}

fn of(name: impl Into<String>, fields: &[Field], expect: Expect) -> Vector {
    vector(name, &request(fields), expect)
}

pub fn names() -> Vec<Vector> {
    let mut vectors = vec![of("an empty name", &with("", "a"), refused())];
    let bytes = NOT_IN_NAMES.iter().map(|byte| (*byte, false));
    for (byte, passes) in bytes.chain(IN_NAMES.iter().map(|byte| (*byte, true))) {
        for name in [vec![byte, b'x'], vec![b'x', byte], vec![b'x', byte, b'y']] {
            let expect = if passes { passed() } else { refused() };
            let label = format!("the name {}", name.escape_ascii());
            vectors.push(of(label, &with(name, "a"), expect));
        }
    }
    for name in [
        "x: y\r\ntransfer-encoding",
        "x\r\n\r\nGET /hidden HTTP/1.1\r\nv",
        "transfer-encoding: chunked\r\nx",
        "transfer-encoding ",
        " transfer-encoding",
        "Transfer-Encoding",
        "content-length\0",
        "\u{e9}",
    ] {
        vectors.push(of(
            format!("the name {name:?}"),
            &with(name, "chunked"),
            refused(),
        ));
    }
    vectors
}

pub fn values() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (bytes, expect) in [
        (&b"\0\x01\n\x0b\x0c\r\x1b\x1f\x7f"[..], refused()),
        (b"\t !\"(),/:;<=>?@[\\]{}~", passed()),
        (b"\x80\x85\xa0\xff", either()),
    ] {
        for byte in bytes {
            let value = vec![b'a', *byte, b'b'];
            let label = format!("the value {}", value.escape_ascii());
            vectors.push(of(label, &with("x", value), expect.clone()));
        }
    }
    for value in [
        " a",
        "a ",
        "\ta",
        "a\t",
        " ",
        "a\r\ntransfer-encoding: chunked",
        "a\r\ncontent-length: 0\r\n\r\nGET /hidden HTTP/1.1\r\nv: VVVVV",
        "a\n\nGET /hidden HTTP/1.1\n",
        "a\r\r\n",
        "\r\n",
        "a\0\r\nb: c",
    ] {
        vectors.push(of(
            format!("the value {value:?}"),
            &with("x", value),
            refused(),
        ));
    }
    vectors.push(of("an empty value", &with("x", ""), passed()));
    let crumbs = [
        good(),
        vec![field("cookie", "a=1"), field("cookie", "b=2; c=3"), mark()],
    ];
    vectors.push(of("crumbs of a cookie", &crumbs.concat(), passed()));
    let broken = [
        good(),
        vec![field("cookie", "a=1"), field("cookie", "b\r\nx: y"), mark()],
    ];
    vectors.push(of(
        "crumbs of a cookie, one with a line break",
        &broken.concat(),
        refused(),
    ));
    vectors
}

/// Pseudo-header fields that are duplicated, late, unknown, missing or empty (RFC 9113 8.3), and
/// unusual schemes.
pub fn pseudo_fields() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (name, value) in good() {
        let label = name.escape_ascii().to_string();
        let text = String::from_utf8(name.clone()).unwrap();
        for second in [value.clone(), b"/other".to_vec()] {
            let twice = [good(), vec![field(name.clone(), second), mark()]].concat();
            vectors.push(of(format!("{label} twice"), &twice, refused()));
        }
        let late = [without(&text), vec![field(name.clone(), value.clone())]].concat();
        vectors.push(of(format!("{label} after a field"), &late, refused()));
        let again = [good(), vec![mark(), field(name, value)]].concat();
        vectors.push(of(
            format!("{label} twice, the second after a field"),
            &again,
            refused(),
        ));
        // An empty scheme may be forwarded, because HTTP/1.1 requests have no scheme.
        let expect = if text == ":scheme" {
            either()
        } else {
            refused()
        };
        vectors.push(of(format!("{label} empty"), &but(&text, ""), expect));
        if text != ":authority" {
            vectors.push(of(format!("{label} missing"), &without(&text), refused()));
        }
    }
    for name in [
        ":",
        ":x",
        ":host",
        ":status",
        ":protocol",
        ":Path",
        ":path ",
        ": path",
        ":path:",
        "path:",
        "::path",
    ] {
        vectors.push(of(
            format!("the field {name:?}"),
            &with(name, "/other"),
            refused(),
        ));
    }
    for (scheme, expect) in [
        ("https", either()),
        ("ftp", either()),
        ("http://h/hidden?", either()),
        ("http\r\nx: y", refused()),
        ("ht\0tp", refused()),
        (" http", refused()),
    ] {
        vectors.push(of(
            format!("the scheme {scheme:?}"),
            &but(":scheme", scheme),
            expect,
        ));
    }
    vectors
}

pub fn methods() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (method, expect) in [
        ("GET", passed()),
        ("DELETE", passed()),
        ("M-SEARCH", passed()),
        ("get", either()),
        ("TRACE", either()),
        ("PRI", either()),
        ("G T", refused()),
        ("G\tT", refused()),
        ("GET ", refused()),
        (" GET", refused()),
        ("G:T", refused()),
        ("G/T", refused()),
        ("G(T", refused()),
        ("G\"T", refused()),
        ("G\0T", refused()),
        ("G\u{7f}T", refused()),
        ("G\u{e9}T", refused()),
        ("GET\r\n", refused()),
        ("GET\r\nx: y", refused()),
        ("GET /hidden HTTP/1.1", refused()),
        (
            "GET /hidden HTTP/1.1\r\nHost: h\r\nv: VVVVV\r\n\r\nGET",
            refused(),
        ),
        ("GET http://h/hidden HTTP/1.1\r\nx:", refused()),
        ("CONNECT", refused()),
    ] {
        vectors.push(of(
            format!("the method {method:?}"),
            &but(":method", method),
            expect,
        ));
    }
    vectors
}

pub fn paths() -> Vec<Vector> {
    let good = [
        "/v",
        "/v?",
        "/v?a=//b",
        "/v;a=b",
        "/v@h:80",
        "/.well-known",
        "/v...",
    ];
    let good = good.map(|path| {
        let expect = Expect::Passed(vec![Seen::new(path, "hello"), Seen::after()]);
        of(format!("the path {path}"), &but(":path", path), expect)
    });
    let mut vectors = good.to_vec();
    for path in [
        "/v b",
        "/v\tb",
        "/v\r\nx: y",
        "/v\nb",
        "/v\0",
        "/v\u{7f}",
        "/v\u{e9}",
        "/v?a b",
        "/v HTTP/1.1",
        "/v HTTP/1.1\r\nHost: h\r\nv: VVVVV\r\n\r\nGET /hidden",
        " /v",
        "/v ",
        "http://h/hidden",
        "http://h/hidden HTTP/1.1",
        "https://h/hidden",
        "h:80",
        "hidden",
        "?hidden",
        "#",
        "*",
        "\\hidden",
        "//v",
        "/v//b",
        "/./v",
        "/v/../b",
        "/v/..",
        "/%2e%2e/v",
        "/%2fv",
        "/v%5Cb",
        "/v\\b",
        "/v#b",
    ] {
        vectors.push(of(
            format!("the path {path:?}"),
            &but(":path", path),
            refused(),
        ));
    }
    for path in [
        "/v%0d%0aX:y",
        "/v%00",
        "/v%",
        "/v\"",
        "/v<>",
        "/v{}",
        "/v|",
        "/v^",
        "/v`",
    ] {
        let seen = Seen {
            target: None,
            body: b"hello".to_vec(),
        };
        let expect = Expect::Either(vec![seen, Seen::after()]);
        vectors.push(of(
            format!("the path {path:?}"),
            &but(":path", path),
            expect,
        ));
    }
    vectors
}

/// `:authority` and Host (RFC 9113 8.3.1).
pub fn authorities() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (authority, expect) in [
        ("h:80", passed()),
        ("H.Example", passed()),
        ("[::1]:80", passed()),
        ("h:80:90", either()),
        ("h,g", either()),
        ("h%00", either()),
        ("[::1", either()),
        ("h ", refused()),
        ("h g", refused()),
        ("h\tg", refused()),
        ("h\0", refused()),
        ("h\u{e9}", refused()),
        ("h\r\nx: y", refused()),
        (
            "h\r\n\r\nGET /hidden HTTP/1.1\r\nHost: h\r\nv: VVVVV",
            refused(),
        ),
        ("h /hidden HTTP/1.1", refused()),
        ("h/hidden", refused()),
        ("h?hidden", refused()),
        ("h#hidden", refused()),
        ("h\\hidden", refused()),
        ("u@h", refused()),
        ("u:p@h", refused()),
        ("http://h", refused()),
    ] {
        let label = format!("the authority {authority:?}");
        vectors.push(of(label, &but(":authority", authority), expect));
    }
    let hosts = |names: &[&str]| -> Vec<Field> {
        let fields = names.iter().map(|name| field("host", *name));
        fields.collect()
    };
    for (names, expect) in [
        (&["h"][..], passed()),
        (&["g"], either()),
        (&["h", "h"], either()),
        (&["h", "g"], either()),
        (&[""], either()),
    ] {
        let fields = [good(), hosts(names), vec![mark()]].concat();
        vectors.push(of(
            format!("an authority and the hosts {names:?}"),
            &fields,
            expect,
        ));
    }
    for (names, expect) in [
        (&["h"][..], passed()),
        (&[], refused()),
        (&["h", "h"], refused()),
        (&["h", "g"], refused()),
        (&["h g"], refused()),
        (&["u@h"], refused()),
        (&["h\r\nx: y"], refused()),
    ] {
        let fields = [without(":authority"), hosts(names)].concat();
        vectors.push(of(format!("the hosts {names:?} alone"), &fields, expect));
    }
    vectors
}

/// Fields about the connection, most of which HTTP/2 forbids (RFC 9113 8.2.2), and fields that
/// other programs could mistake for them or for fields that frame bodies.
pub fn connection_fields() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (name, value, expect) in [
        ("connection", "close", refused()),
        ("connection", "keep-alive", refused()),
        ("connection", "content-length", refused()),
        ("connection", "", refused()),
        ("keep-alive", "timeout=5", refused()),
        ("proxy-connection", "keep-alive", refused()),
        ("transfer-encoding", "chunked", refused()),
        ("transfer-encoding", "identity", refused()),
        ("transfer-encoding", "", refused()),
        ("upgrade", "h2c", refused()),
        ("upgrade", "websocket", refused()),
        ("te", "chunked", refused()),
        ("te", "gzip", refused()),
        ("te", "trailers, chunked", refused()),
        ("te", "", refused()),
        ("te", "trailers", passed()),
        ("trailer", "content-length", passed()),
        ("expect", "100-continue", either()),
        ("http2-settings", "AAMAAABkAAQAAP__", either()),
        ("content_length", "60", either()),
        ("transfer_encoding", "chunked", either()),
        ("connection_", "close", either()),
        ("x-forwarded-host", "g", passed()),
    ] {
        vectors.push(of(
            format!("the field {name}: {value}"),
            &with(name, value),
            expect,
        ));
    }
    vectors
}
