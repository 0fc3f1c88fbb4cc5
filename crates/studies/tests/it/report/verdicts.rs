//! Verdicts of every kind, added to the fixture's findings.

use super::facts::*;
use gatebench_studies::Findings;

use super::fixture::findings;

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
    use Metric::{AddedP50, AddedP99, GatewayCpuPerRequest as Cpu};
    use Verdict::{Better, NoChange, Worse};
    const MINE: [&str; 2] = ["gatebench", "nginx"];
    const MINE_OTHER: [&str; 2] = ["gatebench", "haproxy"];
    const OTHERS: [&str; 2] = ["nginx", "haproxy"];
    let settle = Some(34);
    let open = Verdict::Inconclusive {
        blocks_needed: settle,
    };
    let few = Verdict::TooFewBlocks { blocks: 7 };
    [
        (Cpu, MINE, [0.601, 0.588, 0.615], Better),
        (Cpu, MINE_OTHER, [0.527, 0.514, 0.540], Better),
        (Cpu, OTHERS, [0.876, 0.860, 0.893], Better),
        (AddedP50, MINE, [1.004, 0.993, 1.012], NoChange),
        (AddedP50, OTHERS, [1.093, 1.071, 1.115], Worse),
        (AddedP99, MINE, [0.962, 0.911, 1.017], open),
        (AddedP99, OTHERS, [1.04, f64::NAN, f64::NAN], few),
    ]
    .into_iter()
    .map(|(metric, [candidate, baseline], numbers, verdict)| {
        let unsettled = verdict == few;
        comparison(
            (PhaseKind::Open, metric),
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
        text: format!("{candidate} has {ratio}× the value of {baseline}."),
    }
}
