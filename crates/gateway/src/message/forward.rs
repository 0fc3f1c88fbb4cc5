//! Writes the heads that are passed on. Copies, removes and adds fields as a proxy must, in one
//! pass.

use gatebench_net::http1::{
    BodyLength, Framing, Head, hop, write_chunk, write_request_head, write_response_head,
};

use super::headers::HeaderProgram;
use super::own::{RateFields, Toward};

/// The changes that forwarding makes to the head of a request.
pub(crate) struct Destination<'a> {
    /// The path and query for the upstream, possibly without the leading slash.
    pub(crate) rest: &'a str,
    /// The authority in the client's target, if the target has one. It replaces Host (RFC 9112
    /// 3.2.2).
    pub(crate) authority: Option<&'a str>,
    /// The authority for an HTTP/1.0 request without Host.
    pub(crate) fallback_authority: &'a str,
    /// True if the request must state that it is the last one on the connection.
    pub(crate) is_last: bool,
    pub(crate) edits: &'a HeaderProgram,
    /// The name and value of the field that names the consumer to the upstream.
    pub(crate) consumer: Option<(&'a str, &'a [u8])>,
    /// Fields that policies rely on. Other fields that the upstream may confuse with one of them
    /// are removed.
    pub(crate) trusted: &'a [String],
    /// True if the body is not forwarded as it arrives: the code that collects it writes its
    /// length. In this case, `Expect` is not forwarded, because the gateway itself asks the client
    /// to send the body.
    pub(crate) is_collected: bool,
    /// True if gzip is the only coding that the response's body may have.
    pub(crate) is_gzip_alone: bool,
}

/// Returns the framing in which the body must be written.
pub(crate) fn write_request(out: &mut Vec<u8>, head: &Head<'_>, to: &Destination<'_>) -> Relay {
    let (length, relay) = match head.framing() {
        _ if to.is_collected => (BodyLength::None, Relay::Plain),
        Framing::None | Framing::UntilClose => (BodyLength::None, Relay::Plain),
        Framing::Length(length) => (BodyLength::Length(length), Relay::Plain),
        Framing::Chunked => (BodyLength::Chunked, Relay::Chunked),
    };
    let host = match to.authority {
        Some(authority) => Some(authority),
        None if head.version_minor() == 0 && head.field("Host").is_none() => {
            Some(to.fallback_authority)
        }
        None => None,
    };
    let added = [
        host.map(|host| (&b"Host"[..], host.as_bytes())),
        to.is_last.then_some((&b"Connection"[..], &b"close"[..])),
    ];
    let kept = passed_on(head).filter(|(name, _)| {
        let is_replaced = to.authority.is_some() && name.eq_ignore_ascii_case(b"host");
        let is_impostor = to.trusted.iter().any(|trusted| {
            let trusted = trusted.as_bytes();
            hop::is_alike(name, trusted) && !name.eq_ignore_ascii_case(trusted)
        });
        !(is_replaced || is_impostor || to.is_collected && name.eq_ignore_ascii_case(b"expect"))
    });
    let kept = kept.filter_map(|(name, value)| {
        if !to.is_gzip_alone || !name.eq_ignore_ascii_case(b"accept-encoding") {
            return Some((name, value));
        }
        takes_gzip(value).then_some((name, &b"gzip"[..]))
    });
    let fields = added.into_iter().flatten().chain(kept);
    if to.edits.is_empty() {
        write_to(out, head, to, fields, length);
    } else {
        let fields = to.edits.apply(named(fields)).chain(to.consumer);
        write_to(out, head, to, fields, length);
    }
    relay
}

/// Reports whether Accept-Encoding allows gzip by name (RFC 9110 12.5.3).
fn takes_gzip(value: &[u8]) -> bool {
    let codings = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    codings.into_iter().any(|coding| {
        let mut parts = coding.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let is_gzip = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(b"gzip"));
        // A weight of zero, written with any number of zeros, forbids the coding.
        let is_none = |weight: &[u8]| {
            weight.len() > 2
                && weight[..2].eq_ignore_ascii_case(b"q=")
                && weight[2..].iter().all(|byte| matches!(byte, b'0' | b'.'))
        };
        is_gzip && !parts.any(is_none)
    })
}

fn write_to<'f, N: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    head: &Head<'_>,
    to: &Destination<'_>,
    fields: impl Iterator<Item = (N, &'f [u8])>,
    length: BodyLength,
) {
    if to.rest.starts_with('/') {
        write_request_head(out, head.method(), to.rest, fields, length);
    } else {
        // Stripping `/prefix` leaves `?q` of `/prefix?q`, and the absolute form may have no path at
        // all.
        write_request_head(out, head.method(), &["/", to.rest].concat(), fields, length);
    }
}

/// The framing in which a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relay {
    /// Unchanged: the length is known, or the body ends with the connection.
    Plain,
    Chunked,
}

pub(crate) fn relay(out: &mut Vec<u8>, how: Relay, piece: &[u8]) {
    match how {
        Relay::Plain => out.extend_from_slice(piece),
        Relay::Chunked => write_chunk(out, piece),
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseEdits<'a> {
    pub(crate) fields: &'a HeaderProgram,
    pub(crate) rate: Option<RateFields>,
    /// True if the body is not forwarded as it arrives: the code that collects it writes its
    /// length.
    pub(crate) is_collected: bool,
    /// True if the route may replace bodies, so a response without a body must not state the length
    /// of the original body.
    pub(crate) hides_length: bool,
}

/// Returns the framing in which the body must be written, and whether the client's connection must
/// be closed to end the body.
pub(crate) fn write_response(
    out: &mut Vec<u8>,
    head: &Head<'_>,
    toward: Toward,
    edits: &ResponseEdits<'_>,
) -> (Relay, bool) {
    let (length, relay, until_close) = match head.framing() {
        _ if edits.is_collected => (BodyLength::None, Relay::Plain, false),
        Framing::None if edits.hides_length => (BodyLength::None, Relay::Plain, false),
        Framing::None => (announced_length(head), Relay::Plain, false),
        Framing::Length(length) => (BodyLength::Length(length), Relay::Plain, false),
        Framing::Chunked | Framing::UntilClose if toward.is_http10 => {
            (BodyLength::None, Relay::Plain, true)
        }
        Framing::Chunked | Framing::UntilClose => (BodyLength::Chunked, Relay::Chunked, false),
    };
    let toward = Toward {
        keep_alive: toward.keep_alive && !until_close,
        ..toward
    };
    let rate = edits.rate.iter().flat_map(RateFields::fields);
    let added = toward.connection().into_iter().chain(rate);
    if edits.fields.is_empty() {
        let added = added.map(|(name, value)| (name.as_bytes(), value));
        write_response_head(out, head.status(), passed_on(head).chain(added), length);
    } else {
        let fields = edits.fields.apply(named(passed_on(head))).chain(added);
        write_response_head(out, head.status(), fields, length);
    }
    (relay, until_close)
}

/// Returns the length that the head states. A response without a body may still state how long the
/// body would be (HEAD, 304).
fn announced_length(head: &Head<'_>) -> BodyLength {
    let announced = head
        .field("Content-Length")
        .and_then(|value| std::str::from_utf8(value).ok()?.trim().parse().ok());
    match announced {
        Some(length) if head.status() != 204 => BodyLength::Length(length),
        _ => BodyLength::None,
    }
}

/// Returns the fields to forward, in wire order and with their names as bytes.
fn passed_on<'a>(head: &Head<'a>) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
    let options = hop::connection_options(head);
    let names_fields = head.connection_lists_fields();
    head.raw_fields().filter(move |(name, _)| {
        let stays = match name.len() {
            2 | 7 | 10 | 16 | 17 => hop::is_hop_by_hop(name, []),
            14 => hop::is_alike(name, b"content-length"),
            _ => false,
        };
        // A Host that Connection lists is kept: RFC 9110 7.6.1 forbids listing fields that are
        // meant for all recipients, and a request without Host is invalid.
        let is_listed = names_fields
            && !name.eq_ignore_ascii_case(b"host")
            && hop::is_hop_by_hop(name, options.clone());
        !(stays || is_listed)
    })
}

/// Converts fields for policies, which use names as text.
fn named<'a>(
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> impl Iterator<Item = (&'a str, &'a [u8])> {
    // This drops no field, because the names of parsed fields are ASCII.
    fields.filter_map(|(name, value)| Some((std::str::from_utf8(name).ok()?, value)))
}

#[cfg(test)]
mod tests {
    use gatebench_net::http1::{Decoder, Event, Limits};

    use super::*;
    use crate::config::Paths;
    use crate::path::Router;

    fn with_head<T>(mut decoder: Decoder, bytes: &str, check: impl FnOnce(&Head<'_>) -> T) -> T {
        let mut input = bytes.as_bytes();
        match decoder.next(&mut input).unwrap() {
            Some(Event::Head(head)) => check(&head),
            other => panic!("no head but {other:?}"),
        }
    }

    fn forwarded(request: &str, is_last: bool) -> String {
        with_head(Decoder::requests(Limits::default()), request, |head| {
            let router = Router::new([("/", Paths::Strict)].into_iter());
            let mut memory = String::new();
            let target = router.find(head.target(), &mut memory).unwrap();
            let trusted = ["X-Trusted".to_owned()];
            let to = Destination {
                rest: target.rest,
                authority: target.authority,
                fallback_authority: "1.2.3.4:5",
                is_last,
                edits: &HeaderProgram::default(),
                consumer: None,
                trusted: &trusted,
                is_collected: false,
                is_gzip_alone: false,
            };
            let mut out = Vec::new();
            write_request(&mut out, head, &to);
            String::from_utf8(out).unwrap()
        })
    }

    #[test]
    fn hop_by_hop_fields_are_removed() {
        let request = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 1\r\nTE: trailers\r\nTrailer: T\r\nUpgrade: u\r\nProxy-Connection: p\r\nX-Kept:  2 \r\nContent-Length: 0\r\n\r\n";
        assert_eq!(
            forwarded(request, false),
            "GET /a HTTP/1.1\r\nHost: h\r\nX-Kept: 2\r\nContent-Length: 0\r\n\r\n"
        );
    }

    #[test]
    fn framing_and_expectation_are_forwarded() {
        let request = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n";
        assert_eq!(
            forwarded(request, true),
            "POST /a HTTP/1.1\r\nConnection: close\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
    }

    #[test]
    fn every_forwarded_head_has_a_host() {
        assert!(forwarded("GET /a HTTP/1.0\r\n\r\n", false).contains("\r\nHost: 1.2.3.4:5\r\n"));
        let absolute = forwarded("GET http://there:8/a HTTP/1.1\r\nHost: here\r\n\r\n", false);
        assert_eq!(absolute, "GET /a HTTP/1.1\r\nHost: there:8\r\n\r\n");
    }

    #[test]
    fn lookalike_fields_are_removed() {
        let request = "GET /a HTTP/1.1\r\nHost: h\r\nTransfer_Encoding: chunked\r\nContent_Length: 5\r\nProxy_Connection: p\r\nKeep.Alive: 1\r\nX_Trusted: 1\r\nx-trusted: 2\r\nX_Other: 3\r\n\r\n";
        assert_eq!(
            forwarded(request, false),
            "GET /a HTTP/1.1\r\nHost: h\r\nx-trusted: 2\r\nX_Other: 3\r\n\r\n"
        );
    }

    #[test]
    fn gzip_is_accepted_if_named_and_not_forbidden() {
        for (value, expected) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("deflate, gzip, br, zstd", true),
            ("br", false),
            ("*", false),
            ("", false),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("gzip;q=0.01", true),
        ] {
            assert_eq!(takes_gzip(value.as_bytes()), expected, "{value}");
        }
    }

    fn answered(response: &str, toward: Toward, to_head: bool) -> (String, Relay, bool) {
        let mut decoder = Decoder::responses(Limits::default());
        decoder.expect(to_head);
        with_head(decoder, response, |head| {
            let mut out = Vec::new();
            let edits = ResponseEdits {
                fields: &HeaderProgram::default(),
                rate: None,
                is_collected: false,
                hides_length: false,
            };
            let (relay, until_close) = write_response(&mut out, head, toward, &edits);
            (String::from_utf8(out).unwrap(), relay, until_close)
        })
    }

    const NEW: Toward = Toward {
        is_head: false,
        is_http10: false,
        keep_alive: true,
    };
    const OLD: Toward = Toward {
        is_http10: true,
        ..NEW
    };

    #[test]
    fn responses_keep_their_framing_where_the_client_knows_it() {
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nA: b\r\n\r\n";
        let (head, relay, until_close) = answered(chunked, NEW, false);
        assert_eq!(
            head,
            "HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        assert_eq!((relay, until_close), (Relay::Chunked, false));
        let (head, relay, until_close) = answered(chunked, OLD, false);
        assert_eq!(head, "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n");
        assert_eq!((relay, until_close), (Relay::Plain, true));
        let endless = answered("HTTP/1.0 200 OK\r\nA: b\r\n\r\n", NEW, false);
        assert_eq!((endless.1, endless.2), (Relay::Chunked, false));
        let counted = answered("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", OLD, false);
        assert_eq!(
            counted.0,
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 7\r\n\r\n"
        );
    }

    #[test]
    fn responses_without_a_body_keep_the_length_they_announce() {
        let to_head = answered("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", NEW, true);
        assert_eq!(to_head.0, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
        let unmodified = answered(
            "HTTP/1.1 304 X\r\nETag: e\r\nContent-Length: 7\r\n\r\n",
            NEW,
            false,
        );
        assert_eq!(
            unmodified.0,
            "HTTP/1.1 304 Not Modified\r\nETag: e\r\nContent-Length: 7\r\n\r\n"
        );
        let empty = answered(
            "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
            NEW,
            false,
        );
        assert_eq!(empty.0, "HTTP/1.1 204 No Content\r\n\r\n");
    }
}
