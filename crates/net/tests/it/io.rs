//! Tests that both backends fulfill the contract of `Io`, over real sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use gatebench_net::{ConnId, Epoll, Event, Io, IoConfig, Peer, Uring};

use crate::common::until;

const LOOPBACK: &str = "127.0.0.1:0";

/// Returns a loop on io_uring, or prints a message and returns `None` if the kernel refuses it
/// (containers often do). With `GATEBENCH_REQUIRE_URING=1`, a refusal is a failure, because half of
/// the tests would be missing.
fn uring(config: IoConfig) -> Option<Uring> {
    match Uring::new(config) {
        Ok(io) => Some(io),
        Err(error) if std::env::var_os("GATEBENCH_REQUIRE_URING").is_some_and(|it| it == "1") => {
            panic!("this kernel refuses io_uring, which GATEBENCH_REQUIRE_URING=1 demands: {error}")
        }
        Err(error) => {
            eprintln!("SKIPPED on io_uring, which this kernel refuses: {error}");
            None
        }
    }
}

macro_rules! on_both {
    ($name:ident, $config:expr, |mut $io:ident| $body:block) => {
        mod $name {
            use super::*;
            fn body<I: Io>(mut $io: I) $body
            #[test]
            fn epoll() {
                body(Epoll::new($config).unwrap());
            }
            #[test]
            fn uring() {
                if let Some(io) = super::uring($config) {
                    body(io);
                }
            }
        }
    };
}

fn tiny() -> IoConfig {
    IoConfig {
        buffers: 2,
        buffer_bytes: 64,
    }
}

fn accepted<I: Io>(io: &mut I) -> (ConnId, TcpStream) {
    let (_, address) = io.listen(LOOPBACK.parse().unwrap(), false).unwrap();
    let peer = TcpStream::connect(address).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let conn = until(io, |_, event| match event {
        Event::Accepted { conn, .. } => Some(conn),
        _ => None,
    });
    (conn, peer)
}

fn connected<I: Io>(io: &mut I, listen: &str) -> (ConnId, TcpStream) {
    let listener = TcpListener::bind(listen).unwrap();
    let conn = io.connect(listener.local_addr().unwrap(), None).unwrap();
    until(io, |_, event| match event {
        Event::Connected { conn: it } => {
            assert_eq!(it, conn);
            Some(())
        }
        _ => None,
    });
    (conn, listener.accept().unwrap().0)
}

on_both!(
    bytes_received_arrive_in_order_through_few_buffers,
    tiny(),
    |mut io| {
        let (conn, mut peer) = accepted(&mut io);
        let sent: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let expected = sent.clone();
        let writer = std::thread::spawn(move || {
            peer.write_all(&sent).unwrap();
            peer
        });
        let mut got = Vec::new();
        until(&mut io, |_, event| match event {
            Event::Received { conn: it, bytes } => {
                assert_eq!(it, conn);
                got.extend_from_slice(&bytes);
                (got.len() == 100_000).then_some(())
            }
            _ => None,
        });
        assert_eq!(got, expected);
        drop(writer.join().unwrap());
        until(&mut io, |_, event| {
            matches!(event, Event::EndOfStream { .. }).then_some(())
        });
    }
);

on_both!(many_connections_share_two_buffers, tiny(), |mut io| {
    let (_, address) = io.listen(LOOPBACK.parse().unwrap(), false).unwrap();
    let mut peers: Vec<_> = (0..40)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    for peer in &mut peers {
        peer.write_all(b"hello").unwrap();
    }
    let mut got = 0;
    until(&mut io, |_, event| {
        if let Event::Received { bytes, .. } = event {
            got += bytes.len();
        }
        (got == 200).then_some(())
    });
});

on_both!(
    a_send_larger_than_the_kernel_takes_goes_out_whole,
    IoConfig::default(),
    |mut io| {
        for now in [false, true] {
            let (conn, mut peer) = connected(&mut io, LOOPBACK);
            let bytes: Vec<u8> = (0..8_000_000u32).map(|n| (n % 253) as u8).collect();
            let expected = bytes.clone();
            let reader = std::thread::spawn(move || {
                let mut got = vec![0; expected.len()];
                peer.read_exact(&mut got).unwrap();
                assert!(got == expected);
                peer
            });
            let at_once = if now {
                io.send_now(conn, bytes.clone())
            } else {
                io.send(conn, bytes.clone())
            };
            assert!(at_once.is_none(), "a large send is followed by its event");
            let back = until(&mut io, |_, event| match event {
                Event::Sent { bytes, .. } => Some(bytes),
                _ => None,
            });
            assert!(back == bytes, "the vector is returned unchanged");
            io.shutdown(conn);
            let mut peer = reader.join().unwrap();
            // Sending FIN needs no further poll.
            assert_eq!(peer.read_to_end(&mut Vec::new()).unwrap(), 0);
        }
    }
);

on_both!(
    a_paused_connection_receives_nothing_until_resumed,
    IoConfig::default(),
    |mut io| {
        let (conn, mut peer) = accepted(&mut io);
        io.pause(conn);
        let mut events = Vec::new();
        let soon = io.now_ns() + 20_000_000;
        io.poll(Some(soon), &mut events).unwrap();
        peer.write_all(b"later").unwrap();
        let soon = io.now_ns() + 50_000_000;
        while io.now_ns() < soon {
            io.poll(Some(soon), &mut events).unwrap();
        }
        assert!(
            events
                .iter()
                .all(|event| !matches!(event, Event::Received { .. })),
            "{events:?}"
        );
        // Pausing and resuming in one round must not lose the receive.
        io.resume(conn);
        io.pause(conn);
        io.resume(conn);
        until(&mut io, |_, event| match event {
            Event::Received { bytes, .. } => {
                assert_eq!(&bytes[..], b"later");
                Some(())
            }
            _ => None,
        });
        peer.write_all(b"again").unwrap();
        until(&mut io, |_, event| match event {
            Event::Received { bytes, .. } => {
                assert_eq!(&bytes[..], b"again");
                Some(())
            }
            _ => None,
        });
    }
);

on_both!(
    a_refused_connection_fails_with_its_reason,
    IoConfig::default(),
    |mut io| {
        let listener = TcpListener::bind(LOOPBACK).unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let conn = io.connect(address, None).unwrap();
        let error = until(&mut io, |_, event| match event {
            Event::Failed { error, .. } => Some(error),
            _ => None,
        });
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        io.close(conn);
    }
);

on_both!(
    a_reset_is_a_failure_and_an_abort_is_a_reset,
    IoConfig::default(),
    |mut io| {
        let (conn, mut peer) = connected(&mut io, LOOPBACK);
        io.abort(conn);
        let mut events = Vec::new();
        let soon = io.now_ns() + 20_000_000;
        io.poll(Some(soon), &mut events).unwrap();
        assert!(
            events.is_empty(),
            "an aborted connection has no events: {events:?}"
        );
        assert_eq!(
            peer.read_to_end(&mut Vec::new()).unwrap_err().kind(),
            std::io::ErrorKind::ConnectionReset
        );
    }
);

on_both!(
    a_closed_connection_is_silent_and_its_slot_is_used_again,
    IoConfig::default(),
    |mut io| {
        let (first, mut peer) = connected(&mut io, LOOPBACK);
        peer.write_all(b"too late").unwrap();
        io.close(first);
        let (second, mut other) = connected(&mut io, LOOPBACK);
        assert_ne!(first, second);
        assert!(io.send(first, b"into the void".to_vec()).is_none());
        other.write_all(b"x").unwrap();
        until(&mut io, |_, event| {
            assert_eq!(event.conn(), second);
            matches!(event, Event::Received { .. }).then_some(())
        });
        let mut rest = Vec::new();
        // The peer receives RST if the kernel still held unread bytes, and otherwise FIN.
        let _ = peer.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
);

on_both!(
    ipv6_and_a_source_address_work,
    IoConfig::default(),
    |mut io| {
        let (conn, mut peer) = connected(&mut io, "[::1]:0");
        let back = io.send_now(conn, b"six".to_vec());
        assert_eq!(
            back.as_deref(),
            Some(&b"six"[..]),
            "a small send completes at once"
        );
        let mut got = [0; 3];
        peer.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"six");

        let listener = TcpListener::bind(LOOPBACK).unwrap();
        io.connect(
            listener.local_addr().unwrap(),
            Some("127.0.0.9".parse().unwrap()),
        )
        .unwrap();
        until(&mut io, |_, event| match event {
            Event::Connected { conn: it } if it != conn => Some(()),
            _ => None,
        });
        let (_, from) = listener.accept().unwrap();
        assert_eq!(from.ip().to_string(), "127.0.0.9");
    }
);

on_both!(a_poll_ends_at_its_time, IoConfig::default(), |mut io| {
    let mut events = Vec::new();
    let (_, _) = Io::listen(&mut io, LOOPBACK.parse().unwrap(), false).unwrap();
    let target = io.now_ns() + 5_000_000;
    while io.now_ns() < target {
        io.poll(Some(target), &mut events).unwrap();
    }
    io.poll(Some(0), &mut events).unwrap();
    assert!(events.is_empty());
});

on_both!(a_listener_stops, IoConfig::default(), |mut io| {
    let (listener, address) = io.listen(LOOPBACK.parse().unwrap(), false).unwrap();
    let mut events = Vec::new();
    io.poll(Some(0), &mut events).unwrap();
    io.stop_listening(listener);
    let limit = io.now_ns() + 10_000_000_000;
    while TcpStream::connect(address).is_ok() {
        assert!(io.now_ns() < limit, "the listener still accepts after 10 s");
        io.poll(Some(0), &mut events).unwrap();
    }
});

on_both!(
    a_unix_socket_is_connected_to,
    IoConfig::default(),
    |mut io| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let conn = io.connect(Peer::Unix(path), None).unwrap();
        until(&mut io, |_, event| match event {
            Event::Connected { conn: it } => {
                assert_eq!(it, conn);
                Some(())
            }
            _ => None,
        });
        let (mut peer, _) = listener.accept().unwrap();
        assert!(io.send_now(conn, b"ping".to_vec()).is_some());
        let mut got = [0; 4];
        peer.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"ping");
        peer.write_all(b"pong").unwrap();
        until(&mut io, |_, event| match event {
            Event::Received { bytes, .. } => {
                assert_eq!(&bytes[..], b"pong");
                Some(())
            }
            _ => None,
        });
        drop(peer);
        until(&mut io, |_, event| {
            matches!(event, Event::EndOfStream { .. }).then_some(())
        });
        io.close(conn);
    }
);

on_both!(
    a_unix_socket_that_is_not_there_fails_with_its_reason,
    IoConfig::default(),
    |mut io| {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.sock");
        let conn = io.connect(missing.as_path(), None).unwrap();
        let error = until(&mut io, |_, event| match event {
            Event::Failed { conn: it, error } => {
                assert_eq!(it, conn);
                Some(error)
            }
            _ => None,
        });
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        io.close(conn);

        // An invalid address is reported at once.
        for path in ["x".repeat(200), "a\0b".to_owned()] {
            io.connect(Peer::Unix(PathBuf::from(path)), None)
                .unwrap_err();
        }
    }
);
