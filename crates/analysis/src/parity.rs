//! Parity over all trials of a scenario and variant.

use gatebench_store::{ParityCaseRecord, ParityRecord, TrialRecord};

use crate::context::Context;
use crate::findings::{ParityCaseFindings, ParityFindings, ParityMismatch};

/// One entry per scenario and variant in which parity was tried, in the plan's order.
pub(crate) fn of_run(context: &Context) -> Vec<ParityFindings> {
    let mut found = Vec::new();
    for scenario in &context.plan.scenarios {
        for variant in &context.plan.variants {
            let records: Vec<_> = context
                .trials()
                .iter()
                .map(|trial| &trial.record)
                .filter(|record| {
                    record.trial.scenario == scenario.scenario
                        && record.trial.variant == variant.label()
                })
                .collect();
            found.extend(of_cell(&scenario.scenario, variant.label(), &records));
        }
    }
    found
}

/// A pass over the cases, with where it was.
struct Pass<'a> {
    trial: u32,
    after_load: bool,
    record: &'a ParityRecord,
}

fn of_cell(scenario: &str, variant: &str, records: &[&TrialRecord]) -> Option<ParityFindings> {
    let passes: Vec<_> = records.iter().flat_map(|record| passes(record)).collect();
    let first = passes.first()?;
    let tried =
        |record: &&&TrialRecord| record.parity_before.is_some() || record.parity_after.is_some();
    Some(ParityFindings {
        scenario: scenario.to_owned(),
        variant: variant.to_owned(),
        holds: Some(passes.iter().all(|pass| pass.record.holds())),
        trials: records.iter().filter(tried).count() as u32,
        cases: first
            .record
            .cases
            .iter()
            .map(|case| case_findings(&case.name, &passes))
            .collect(),
        routes_expected: first.record.routes_expected,
        routes_answering: passes
            .iter()
            .map(|pass| pass.record.routes_answering)
            .min()
            .unwrap_or(0),
    })
}

fn passes(record: &TrialRecord) -> impl Iterator<Item = Pass<'_>> {
    let trial = record.trial.number;
    let before = record
        .parity_before
        .iter()
        .map(move |record| (false, record));
    let after = record.parity_after.iter().map(move |record| (true, record));
    before.chain(after).map(move |(after_load, record)| Pass {
        trial,
        after_load,
        record,
    })
}

fn case_findings(name: &str, passes: &[Pass]) -> ParityCaseFindings {
    let tries: Vec<(&Pass, &ParityCaseRecord)> = passes
        .iter()
        .flat_map(|pass| pass.record.cases.iter().map(move |case| (pass, case)))
        .filter(|(_, case)| case.name == name)
        .collect();
    let failure = tries
        .iter()
        .find(|(_, case)| !case.passed)
        .map(|(pass, case)| ParityMismatch {
            trial: pass.trial,
            after_load: pass.after_load,
            sent: case.sent.clone(),
            received: case.received.clone(),
            expected: case.expected.clone(),
        });
    ParityCaseFindings {
        name: name.to_owned(),
        passed: tries.iter().filter(|(_, case)| case.passed).count() as u32,
        tried: tries.len() as u32,
        failure,
    }
}
