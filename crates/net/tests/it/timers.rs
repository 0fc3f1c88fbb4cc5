//! Tests timers and deadlines at exact times.

use gatebench_net::timers::{Deadline, Timers};

#[test]
fn keys_come_out_in_time_order_and_not_early() {
    let mut timers = Timers::default();
    for (due_ns, key) in [(30, 'c'), (10, 'a'), (20, 'b'), (20, 'B')] {
        timers.schedule(due_ns, key);
    }
    assert_eq!((timers.next_ns(), timers.len()), (Some(10), 4));
    assert_eq!(timers.pop_due(9), None);
    assert_eq!(timers.pop_due(20), Some('a'));
    assert_eq!(timers.pop_due(20), Some('b'));
    assert_eq!(timers.pop_due(20), Some('B'));
    assert_eq!(timers.pop_due(20), None);
    assert_eq!(timers.pop_due(u64::MAX), Some('c'));
    assert!(timers.is_empty() && timers.next_ns().is_none());
}

#[test]
fn a_deadline_that_moves_away_keeps_one_entry() {
    let (mut deadline, mut timers) = (Deadline::default(), Timers::default());
    for now_ns in 0..1000 {
        deadline.set(now_ns + 100, 'x', &mut timers);
    }
    assert_eq!((timers.len(), timers.next_ns()), (1, Some(100)));
    assert_eq!(timers.pop_due(100), Some('x'));
    assert!(!deadline.expired(100, 'x', &mut timers));
    assert_eq!(timers.next_ns(), Some(1099));
    assert_eq!(timers.pop_due(1099), Some('x'));
    assert!(deadline.expired(1099, 'x', &mut timers));
    assert!(timers.is_empty());
}

#[test]
fn a_deadline_that_comes_nearer_fires_at_the_nearer_time_and_once() {
    let (mut deadline, mut timers) = (Deadline::default(), Timers::default());
    deadline.set(1000, 'x', &mut timers);
    deadline.set(10, 'x', &mut timers);
    assert_eq!(timers.pop_due(10), Some('x'));
    assert!(deadline.expired(10, 'x', &mut timers));
    assert_eq!(timers.pop_due(1000), Some('x'));
    assert!(!deadline.expired(1000, 'x', &mut timers));
    assert!(timers.is_empty());
}

#[test]
fn a_cleared_deadline_never_fires() {
    let (mut deadline, mut timers) = (Deadline::default(), Timers::default());
    deadline.set(10, 'x', &mut timers);
    deadline.clear();
    assert_eq!(timers.pop_due(10), Some('x'));
    assert!(!deadline.expired(10, 'x', &mut timers));
    deadline.set(20, 'x', &mut timers);
    assert_eq!(timers.next_ns(), Some(20));
}
