//! Formats the figures of a cell as a table.

use super::cells::{Cell, OURS};
use super::{Measured, verdicts};
use crate::spread::{Spread, ratios, spread};
use crate::table::Table;

const NONE: &str = "–";

/// Marks a ratio to a gateway that implements at least one of the scenario's policies by a script.
const BY_SCRIPT: &str = "(script)";

/// Returns the title and table of a cell, with the requirement, the verdicts and the reasons for
/// missing figures.
pub fn text(cell: &Cell, measured: &Measured, markdown: bool) -> String {
    let columns = columns(cell, measured);
    let titles = columns.iter().map(|column| column.title(measured));
    let mut table = Table::new(1, std::iter::once(String::new()).chain(titles));
    for scenario in cell.all() {
        let cells = columns.iter();
        let cells = cells.map(|column| column.cell(cell, measured, scenario));
        table.row(std::iter::once(scenario.to_owned()).chain(cells));
    }
    let table = table.render(markdown);
    let mut out = format!(
        "{} ({}): required {}\n\n{table}",
        cell.title, cell.name, cell.asked
    );
    let notes = verdicts::of(cell, measured).into_iter();
    for note in notes.chain(missing(measured)) {
        out.push_str(&format!("\n  {note}"));
    }
    out
}

/// A column of the table. The number in `Cost` and `Ratio` is the index of a gateway.
enum Column {
    Cost(usize),
    /// The CPU time of the reference gateway relative to a peer's.
    Ratio(usize),
    Added,
    Bare,
    AddedOverBare,
}

/// Returns the columns. A single peer has a column for its cost and one for the ratio. If there are
/// several peers, each has only a column for the ratio. A peer without any figure has no column.
fn columns(cell: &Cell, measured: &Measured) -> Vec<Column> {
    let has_figures = |at: &usize| {
        let gateway = &measured.chosen.gateways[*at];
        cell.all()
            .any(|scenario| !known(&of_rounds(measured, scenario, gateway)).is_empty())
    };
    let peers: Vec<usize> = (1..measured.chosen.gateways.len())
        .filter(has_figures)
        .collect();
    let mut columns = vec![Column::Cost(0)];
    for peer in &peers {
        if peers.len() == 1 {
            columns.push(Column::Cost(*peer));
        }
        columns.push(Column::Ratio(*peer));
    }
    if measured.bare.iter().any(|round| !round.is_empty()) {
        columns.extend([Column::Added, Column::Bare, Column::AddedOverBare]);
    }
    columns
}

impl Column {
    fn title(&self, measured: &Measured) -> String {
        let name = |at: usize| &measured.chosen.gateways[at];
        match self {
            Self::Cost(at) => name(*at).clone(),
            Self::Ratio(at) => format!("÷ {}", name(*at)),
            Self::Added => "added".into(),
            Self::Bare => "bare work".into(),
            Self::AddedOverBare => "added ÷ bare".into(),
        }
    }

    fn cell(&self, cell: &Cell, measured: &Measured, scenario: &str) -> String {
        let has_chain = scenario != cell.plain;
        match self {
            Self::Cost(at) => {
                let gateway = &measured.chosen.gateways[*at];
                shown(spread(&known(&of_rounds(measured, scenario, gateway))))
            }
            Self::Ratio(at) => {
                let gateway = &measured.chosen.gateways[*at];
                let ratio = shown(ratios(&over_peer(measured, scenario, gateway)));
                let is_by_script = measured.chosen.is_by_script(scenario, gateway);
                match ratio == NONE || !is_by_script {
                    true => ratio,
                    false => format!("{ratio} {BY_SCRIPT}"),
                }
            }
            Self::Added if has_chain => shown(spread(&known(&added(cell, measured, scenario)))),
            Self::Bare if has_chain => shown(spread(&known(&bare(measured, scenario)))),
            Self::AddedOverBare if has_chain => shown(ratios(&over_bare(cell, measured, scenario))),
            Self::Added | Self::Bare | Self::AddedOverBare => NONE.into(),
        }
    }
}

/// Returns the ratios of the reference gateway's cost to a peer's, for the rounds with both
/// figures.
pub(super) fn over_peer(measured: &Measured, scenario: &str, gateway: &str) -> Vec<f64> {
    let ours = of_rounds(measured, scenario, OURS);
    quotients(&ours, &of_rounds(measured, scenario, gateway))
}

/// Returns the ratios of a chain's cost to its bare work, for the rounds with both figures.
pub(super) fn over_bare(cell: &Cell, measured: &Measured, scenario: &str) -> Vec<f64> {
    quotients(&added(cell, measured, scenario), &bare(measured, scenario))
}

fn added(cell: &Cell, measured: &Measured, scenario: &str) -> Vec<Option<f64>> {
    let plain = of_rounds(measured, cell.plain, OURS);
    let chain = of_rounds(measured, scenario, OURS);
    let pairs = chain.iter().zip(&plain);
    pairs
        .map(|(chain, plain)| Some((*chain)? - (*plain)?))
        .collect()
}

fn bare(measured: &Measured, scenario: &str) -> Vec<Option<f64>> {
    let rounds = measured.bare.iter();
    rounds
        .map(|round| Some(round.iter().find(|(name, _)| name == scenario)?.1))
        .collect()
}

fn of_rounds(measured: &Measured, scenario: &str, gateway: &str) -> Vec<Option<f64>> {
    let key = (scenario.to_owned(), gateway.to_owned());
    let rounds = measured.costs.iter();
    rounds
        .map(|costs| costs.get(&key)?.as_ref().ok().copied())
        .collect()
}

fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().flatten().copied().collect()
}

fn quotients(over: &[Option<f64>], under: &[Option<f64>]) -> Vec<f64> {
    let pairs = over.iter().zip(under);
    pairs
        .filter_map(|(over, under)| Some((*over)? / (*under)?))
        .collect()
}

fn shown(spread: Option<Spread>) -> String {
    spread.map_or(NONE.into(), |spread| spread.to_string())
}

/// Returns each reason for a missing figure once. Gateways that do not support a policy are left
/// out.
fn missing(measured: &Measured) -> Vec<String> {
    let all = measured.costs.iter().flatten();
    let mut reasons: Vec<String> = all
        .filter_map(|((scenario, gateway), cost)| {
            let why = cost.as_ref().err()?;
            let is_expected = why.contains("not_supported");
            (!is_expected).then(|| format!("{scenario} at {gateway}: {why}"))
        })
        .collect();
    reasons.sort();
    reasons.dedup();
    reasons
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::gateway::cells::CELLS;
    use crate::gateway::peers::Chosen;

    #[test]
    fn the_cost_of_a_chain_is_compared_with_its_bare_work() {
        let cell = CELLS.iter().find(|cell| cell.name == "soap").unwrap();
        let costs = [
            ("soap-0", "reference", 10.0),
            ("soap-1", "reference", 22.0),
            ("soap-1", "nginx-lua", 44.0),
        ];
        let costs =
            costs.map(|(scenario, gateway, cost)| ((scenario.into(), gateway.into()), Ok(cost)));
        let measured = Measured {
            chosen: Chosen::named(&["nginx-lua", "nothing"]),
            costs: vec![costs.into()],
            bare: vec![vec![("soap-1".into(), 10.0)]],
        };
        let text = text(cell, &measured, true);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2],
            "|  | reference | nginx-lua | ÷ nginx-lua | added | bare work | added ÷ bare |"
        );
        assert_eq!(
            lines[5],
            "| soap-1 | 22.00 (22.00–22.00) | 44.00 (44.00–44.00) | 0.50 (0.50–0.50) | 12.00 (12.00–12.00) | 10.00 (10.00–10.00) | 1.20 (1.20–1.20) |"
        );
    }
}
