//! Tests the accounting of CPU time on this machine, and the CPU time of processes outside the run.

use gatebench_testbed::probe::{
    Accounting, CoreTimes, MachineSample, PingPong, SoftirqPayer, foreign_cpu_ns,
};

/// On a busy machine the test may be inconclusive, but it must never contradict the configuration.
#[test]
fn the_ping_pong_does_not_contradict_the_configuration() {
    let played = PingPong::play();
    let Ok(played) = played else {
        panic!("{played:?}")
    };
    let total = played.total();
    assert!(total.threads_ns > 0 && total.busy_ns > 0, "{total:?}");
    let configured = Accounting::configured().softirq;
    let judged = played.judge();
    let agree = judged == configured || judged == SoftirqPayer::Unknown;
    assert!(
        agree || configured == SoftirqPayer::Unknown,
        "{played:?}, configured {configured:?}"
    );
}

#[test]
fn foreign_time_is_the_rest_of_the_cores_time() {
    let at = |busy: [u64; 2]| MachineSample {
        cores: busy
            .iter()
            .enumerate()
            .map(|(core, &busy_ns)| CoreTimes {
                core,
                busy_ns,
                irq_ns: busy_ns / 50,
                softirq_ns: busy_ns / 5,
                steal_ns: 0,
            })
            .collect(),
        ..MachineSample::default()
    };
    let (before, after) = (at([100, 100]), at([250, 900]));
    let foreign =
        |cores: &[usize], ours_ns, payer| foreign_cpu_ns(cores, &before, &after, ours_ns, payer);
    for payer in [SoftirqPayer::Processes, SoftirqPayer::Unknown] {
        assert_eq!(foreign(&[0], 50, payer), 100);
        assert_eq!(foreign(&[0, 1], 950, payer), 0);
        assert_eq!(foreign(&[0], 500, payer), 0);
    }
    // Of the 150 ns, 33 were interrupts and softirq; the 50 ns of the run include none of these.
    assert_eq!(foreign(&[0], 50, SoftirqPayer::Nobody), 67);
    assert_eq!(foreign(&[0], 117, SoftirqPayer::Nobody), 0);
}
