//! A process without free descriptors keeps its peers waiting, but does not spin.

use std::fs::File;
use std::net::TcpStream;
use std::process::Command;

use gatebench_net::{Backend, Event, Io, IoTask, choose, clock, run};

/// Marks the child process of the test below, and names the backend to be tested.
const CHILD: &str = "GATEBENCH_DESCRIPTORS_CHILD";

const PEERS: usize = 3;

/// The time for which the child, without a free descriptor, watches the loop: several times as long
/// as a listener rests.
const WATCHED_NS: u64 = 300_000_000;

#[test]
fn a_listener_rests_without_descriptors_and_accepts_afterwards() {
    let mut backends = vec![Backend::Epoll];
    if choose(None) == Backend::Uring {
        backends.push(Backend::Uring);
    }
    for backend in backends {
        let output = Command::new("sh")
            .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "descriptors::in_the_child", "--nocapture"])
            .env(CHILD, backend.as_str())
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{backend:?}: {said}");
        assert!(said.contains("1 passed"), "{backend:?}: {said}");
    }
}

#[test]
fn in_the_child() {
    let Ok(name) = std::env::var(CHILD) else {
        return;
    };
    let mut all = [Backend::Epoll, Backend::Uring].into_iter();
    let backend = all.find(|it| it.as_str() == name).unwrap();
    run(Some(backend), Exhausted).unwrap();
}

struct Exhausted;

impl IoTask for Exhausted {
    type Output = ();

    fn run<I: Io>(self, mut io: I) {
        let (_, address) = io.listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let mut events = Vec::new();
        let first = TcpStream::connect(address).unwrap();
        accept(&mut io, &mut events, 1);
        // These peers wait in the backlog, because nothing polls.
        let waiting: Vec<_> = (0..PEERS)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let taken: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        assert!(!taken.is_empty());

        let end_ns = clock::now_ns() + WATCHED_NS;
        let mut polls = 0;
        while clock::now_ns() < end_ns {
            io.poll(Some(end_ns), &mut events).unwrap();
            polls += 1;
        }
        assert!(accepted(&events) == 0, "{events:?}");
        // One poll every 50 ms, and some at the beginning; a loop that spins polls thousands of
        // times.
        assert!(polls <= 20, "{polls} polls in 0.3 s");

        drop(taken);
        accept(&mut io, &mut events, PEERS);
        drop((first, waiting));
    }
}

fn accepted(events: &[Event]) -> usize {
    let is_accepted = |event: &&Event| matches!(event, Event::Accepted { .. });
    events.iter().filter(is_accepted).count()
}

fn accept<I: Io>(io: &mut I, events: &mut Vec<Event>, peers: usize) {
    let limit_ns = clock::now_ns() + 20_000_000_000;
    while accepted(events) < peers {
        assert!(clock::now_ns() < limit_ns, "{events:?}");
        io.poll(Some(limit_ns), events).unwrap();
    }
    events.clear();
}
