//! Tests that workers start, stop and fail together.

use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use gatebench_net::workers::{STOP_CHECK_NS, Seat, Service, Workers, WorkersError};
use gatebench_net::{Backend, Io};

/// Records the workers that ran, and stops all of them once the last one has started.
struct Roll<'a> {
    present: Mutex<Vec<usize>>,
    expected: usize,
    stop: &'a AtomicBool,
}

impl Service for Roll<'_> {
    fn run<I: Io>(&self, mut io: I, seat: Seat<'_>) -> io::Result<()> {
        let mut present = self.present.lock().unwrap();
        present.push(seat.index);
        self.stop
            .store(present.len() == self.expected, Ordering::Relaxed);
        drop(present);
        while !seat.stopped() {
            io.poll(Some(io.now_ns() + STOP_CHECK_NS), &mut Vec::new())?;
        }
        Ok(())
    }
}

fn localhost() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn workers<'a>(listen: &'a [SocketAddr], stop: &'a AtomicBool) -> Workers<'a> {
    Workers {
        listen,
        count: 3,
        cores: &[],
        backend: Some(Backend::Epoll),
        stop,
    }
}

#[test]
fn every_worker_listens_on_the_port_of_the_first() {
    let stop = AtomicBool::new(false);
    let roll = Roll {
        present: Mutex::default(),
        expected: 3,
        stop: &stop,
    };
    let mut heard = Vec::new();
    workers(&[localhost()], &stop)
        .serve(&roll, |bound| heard = bound.to_vec())
        .unwrap();
    assert_ne!(heard[0].port(), 0);
    let mut present = roll.present.into_inner().unwrap();
    present.sort_unstable();
    assert_eq!(present, [0, 1, 2]);
}

#[test]
fn the_error_names_an_address_in_use() {
    let taken = std::net::TcpListener::bind(localhost()).unwrap();
    let address = taken.local_addr().unwrap();
    let stop = AtomicBool::new(false);
    let roll = Roll {
        present: Mutex::default(),
        expected: 3,
        stop: &stop,
    };
    let error = workers(&[address], &stop)
        .serve(&roll, |_| panic!("nothing listens"))
        .unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    assert!(
        !stop.load(Ordering::Relaxed),
        "the workers must not set the owner's flag"
    );
}

#[test]
fn the_error_names_a_missing_core() {
    let stop = AtomicBool::new(false);
    let roll = Roll {
        present: Mutex::default(),
        expected: 1,
        stop: &stop,
    };
    let workers = Workers {
        cores: &[1023],
        ..workers(&[], &stop)
    };
    let error = workers.serve(&roll, |_| ()).unwrap_err();
    assert!(
        matches!(error, WorkersError::Core { core: 1023, .. }),
        "{error}"
    );
}
