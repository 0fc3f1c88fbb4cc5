//! The exit codes of `gatebench run` if a trial could not be stored (3) and if nothing valid was
//! measured (4). Other tests cover the codes 0, 1, 2 and 130.

use crate::bench::{Bench, UNHURRIED};

/// More arrivals than one connection can carry, with a queue for only one of them, so every machine
/// drops most of them.
const FLOOD: &str = "- {name: flood, open: {rate_per_second: 100000, connections_max: 1, queue_max: 1}, measure: 300ms}\n";

#[test]
fn a_run_without_a_valid_trial_exits_with_code_4() {
    let bench = Bench::new();
    bench.load(FLOOD);
    let finished = bench.gatebench("run suite.yaml --dir run");
    finished.assert_code(4);
    for words in [
        "invalid",
        "The load generator dropped",
        "Lower the rate below saturation",
    ] {
        assert!(finished.stdout.contains(words), "{}", finished.stdout);
    }
    // An invalid trial is not an error: nothing failed, and the trial is kept with the reason.
    assert!(!finished.stderr.contains("error"), "{}", finished.stderr);
    bench.assert_reportable("run", 1);
}

#[test]
fn a_trial_that_cannot_be_stored_causes_code_3() {
    let bench = Bench::new();
    bench.load(UNHURRIED);
    bench.suite("reference", 2);
    let session = bench.start("run suite.yaml --dir run");
    bench.wait_for("the first trial", || {
        (!bench.kept_trials("run").is_empty()).then_some(())
    });
    // Even root cannot create a trial's folder below a path that is a file.
    let trials = bench.path("run/trials");
    bench.wait_for("the folder of trials to be moved", || {
        std::fs::rename(&trials, bench.path("run/moved")).ok()
    });
    bench.write("run/trials", "");
    let finished = session.wait();
    finished
        .assert_code(3)
        .assert_says(&["environment", "  → "]);
    assert_eq!(
        bench.kept_trials_in("run/moved").len(),
        1,
        "the first trial is not changed"
    );
}
