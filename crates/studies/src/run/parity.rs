//! Parity over all trials of a scenario and variant.

use std::collections::BTreeSet;

use gatebench_report::format::distinct;
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
    let trials: BTreeSet<u32> = passes.iter().map(|pass| pass.trial).collect();
    // Without a gateway, requests on different routes may become the same request and share a name.
    let names = distinct(first.record.cases.iter().map(|case| &*case.name)).into_iter();
    let routes = passes.iter().map(|pass| pass.record.routes_answering);
    Some(ParityFindings {
        scenario: scenario.to_owned(),
        variant: variant.to_owned(),
        holds: Some(passes.iter().all(|pass| pass.record.holds())),
        trials: trials.len() as u32,
        cases: names.map(|name| case_findings(name, &passes)).collect(),
        routes_expected: first.record.routes_expected,
        routes_answering: routes.min().unwrap_or(0),
    })
}

fn passes(record: &TrialRecord) -> impl Iterator<Item = Pass<'_>> {
    let all = [(false, &record.parity_before), (true, &record.parity_after)];
    all.into_iter().filter_map(|(after_load, pass)| {
        Some(Pass {
            trial: record.trial.number,
            after_load,
            record: pass.as_ref()?,
        })
    })
}

fn case_findings(name: &str, passes: &[Pass]) -> ParityCaseFindings {
    let tries: Vec<(&Pass, &ParityCaseRecord)> = passes
        .iter()
        .flat_map(|pass| pass.record.cases.iter().map(move |case| (pass, case)))
        .filter(|(_, case)| case.name == name)
        .collect();
    let mut failed = tries.iter().filter(|(_, case)| !case.passed);
    let failure = failed.next().map(|(pass, case)| ParityMismatch {
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
