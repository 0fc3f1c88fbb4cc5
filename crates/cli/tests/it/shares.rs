//! Latency at fractions of a gateway's saturation.

use gatebench_model::study::measure::CONNECTIONS;
use serde_json::Value;

use crate::bench::Bench;

#[test]
fn shares_refer_to_the_saturation_of_the_same_trial() {
    let bench = Bench::new();
    bench
        .gatebench("run suite.yaml --smoke --at 90%,50% --dir run")
        .assert_code(0);
    let trial = bench.read("run/trials/0001-ping-reference-b1/trial.json");
    let trial: Value = serde_json::from_str(&trial).unwrap();
    let phases = trial["phases"].as_array().unwrap();
    let of = |percent: u64| {
        let mut all = phases.iter();
        all.find(|phase| phase["saturation_percent"] == percent)
            .unwrap_or_else(|| panic!("{percent}: {phases:?}"))
    };
    let saturation = of(100);
    let completed = saturation["counts"]["completed_in_window"]
        .as_f64()
        .unwrap();
    let per_second = completed * 1e9 / saturation["measure_ns"].as_f64().unwrap();
    for percent in [50, 90] {
        let offered = of(percent)["shape"]["open"]["rate_per_second"].as_f64();
        let wanted = per_second * percent as f64 / 100.0;
        assert!(
            offered.is_some_and(|it| (it / wanted - 1.0).abs() < 1e-9),
            "{offered:?} for {wanted}"
        );
    }
    let report: Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    let loads = report["scenarios"][0]["phases"].as_array().unwrap();
    assert_eq!(loads.len(), 1, "loads at shares are not ranked: {loads:?}");
}

#[test]
fn a_plan_states_its_shares_and_invalid_shares_are_refused() {
    let bench = Bench::new();
    let run = bench.gatebench("run suite.yaml --at 90%,50%,90% --dry-run");
    run.assert_code(0);
    // The terminal's width determines where lines end.
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shares = "open loads offer 50 %, 90 % of it";
    assert!(in_one_line(&run.stdout).contains(shares), "{}", run.stdout);
    for wrong in ["0%", "150%", "x", "50"] {
        bench
            .gatebench(&format!("run suite.yaml --at {wrong}"))
            .assert_code(2)
            .assert_says(&[
                wrong,
                "write whole percentages from 1% to 99%, for example 50%,70%,90%",
            ]);
    }
    let help = in_one_line(&bench.gatebench("run --help").stdout);
    let connections =
        format!("the saturation of the same process is determined with {CONNECTIONS} connections");
    assert!(help.contains(&connections));
    let script = bench.gatebench("run suite.yaml --engine wrk --at 50%");
    script
        .assert_code(2)
        .assert_says(&["--at", "omit --engine"]);
    let asks = bench.read("suite.yaml") + "study: {at: [70]}\n";
    bench.write("suite.yaml", &asks);
    let own = bench.gatebench("run suite.yaml --dry-run");
    own.assert_code(0);
    let shares = "open loads offer 70 % of it";
    assert!(in_one_line(&own.stdout).contains(shares), "{}", own.stdout);
    bench
        .gatebench("run suite.yaml --engine wrk")
        .assert_code(2)
        .assert_says(&["the study of the suite 'small'", "omit --engine"]);
}
