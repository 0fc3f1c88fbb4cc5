//! Tests the ends of streams, truncated streams and garbage input.

use proptest::prelude::*;

use super::*;

#[test]
fn a_clean_close_differs_from_a_cut() {
    for version in Version::ALL {
        let (client, server) = contexts(|client, _| {
            (client.min, client.max) = (version, version);
        });
        let mut pair = Pair::new(&client, &server);
        assert_eq!(
            pair.client.end_of_stream(),
            Err(SessionError::ClosedInHandshake)
        );
        pair.talk().0.unwrap();
        assert_eq!(pair.client.end_of_stream(), Err(SessionError::Truncated));

        pair.server
            .send(b"last words", &mut pair.to_client)
            .unwrap();
        pair.server.close(&mut pair.to_client);
        pair.server.send(b"too late", &mut pair.to_client).unwrap();
        assert_eq!(pair.talk(), (Ok(()), Ok(())));
        assert_eq!(pair.client_heard, b"last words");
        assert!(pair.client.is_closed_by_peer());
        assert_eq!(pair.client.end_of_stream(), Ok(()));
        assert_eq!(pair.server.end_of_stream(), Err(SessionError::Truncated));

        pair.client.close(&mut pair.to_server);
        assert_eq!(pair.talk(), (Ok(()), Ok(())));
        assert_eq!(pair.server.end_of_stream(), Ok(()));
    }
}

#[test]
fn bytes_after_close_notify_are_ignored() {
    let (client, server) = contexts(|_, _| ());
    let mut pair = Pair::ready(&client, &server);
    pair.server.close(&mut pair.to_client);
    pair.to_client.extend_from_slice(b"anything at all");
    assert_eq!(pair.talk(), (Ok(()), Ok(())));
    assert!(pair.client_heard.is_empty());
}

#[test]
fn an_altered_record_is_an_error_on_both_sides() {
    let (client, server) = contexts(|_, _| ());
    let mut pair = Pair::ready(&client, &server);
    pair.client.send(b"first", &mut pair.to_server).unwrap();
    let whole = pair.to_server.len();
    pair.client.send(b"second", &mut pair.to_server).unwrap();
    pair.to_server[whole + 7] ^= 1;
    let (client, server) = pair.talk();
    assert!(
        matches!(server, Err(SessionError::Protocol(_))),
        "{server:?}"
    );
    assert_eq!(
        pair.server_heard, b"first",
        "the plaintext before the altered record is delivered"
    );
    assert!(
        matches!(&client, Err(SessionError::Alert { name }) if name == "bad_record_mac"),
        "{client:?}"
    );
}

#[test]
fn http_without_tls_is_recognized() {
    let (client, server) = contexts(|_, _| ());
    let mut out = Vec::new();
    let mut session = Session::client(&client, &mut out).unwrap();
    let response = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    let error = session.receive(response, &mut out, |_| ()).unwrap_err();
    assert_eq!(error, SessionError::NotTls);
    let mut session = Session::server(&server).unwrap();
    let error = session
        .receive(b"GET / HTTP/1.1\r\n\r\n", &mut out, |_| ())
        .unwrap_err();
    assert_eq!(error, SessionError::NotTls);
}

/// Passes `bytes` to a session in pieces, and returns the plaintext. `cuts` contains the lengths of
/// the pieces, which are repeated as necessary.
fn in_pieces(
    session: &mut Session,
    mut bytes: &[u8],
    cuts: &[usize],
    out: &mut Vec<u8>,
) -> Vec<u8> {
    let mut heard = Vec::new();
    let mut cuts = cuts.iter().cycle();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at((*cuts.next().unwrap()).min(bytes.len()));
        session
            .receive(piece, out, |plain| {
                assert!(!plain.is_empty());
                heard.extend_from_slice(plain);
            })
            .unwrap();
        bytes = rest;
    }
    heard
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_split_gives_the_same_result(
        cuts in prop::collection::vec(1usize..9000, 1..12),
        lengths in prop::collection::vec(0usize..40_000, 1..5),
        version in prop::sample::select(&Version::ALL[..]),
    ) {
        let (client, server) = contexts(|client, _| (client.min, client.max) = (version, version));
        let mut pair = Pair::new(&client, &server);
        let mut said = Vec::new();
        // The handshake arrives in pieces too, and data follows it directly.
        for (at, length) in lengths.iter().enumerate() {
            let plain: Vec<u8> = (0..*length).map(|n| (n + at) as u8).collect();
            said.extend_from_slice(&plain);
            pair.client.send(&plain, &mut pair.to_server).unwrap();
        }
        let mut heard = Vec::new();
        while !(pair.to_server.is_empty() && pair.to_client.is_empty()) {
            let bytes = std::mem::take(&mut pair.to_server);
            heard.extend(in_pieces(&mut pair.server, &bytes, &cuts, &mut pair.to_client));
            let bytes = std::mem::take(&mut pair.to_client);
            in_pieces(&mut pair.client, &bytes, &cuts, &mut pair.to_server);
        }
        prop_assert!(heard == said);
    }

    #[test]
    fn garbage_is_an_error_and_no_panic(
        garbage in prop::collection::vec(any::<u8>(), 1..20_000),
        header in prop::option::of((20u8..24, 0u16..17_000)),
        after_handshake in any::<bool>(),
    ) {
        let (client, server) = contexts(|_, _| ());
        let mut pair = Pair::new(&client, &server);
        if after_handshake {
            pair.talk().0.unwrap();
        }
        let mut bytes = Vec::new();
        if let Some((kind, length)) = header {
            bytes.extend_from_slice(&[kind, 3, 3]);
            bytes.extend_from_slice(&length.to_be_bytes());
        }
        bytes.extend_from_slice(&garbage);
        for session in [&mut pair.client, &mut pair.server] {
            let mut out = Vec::new();
            let first = session.receive(&bytes, &mut out, |_| panic!("garbage has no plaintext"));
            // Input that is too short for a record is not an error yet.
            if first.is_err() {
                prop_assert!(session.receive(&bytes, &mut out, |_| panic!("the session is over")).is_err());
            }
        }
    }
}
