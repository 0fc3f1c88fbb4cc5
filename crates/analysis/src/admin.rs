//! What admin interfaces took for a route, and how long until the gateways acted so.

use gatebench_model::admin::AdminVerb;
use gatebench_stats::{Estimate, is_trustworthy};
use gatebench_store::{AdminRecord, Outcome};

use crate::context::Context;
use crate::findings::{
    DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, SectionFindings, Unit,
    Validity,
};
use crate::words::grouped;

const EXPLANATION: &str = "Calls are made one after the other, after the loads, each on a connection of its own, and \
     counted until the whole answer. A change acts when a new connection to the gateway is answered so; it counts from the begin \
     of the call. p50 is the median of the blocks with their range; p90 and p99 are over the calls of all blocks, where \
     ten of them are longer.";

/// The rounds of all trials; none where none has any.
pub(crate) fn section(context: &Context) -> Option<SectionFindings> {
    let mut rows = Vec::new();
    for scenario in &context.plan.scenarios {
        for variant in &context.plan.variants {
            let records: Vec<&AdminRecord> = context
                .trials()
                .iter()
                .map(|trial| &trial.record)
                .filter(|record| {
                    let of = (&record.trial.scenario, record.trial.variant.as_str());
                    record.outcome == Outcome::Completed
                        && of == (&scenario.scenario, variant.label())
                })
                .filter_map(|record| record.admin.as_ref())
                .collect();
            if !records.is_empty() {
                rows.extend(AdminVerb::ALL.map(|verb| row(verb, variant.label(), &records)));
            }
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
                group("calls", "", vec![column(["calls", ""], Unit::Count)]),
                group("until answered", "", times()),
                group("until it acts", "", times()),
            ],
        },
        graphs: Vec::new(),
    })
}

fn row(verb: AdminVerb, variant: &str, records: &[&AdminRecord]) -> DocumentRow {
    let took: Vec<Vec<u64>> = of_blocks(records, |it| it.took_ns.get(&verb));
    let effective: Vec<Vec<u64>> = of_blocks(records, |it| it.effective_ns.get(&verb));
    let calls: usize = took.iter().map(Vec::len).sum();
    let routes = records.iter().map(|it| it.routes).max().unwrap_or(0);
    let mut cells = vec![cell(&[calls as f64])];
    cells.extend(figures(&took));
    cells.extend(figures(&effective));
    DocumentRow {
        name: format!("{variant} · {} beside {}", verb.as_str(), beside(routes)),
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
fn of_blocks<'a>(
    records: &[&'a AdminRecord],
    times: impl Fn(&'a AdminRecord) -> Option<&'a Vec<u64>>,
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
        assert_eq!(row.name, "caddy · read beside 1,000 routes");
        let median = |index: usize| row.cells[index].median();
        assert_eq!(median(0), Some(200.0));
        let p50 = row.cells[1].estimate.as_ref().unwrap();
        assert_eq!((p50.min, p50.max, p50.blocks), (50.0, 150.0, 2));
        assert_eq!(
            (median(2), median(3), median(4)),
            (Some(180.0), None, Some(200.0))
        );
        assert_eq!(median(5), None, "reading changes nothing");
    }

    #[test]
    fn a_call_that_never_was_answered_has_failed() {
        let row = row(AdminVerb::Update, "caddy", &[&record(1..2)]);
        assert_eq!(row.absence.as_deref(), Some("failed"));
    }
}
