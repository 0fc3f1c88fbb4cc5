//! A user stops a run: finished trials are kept, and no process is left.

use crate::bench::{Bench, LONG_MEASURE, LONG_WARM_UP};

#[track_caller]
fn interrupted(load: &str, signals: &[&str]) {
    let bench = Bench::new();
    bench.load(load);
    let session = bench.start("run suite.yaml --dir run");
    session.until_load();
    for signal in signals {
        session.signal(signal);
    }
    let finished = session.wait();
    finished.assert_code(130).assert_says(&["interrupted"]);
    assert!(bench.processes().is_empty(), "{:?}", bench.processes());
    let report = bench.gatebench("report run");
    assert!(
        report.assert_code(0).stdout.contains("interrupted"),
        "{}",
        report.stdout
    );
}

#[test]
fn ctrl_c_in_warm_up() {
    interrupted(LONG_WARM_UP, &["INT"]);
}

#[test]
fn ctrl_c_in_measurement() {
    interrupted(LONG_MEASURE, &["INT"]);
}

#[test]
fn ctrl_c_twice() {
    interrupted(LONG_MEASURE, &["INT", "INT"]);
}

#[test]
fn sigterm() {
    interrupted(LONG_MEASURE, &["TERM"]);
}

#[test]
fn a_second_ctrl_c_kills_a_gateway_that_does_not_stop() {
    let bench = Bench::new();
    bench.load(LONG_MEASURE);
    bench.faulty("honest");
    // Python exits on SIGTERM; this gateway gets a stop signal that it ignores.
    let spec = bench.read("faulty/gateway.yaml").replace(
        "stop:\n  timeout: 1s",
        "stop:\n  signal: WINCH\n  timeout: 1h",
    );
    bench.write("faulty/gateway.yaml", &spec);
    let session = bench.start("run suite.yaml --gateway ./faulty --dir run");
    session.until_load();
    session.signal("INT");
    bench.wait_for("the end of the load", || {
        let gateways = bench
            .processes()
            .into_iter()
            .filter(crate::processes::Process::is_gateway);
        gateways
            .into_iter()
            .all(|gateway| gateway.sockets() < 8)
            .then_some(())
    });
    session.signal("INT");
    session.wait().assert_code(130);
}

#[test]
fn an_interrupted_run_is_completed_with_resume() {
    let bench = Bench::new();
    bench.suite("reference", 3);
    let session = bench.start("run suite.yaml --dir run");
    bench.wait_for("the first trial", || {
        (!bench.kept_trials("run").is_empty()).then_some(())
    });
    session.signal("INT");
    session.wait().assert_code(130);
    let kept = bench.kept_trials("run").len();
    assert!(
        kept < 3 || bench.read("run/manifest.json").contains("interrupted"),
        "{kept} trials"
    );

    let first = bench.read(&format!(
        "run/trials/{}/trial.json",
        bench.kept_trials("run")[0]
    ));
    bench.gatebench("run --resume run").assert_measured();
    assert_eq!(
        bench.read(&format!(
            "run/trials/{}/trial.json",
            bench.kept_trials("run")[0]
        )),
        first,
        "the first trial is not measured again"
    );
    bench.assert_reportable("run", 3);
    assert!(bench.read("run/manifest.json").contains("\"finished\""));
    bench.gatebench("run --resume run").assert_measured();
}

#[test]
fn a_killed_gatebench_leaves_no_process_and_keeps_finished_trials() {
    let bench = Bench::new();
    bench.suite("reference", 1);
    bench
        .gatebench("run suite.yaml --dir run")
        .assert_measured();
    bench.load(LONG_MEASURE);
    let session = bench.start("run suite.yaml --dir killed");
    session.until_load();
    session.signal("KILL");
    bench.wait_for("the end of all processes", || {
        bench.processes().is_empty().then_some(())
    });
    assert_eq!(session.wait().code, None);
    bench.assert_reportable("killed", 0);
}
