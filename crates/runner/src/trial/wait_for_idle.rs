//! Waits until the machine is idle, before a load.

use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::Settle;
use gatebench_store::SettleRecord;
use gatebench_testbed::Interrupt;
use gatebench_testbed::probe::{MachineSample, load_average};

use crate::numbers::nanos;

/// The interval between readings of the load average, which the kernel updates only every five
/// seconds.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Waits until the machine's load average per core is below the limit, but not longer than the
/// setting permits. Returns `None` if no wait is required, or if the load average cannot be read.
pub(crate) fn wait(settle: &Settle, interrupt: &Interrupt) -> Option<SettleRecord> {
    if settle.at_most.0.is_zero() {
        return None;
    }
    let cores = MachineSample::read().cores.len().max(1);
    wait_by(settle, interrupt, || Some(load_average()? / cores as f64))
}

fn wait_by(
    settle: &Settle,
    interrupt: &Interrupt,
    load_per_core: impl Fn() -> Option<f64>,
) -> Option<SettleRecord> {
    let begun = Instant::now();
    loop {
        let load = load_per_core()?;
        let waited = begun.elapsed();
        let is_quiet = load < settle.load_per_core;
        if is_quiet || waited >= settle.at_most.0 || interrupt.is_raised() {
            return Some(SettleRecord {
                asked_load_per_core: settle.load_per_core,
                load_per_core: load,
                waited_ns: nanos(waited),
                settled: is_quiet,
            });
        }
        thread::sleep(LOOK_EVERY.min(settle.at_most.0.saturating_sub(waited)));
    }
}

pub(crate) fn warning(phase: &str, record: &SettleRecord) -> Option<String> {
    (!record.settled).then(|| {
        format!(
            "phase '{phase}' began before the machine was idle: its load average was {:.2} per core after {:.0} s, above the \
             limit of {}; stop other programs, or raise `at_most` under `settle:`",
            record.load_per_core,
            record.waited_ns as f64 / 1e9,
            record.asked_load_per_core
        )
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use gatebench_model::HumanDuration;

    use super::*;

    fn settle(at_most_ms: u64) -> Settle {
        Settle {
            load_per_core: 0.2,
            at_most: HumanDuration::from_millis(at_most_ms),
        }
    }

    #[test]
    fn the_wait_ends_when_the_machine_is_idle() {
        let loads = Cell::new([0.5, 0.3, 0.1].iter());
        let next = || {
            let mut left = loads.take();
            let next = left.next().copied();
            loads.set(left);
            next
        };
        let record = wait_by(&settle(60_000), &Interrupt::new(), next).unwrap();
        assert!(record.settled && record.load_per_core == 0.1);
        assert_eq!(warning("run-1", &record), None);
    }

    #[test]
    fn a_busy_machine_causes_a_warning() {
        let record = wait_by(&settle(1), &Interrupt::new(), || Some(0.75)).unwrap();
        assert!(!record.settled);
        let text = warning("run-2", &record).unwrap();
        assert!(
            text.contains("'run-2'") && text.contains("0.75 per core"),
            "{text}"
        );
    }

    #[test]
    fn an_interrupt_or_an_unknown_load_average_ends_the_wait() {
        let interrupt = Interrupt::new();
        interrupt.raise();
        assert!(
            !wait_by(&settle(60_000), &interrupt, || Some(1.0))
                .unwrap()
                .settled
        );
        assert_eq!(wait_by(&settle(60_000), &interrupt, || None), None);
        assert_eq!(wait(&settle(0), &interrupt), None);
    }
}
