//! Fields of one connection, which a proxy does not forward (RFC 9110 7.6.1).

use gatebench_net::http1::{Decoder, Event, Limits, hop};

#[test]
fn fields_of_one_connection_are_recognized() {
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
fn names_that_cgi_confuses_are_alike() {
    let alike = [
        ("Transfer_Encoding", "transfer-encoding"),
        ("X_User", "X-User"),
        ("x.user", "X-User"),
        ("X-USER", "x-user"),
        ("X-User", "X_User"),
    ];
    for (name, known) in alike {
        assert!(hop::is_alike(name.as_bytes(), known.as_bytes()), "{name}");
    }
    let others = [
        ("XaUser", "X-User"),
        ("X_User2", "X-User"),
        ("X_Uses", "X-User"),
    ];
    for (name, known) in others {
        assert!(!hop::is_alike(name.as_bytes(), known.as_bytes()), "{name}");
    }
    assert!(hop::is_hop_by_hop("Keep_Alive", []));
    assert!(hop::is_hop_by_hop("X_Secret", [&b"x-secret"[..]]));
}

#[test]
fn a_proxy_forwards_the_other_fields() {
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
