//! Where gateways spend their CPU time, by a real perf.

use serde_json::Value;

use crate::bench::Bench;

#[test]
fn two_gateways_are_set_beside_each_other_function_by_function() {
    let bench = Bench::new();
    let words =
        "flame reference nginx --scenario ./ping.yaml --connections 8 --duration 2s --out run";
    let output = bench.gatebench(words);
    // A machine may forbid to take samples: then that is said, with what to do.
    if output.code == Some(1) && output.stdout.contains("perf took no sample") {
        assert!(
            output.stdout.contains("perf_event_paranoid"),
            "{}",
            output.stdout
        );
        return;
    }
    output.assert_code(0);
    assert!(output.stdout.contains("Profile"), "{}", output.stdout);

    let report: Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    let sections = report["sections"].as_array().unwrap();
    let profile = sections.iter().find(|it| it["id"] == "profile").unwrap();
    let labels: Vec<&str> = profile["table"]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|group| group["label"].as_str())
        .collect();
    assert_eq!(labels, ["reference", "nginx", "difference"]);
    assert!(!profile["table"]["rows"].as_array().unwrap().is_empty());

    let page = bench.read("run/report.html");
    for graph in profile["graphs"].as_array().unwrap() {
        let file = graph["file"].as_str().unwrap();
        assert!(page.contains(file));
        let drawn = bench.read(&format!("run/{file}"));
        assert!(drawn.contains("<svg") && drawn.contains("ns per request"));
    }
    assert_eq!(profile["graphs"].as_array().unwrap().len(), 3);
    let before = bench.read("run/flame-ping-nginx.svg");
    bench.gatebench("report run").assert_code(0);
    assert_eq!(bench.read("run/flame-ping-nginx.svg"), before);
}
