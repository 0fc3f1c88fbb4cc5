//! Tests that repeated interrupts become more urgent.

use gatebench_testbed::{Interrupt, Urgency};

#[test]
fn each_raise_is_more_urgent_up_to_the_second() {
    let interrupt = Interrupt::new();
    let mut seen = vec![interrupt.urgency()];
    for _ in 0..3 {
        interrupt.raise();
        seen.push(interrupt.urgency());
    }
    assert_eq!(
        seen,
        [Urgency::None, Urgency::Stop, Urgency::Now, Urgency::Now]
    );
}
