//! RFC 9110 7.6.1.

use crate::http1::{Decoder, Event, Limits, hop};

#[test]
fn fields_of_one_connection() {
    let options: [&[u8]; 2] = [b"close, X-Secret", b" x-other "];
    let hops = [
        "Connection",
        "KEEP-ALIVE",
        "Proxy-Connection",
        "te",
        "Trailer",
        "Upgrade",
    ];
    for name in hops
        .into_iter()
        .chain(["Transfer-Encoding", "x-secret", "X-Other"])
    {
        assert!(hop::is_hop_by_hop(name, options), "{name}");
    }
    for name in [
        "Host",
        "Content-Length",
        "X-Secret-2",
        "Authorization",
        "tea",
    ] {
        assert!(!hop::is_hop_by_hop(name, options), "{name}");
    }
    assert!(!hop::is_hop_by_hop("X-Secret", []));
}

#[test]
fn what_a_proxy_sends_on() {
    let mut input = &b"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nConnection: x-a\r\nX-B: 2\r\n\
        Content-Length: 0\r\nTE: trailers\r\nConnection: keep-alive, TE\r\nX-C: 3\r\n\r\n"[..];
    let mut decoder = Decoder::requests(Limits::default());
    let Some(Event::Head(head)) = decoder.next(&mut input).unwrap() else {
        panic!("a head")
    };
    let names: Vec<_> = hop::forwarded(&head).map(|field| field.name).collect();
    assert_eq!(names, ["Host", "X-B", "X-C"]);
    let options: Vec<_> = hop::connection_options(&head).collect();
    assert_eq!(options, [&b"x-a"[..], b"keep-alive, TE"]);
}
