//! Heads with unusual line endings, request lines, hosts and targets.

use super::{Fate, shown};
use crate::vector::{AFTER, Expect, Seen, Vector};

/// Bytes that some readers treat as the end of a line, or trim.
const ENDS: [&str; 11] = [
    "\n", "\r", "\r\r\n", "\n\r", "\n\n", "\r\n\n", "\u{85}", "\u{2028}", "\x0b", "\x0c", "\\r\\n",
];

/// Bytes before a request line, and the verdict on the request (RFC 9112 2.2).
const PREFIXES: &[(&str, Fate)] = &[
    ("\r\n", Fate::Passed),
    ("\r\n\r\n", Fate::Either),
    ("\n", Fate::Either),
    ("\r\n\n", Fate::Either),
    ("\r", Fate::Refused),
    (" ", Fate::Refused),
    ("\t", Fate::Refused),
    ("\0", Fate::Refused),
    ("\u{feff}", Fate::Refused),
    (" \r\n", Fate::Refused),
    ("\r\n ", Fate::Refused),
    ("\x0b\r\n", Fate::Refused),
    ("X\r\n", Fate::Refused),
];

/// Heads in which one line does not end with exactly CRLF, and requests after [`PREFIXES`].
pub fn ends() -> Vec<Vector> {
    let lines = [
        "POST /v HTTP/1.1",
        "Host: h",
        "V: VVVVV",
        "Content-Length: 5",
        "",
    ];
    let mut vectors = Vec::new();
    for at in [0, 1, 3, 4] {
        for end in ENDS {
            // CRLF and LF are a valid empty line and the first byte of a body.
            if at == 4 && end == "\r\n\n" {
                continue;
            }
            let ends = (0..lines.len()).map(|line| if line == at { end } else { "\r\n" });
            let parts = lines.iter().zip(ends).flat_map(|(line, end)| [*line, end]);
            let head: String = parts.collect();
            let name = format!("line {at} ends with {}", shown(end.as_bytes()));
            let bytes = format!("{head}hello{AFTER}");
            vectors.push(Vector::new(name, bytes, Expect::refused()));
        }
    }
    for (prefix, fate) in PREFIXES {
        let name = format!("a request after {}", shown(prefix.as_bytes()));
        let head = lines[..4].join("\r\n");
        let bytes = format!("{prefix}{head}\r\n\r\nhello{AFTER}");
        vectors.push(Vector::new(name, bytes, fate.with(b"hello")));
    }
    vectors
}

/// Strings in the place of a space in a request line. Only the first one is valid.
const SPACES: [&str; 11] = [
    " ", "  ", "\t", "\x0b", "\x0c", "\u{a0}", "", "%20", "\r", "\r\n ", "\0",
];

const VERSIONS: &[(&str, Fate)] = &[
    ("HTTP/1.1", Fate::Passed),
    ("HTTP/1.2", Fate::Refused),
    ("HTTP/1.9", Fate::Refused),
    ("HTTP/1.10", Fate::Refused),
    ("HTTP/1.01", Fate::Refused),
    ("HTTP/01.1", Fate::Refused),
    ("HTTP/2.0", Fate::Refused),
    ("HTTP/2", Fate::Refused),
    ("HTTP/0.9", Fate::Refused),
    ("HTTP/1", Fate::Refused),
    ("HTTP/1.", Fate::Refused),
    ("HTTP/11", Fate::Refused),
    ("HTTP/1,1", Fate::Refused),
    ("HTTP/1.1 ", Fate::Refused),
    ("HTTP/1.1\t", Fate::Refused),
    ("HTTP/1.1;", Fate::Refused),
    ("HTTP/1.1 HTTP/1.1", Fate::Refused),
    ("HTTP /1.1", Fate::Refused),
    ("HTTP\\1.1", Fate::Refused),
    ("http/1.1", Fate::Refused),
    ("HTTPS/1.1", Fate::Refused),
    ("ICY/1.1", Fate::Refused),
    ("1.1", Fate::Refused),
    ("", Fate::Refused),
];

const METHODS: &[(&str, Fate)] = &[
    ("GET", Fate::Passed),
    ("DELETE", Fate::Passed),
    ("M-SEARCH", Fate::Passed),
    ("get", Fate::Either),
    ("!#$%&'*+-.^_`|~", Fate::Either),
    ("TRACE", Fate::Either),
    ("PRI", Fate::Either),
    ("CONNECT", Fate::Refused),
    ("", Fate::Refused),
    ("G T", Fate::Refused),
    ("G\tT", Fate::Refused),
    ("G\0T", Fate::Refused),
    ("G\u{7f}T", Fate::Refused),
    ("G\u{e9}T", Fate::Refused),
    ("\u{feff}GET", Fate::Refused),
    ("G(T", Fate::Refused),
    ("G)T", Fate::Refused),
    ("G<T", Fate::Refused),
    ("G>T", Fate::Refused),
    ("G@T", Fate::Refused),
    ("G,T", Fate::Refused),
    ("G;T", Fate::Refused),
    ("G:T", Fate::Refused),
    ("G\\T", Fate::Refused),
    ("G\"T", Fate::Refused),
    ("G/T", Fate::Refused),
    ("G[T", Fate::Refused),
    ("G]T", Fate::Refused),
    ("G?T", Fate::Refused),
    ("G=T", Fate::Refused),
    ("G{T", Fate::Refused),
    ("G}T", Fate::Refused),
    ("GET\r\nX:", Fate::Refused),
];

fn begun(line: &str, host: &str, expect: Expect) -> Vector {
    let bytes = format!("{line}\r\n{host}V: VVVVV\r\n\r\n{AFTER}");
    let name = format!("{} {}", shown(line.as_bytes()), shown(host.as_bytes()));
    Vector::new(name, bytes, expect)
}

pub fn first_lines() -> Vec<Vector> {
    let mut vectors = Vec::new();
    let mut add = |line: String, fate: Fate| {
        vectors.push(begun(&line, "Host: h\r\n", fate.with(b"")));
    };
    for first in SPACES {
        for second in SPACES {
            let is_plain = (first, second) == (" ", " ");
            let fate = if is_plain {
                Fate::Passed
            } else {
                Fate::Refused
            };
            add(format!("GET{first}/v{second}HTTP/1.1"), fate);
        }
    }
    for (version, fate) in VERSIONS {
        add(format!("GET /v {version}"), *fate);
    }
    for (method, fate) in METHODS {
        add(format!("{method} /v HTTP/1.1"), *fate);
    }
    for line in [
        "GET /v",
        "GET",
        "",
        "/v",
        "GET /v HTTP/1.1 GET /hidden HTTP/1.1",
    ] {
        add(line.into(), Fate::Refused);
    }
    let expect = Expect::Passed(vec![Seen::vector("")]);
    vectors.push(begun("GET /v HTTP/1.0", "", expect));
    vectors
}

/// Values of Host (RFC 9110 7.2).
const HOSTS: &[(&str, Fate)] = &[
    ("h", Fate::Passed),
    ("H.Example:80", Fate::Passed),
    ("127.0.0.1:8080", Fate::Passed),
    ("[::1]", Fate::Passed),
    ("[::1]:80", Fate::Passed),
    ("h.", Fate::Passed),
    ("xn--e1afmkfd", Fate::Passed),
    ("", Fate::Either),
    ("h:", Fate::Either),
    (":80", Fate::Either),
    ("h:99999", Fate::Either),
    ("h:-1", Fate::Either),
    ("h:80:90", Fate::Either),
    ("h,g", Fate::Either),
    ("::1", Fate::Either),
    ("[::1", Fate::Either),
    ("h]", Fate::Either),
    ("h%00", Fate::Either),
    ("h%0d%0aX:y", Fate::Either),
    ("h;a=b", Fate::Either),
    ("*", Fate::Either),
    ("h g", Fate::Refused),
    ("h, g", Fate::Refused),
    ("h\tg", Fate::Refused),
    ("h\0", Fate::Refused),
    ("h\u{7f}", Fate::Refused),
    ("h\u{e9}", Fate::Refused),
    ("h/v", Fate::Refused),
    ("h?v", Fate::Refused),
    ("h#v", Fate::Refused),
    ("h\\v", Fate::Refused),
    ("u@h", Fate::Refused),
    ("u:p@h", Fate::Refused),
    ("http://h", Fate::Refused),
    ("h\"", Fate::Refused),
    ("<h>", Fate::Refused),
    ("{h}", Fate::Refused),
    ("h|g", Fate::Refused),
    ("h^g", Fate::Refused),
    ("h`g", Fate::Refused),
    ("h\r\n g", Fate::Refused),
];

/// Lines that name one host, two or none (RFC 9112 3.2).
const HOST_LINES: &[(&str, Fate)] = &[
    ("", Fate::Refused),
    ("Host: h\r\nHost: h\r\n", Fate::Refused),
    ("Host: h\r\nHost: g\r\n", Fate::Refused),
    ("Host: h\r\nhost: g\r\n", Fate::Refused),
    ("Host: h\r\nX: y\r\nHOST: g\r\n", Fate::Refused),
    ("Host: h\r\nHost:\r\n", Fate::Refused),
    ("Host:\r\nHost: h\r\n", Fate::Refused),
    ("Host : h\r\n", Fate::Refused),
    ("Host\t: h\r\n", Fate::Refused),
    (" Host: h\r\n", Fate::Refused),
    ("\tHost: h\r\n", Fate::Refused),
    ("Ho st: h\r\n", Fate::Refused),
    ("Host\0: h\r\n", Fate::Refused),
    ("Host:: h\r\n", Fate::Refused),
    ("X: y\r\n Host: h\r\n", Fate::Refused),
    ("Host: h\r\n Host: g\r\n", Fate::Refused),
    ("Host_: g\r\nHost: h\r\n", Fate::Passed),
    (
        "X-Host: g\r\nX-Forwarded-Host: g\r\nHost: h\r\n",
        Fate::Passed,
    ),
    ("host:h\r\n", Fate::Passed),
];

pub fn hosts() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (host, fate) in HOSTS {
        let line = format!("Host: {host}\r\n");
        vectors.push(begun("GET /v HTTP/1.1", &line, fate.with(b"")));
    }
    for (lines, fate) in HOST_LINES {
        vectors.push(begun("GET /v HTTP/1.1", lines, fate.with(b"")));
        // A request with an absolute-form target needs a valid Host field too (RFC 9112 3.2).
        vectors.push(begun("GET http://g/v HTTP/1.1", lines, fate.with(b"")));
    }
    vectors
}

enum Way {
    /// The target is forwarded in this form.
    As(&'static str),
    /// The target is forwarded in any form that the gateway chooses, or refused.
    Perhaps,
    /// The target is refused, and the end of the request is known.
    Declined,
    /// The request line is invalid, so nothing after it may be read as a request.
    Refused,
}

/// Targets (RFC 9112 3.2, RFC 3986). Most targets that a server could resolve to a different path
/// are refused, because the path as written selects the route.
const TARGETS: &[(&str, Way)] = &[
    ("/", Way::As("/")),
    ("/v", Way::As("/v")),
    ("/v/", Way::As("/v/")),
    ("/v?a=b", Way::As("/v?a=b")),
    ("/v?", Way::As("/v?")),
    ("/v?a?b", Way::As("/v?a?b")),
    ("/v;a=b", Way::As("/v;a=b")),
    ("/v:80", Way::As("/v:80")),
    ("/v@h", Way::As("/v@h")),
    ("/v.html", Way::As("/v.html")),
    ("/.well-known/v", Way::As("/.well-known/v")),
    ("/v...", Way::As("/v...")),
    ("/v~b-c_d!$&'()*+,=", Way::As("/v~b-c_d!$&'()*+,=")),
    ("/v?a=%20", Way::As("/v?a=%20")),
    ("http://g/v", Way::As("/v")),
    ("http://g:80/v?a", Way::As("/v?a")),
    ("http://g", Way::As("/")),
    ("http://g?a", Way::As("/?a")),
    ("/%61", Way::Perhaps),
    ("/v%20b", Way::Perhaps),
    ("/v%20HTTP/1.1%0d%0aX:%20y", Way::Perhaps),
    ("/v%00", Way::Perhaps),
    ("/v%", Way::Perhaps),
    ("/v%zz", Way::Perhaps),
    ("/v%u002f", Way::Perhaps),
    ("/v%25", Way::Perhaps),
    ("/v%ff", Way::Perhaps),
    ("/v\"b", Way::Perhaps),
    ("/v<b>", Way::Perhaps),
    ("/v{b}", Way::Perhaps),
    ("/v|b", Way::Perhaps),
    ("/v^b", Way::Perhaps),
    ("/v`b", Way::Perhaps),
    ("/v[b]", Way::Perhaps),
    ("/v/..;/b", Way::Perhaps),
    ("/v?a=//..%2f", Way::Perhaps),
    ("//v", Way::Declined),
    ("///v", Way::Declined),
    ("/v//b", Way::Declined),
    ("/./v", Way::Declined),
    ("/../v", Way::Declined),
    ("/v/.", Way::Declined),
    ("/v/..", Way::Declined),
    ("/v/../b", Way::Declined),
    ("/%2e/v", Way::Declined),
    ("/%2E%2e/v", Way::Declined),
    ("/.%2e/v", Way::Declined),
    ("/v/%2e%2e%2fb", Way::Declined),
    ("/%2fv", Way::Declined),
    ("/v%2Fb", Way::Declined),
    ("/v%5cb", Way::Declined),
    ("/v%5C..%5Cb", Way::Declined),
    ("/v\\b", Way::Declined),
    ("/v\\..\\b", Way::Declined),
    ("/v#b", Way::Declined),
    ("/v?a#b", Way::Declined),
    ("/v\u{e9}", Way::Declined),
    ("/v\u{2215}b", Way::Declined),
    ("http://g//v", Way::Declined),
    ("http://g/../v", Way::Declined),
    ("*", Way::Declined),
    ("v", Way::Declined),
    ("?a", Way::Declined),
    ("g:80", Way::Declined),
    ("https://g/v", Way::Declined),
    ("HTTP://g/v", Way::Perhaps),
    ("http:///v", Way::Declined),
    ("http://:80/v", Way::Declined),
    ("http://u@g/v", Way::Declined),
    ("http://u:p@g/v", Way::Declined),
    ("http://g\\@h/v", Way::Declined),
    ("http://g#@h/v", Way::Declined),
    ("http:/v", Way::Declined),
    ("/v b", Way::Refused),
    ("/v\tb", Way::Refused),
    ("/v\0b", Way::Refused),
    ("/v\u{7f}", Way::Refused),
    ("/v\rb", Way::Refused),
    ("/v\nb", Way::Refused),
    ("/v\x0bb", Way::Refused),
    ("http://g g/v", Way::Refused),
];

pub fn targets() -> Vec<Vector> {
    let expect = |way: &Way| match way {
        Way::As(target) => Expect::Passed(vec![Seen::new(target, ""), Seen::after()]),
        Way::Perhaps => {
            let seen = Seen {
                target: None,
                body: Vec::new(),
            };
            Expect::Either(vec![seen, Seen::after()])
        }
        Way::Declined => Expect::declined(),
        Way::Refused => Expect::refused(),
    };
    let vector = |(target, way): &(&str, Way)| {
        begun(
            &format!("GET {target} HTTP/1.1"),
            "Host: h\r\n",
            expect(way),
        )
    };
    TARGETS.iter().map(vector).collect()
}
