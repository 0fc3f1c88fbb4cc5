//! Tests the timers that limit a thread's CPU time. This is a separate binary because one test
//! counts the timers of the whole process.
#![allow(clippy::unwrap_used)]

// Only `cpu` is used here, not `cpu_of`.
#[allow(dead_code)]
#[path = "it/common/processor.rs"]
mod processor;

use std::fs;
use std::time::Duration;

use gatebench_xml::{Budget, Document, Limits, Spent};
use processor::cpu;

/// True under Valgrind, where no time is limited and reading a thread's clock ends the process.
const IS_UNDER_VALGRIND: bool = cfg!(feature = "plain-memory");

fn timers() -> usize {
    let list = fs::read_to_string("/proc/self/timers").unwrap();
    list.lines().filter(|line| line.starts_with("ID:")).count()
}

/// Uses CPU time without allocating memory.
fn burn(time: Duration) {
    let begun = cpu();
    while cpu() - begun < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_thread_has_one_timer_until_it_ends() {
    if IS_UNDER_VALGRIND {
        return;
    }
    let before = timers();
    let late = Limits {
        time_ms: Some(20),
        ..Limits::default()
    };
    for _ in 0..5 {
        std::thread::spawn(move || {
            for _ in 0..2 {
                let budget = Budget::begin(&Limits::default());
                assert!(Document::parse(b"<a/>", &Limits::default()).is_ok());
                assert_eq!(budget.end(), None);
                assert_eq!(timers(), before + 1);
                // The timer stops while there is no budget, and the next budget restarts it.
                burn(Duration::from_millis(30));
                let budget = Budget::begin(&late);
                burn(Duration::from_millis(50));
                assert_eq!(budget.end(), Some(Spent::Time));
            }
        })
        .join()
        .unwrap();
    }
    assert_eq!(timers(), before);
}

/// Definitions are compiled without a time limit.
#[test]
fn a_budget_without_a_bound_on_time_is_never_late() {
    if IS_UNDER_VALGRIND {
        return;
    }
    let unbounded = Limits {
        time_ms: None,
        ..Limits::default()
    };
    let budget = Budget::begin(&unbounded);
    burn(Duration::from_millis(30));
    assert_eq!(budget.end(), None);
}
