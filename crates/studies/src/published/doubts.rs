//! The limits of the figures in a document's tables, and the missing figures.

use gatebench_model::published::{Figure, LoadChoice, Published, PublishedColumn, Show};
use gatebench_model::{Length, Plan};
use gatebench_report::Validity;
use gatebench_report::figures::FigureTable;
use gatebench_report::format::distinct;

use super::facts::DocumentDoubt;
use crate::Findings;
use crate::common::by_key;
use crate::common::facts::{Gate, Reason};

/// The reasons against the run's rows whose variants the tables show, the worst first, each with
/// the rows that it concerns.
pub(super) fn of(findings: &Findings, tables: &[FigureTable]) -> Vec<DocumentDoubt> {
    let shown = |variant: &str| {
        let mut rows = tables.iter().flat_map(|it| &it.rows);
        rows.any(|row| row.variant.is_empty() || row.variant == variant)
    };
    let mut reasons = Vec::new();
    for scenario in &findings.scenarios {
        for row in scenario.rows.iter().filter(|row| shown(&row.variant)) {
            let name = format!("{}, {}", scenario.name, row.variant);
            let own = row.reasons.iter();
            reasons.extend(own.map(|it| ((it.gate, it.validity), (name.clone(), it))));
        }
    }
    let doubt = |((_, validity), seen): ((Gate, Validity), Vec<(String, &Reason)>)| DocumentDoubt {
        validity,
        message: seen[0].1.message.clone(),
        remedy: seen[0].1.remedy.clone(),
        rows: distinct(seen.into_iter().map(|(name, _)| name)),
    };
    let mut doubts: Vec<DocumentDoubt> = by_key(reasons).into_iter().map(doubt).collect();
    doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.validity));
    doubts
}

/// States how the run's loads relate to the document's.
pub(super) fn length(document: &Published, plan: &Plan) -> String {
    if plan.study.versions().is_some() {
        return "The loads are those of the specification.".into();
    }
    let length = plan.length.as_ref();
    if length.is_some_and(|it| it.length == Length::AsPublished) {
        return "Loads, ramps and users are the document's; requests carry no gatebench header."
            .into();
    }
    let mut of_tables = document.tables.iter().filter_map(|it| it.suite.as_ref());
    let suite = of_tables.find(|it| **it == plan.suite);
    format!(
        "Loads differ from the document's in length and in the number of users: gatebench run {} \
         --as-published uses the document's loads.",
        suite.unwrap_or(&document.suite)
    )
}

/// Returns advice on measuring a column, if there is any for its figure.
pub(super) fn how(suite: &str, column: &PublishedColumn, load: LoadChoice) -> Option<String> {
    let is_at_a_rate = load == LoadChoice::Rate;
    match (column.show, column.figure) {
        (Show::Ratio, _) if !column.head.is_empty() => Some(format!(
            "it needs the row that the others are compared with: run the whole suite '{suite}'."
        )),
        (Show::Measured, Figure::Memory) => {
            Some("the gateway's process tree is not known: add --pid.".into())
        }
        (Show::Measured, Figure::P95 | Figure::P99) if !is_at_a_rate => {
            Some("too few responses lie beyond the percentile: measure for longer.".into())
        }
        (
            Show::Measured,
            Figure::AddedP50 | Figure::AddedP95 | Figure::AddedP99 | Figure::P95 | Figure::P99,
        ) => Some(format!(
            "run the suite '{suite}' without --as-published; with that option, requests carry no gatebench header."
        )),
        _ => None,
    }
}
