//! Tests the engine against servers whose TLS fails during or after the handshake.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use gatebench_engine::ErrorKind::{ClosedEarly, Reset, Timeout, Tls};
use gatebench_engine::{ErrorKind, Load};
use gatebench_net::tls::{ClientContext, ClientSettings, Identity, Pem, Verify, self_signed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::server::{Connection, Pathology};
use crate::trial::{fails_with, only_unconnected_by, suffer, turned_away};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

fn made() -> Identity {
    self_signed(&["localhost"]).unwrap()
}

fn config(identity: &Identity) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_slice_iter(&identity.chain.bytes);
    let key = PrivateKeyDer::from_pem_slice(&identity.key.bytes).unwrap();
    let config =
        ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.map(Result::unwrap).collect(), key)
            .unwrap();
    Arc::new(config)
}

/// Makes the load trust only this identity and resume no sessions.
fn trusting(identity: &Identity) -> impl Fn(&mut Load) + use<> {
    let settings = ClientSettings {
        verify: Verify::Ca(Pem::new("chain.pem", identity.chain.bytes.clone())),
        resumption: false,
        ..ClientSettings::default()
    };
    let context = ClientContext::new(&settings, "localhost").unwrap();
    move |load| load.groups[0].target.tls = Some(context.clone())
}

/// Completes the handshake and reads a request. Returns `None` if the client is gone.
fn accept(config: &Arc<ServerConfig>, it: &mut Connection) -> Option<ServerConnection> {
    let mut session = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut stream = Stream::new(&mut session, &mut it.stream);
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
    }
    Some(session)
}

fn say(session: &mut ServerConnection, it: &mut Connection, bytes: &[u8]) {
    let _ = Stream::new(session, &mut it.stream).write_all(bytes);
}

fn brief(load: &mut Load) {
    load.measure = Duration::from_millis(300);
}

/// Asserts that the requests over the first three connections get responses, and that every later
/// connection fails with `kind`.
fn only_later_ones_fail(
    kind: ErrorKind,
    pathology: impl Pathology,
    trusts: impl Fn(&mut Load),
    change: impl Fn(&mut Load),
) {
    let both = |load: &mut Load| {
        trusts(load);
        change(load);
    };
    for outcome in suffer(pathology, both) {
        assert_eq!((outcome.counts.sent, outcome.counts.completed), (3, 3));
        only_unconnected_by(&outcome, kind);
    }
}

#[test]
fn garbage_after_the_handshake() {
    let garbage: [&[u8]; 3] = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"\x17\x03\x03\x00\x20an application record that is not",
        b"\x17\x03\x03\xff\xffa record longer than any may be",
    ];
    for bytes in garbage {
        let identity = made();
        let config = config(&identity);
        let pathology = move |it: &mut Connection| {
            if accept(&config, it).is_some() {
                it.write(bytes);
                it.fall_silent();
            }
        };
        fails_with(&[Tls], pathology, trusting(&identity));
    }
}

#[test]
fn an_alert_instead_of_a_response() {
    let identity = made();
    let config = config(&identity);
    let pathology = move |it: &mut Connection| {
        if let Some(mut session) = accept(&config, it) {
            // The only alert that rustls lets a server send is close_notify, which ends the stream
            // properly.
            session.send_close_notify();
            say(&mut session, it, b"");
        }
    };
    fails_with(&[ClosedEarly, Tls], pathology, trusting(&identity));
}

/// Without close_notify, an attacker may have truncated the stream (RFC 8446 6.1), so a body that
/// ends with its connection is incomplete.
#[test]
fn a_truncated_body_that_ends_with_its_connection() {
    let identity = made();
    let config = config(&identity);
    let pathology = move |it: &mut Connection| {
        if let Some(mut session) = accept(&config, it) {
            say(&mut session, it, b"HTTP/1.1 200 OK\r\n\r\nis this all?");
        }
    };
    fails_with(&[ClosedEarly], pathology, trusting(&identity));
}

#[test]
fn reset_under_tls() {
    let identity = made();
    let config = config(&identity);
    let pathology = move |it: &mut Connection| {
        accept(&config, it);
        it.reset();
    };
    fails_with(&[Reset], pathology, trusting(&identity));
}

#[test]
fn a_certificate_that_changes() {
    let (identity, other) = (made(), made());
    let (first, later) = (config(&identity), config(&other));
    let pathology = move |it: &mut Connection| {
        let config = if it.number < 3 { &first } else { &later };
        if let Some(mut session) = accept(config, it) {
            say(&mut session, it, RESPONSE);
            it.fall_silent();
        }
    };
    only_later_ones_fail(Tls, pathology, trusting(&identity), brief);
}

/// A handshake that stalls is counted as an error after the timeout of a request, so no user is
/// silently missing.
#[test]
fn a_handshake_that_stalls() {
    let identity = made();
    let config = config(&identity);
    let pathology = move |it: &mut Connection| {
        if it.number < 3
            && let Some(mut session) = accept(&config, it)
        {
            say(&mut session, it, RESPONSE);
        }
        it.fall_silent();
    };
    let impatient = |load: &mut Load| {
        load.groups[0].timeout = Duration::from_millis(100);
        load.measure = Duration::from_millis(500);
    };
    only_later_ones_fail(Timeout, pathology, trusting(&identity), impatient);
}

#[test]
fn no_handshake() {
    let responses: [(&[u8], &str); 4] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "TLS"),
        // A fatal alert: handshake_failure.
        (b"\x15\x03\x03\0\x02\x02\x28", "alert"),
        (b"\x16\x03\x03\0\x04\x02\0\0\0", "TLS"),
        // The announcement of a 16 MiB message.
        (b"\x16\x03\x03\x40\0\x02\xff\xff\xff", "TLS"),
    ];
    for (bytes, word) in responses {
        let reason = turned_away(trusting(&made()), move |it: &mut Connection| {
            it.write(bytes);
            it.flood(&[0; 1024], 1 << 20);
            it.fall_silent();
        });
        let said = reason.to_lowercase();
        assert!(said.contains(&word.to_lowercase()), "{bytes:?}: {reason}");
    }
}

#[test]
fn handshakes_that_fail_later() {
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"\x15\x03\x03\0\x02\x02\x28",
    ] {
        let identity = made();
        let config = config(&identity);
        let pathology = move |it: &mut Connection| {
            if it.number >= 3 {
                it.write(bytes);
                return it.fall_silent();
            }
            if let Some(mut session) = accept(&config, it) {
                say(&mut session, it, RESPONSE);
            }
        };
        only_later_ones_fail(Tls, pathology, trusting(&identity), brief);
    }
}
