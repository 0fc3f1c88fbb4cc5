//! What admin interfaces took for a route, and how long until the gateways acted so.

use gatebench_model::admin::AdminVerb;
use gatebench_stats::{Estimate, is_trustworthy};
use gatebench_store::{AdminLoadRecord, AdminRecord, Outcome, TrialRecord};

use crate::context::Context;
use crate::findings::{
    DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, SectionFindings, Unit,
    Validity,
};
use crate::words::grouped;

const EXPLANATION: &str = "Calls are made one after the other, each on a connection of its own, and counted until the \
     whole answer. After the loads a change acts when a new connection to the gateway is answered so; it counts from the begin \
     of the call. Under a load a call is counted from when it was due, and only answered. p50 is the median of the blocks with their range; p90 and p99 are over the calls of all blocks, where \
     ten of them are longer.";

/// The rounds of all trials; none where none has any.
pub(crate) fn section(context: &Context) -> Option<SectionFindings> {
    let mut rows = Vec::new();
    for scenario in &context.plan.scenarios {
        for variant in &context.plan.variants {
            let completed = context.trials().iter().map(|trial| &trial.record);
            let records: Vec<&TrialRecord> = completed
                .filter(|record| {
                    let of = (&record.trial.scenario, record.trial.variant.as_str());
                    record.outcome == Outcome::Completed
                        && of == (&scenario.scenario, variant.label())
                })
                .collect();
            rows.extend(after_loads(&records, variant.label()));
            rows.extend(under_loads(&records, variant.label()));
        }
    }
    let column = |head: [&str; 2], unit| DocumentColumn::new(head, unit);
    let times = || {
        let head = |name| column([name, ""], Unit::Nanoseconds);
        ["p50", "p90", "p99", "longest"].map(head).to_vec()
    };
    let group = |title, label: &str, columns| DocumentGroup {
        title,
        label: label.into(),
        columns,
    };
    (!rows.is_empty()).then(|| SectionFindings {
        id: "admin",
        heading: "Admin interface",
        explanation: EXPLANATION,
        table: DocumentTable {
            title: "a route created, read, updated and deleted".into(),
            first: "call",
            rows,
            groups: vec![
                group(
                    "calls",
                    "",
                    ["calls", "failed"]
                        .map(|name| column([name, ""], Unit::Count))
                        .to_vec(),
                ),
                group("until answered", "", times()),
                group("until it acts", "", times()),
            ],
        },
        graphs: Vec::new(),
    })
}

/// A row for each call of the rounds after the loads, where there were any.
fn after_loads(records: &[&TrialRecord], variant: &str) -> Vec<DocumentRow> {
    let rounds: Vec<&AdminRecord> = records.iter().filter_map(|it| it.admin.as_ref()).collect();
    let verbs = AdminVerb::ALL.into_iter().filter(|_| !rounds.is_empty());
    verbs.map(|verb| row(verb, variant, &rounds)).collect()
}

/// A row for each call under each load that had any.
fn under_loads(records: &[&TrialRecord], variant: &str) -> Vec<DocumentRow> {
    let phases = || records.iter().flat_map(|record| &record.phases);
    let mut names: Vec<&str> = Vec::new();
    for phase in phases().filter(|phase| phase.admin.is_some()) {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    let of_phase = |name: &str| {
        let alike = phases().filter(|phase| phase.name == name);
        let calls: Vec<&AdminLoadRecord> = alike.filter_map(|it| it.admin.as_ref()).collect();
        AdminVerb::ALL.map(|verb| row_under(verb, (variant, name), &calls))
    };
    names.into_iter().flat_map(of_phase).collect()
}

fn row_under(
    verb: AdminVerb,
    (variant, phase): (&str, &str),
    records: &[&AdminLoadRecord],
) -> DocumentRow {
    let took = of_blocks(records, |it| it.took_ns.get(&verb));
    let failed: u64 = records.iter().filter_map(|it| it.failed.get(&verb)).sum();
    let calls = took.iter().map(Vec::len).sum::<usize>() as u64 + failed;
    let routes = records.iter().map(|it| it.routes).max().unwrap_or(0);
    let mut cells = vec![cell(&[calls as f64]), cell(&[failed as f64])];
    cells.extend(figures(&took));
    // Whether it acts is not asked then: the questions would be a load of their own.
    cells.extend((0..4).map(|_| DocumentCell::default()));
    DocumentRow {
        name: format!(
            "{variant} · {} under '{phase}', {}",
            verb.as_str(),
            beside(routes)
        ),
        variant: variant.to_owned(),
        absence: (calls == 0).then(|| "none was due".into()),
        validity: None,
        cells,
    }
}

fn row(verb: AdminVerb, variant: &str, records: &[&AdminRecord]) -> DocumentRow {
    let took: Vec<Vec<u64>> = of_blocks(records, |it| it.took_ns.get(&verb));
    let effective: Vec<Vec<u64>> = of_blocks(records, |it| it.effective_ns.get(&verb));
    let calls: usize = took.iter().map(Vec::len).sum();
    let routes = records.iter().map(|it| it.routes).max().unwrap_or(0);
    let mut cells = vec![cell(&[calls as f64]), DocumentCell::default()];
    cells.extend(figures(&took));
    cells.extend(figures(&effective));
    DocumentRow {
        name: format!("{variant} · {}, {}", verb.as_str(), beside(routes)),
        variant: variant.to_owned(),
        absence: (calls == 0).then(|| "failed".into()),
        validity: None,
        cells,
    }
}

fn beside(routes: u64) -> String {
    match routes {
        1 => "1 route".into(),
        routes => format!("{} routes", grouped(routes as f64)),
    }
}

/// The times of each block that has any, sorted.
fn of_blocks<'a, R>(
    records: &[&'a R],
    times: impl Fn(&'a R) -> Option<&'a Vec<u64>>,
) -> Vec<Vec<u64>> {
    let known = records.iter().filter_map(|record| times(record).cloned());
    let mut blocks: Vec<Vec<u64>> = known.filter(|it| !it.is_empty()).collect();
    blocks.iter_mut().for_each(|block| block.sort_unstable());
    blocks
}

/// p50, p90, p99 and the longest.
fn figures(blocks: &[Vec<u64>]) -> [DocumentCell; 4] {
    let mut all: Vec<u64> = blocks.concat();
    all.sort_unstable();
    let of_all = |percentile| {
        let told = is_trustworthy(percentile, all.len() as u64);
        let value = told.then(|| nearest_rank(&all, percentile)).flatten();
        value.map_or_else(DocumentCell::default, |it| cell(&[it]))
    };
    let medians: Vec<f64> = blocks
        .iter()
        .filter_map(|block| nearest_rank(block, 50.0))
        .collect();
    let longest: Vec<f64> = all.last().map(|it| *it as f64).into_iter().collect();
    [cell(&medians), of_all(90.0), of_all(99.0), cell(&longest)]
}

/// The smallest value that so many per cent do not exceed.
fn nearest_rank(sorted: &[u64], percentile: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * percentile / 100.0).ceil() as usize;
    sorted.get(rank.max(1) - 1).map(|it| *it as f64)
}

fn cell(values: &[f64]) -> DocumentCell {
    let estimate = Estimate::of_blocks(values);
    DocumentCell {
        validity: estimate.as_ref().map(|_| Validity::Valid),
        estimate,
        words: None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;

    fn record(took_ns: std::ops::Range<u64>) -> AdminRecord {
        AdminRecord {
            routes: 1_000,
            rounds: 100,
            took_ns: BTreeMap::from([(AdminVerb::Read, took_ns.collect())]),
            ..AdminRecord::default()
        }
    }

    #[test]
    fn percentiles_are_of_all_calls_and_the_median_has_the_range_of_the_blocks() {
        let (one, two) = (record(1..101), record(101..201));
        let row = row(AdminVerb::Read, "caddy", &[&one, &two]);
        assert_eq!(row.name, "caddy · read, 1,000 routes");
        let median = |index: usize| row.cells[index].median();
        assert_eq!((median(0), median(1)), (Some(200.0), None));
        let p50 = row.cells[2].estimate.as_ref().unwrap();
        assert_eq!((p50.min, p50.max, p50.blocks), (50.0, 150.0, 2));
        assert_eq!(
            (median(3), median(4), median(5)),
            (Some(180.0), None, Some(200.0))
        );
        assert_eq!(median(6), None, "reading changes nothing");
    }

    #[test]
    fn under_a_load_calls_that_failed_are_counted_and_not_timed() {
        let record = AdminLoadRecord {
            routes: 1,
            took_ns: BTreeMap::from([(AdminVerb::Create, vec![4, 2, 3])]),
            failed: BTreeMap::from([(AdminVerb::Create, 2)]),
            ..AdminLoadRecord::default()
        };
        let row = row_under(AdminVerb::Create, ("caddy", "closed"), &[&record]);
        assert_eq!(row.name, "caddy · create under 'closed', 1 route");
        let median = |index: usize| row.cells[index].median();
        assert_eq!((median(0), median(1)), (Some(5.0), Some(2.0)));
        assert_eq!((median(2), median(5)), (Some(3.0), Some(4.0)));
        assert_eq!(row.cells.len(), 10, "one for each column");
    }

    #[test]
    fn a_call_that_never_was_answered_has_failed() {
        let row = row(AdminVerb::Update, "caddy", &[&record(1..2)]);
        assert_eq!(row.absence.as_deref(), Some("failed"));
    }
}
