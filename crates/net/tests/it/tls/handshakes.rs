//! Tests handshakes that succeed or fail, depending on the settings of both sides.

use super::*;

fn alert(name: &str) -> Result<(), SessionError> {
    Err(SessionError::Alert {
        name: name.to_owned(),
    })
}

#[test]
fn both_versions_carry_data_both_ways() {
    for version in Version::ALL {
        let (client, server) = contexts(|client, _| {
            (client.min, client.max) = (version, version);
        });
        let mut pair = Pair::ready(&client, &server);
        assert_eq!(pair.client.version(), Some(version));
        assert_eq!(pair.server.version(), Some(version));
        assert_eq!(pair.ask(b"request"), b"request");
        assert_eq!(pair.send_from_server(b"answer"), b"answer");
        let long: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        assert!(pair.ask(&long) == long);
        assert!(pair.send_from_server(&long) == long);
    }
}

#[test]
fn data_sent_during_the_handshake_follows_it() {
    let (client, server) = contexts(|_, _| ());
    let mut pair = Pair::new(&client, &server);
    pair.client.send(b"early", &mut pair.to_server).unwrap();
    pair.server.send(b"bird", &mut pair.to_client).unwrap();
    assert_eq!(pair.talk(), (Ok(()), Ok(())));
    assert_eq!(pair.server_heard, b"early");
    assert_eq!(pair.client_heard, b"bird");
}

#[test]
fn sessions_are_resumed_if_both_sides_allow_it() {
    for version in Version::ALL {
        for (at_client, at_server) in [(true, true), (true, false), (false, true)] {
            let (client, server) = contexts(|client, server| {
                (client.min, client.max) = (version, version);
                (client.resumption, server.resumption) = (at_client, at_server);
            });
            let first = Pair::ready(&client, &server);
            assert!(!first.client.resumed() && !first.server.resumed());
            let mut second = Pair::ready(&client, &server);
            let expected = at_client && at_server;
            assert_eq!(second.client.resumed(), expected, "TLS {version}");
            assert_eq!(second.server.resumed(), expected, "TLS {version}");
            assert_eq!(second.ask(b"again"), b"again");
            let apart = Pair::ready(&client.separate(), &server);
            assert!(
                !apart.client.resumed(),
                "a separate context has no sessions"
            );
        }
    }
}

#[test]
fn alpn_follows_the_servers_preference_and_refuses_unknown_protocols() {
    let choose = |client: &[&str], server: &[&str]| {
        let words = |it: &[&str]| it.iter().map(|it| it.as_bytes().to_vec()).collect();
        let (client, server) = contexts(|c, s| (c.alpn, s.alpn) = (words(client), words(server)));
        let mut pair = Pair::new(&client, &server);
        let results = pair.talk();
        let text = |it: Option<&[u8]>| it.map(|it| String::from_utf8(it.to_vec()).unwrap());
        assert_eq!(pair.client.alpn(), pair.server.alpn());
        (results, text(pair.client.alpn()))
    };
    let fine = || (Ok(()), Ok(()));
    assert_eq!(
        choose(&["http/1.1", "h2"], &["h2", "http/1.1"]),
        (fine(), Some("h2".into()))
    );
    assert_eq!(
        choose(&["http/1.1"], &["h2", "http/1.1"]),
        (fine(), Some("http/1.1".into()))
    );
    assert_eq!(choose(&[], &["h2"]), (fine(), None));
    assert_eq!(choose(&["h2"], &[]), (fine(), None));
    let ((client, server), _) = choose(&["h2"], &["http/1.1"]);
    assert_eq!(client, alert("no_application_protocol"));
    assert!(
        matches!(server, Err(SessionError::Incompatible(_))),
        "{server:?}"
    );
}

#[test]
fn disjoint_versions_are_reported() {
    let (client, server) = contexts(|client, server| {
        client.max = Version::Tls12;
        server.min = Version::Tls13;
    });
    let (client, server) = Pair::new(&client, &server).talk();
    assert_eq!(client, alert("protocol_version"));
    assert!(
        matches!(server, Err(SessionError::Incompatible(_))),
        "{server:?}"
    );
}

#[test]
fn certificates_are_verified() {
    let (authority, stranger) = (Authority::new("authority"), Authority::new("stranger"));
    let judge = |settings: &ClientSettings, host: &str, identity: Identity| {
        let client = ClientContext::new(settings, host).unwrap();
        let server = ServerContext::new(&ServerSettings::new(identity)).unwrap();
        let (client, server) = Pair::new(&client, &server).talk();
        match client {
            Ok(()) => (String::new(), server),
            Err(error @ SessionError::Certificate { .. }) => (error.to_string(), server),
            Err(error) => panic!("{error}"),
        }
    };
    let trust = trusting(&authority);

    assert_eq!(
        judge(&trust, "localhost", authority.issue(&["localhost"])).1,
        Ok(())
    );
    assert_eq!(
        judge(&trust, "127.0.0.1", authority.issue(&["127.0.0.1"])).1,
        Ok(())
    );
    assert_eq!(judge(&trust, "[::1]", authority.issue(&["::1"])).1, Ok(()));

    let (said, server) = judge(&trust, "localhost", stranger.issue(&["localhost"]));
    assert!(
        said.contains("UnknownIssuer") && said.contains("the CA"),
        "{said}"
    );
    assert_eq!(server, alert("unknown_ca"));

    let (said, server) = judge(&trust, "localhost", authority.issue(&["example.com"]));
    assert!(
        said.contains("localhost") && said.contains("example.com"),
        "{said}"
    );
    assert_eq!(server, alert("bad_certificate"));

    let (said, server) = judge(&trust, "localhost", authority.issue_expired(&["localhost"]));
    assert!(said.contains("expired") && said.contains("clock"), "{said}");
    assert_eq!(server, alert("certificate_expired"));

    let (said, _) = judge(&trust, "localhost", authority.shown(&["localhost"]));
    assert!(
        said.contains("CA:TRUE") && !said.contains("Other("),
        "{said}"
    );

    let named = ClientSettings {
        server_name: Some("example.com".to_owned()),
        ..trust.clone()
    };
    assert_eq!(
        judge(&named, "localhost", authority.issue(&["example.com"])).1,
        Ok(())
    );

    let skip = ClientSettings {
        verify: Verify::Skip,
        ..ClientSettings::default()
    };
    for version in Version::ALL {
        let skip = ClientSettings {
            min: version,
            max: version,
            ..skip.clone()
        };
        assert_eq!(
            judge(&skip, "localhost", stranger.issue_expired(&["no"])).1,
            Ok(())
        );
    }
}

#[test]
fn a_self_signed_certificate_is_its_own_authority() {
    let identity = self_signed(&["localhost", "127.0.0.1"]).unwrap();
    let settings = ClientSettings {
        verify: Verify::Ca(identity.chain.clone()),
        ..ClientSettings::default()
    };
    let server = ServerContext::new(&ServerSettings::new(identity)).unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let client = ClientContext::new(&settings, host).unwrap();
        assert_eq!(Pair::ready(&client, &server).ask(b"hello"), b"hello");
    }
}

#[test]
fn a_client_certificate_is_required_if_configured() {
    let (authority, stranger) = (Authority::new("clients"), Authority::new("stranger"));
    for version in Version::ALL {
        let talk = |identity: Option<Identity>| {
            let (client, server) = contexts(|client, server| {
                server.client_ca = Some(authority.pem());
                client.identity = identity;
                (client.min, client.max) = (version, version);
            });
            Pair::new(&client, &server).talk()
        };
        assert_eq!(talk(Some(authority.issue(&["client"]))), (Ok(()), Ok(())));

        let (client, server) = talk(None);
        assert_eq!(client, alert("certificate_required"));
        let said = server.unwrap_err().to_string();
        assert!(said.contains("the peer sent none"), "{said}");

        let (client, server) = talk(Some(stranger.issue(&["client"])));
        assert!(client.is_err() && server.is_err(), "{client:?} {server:?}");
    }
}
