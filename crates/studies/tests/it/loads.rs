//! Loads as text.

use gatebench_model::LoadProfile;
use gatebench_studies::common::loads::in_words;

fn words(shape: &str) -> String {
    let text = format!("{{profile: l, title: t, phases: [{{name: p, {shape}, measure: 1h}}]}}");
    let load: LoadProfile = gatebench_config::parse("l.yaml", &text).unwrap();
    in_words(&load.phases[0].shape)
}

#[test]
fn connections_are_described_with_stages_think_time_and_limit() {
    assert_eq!(
        words("closed: {connections: 1, requests_max: 1}"),
        "1 connection, 1 request in all"
    );
    assert_eq!(
        words("closed: {connections: 10, think: 10s}"),
        "10 connections (think time 10s)"
    );
    let stages = "stages: [{connections: 6, over: 1s}, {connections: 20, over: 1s}, {connections: 20, over: 1s}]";
    assert_eq!(
        words(&format!("closed: {{connections: 1, {stages}}}")),
        "1 to 6 to 20 connections"
    );
}

#[test]
fn rates_are_described_exactly() {
    assert_eq!(words("open: {rate_per_second: 12345}"), "12,345 requests/s");
    assert_eq!(words("open: {rate_per_second: 2.5}"), "2.5 requests/s");
    assert_eq!(
        words("open: {rate_per_second: 200, ramp_to_per_second: 9000}"),
        "200 to 9,000 requests/s"
    );
    let stage = |rate: u32| format!("{{rate_per_second: {rate}, over: 1s}}");
    let stages: Vec<String> = [20, 40, 30, 50, 10].map(stage).into();
    assert_eq!(
        words(&format!(
            "open: {{rate_per_second: 10, stages: [{}]}}",
            stages.join(", ")
        )),
        "10 to 50 to 10 requests/s in 5 stages"
    );
}
