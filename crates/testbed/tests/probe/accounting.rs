//! The accounting of the machine that the tests run on.

use gatebench_testbed::probe::{Accounting, PingPong, SoftirqPayer};

/// A test on a busy machine may say nothing, but never the opposite of the configuration.
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
