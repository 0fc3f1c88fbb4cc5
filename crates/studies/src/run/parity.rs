//! Parity over all trials of a scenario and variant.

use std::collections::BTreeSet;

use gatebench_store::{ParityCaseRecord, ParityRecord, TrialRecord};

use super::proof::{ParityCaseFindings, ParityFindings, ParityMismatch};
use crate::common::context::Context;

/// One entry for each scenario and variant in which parity was tested, in the plan's order.
pub(crate) fn of_run(context: &Context) -> Vec<ParityFindings> {
    let mut found = Vec::new();
    for (scenario, variant) in context.cells() {
        let trials = context.trials_of(&scenario.scenario, variant.label());
        let records: Vec<_> = trials.map(|trial| &trial.record).collect();
        found.extend(of_cell(&scenario.scenario, variant.label(), &records));
    }
    found
}

/// A pass over the cases, and when it was made.
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
        cases: names(first.record)
            .map(|name| case_findings(name, &passes))
            .collect(),
        routes_expected: first.record.routes_expected,
        routes_answering: passes
            .iter()
            .map(|pass| pass.record.routes_answering)
            .min()
            .unwrap_or(0),
    })
}

/// Returns the distinct names of the cases. Without a gateway, requests on different routes may
/// become the same request and share a name.
fn names(record: &ParityRecord) -> impl Iterator<Item = &str> {
    let mut seen = BTreeSet::new();
    let names = record.cases.iter().map(|case| case.name.as_str());
    names.filter(move |name| seen.insert(*name))
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
