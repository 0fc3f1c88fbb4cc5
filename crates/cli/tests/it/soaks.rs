//! A soak that is interrupted and resumed.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::bench::Bench;
use crate::turns::turn;

fn soak(bench: &Bench) -> Value {
    let report: Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    report["soak"].clone()
}

#[test]
fn an_interrupted_soak_is_kept_and_continues_with_another_process() {
    let _turn = turn();
    let bench = Bench::new();
    let words = "soak reference --scenario ./ping.yaml --connections 8 --duration 8s --dir run";
    let session = bench.start(words);
    session.until_load();
    // The warm-up takes 800 ms.
    thread::sleep(Duration::from_secs(4));
    session.signal("INT");
    let interrupted = session.wait();
    interrupted
        .assert_code(130)
        .assert_says(&["→ to continue: gatebench soak --resume run"]);
    let stopped = soak(&bench);
    let first = stopped["measured_seconds"].as_f64().unwrap();
    assert!((1.0..8.0).contains(&first), "{first}");
    assert_eq!(stopped["segments"].as_array().unwrap().len(), 1);
    assert!(bench.read("run/manifest.json").contains("\"interrupted\""));

    let resumed = bench.gatebench("soak --resume run");
    assert!(
        matches!(resumed.code, Some(0 | 1 | 4)),
        "after such a short time, any verdict is possible: {}",
        resumed.stdout
    );
    assert!(resumed.stdout.contains("Endurance"), "{}", resumed.stdout);
    let found = soak(&bench);
    let segments = found["segments"].as_array().unwrap();
    assert_eq!(segments.len(), 2, "{found}");
    assert_eq!(segments[0]["measured_seconds"].as_f64(), Some(first));
    let all = found["measured_seconds"].as_f64().unwrap();
    assert!((7.0..9.0).contains(&all), "{all}");
    for segment in segments {
        assert_eq!(
            (&segment["errors"], &segment["checks_failed"]),
            (&0.into(), &0.into())
        );
        let watched = segment["quantities"].as_array().unwrap();
        let has = |what| watched.iter().any(|it| it["what"] == what);
        assert!(has("memory") && has("descriptors") && has("upstream_connections"));
    }
    let manifest: Value = serde_json::from_str(&bench.read("run/manifest.json")).unwrap();
    assert_eq!(manifest["status"], "finished");
    assert_eq!(manifest["plan"]["trials"].as_array().unwrap().len(), 2);
}
