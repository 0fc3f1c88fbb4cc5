use std::thread;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn body(name: u8, size: usize) -> Body {
    let mut bytes = vec![0; size];
    bytes[0] = name;
    Body::new(bytes)
}

/// Returns a queue in which these bodies of one byte wait.
fn queue_of(names: impl IntoIterator<Item = u8>) -> Queue {
    let queue = Queue::default();
    for name in names {
        queue.add(body(name, 1), 0);
    }
    queue
}

fn names<'a>(bodies: impl IntoIterator<Item = &'a Body>) -> Vec<u8> {
    bodies.into_iter().map(|body| body.bytes[0]).collect()
}

fn waiting(queue: &Queue) -> Vec<u8> {
    names(&queue.state().waiting)
}

fn refusal(then: Then) -> Refusal {
    Refusal {
        target: "target".into(),
        what: String::new(),
        remedy: String::new(),
        then,
    }
}

/// Takes the next push. Panics instead of blocking if nothing waits.
fn push(queue: &Queue) -> Push {
    assert!(!waiting(queue).is_empty(), "nothing waits");
    queue.next().unwrap()
}

fn deliver(queue: &Queue) -> Vec<u8> {
    let push = push(queue);
    queue.delivered(&push);
    names(&push)
}

fn refuse(queue: &Queue, then: Then) -> Duration {
    let push = push(queue);
    queue.refused(push, refusal(then))
}

fn delivery(queue: &Queue) -> Delivery {
    queue.await_end(&Target::parse("jsonl=-", &|_| None).unwrap())
}

/// The numbers of delivered and dropped bodies. Those that still wait count as dropped.
fn counts(queue: &Queue) -> (u64, u64) {
    let delivery = delivery(queue);
    (delivery.delivered, delivery.dropped)
}

#[test]
fn the_oldest_bodies_are_dropped_if_too_many_bytes_wait() {
    let queue = Queue::default();
    for name in 1..=4 {
        queue.add(body(name, BYTES_MAX / 4), 0);
    }
    assert_eq!(waiting(&queue), [1, 2, 3, 4]);
    queue.add(body(5, 1), 0);
    assert_eq!(waiting(&queue), [2, 3, 4, 5]);
    let oldest = push(&queue);
    queue.add(body(6, BYTES_MAX / 4), 0);
    assert_eq!(names(&oldest), [2]);
    assert_eq!(waiting(&queue), [3, 4, 5, 6]);
    queue.refused(oldest, refusal(Then::Again));
    assert_eq!(waiting(&queue), [3, 4, 5, 6]);
    assert_eq!(queue.state().dropped, 2);
    assert_eq!(counts(&queue), (0, 6));
}

#[test]
fn bodies_that_have_waited_for_two_minutes_are_dropped() {
    let queue = queue_of([1, 2]);
    queue.state().waiting[0].made -= KEPT_FOR - MINUTE;
    queue.add(body(3, 1), 0);
    assert_eq!(waiting(&queue), [1, 2, 3]);
    queue.state().waiting[0].made -= MINUTE;
    queue.add(body(4, 1), 0);
    assert_eq!(waiting(&queue), [2, 3, 4]);
    let mut failed = push(&queue);
    failed[0].made -= KEPT_FOR;
    queue.refused(failed, refusal(Then::Again));
    assert_eq!(waiting(&queue), [3, 4]);
    assert_eq!(queue.state().dropped, 2);
}

#[test]
fn a_body_that_may_have_arrived_is_sent_a_few_times_after_the_pause_that_the_server_requests() {
    let requested = Duration::from_secs(7);
    let queue = queue_of([1]);
    for _ in 1..ATTEMPTS_MAX {
        assert_eq!(refuse(&queue, Then::Retry(Some(requested))), requested);
        assert_eq!(waiting(&queue), [1]);
    }
    queue.add(body(2, 1), 0);
    assert_eq!(refuse(&queue, Then::Retry(Some(requested))), requested);
    assert_eq!(waiting(&queue), [2]);
    assert_eq!(queue.state().dropped, 1);
    assert_eq!(deliver(&queue), [2]);
    assert_eq!(counts(&queue), (1, 1));
}

#[test]
fn the_pause_doubles_up_to_its_maximum_and_a_body_that_did_not_arrive_is_kept() {
    let queue = queue_of([1]);
    let pauses = [1, 2, 4, 8, 8, 8].map(Duration::from_secs);
    assert_eq!(pauses.map(|_| refuse(&queue, Then::Again)), pauses);
    assert_eq!(deliver(&queue), [1]);
    queue.add(body(2, 1), 0);
    assert_eq!(refuse(&queue, Then::Retry(None)), PAUSE_MIN);
    assert_eq!(refuse(&queue, Then::Again), PAUSE_MIN * 2);
    assert_eq!(refuse(&queue, Then::Drop), Duration::ZERO);
    assert_eq!(counts(&queue), (1, 1));
    queue.add(body(3, 1), 0);
    assert_eq!(refuse(&queue, Then::Again), PAUSE_MIN);
}

#[test]
fn a_push_that_was_too_large_is_sent_body_by_body() {
    let queue = queue_of([1, 2, 3]);
    let all = push(&queue);
    assert_eq!(names(&all), [1, 2, 3]);
    assert_eq!(queue.refused(all, refusal(Then::Smaller)), Duration::ZERO);
    assert_eq!(deliver(&queue), [1]);
    assert_eq!(refuse(&queue, Then::Smaller), Duration::ZERO);
    assert_eq!(deliver(&queue), [3]);
    assert_eq!(counts(&queue), (2, 1));
}

#[test]
fn a_push_exceeds_its_maximum_size_only_if_it_is_a_single_body() {
    let queue = Queue::default();
    for (name, size) in [(1, PUSH_BYTES - 1), (2, 1), (3, 1), (4, PUSH_BYTES + 1)] {
        queue.add(body(name, size), 0);
    }
    for expected in [&[1, 2][..], &[3], &[4]] {
        assert_eq!(deliver(&queue), expected);
    }
}

#[test]
fn a_closed_queue_ends_once_nothing_waits() {
    let queue = Queue::default();
    queue.add(body(1, 1), 3);
    queue.close(Instant::now() + MINUTE);
    assert_eq!(deliver(&queue), [1]);
    queue.spent(4);
    assert!(queue.next().is_none());
    assert_eq!(counts(&queue), (1, 0));
    assert_eq!(delivery(&queue).cpu, Duration::from_nanos(7));
}

#[test]
fn bodies_that_are_not_delivered_in_time_count_as_dropped() {
    let queue = queue_of([1]);
    let under_way = push(&queue);
    queue.add(body(2, 1), 0);
    queue.close(Instant::now());
    // A later call does not change the end.
    queue.close(Instant::now() + MINUTE);
    assert_eq!(counts(&queue), (0, 2));
    assert!(queue.next().is_none());
    assert_eq!(queue.state().dropped, 1);
    assert_eq!(counts(&queue), (0, 2));
    queue.delivered(&under_way);
    assert_eq!(counts(&queue), (1, 1));
}

#[test]
fn closing_ends_a_pause_and_after_a_failure_the_end_of_sending_does() {
    let begun = Instant::now();
    let idle = Queue::default();
    thread::scope(|scope| {
        scope.spawn(|| idle.pause(MINUTE));
        idle.close(begun + MINUTE);
    });
    let failing = queue_of([1]);
    refuse(&failing, Then::Again);
    let end = begun + Duration::from_millis(50);
    failing.close(end);
    assert_eq!(failing.deadline(begun + MINUTE), end);
    failing.pause(MINUTE);
    assert!(Instant::now() >= end);
    assert!(begun.elapsed() < MINUTE / 2);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Add { size: usize, age: Duration },
    Deliver,
    Refuse(Then),
}

const STEPS: [Step; 8] = [
    Step::Add {
        size: 1,
        age: Duration::ZERO,
    },
    Step::Add {
        size: BYTES_MAX / 2 + 1,
        age: Duration::ZERO,
    },
    Step::Add {
        size: 1,
        age: KEPT_FOR.saturating_add(MINUTE),
    },
    Step::Deliver,
    Step::Refuse(Then::Again),
    Step::Refuse(Then::Retry(None)),
    Step::Refuse(Then::Smaller),
    Step::Refuse(Then::Drop),
];
/// Enough for a body that is dropped after its last attempt.
const LENGTH: u32 = ATTEMPTS_MAX + 1;

/// The ways in which sending ends. Each returns the number of bodies that it delivers.
const ENDS: [fn(&Queue) -> u64; 3] = [send_the_rest, run_out_of_time, leave_under_way];

fn send_the_rest(queue: &Queue) -> u64 {
    queue.close(Instant::now() + MINUTE);
    let mut delivered = 0;
    while let Some(push) = queue.next() {
        queue.delivered(&push);
        delivered += push.len() as u64;
    }
    delivered
}

fn run_out_of_time(queue: &Queue) -> u64 {
    queue.close(Instant::now());
    assert!(queue.next().is_none());
    0
}

fn leave_under_way(queue: &Queue) -> u64 {
    if !waiting(queue).is_empty() {
        push(queue);
    }
    queue.close(Instant::now());
    0
}

/// Applies the steps that are possible, and returns the numbers of added and delivered bodies.
fn apply(queue: &Queue, steps: &[Step]) -> (u64, u64) {
    let (mut added, mut delivered) = (0, 0);
    for step in steps {
        let is_empty = waiting(queue).is_empty();
        match *step {
            Step::Add { size, age } => {
                // Memory that is never written to costs next to nothing.
                let mut body = Body::new(vec![0; size]);
                body.made -= age;
                queue.add(body, 0);
                added += 1;
            }
            Step::Deliver if !is_empty => delivered += deliver(queue).len() as u64,
            Step::Refuse(then) if !is_empty => {
                refuse(queue, then);
            }
            Step::Deliver | Step::Refuse(_) => {}
        }
        let bytes: usize = queue.state().waiting.iter().map(|it| it.bytes.len()).sum();
        assert!(bytes <= BYTES_MAX, "{steps:?}");
    }
    (added, delivered)
}

#[test]
fn every_body_is_either_delivered_or_dropped_in_every_sequence_of_steps() {
    let count = STEPS.len();
    for sequence in 0..count.pow(LENGTH) {
        let step = |place| STEPS[sequence / count.pow(place) % count];
        let steps: Vec<Step> = (0..LENGTH).map(step).collect();
        for end in ENDS {
            let queue = Queue::default();
            let (added, mut delivered) = apply(&queue, &steps);
            delivered += end(&queue);
            assert_eq!(counts(&queue), (delivered, added - delivered), "{steps:?}");
        }
    }
}
