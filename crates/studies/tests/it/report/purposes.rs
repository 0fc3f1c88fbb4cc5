//! Soaks and isolation tests in every form of the report.

use gatebench_report::{Unit, html, markdown};
use gatebench_stats::leak::{Growth, LeakVerdict, Sample};
use gatebench_stats::{Comparison, Interval, Method, Verdict};
use gatebench_studies::common::facts::Decision;
use gatebench_studies::isolation::facts::{
    IsolationBlock, IsolationCounts, IsolationFindings, IsolationMeasure,
};
use gatebench_studies::soak::facts::{
    SoakFindings, SoakQuantity, SoakSegment, SoakStretch, SoakWhat,
};
use gatebench_studies::{Findings, StudyResult};

use super::fixture::findings;
use super::page::check;
use super::plain::assert_fits;

fn quantity(what: SoakWhat, title: &'static str, unit: Unit, level: f64) -> SoakQuantity {
    let at = |minute: u32| f64::from(minute) * 60.0;
    let value = |minute: u32| level * (1.0 + 0.01 * f64::from(minute));
    let slope = level * 0.6;
    SoakQuantity {
        what,
        title: title.into(),
        unit,
        bound_per_hour: slope / 10.0,
        growth: Growth {
            envelope: (1..=30)
                .map(|minute| Sample {
                    at_seconds: at(minute),
                    value: value(minute),
                })
                .collect(),
            slope_per_hour: Some(slope),
            interval: Some(Interval {
                low: slope * 0.95,
                high: slope * 1.05,
                confidence: 0.95,
            }),
            smallest_seen_per_hour: Some(slope / 8.0),
            resolution_per_hour: slope / 10.0,
            verdict: LeakVerdict::Leak,
        },
        per_thousand_responses: Some(1_024.0),
        line: Some([(at(1), value(1)), (at(30), value(30))]),
        stretches: (1..=180)
            .map(|step| SoakStretch {
                at_seconds: f64::from(step) * 10.0,
                low: value(step / 6),
                high: value(step / 6) * (1.05 + 0.03 * f64::from(step % 7)),
            })
            .collect(),
        text: format!("nginx leaks {title}: <the envelope> grows."),
    }
}

pub fn soak() -> SoakFindings {
    let run = findings().run;
    SoakFindings {
        variant: "nginx".into(),
        scenario: "proxy-json".into(),
        load: "2,000 requests/s".into(),
        planned_seconds: 1_800.0,
        measured_seconds: 1_800.0,
        decision: Decision::Worse,
        text: "nginx leaks memory.".into(),
        segments: vec![SoakSegment {
            trial: 1,
            started: run.created,
            measured_seconds: 1_800.0,
            outcome: "completed".into(),
            culprit: None,
            responses: 3_600_000,
            errors: 0,
            checks_failed: 2,
            dropped: 0,
            processes_ended: 1,
            pss_before_bytes: Some(9 << 20),
            pss_after_bytes: Some(12 << 20),
            quantities: vec![
                quantity(SoakWhat::Memory, "memory", Unit::Bytes, 20e6),
                quantity(SoakWhat::Descriptors, "descriptors", Unit::Count, 140.0),
                quantity(
                    SoakWhat::ResponseP50,
                    "median response time",
                    Unit::Nanoseconds,
                    9e4,
                ),
            ],
            own_series: Vec::new(),
        }],
    }
}

fn comparison(ratio: f64, verdict: Verdict) -> Comparison {
    Comparison {
        ratio,
        interval: Some(Interval {
            low: ratio * 0.99,
            high: ratio * 1.01,
            confidence: 0.99,
        }),
        method: Some(Method::Student),
        sign_flip_p: None,
        verdict,
    }
}

pub fn isolation() -> IsolationFindings {
    let blocks = (1..=12)
        .map(|block| IsolationBlock {
            block,
            failing: 96_000.0 + f64::from(block % 4) * 900.0,
            healthy: 81_000.0 + f64::from(block % 3) * 700.0,
        })
        .collect();
    let counts = |checks_failed| IsolationCounts {
        responses: 96_000,
        checks_failed,
        ..IsolationCounts::default()
    };
    IsolationFindings {
        variant: "nginx".into(),
        scenario: "soap-1-errors".into(),
        healthy: "soap-1-errors-healthy".into(),
        group: "good".into(),
        decision: Decision::Worse,
        text: "nginx does not isolate errors.".into(),
        next_to_failing: counts(3),
        next_to_healthy: counts(0),
        measures: vec![IsolationMeasure {
            title: "median response time",
            unit: Unit::Nanoseconds,
            decides: true,
            blocks,
            result: comparison(1.18, Verdict::Worse),
            own: Some(comparison(1.001, Verdict::NoChange)),
            text: "Slower.".into(),
        }],
    }
}

#[test]
fn every_form_has_envelopes_and_pairs() {
    let of = |study| Findings {
        study,
        ..findings()
    };
    let soak = of(StudyResult::new(soak()));
    let isolation = of(StudyResult::new(vec![isolation()]));
    assert_fits(&soak, &["Endurance · "]);
    assert_fits(&isolation, &["Isolation · soap-1-errors"]);
    let text = markdown::render(&soak);
    assert!(text.contains("docs/METHOD.md, Soak."), "{text}");
    assert!(text.contains("| Memory | **grows** | 11.4 MiB |"), "{text}");
    let text = markdown::render(&isolation);
    assert!(
        text.contains(
            "| **Median response time** | worse | 1.18× (1.17–1.19) | 1.00× (0.99–1.01) | 12 |"
        ),
        "{text}"
    );
    for (findings, id, method) in [
        (&soak, "endurance", "soak"),
        (&isolation, "isolation", "isolation"),
    ] {
        let page = html::render(findings);
        check(&page);
        assert!(page.contains(&format!("id=\"{id}\"")));
        assert!(page.contains(&format!("#method-{method}")));
        assert!(page.contains(&format!("id=\"method-{method}\"")));
        assert!(!page.contains("<the envelope>"));
        // The page is kept so that it can be viewed in a browser.
        let file = format!("{}/{id}.html", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(file, &page).unwrap();
    }
}
