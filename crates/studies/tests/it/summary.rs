//! The first screen of a scenario.

use gatebench_model::Culprit;
use gatebench_report::Tone;
use gatebench_store::Outcome;
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Metric, ScenarioSummary};

use crate::common::{Made, RATE, SECONDS, analysed_run, every_cell, manifest, three_blocks};

/// Ten blocks in which nginx takes `ratio` times the CPU time of haproxy.
pub fn ten_blocks(ratio: f64) -> Findings {
    let changed = |mut made: Made| {
        if made.is("nginx") {
            let haproxy_ns = f64::from(18_000 + 100 * made.record.trial.block);
            let requests = (RATE * SECONDS) as f64;
            made.used("steady", "gateway").cpu_ns = (haproxy_ns * ratio * requests) as u64;
        }
        Some(made)
    };
    analysed_run(manifest(10), changed).1
}

fn summary(findings: &Findings) -> &ScenarioSummary {
    findings.scenarios[0].summary.as_ref().unwrap()
}

fn best(findings: &Findings, metric: Metric) -> Option<&str> {
    let mut columns = summary(findings).columns.iter();
    columns
        .find(|it| it.metric == metric)
        .unwrap()
        .best
        .as_deref()
}

#[test]
fn three_blocks_show_medians_and_have_no_verdict() {
    let findings = three_blocks(|_| ());
    let found = summary(&findings);
    assert!(
        found.columns.iter().all(|it| it.best.is_none()),
        "{found:?}"
    );
    assert!(found.meaning.starts_with("By medians, "), "{found:?}");
    assert_eq!(found.tone, Tone::Caution);
    let expected = "Trust: 3 blocks, too few for a verdict (it needs 10)";
    assert!(found.trust.starts_with(expected), "{}", found.trust);
    let metrics: Vec<Metric> = found.columns.iter().map(|it| it.metric).collect();
    let expected = [
        Metric::Throughput,
        Metric::GatewayCpuPerRequest,
        Metric::AddedP99,
        Metric::GatewayRssAnonMax,
    ];
    assert_eq!(metrics, expected);
}

#[test]
fn the_best_gateway_is_named_only_if_verdicts_agree() {
    let findings = ten_blocks(1.1);
    assert_eq!(
        best(&findings, Metric::GatewayCpuPerRequest),
        Some("haproxy")
    );
    let found = summary(&findings);
    let starts = "haproxy costs least at ";
    assert!(found.meaning.starts_with(starts), "{found:?}");
    let lead = "9.1 % less than nginx (9.1–9.1 %)";
    assert!(found.meaning.contains(lead), "{found:?}");
    assert_eq!(found.tone, Tone::Plain);
    assert_eq!(found.order, ["haproxy", "nginx", "direct"]);
    assert!(
        found
            .trust
            .starts_with("Trust: yes for ✓ (verdicts over 10 blocks)"),
        "{found:?}"
    );
    let findings = ten_blocks(1.0);
    assert_eq!(best(&findings, Metric::GatewayCpuPerRequest), None);
    let found = summary(&findings);
    let starts = "No difference in cost can be shown at 5,000 requests/s; ";
    assert!(found.meaning.starts_with(starts), "{found:?}");
    assert_eq!(found.tone, Tone::Caution);
}

/// Ten blocks in which nginx and haproxy take turns at the lowest cost, envoy costs a quarter more,
/// and caddy's CPU time is unknown.
fn undecided(others: &[&str]) -> Findings {
    let mut all = manifest(10);
    for name in others {
        let gateway = serde_json::json!({ "kind": "gateway", "name": name, "folder": name });
        let gateway = serde_json::from_value(gateway).unwrap();
        all.plan.variants.push(gateway);
    }
    all.plan.trials = every_cell(&all.plan, 10);
    let changed = |mut made: Made| {
        let cpu_ns = match (&*made.record.trial.variant, made.record.trial.block % 2) {
            ("envoy", _) => 25_000,
            ("nginx", 0) | ("haproxy", 1) => 20_000,
            _ => 20_400,
        };
        if made.is("caddy") {
            for phase in ["saturate", "steady"] {
                made.phase(phase).usage.remove("gateway");
            }
        } else if !made.is("direct") {
            made.used("steady", "gateway").cpu_ns = cpu_ns * RATE * SECONDS;
        }
        Some(made)
    };
    analysed_run(all, changed).1
}

#[test]
fn without_a_best_gateway_the_contenders_are_named() {
    let findings = undecided(&["envoy"]);
    let found = summary(&findings);
    assert_eq!(found.tone, Tone::Caution);
    let parts = found.meaning.split_once("; no verdict separates them. ");
    let (head, rest) = parts.unwrap();
    let either = ["nginx or haproxy", "haproxy or nginx"];
    let heads = either.map(|it| format!("{it} costs least at 5,000 requests/s"));
    assert!(heads.iter().any(|it| it == head), "{head}");
    let figures = ": 20.2 µs of CPU per request, 19 % less than envoy (";
    assert!(rest.contains(figures) && rest.ends_with(" %)."), "{rest}");
}

#[test]
fn gateways_without_a_figure_are_not_contenders() {
    let findings = undecided(&["envoy", "caddy"]);
    let meaning = &summary(&findings).meaning;
    assert!(meaning.ends_with(" No valid figure: caddy."), "{meaning}");
    let (contenders, _) = meaning.split_once(" costs least ").unwrap();
    assert_eq!(contenders.split(" or ").count(), 2, "{meaning}");
}

#[test]
fn noise_in_the_blocks_of_the_best_figure_is_stated() {
    // On such a kernel, stolen time counts as CPU time.
    let mut noisy = manifest(10);
    noisy.environment["kernel"]["accounting"]["paravirt_time"] = "off".into();
    let changed = |mut made: Made| {
        if made.is("haproxy") {
            made.open().machine.steal_ns = SECONDS * 1_000_000_000 / 20;
        }
        Some(made)
    };
    let findings = analysed_run(noisy, changed).1;
    assert_eq!(
        best(&findings, Metric::GatewayCpuPerRequest),
        Some("haproxy")
    );
    let trust = &summary(&findings).trust;
    let expected =
        "Trust: yes for ✓ (verdicts over 10 blocks, some noisy); * is limited by time stolen.";
    assert_eq!(trust, expected);
}

#[test]
fn the_leader_may_be_the_candidate_or_the_baseline() {
    let findings = ten_blocks(0.8);
    assert_eq!(best(&findings, Metric::GatewayCpuPerRequest), Some("nginx"));
    let meaning = &summary(&findings).meaning;
    let lead = "20 % less than haproxy (20–20 %)";
    assert!(meaning.contains(lead), "{meaning}");
    assert_eq!(summary(&findings).order[0], "nginx");
}

#[test]
fn ranges_that_overlap_show_no_difference() {
    // The first block of nginx costs as much as the last block of haproxy, and the other blocks of
    // nginx cost more.
    let findings = three_blocks(|made| {
        let cpu_ns = match (made.is("nginx"), made.record.trial.block) {
            (true, block) => 20_000 + 1_000 * block,
            (false, block) => 18_000 + 1_000 * block,
        };
        if !made.is("direct") {
            made.used("steady", "gateway").cpu_ns = u64::from(cpu_ns) * RATE * SECONDS;
        }
    });
    let meaning = &summary(&findings).meaning;
    let expected = "haproxy has the lowest median at 5,000 requests/s, 20.0 µs of CPU per request, \
                    but no difference from nginx can be shown.";
    assert_eq!(meaning, expected);
}

#[test]
fn limited_figures_are_named_with_their_reasons() {
    let findings = three_blocks(|made| {
        let cpu_ns = made.used("saturate", "engine").cpu_ns;
        made.used("saturate", "engine").cpu_ns = cpu_ns.max(1) * 1_000;
    });
    let trust = &summary(&findings).trust;
    assert!(trust.contains("; * is limited by "), "{trust}");
}

#[test]
fn the_first_of_several_causes_is_marked_as_such() {
    let findings = three_blocks(|made| {
        if made.is("haproxy") {
            made.record.outcome = Outcome::Failed {
                culprit: Culprit::Gateway("haproxy".into()),
                reason: format!("signal {}", made.record.trial.block),
                remedy: "look".into(),
                phase: None,
            };
        }
    });
    assert_eq!(
        findings.headlines[0].text,
        "proxy-json: haproxy failed in 3 trials, first (gateway haproxy): signal 1. Look."
    );
}
