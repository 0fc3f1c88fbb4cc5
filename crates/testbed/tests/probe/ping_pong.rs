//! Tests the verdict on recorded and constructed rounds.

use gatebench_testbed::probe::{PingPong, Round, SoftirqPayer};

const MS: u64 = 1_000_000;

/// CPU time of the threads, busy time, softirq and the time of other processes, in milliseconds.
type Figures = (u64, u64, u64, u64);

fn judged(rounds: &[Figures]) -> SoftirqPayer {
    let round = |&(threads, busy, interrupts, others): &Figures| Round {
        threads_ns: threads * MS,
        busy_ns: busy * MS,
        interrupts_ns: interrupts * MS,
        others_ns: others * MS,
    };
    let played = PingPong {
        rounds: rounds.iter().map(round).collect(),
        tick_ns: 10 * MS,
    };
    played.judge()
}

/// Recorded on Linux 6.18 without IRQ_TIME_ACCOUNTING, while compilers ran on both cores.
const RECORDED: [Figures; 4] = [
    (186, 200, 50, 128),
    (185, 200, 60, 184),
    (200, 190, 70, 167),
    (158, 200, 50, 156),
];

/// Constructed from kernel/sched/cputime.c: with IRQ_TIME_ACCOUNTING, a task's clock excludes the
/// time that `irq_time_read` counts, and /proc/stat shows that time as irq and softirq.
const IRQ_TIME: [Figures; 4] = [
    (140, 200, 60, 0),
    (150, 200, 50, 10),
    (138, 190, 60, 0),
    (146, 200, 50, 0),
];

#[test]
fn rounds_of_each_mode_are_distinguished() {
    assert_eq!(judged(&RECORDED), SoftirqPayer::Processes);
    assert_eq!(judged(&IRQ_TIME), SoftirqPayer::Nobody);
}

#[test]
fn other_processes_hide_the_mode() {
    // Another process uses about as much time as softirq, which looks as if no process were charged
    // for softirq.
    let steady = [(150, 200, 50, 50), (148, 200, 50, 60), (152, 200, 50, 40)];
    assert_eq!(judged(&steady), SoftirqPayer::Unknown);
    // The other process is idle for one round.
    let rests = [steady[0], steady[1], (196, 200, 60, 0)];
    assert_eq!(judged(&rests), SoftirqPayer::Processes);
    // One undisturbed round does not prove that no process is charged.
    assert_eq!(judged(&[steady[0], IRQ_TIME[0]]), SoftirqPayer::Unknown);
}

#[test]
fn without_softirq_the_mode_is_unknown() {
    let too_few = [(195, 200, 0, 0), (180, 200, 20, 0)];
    assert_eq!(judged(&too_few), SoftirqPayer::Unknown);
    assert_eq!(judged(&[]), SoftirqPayer::Unknown);
}
