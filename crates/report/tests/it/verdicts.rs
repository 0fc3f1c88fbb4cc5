//! Verdicts of every kind, added to the findings of the fixture.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::*;

use crate::fixture::findings;

/// The findings with verdicts, as a run of ten blocks would have them.
pub fn with_verdicts() -> Findings {
    let mut findings = findings();
    for scenario in &mut findings.scenarios {
        scenario.comparisons = comparisons();
    }
    let primary = findings.scenarios[0].comparisons[0].text.clone();
    findings.headlines[0].text = format!("proxy-json: {primary}");
    findings
}

fn comparisons() -> Vec<ComparisonFindings> {
    use Metric::{AddedP50, AddedP99, GatewayCpuPerRequest};
    use PhaseKind::Open;
    let settle = Some(34);
    let open = Verdict::Inconclusive {
        blocks_needed: settle,
    };
    let few = Verdict::TooFewBlocks { blocks: 7 };
    [
        (
            GatewayCpuPerRequest,
            "gatebench",
            "nginx",
            [0.601, 0.588, 0.615],
            Verdict::Better,
        ),
        (
            GatewayCpuPerRequest,
            "gatebench",
            "haproxy",
            [0.527, 0.514, 0.540],
            Verdict::Better,
        ),
        (
            GatewayCpuPerRequest,
            "nginx",
            "haproxy",
            [0.876, 0.860, 0.893],
            Verdict::Better,
        ),
        (
            AddedP50,
            "gatebench",
            "nginx",
            [1.004, 0.993, 1.012],
            Verdict::NoChange,
        ),
        (
            AddedP50,
            "nginx",
            "haproxy",
            [1.093, 1.071, 1.115],
            Verdict::Worse,
        ),
        (AddedP99, "gatebench", "nginx", [0.962, 0.911, 1.017], open),
        (
            AddedP99,
            "nginx",
            "haproxy",
            [1.04, f64::NAN, f64::NAN],
            few,
        ),
    ]
    .into_iter()
    .map(|(metric, candidate, baseline, numbers, verdict)| {
        let unsettled = verdict == few;
        comparison(
            (Open, metric),
            (candidate, baseline),
            numbers,
            verdict,
            unsettled,
        )
    })
    .collect()
}

fn comparison(
    (kind, metric): (PhaseKind, Metric),
    (candidate, baseline): (&str, &str),
    [ratio, low, high]: [f64; 3],
    verdict: Verdict,
    unsettled: bool,
) -> ComparisonFindings {
    let confidence = 0.992;
    ComparisonFindings {
        candidate: candidate.into(),
        baseline: baseline.into(),
        phase: "steady".into(),
        kind,
        metric,
        primary: metric == Metric::GatewayCpuPerRequest,
        direction: Direction::LowerIsBetter,
        smallest_effect: 0.02,
        blocks: (1..=if unsettled { 7 } else { 10 }).collect(),
        spoiled: SpoiledBlocks::default(),
        validity: if metric == Metric::AddedP99 {
            Validity::Limited
        } else {
            Validity::Valid
        },
        result: Comparison {
            ratio,
            interval: (!unsettled).then_some(Interval {
                low,
                high,
                confidence,
            }),
            method: (!unsettled).then_some(Method::Student),
            sign_flip_p: Some(0.002),
            verdict,
        },
        text: format!("{candidate} has {ratio}× of {baseline}: so it is."),
    }
}
