//! Tests that the null gateway copies bytes in both directions, and that it ends both connections
//! of a pair.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use gatebench_net::Backend;

use crate::common::backends;

/// Starts a server that sends back all bytes that it receives, and closes each connection after the
/// client does.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut reader = stream.try_clone().unwrap();
                let _ = std::io::copy(&mut reader, &mut stream);
                let _ = stream.shutdown(Shutdown::Write);
            });
        }
    });
    address
}

fn spliced(backend: Backend, target: SocketAddr, ask: impl FnOnce(SocketAddr)) {
    let stop = Arc::new(AtomicBool::new(false));
    let (listens, heard) = mpsc::channel();
    let flag = Arc::clone(&stop);
    let serving = thread::spawn(move || {
        let any = ([127, 0, 0, 1], 0).into();
        gatebench_gateway::splice(any, target, Some(backend), &flag, |at| {
            listens.send(at).unwrap()
        })
    });
    ask(heard.recv().unwrap());
    stop.store(true, Ordering::Relaxed);
    serving.join().unwrap().unwrap();
}

#[test]
fn bytes_come_back_even_if_the_reader_pauses() {
    let sent: Vec<u8> = (0..4_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    for backend in backends() {
        spliced(backend, echo(), |address| {
            let mut stream = TcpStream::connect(address).unwrap();
            let mut writer = stream.try_clone().unwrap();
            let bytes = sent.clone();
            let writing = thread::spawn(move || {
                writer.write_all(&bytes).unwrap();
                writer.shutdown(Shutdown::Write).unwrap();
            });
            thread::sleep(std::time::Duration::from_millis(50));
            let mut back = Vec::new();
            stream.read_to_end(&mut back).unwrap();
            writing.join().unwrap();
            assert!(back == sent, "{backend:?}: {} bytes", back.len());
        });
    }
}

#[test]
fn a_connection_is_kept_for_all_messages() {
    for backend in backends() {
        spliced(backend, echo(), |address| {
            let mut stream = TcpStream::connect(address).unwrap();
            for number in 0_u32..200 {
                stream.write_all(&number.to_be_bytes()).unwrap();
                let mut back = [0; 4];
                stream.read_exact(&mut back).unwrap();
                assert_eq!(u32::from_be_bytes(back), number);
            }
        });
    }
}

#[test]
fn a_target_that_refuses_ends_the_connection() {
    let refusing = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for backend in backends() {
        spliced(backend, refusing, |address| {
            let mut stream = TcpStream::connect(address).unwrap();
            let _ = stream.write_all(b"x");
            let mut back = Vec::new();
            let ended = stream.read_to_end(&mut back);
            assert!(ended.is_err() || back.is_empty());
        });
    }
}

/// The target's FIN follows 8 MiB that the client begins to read late; the pair must still be
/// closed.
#[test]
fn a_pair_is_closed_though_bytes_were_pending_when_its_last_side_ended() {
    const BYTES: usize = 8 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap();
    let (ended, is_closed) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let ended = ended.clone();
            thread::spawn(move || {
                stream.write_all(&vec![7; BYTES]).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                // Ends when the null gateway forwards the client's FIN or closes the connection.
                let left = stream.read_to_end(&mut Vec::new()).unwrap();
                ended.send(left).unwrap();
            });
        }
    });
    for backend in backends() {
        spliced(backend, target, |address| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            thread::sleep(std::time::Duration::from_millis(50));
            let mut back = Vec::new();
            stream.read_to_end(&mut back).unwrap();
            assert_eq!(back.len(), BYTES, "{backend:?}");
            let patience = std::time::Duration::from_secs(10);
            assert_eq!(is_closed.recv_timeout(patience), Ok(0), "{backend:?}");
        });
    }
}
