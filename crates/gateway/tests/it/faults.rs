//! Tests that deliberate faults are parsed from command-line arguments, and that extra work takes
//! time.

use gatebench_gateway::{Handicap, Leak};
use gatebench_net::clock::thread_cpu_ns;

#[test]
fn a_handicap_is_iterations_and_system_calls() {
    let handicap: Handicap = "300,0.5".parse().unwrap();
    assert_eq!((handicap.spins, handicap.calls), (300, 0.5));
    for wrong in ["", "3%", "300", "-1,1", "1,-1", "1,nan", "1,1001"] {
        let said = wrong.parse::<Handicap>().unwrap_err().to_string();
        assert!(said.contains("for example 300,0.5"), "{wrong}: {said}");
    }
}

#[test]
fn more_work_takes_more_time() {
    let time = |spins, calls| {
        let began = thread_cpu_ns();
        Handicap { spins, calls }.alone(2_000);
        thread_cpu_ns() - began
    };
    let none = time(0, 0.0);
    assert!(time(2_000, 0.0) > 2 * none);
    assert!(time(0, 20.0) > 2 * none);
}

#[test]
fn a_leak_is_bytes_and_responses() {
    let leak = |word: &str| word.parse::<Leak>().ok().map(|it| (it.bytes, it.responses));
    assert_eq!(leak("1KiB/1000"), Some((1024, 1000)));
    assert_eq!(leak("7B/1"), Some((7, 1)));
    for wrong in ["", "1KiB", "1/1", "1KiB/0", "-1B/1", "1MiB/1"] {
        assert_eq!(leak(wrong), None, "{wrong}");
    }
}
