//! Tests that figures are read as they are meant, so that true ones are not called impossible.

use gatebench_audit::{Form, Severity, audit};

/// Returns the rule and the severity of each finding.
fn rules(text: &str, form: Form) -> Vec<(&'static str, Severity)> {
    let findings = audit(text, form).unwrap().findings;
    findings.iter().map(|it| (it.rule, it.severity)).collect()
}

#[track_caller]
fn nothing_is_found(text: &str, form: Form) {
    let found = rules(text, form);
    assert!(found.is_empty(), "{text}\n{found:?}");
}

#[test]
fn a_comma_or_a_space_within_a_number_does_not_change_its_value() {
    for rate in ["12 908 rps", "12\u{202f}908 rps"] {
        let text = format!(
            "|x|connections|rps|mean|p50|p99|errors|runs|\n|-|-|-|-|-|-|-|-|\n\
             |a|64|{rate}|4.21 ms|0,96 ms|1,5 ms|0|3|\n"
        );
        nothing_is_found(&text, Form::Markdown);
    }
    for label in ["1,000 connections", "1 000 connections"] {
        let text = format!(
            "## ab\n|setup|rps|mean ms|errors|runs|\n|-|-|-|-|-|\n|{label}|16000|50.1|0|3|\n"
        );
        nothing_is_found(&text, Form::Markdown);
    }
}

#[test]
fn a_shortest_time_is_not_in_minutes() {
    let text = r#"[{"name": "a", "errors": 0, "runs": 3,
        "latency_ms": {"min": 0.5, "p50": 1.25, "max": 12.5}}]"#;
    nothing_is_found(text, Form::Json);
    let csv = "x,latency_ms_min,p50 ms,errors,runs\na,0.5,1.25,0,3\n";
    nothing_is_found(csv, Form::Csv);
}

#[test]
fn a_rate_of_bytes_is_not_a_rate_of_requests() {
    for heading in ["Transfer rate [Kbytes/sec]", "Throughput (MB/s)"] {
        let text = format!(
            "## ab\n|x|connections|{heading}|mean ms|errors|runs|\n|-|-|-|-|-|-|\n\
             |a|10|15230.11|1.25|0|3|\n"
        );
        nothing_is_found(&text, Form::Markdown);
    }
}

#[test]
fn minutes_of_wrk_are_not_millions() {
    let run = |rate: &str| {
        format!(
            "Running 1m test @ http://10.0.0.9:8000/\n  5 threads and 1000 connections\n  \
             Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
             Latency    13.51ms   61.46ms   0.90m    98.99%\n    \
             Req/Sec    14.31k     2.61k   20.80k    82.59%\n  \
             4200000 requests in 1.00m, 924.42MB read\n\
             Requests/sec:  {rate}\nTransfer/sec:     15.30MB\n"
        )
    };
    let contradicts = |text: &str| {
        let rules = rules(text, Form::Markdown);
        rules.contains(&("rate-and-count", Severity::Misleading))
    };
    assert!(!contradicts(&run("70000.25")));
    assert!(contradicts(&run("80000.25")));
    // With this mean, 5,040,000 requests would be in flight.
    let slow = run("70000.25").replace("13.51ms", "1.20m");
    assert!(rules(&slow, Form::Markdown).contains(&("in-flight", Severity::Misleading)));
}
