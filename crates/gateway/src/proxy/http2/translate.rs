//! Converts the heads of requests from HTTP/2 to HTTP/1.1, and selects the fields of responses that
//! HTTP/2 allows.

use gatebench_net::http2::Head;

/// The framing of a request's body in HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// The body has the stated length, or no length is stated and there is no body.
    Counted,
    Chunked,
}

/// Writes the head of a request without its empty line. Returns `None` if it is unknown whether a
/// body follows; a client that waits for 100 Continue will send one.
pub(super) fn write_request(out: &mut Vec<u8>, head: &Head<'_>) -> Option<Body> {
    let target = match head.path() {
        _ if head.method() == b"CONNECT" => head.authority(),
        // In HTTP/1.1, any other target would name another host or none (RFC 9113 8.3.1).
        path if path.starts_with(b"/") || path == b"*" => path,
        _ => b"",
    };
    out.extend_from_slice(head.method());
    out.push(b' ');
    write_target(out, target);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    let authority = head.authority();
    if !authority.is_empty() {
        write_field(out, b"Host", authority);
    }
    let mut cookies = 0;
    for field in head.fields() {
        match field.name {
            "host" if !authority.is_empty() => {}
            "cookie" => cookies += 1,
            name => write_field(out, name.as_bytes(), field.value),
        }
    }
    if cookies > 0 {
        write_cookies(out, head);
    }
    if head.content_length().is_some() {
        return Some(Body::Counted);
    }
    head.field("expect").map(|_| Body::Chunked)
}

/// Writes a target. An invalid target, which could end the line and the request, is replaced with a
/// string that the HTTP/1.1 parser refuses.
fn write_target(out: &mut Vec<u8>, target: &[u8]) {
    let is_fine = |byte: &u8| byte.is_ascii_graphic();
    if !target.is_empty() && target.iter().all(is_fine) {
        out.extend_from_slice(target);
    } else {
        out.extend_from_slice(b"\"");
        out.extend(
            target
                .iter()
                .map(|byte| if is_fine(byte) { *byte } else { b'"' }),
        );
        // A request line with two targets is invalid.
        out.extend_from_slice(b" \"");
    }
}

/// Joins the parts of a cookie, which form one field in HTTP/1.1 (RFC 9113 8.2.3).
fn write_cookies(out: &mut Vec<u8>, head: &Head<'_>) {
    let crumbs = head.fields().filter(|field| field.name == "cookie");
    out.extend_from_slice(b"Cookie: ");
    for (at, crumb) in crumbs.enumerate() {
        if at > 0 {
            out.extend_from_slice(b"; ");
        }
        out.extend_from_slice(crumb.value);
    }
    out.extend_from_slice(b"\r\n");
}

fn write_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Reports whether a response field is allowed in HTTP/2 (RFC 9113 8.2.2).
pub(super) fn is_passed_on(name: &str) -> bool {
    const OF_CONNECTIONS: [&str; 5] = [
        "connection",
        "transfer-encoding",
        "keep-alive",
        "proxy-connection",
        "upgrade",
    ];
    !OF_CONNECTIONS
        .iter()
        .any(|field| name.eq_ignore_ascii_case(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_breaks_the_request_line_is_refused() {
        let written = |target: &[u8]| {
            let mut out = Vec::new();
            write_target(&mut out, target);
            String::from_utf8_lossy(&out).into_owned()
        };
        assert_eq!(written(b"/a?b=%20"), "/a?b=%20");
        for bad in [
            &b"/a b"[..],
            b"/a HTTP/1.1\r\nX: y",
            b"/\x00",
            b"/\xff",
            b"",
        ] {
            let line = written(bad);
            assert!(line.contains(' ') && !line.contains('\n'), "{line:?}");
        }
    }
}
