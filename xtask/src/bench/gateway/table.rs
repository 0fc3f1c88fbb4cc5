//! The figures of a cell as a table.

use super::Measured;
use super::cells::Cell;
use crate::bench::spread::{Spread, ratios, spread};

/// The table of a cell, under its title, with why figures are missing below it.
pub fn text(cell: &Cell, measured: &Measured, markdown: bool) -> String {
    let mut lines = vec![head(cell, measured)];
    lines.extend(cell.all().map(|scenario| line(cell, measured, scenario)));
    let mut out = format!("{} ({}): asked {}\n\n", cell.title, cell.name, cell.asked);
    out.push_str(&if markdown {
        as_markdown(&lines)
    } else {
        as_columns(&lines)
    });
    for why in missing(measured) {
        out.push_str(&format!("\n  {why}"));
    }
    out
}

fn head(cell: &Cell, measured: &Measured) -> Vec<String> {
    let ours = cell.gateways[0];
    let mut head = vec![String::new(), ours.to_owned()];
    for peer in &cell.gateways[1..] {
        head.extend([(*peer).to_owned(), format!("{ours} ÷ {peer}")]);
    }
    if has_bare(measured) {
        head.extend(["added", "bare work", "added ÷ bare"].map(String::from));
    }
    head
}

fn has_bare(measured: &Measured) -> bool {
    measured.bare.iter().any(|round| !round.is_empty())
}

fn line(cell: &Cell, measured: &Measured, scenario: &str) -> Vec<String> {
    let of = |gateway: &str| of_rounds(measured, scenario, gateway);
    let ours = of(cell.gateways[0]);
    let mut line = vec![scenario.to_owned(), shown(spread(&known(&ours)))];
    for peer in &cell.gateways[1..] {
        let theirs = of(peer);
        let of_peer = spread(&known(&theirs));
        line.extend([shown(of_peer), shown(ratios(&quotients(&ours, &theirs)))]);
    }
    if has_bare(measured) {
        let plain = of_rounds(measured, cell.plain, cell.gateways[0]);
        let added: Vec<Option<f64>> = (ours.iter().zip(&plain))
            .map(|(chain, plain)| Some((*chain)? - (*plain)?))
            .collect();
        let bare: Vec<Option<f64>> = (measured.bare.iter())
            .map(|round| Some(round.iter().find(|(name, _)| name == scenario)?.1))
            .collect();
        if scenario == cell.plain {
            line.extend(["–", "–", "–"].map(String::from));
        } else {
            line.extend([
                shown(spread(&known(&added))),
                shown(spread(&known(&bare))),
                shown(ratios(&quotients(&added, &bare))),
            ]);
        }
    }
    line
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

/// Quotients of the rounds that have both figures.
fn quotients(over: &[Option<f64>], under: &[Option<f64>]) -> Vec<f64> {
    let pairs = over.iter().zip(under);
    pairs
        .filter_map(|(over, under)| Some((*over)? / (*under)?))
        .collect()
}

fn shown(spread: Option<Spread>) -> String {
    spread.map_or("–".into(), |spread| spread.to_string())
}

/// Each reason once; a gateway that does not have a policy is no surprise.
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

fn as_markdown(lines: &[Vec<String>]) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|---|{}\n", "--:|".repeat(lines[0].len() - 1));
    let body: String = lines[1..].iter().map(|line| row(line)).collect();
    format!("{}{rule}{body}", row(&lines[0]))
}

fn as_columns(lines: &[Vec<String>]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let mut out = String::new();
    for line in lines {
        for (column, cell) in line.iter().enumerate() {
            let width = width(column).unwrap_or(0);
            let cell = if column == 0 {
                format!("  {cell:<width$}")
            } else {
                format!("  {cell:>width$}")
            };
            out.push_str(&cell);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::bench::gateway::cells::CELLS;

    #[test]
    fn what_a_chain_adds_is_set_beside_its_bare_work() {
        let cell = CELLS.iter().find(|cell| cell.name == "soap").unwrap();
        let costs = [
            ("soap-0", "reference", 10.0),
            ("soap-1", "reference", 22.0),
            ("soap-1", "nginx-lua", 44.0),
        ];
        let costs =
            costs.map(|(scenario, gateway, cost)| ((scenario.into(), gateway.into()), Ok(cost)));
        let measured = Measured {
            costs: vec![costs.into()],
            bare: vec![vec![("soap-1".into(), 10.0)]],
        };
        assert_eq!(
            line(cell, &measured, "soap-1").join(" | "),
            "soap-1 | 22.00 (22.00–22.00) | 44.00 (44.00–44.00) | 0.50 (0.50–0.50) | 12.00 (12.00–12.00) | 10.00 (10.00–10.00) | 1.20 (1.20–1.20)"
        );
    }
}
