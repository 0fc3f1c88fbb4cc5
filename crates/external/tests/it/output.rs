//! Tests the parsing of real output from the load generators.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gatebench_external::{Figures, Generator, Passes, parse};
use proptest::prelude::*;

fn captured(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

#[test]
fn wrk_prints_percentiles_classes_and_checks() {
    let figures = parse(Generator::Wrk, &captured("wrk-sizes.txt")).unwrap();
    assert_eq!((figures.sent, figures.completed), (96_561, 96_561));
    assert_eq!(figures.duration_ns, 1_100_055_000);
    assert_eq!(figures.rate_per_second().round(), 87_778.0);
    assert_eq!(figures.by_class, counts(&[("2xx", 96_561)]));
    assert!(figures.errors.is_empty());
    let percentiles = [
        ("50", 63_000),
        ("90", 75_000),
        ("95", 101_000),
        ("99", 2_853_000),
        ("99.9", 6_204_000),
    ];
    assert_eq!(figures.percentiles_ns, counts(&percentiles));
    let times = (figures.min_ns, figures.mean_ns, figures.max_ns);
    assert_eq!(times, (Some(15_000), Some(122_954), Some(7_341_000)));
    let passes = |passed, failed| Passes {
        passed: Some(passed),
        failed,
    };
    assert_eq!(figures.checks["status is 200"], passes(96_561, 0));
    assert_eq!(
        figures.checks["header content-type is 'text/plain'"],
        passes(0, 96_561)
    );
}

#[test]
fn h2load_prints_classes_and_three_times() {
    let figures = parse(Generator::H2load, &captured("h2load.txt")).unwrap();
    assert_eq!((figures.sent, figures.completed), (15_310, 15_306));
    assert_eq!(figures.duration_ns, 500_000_000);
    assert_eq!(figures.by_class, counts(&[("2xx", 15_306)]));
    assert_eq!(figures.bytes_received, Some(6_596_886));
    let times = (figures.min_ns, figures.mean_ns, figures.max_ns);
    assert_eq!(times, (Some(45_000), Some(130_000), Some(1_240_000)));
    assert!(figures.percentiles_ns.is_empty());
}

#[test]
fn a_load_without_a_response_has_no_times() {
    let h2load = parse(Generator::H2load, &captured("h2load-refused.txt")).unwrap();
    assert_eq!((h2load.completed, h2load.mean_ns), (0, None));
    let k6 = parse(Generator::K6, &captured("k6-dead.json")).unwrap();
    assert_eq!((k6.sent, k6.completed), (8, 0));
    assert_eq!(k6.errors, counts(&[("connect", 8)]));
    assert!(k6.percentiles_ns.is_empty() && k6.mean_ns.is_none());
}

#[test]
fn k6_prints_the_counts_of_our_script() {
    let figures = parse(Generator::K6, &captured("k6-sizes.json")).unwrap();
    assert_eq!((figures.sent, figures.completed), (16_498, 16_498));
    assert_eq!(figures.by_class, counts(&[("2xx", 16_498)]));
    assert!(figures.metrics.is_empty(), "{:?}", figures.metrics);
    let names: Vec<&str> = figures.percentiles_ns.keys().map(String::as_str).collect();
    assert_eq!(names, ["50", "90", "95", "99", "99.9"]);
    assert_eq!(figures.checks["body contains 'x'"].failed, 0);
}

#[test]
fn k6_prints_groups_thresholds_and_custom_metrics_of_a_users_script() {
    let figures = parse(Generator::K6, &captured("k6-own-script.json")).unwrap();
    assert_eq!(
        (figures.sent, figures.completed, figures.dropped),
        (201, 201, 0)
    );
    assert_eq!(figures.duration_ns, 1_000_876_029);
    assert_eq!(figures.groups, ["a"]);
    assert_eq!(figures.checks["a › nope"].failed, 201);
    let held = BTreeMap::from([
        ("checks: rate==1".to_owned(), false),
        ("http_req_duration: p(95)<500".to_owned(), true),
        ("http_req_duration: p(99)<0.0001".to_owned(), false),
    ]);
    assert_eq!(figures.thresholds, held);
    let names: Vec<&str> = figures.metrics.keys().map(String::as_str).collect();
    assert_eq!(names, ["gg", "group_duration", "mine", "rrr", "status_2xx"]);
    assert_eq!(figures.metrics["mine"]["p(99.9)"], 4.450_304_000_000_009);
    assert_eq!(figures.percentiles_ns["50"], 346_785);
}

#[test]
fn missing_figures_are_named() {
    let message = |generator, text: &str| parse(generator, text).unwrap_err().to_string();
    assert_eq!(
        message(Generator::Wrk, "unable to connect"),
        "the line of figures is missing from the output"
    );
    assert_eq!(
        message(Generator::H2load, "finished in 1s"),
        "the line 'requests: ' is missing from the output"
    );
    let empty = r#"{"root_group": {"groups": {}, "checks": {}}, "metrics": {}}"#;
    assert_eq!(
        message(Generator::K6, empty),
        "the number of requests is missing from the output"
    );
    let more = captured("wrk-sizes.txt").replace("\"requests\"", "\"unknown\":1,\"requests\"");
    assert!(message(Generator::Wrk, &more).contains("unknown field"));
}

/// Generates real outputs in which a piece has been replaced.
fn damaged() -> impl Strategy<Value = (Generator, String)> {
    let files = [
        (Generator::Wrk, "wrk-sizes.txt"),
        (Generator::H2load, "h2load.txt"),
        (Generator::K6, "k6-own-script.json"),
    ];
    (
        0..files.len(),
        0.0..1.0_f64,
        0..20_usize,
        "[-0-9a-z\",:{}.é]{0,6}",
    )
        .prop_map(move |(file, at, length, with)| {
            let (generator, name) = files[file];
            let chars: Vec<char> = captured(name).chars().collect();
            let begin = (at * chars.len() as f64) as usize;
            let end = (begin + length).min(chars.len());
            let text = chars[..begin].iter().collect::<String>() + &with;
            (generator, text + &chars[end..].iter().collect::<String>())
        })
}

proptest! {
    #[test]
    fn any_text_yields_figures_or_an_error((generator, text) in damaged()) {
        if let Ok(Figures { completed, sent, .. }) = parse(generator, &text) {
            prop_assert!(generator != Generator::K6 || completed <= sent);
        }
    }
}
