//! The figures of each agent. The percentiles of all requests would hide one faulty agent among
//! several.

use gatebench_report::Unit;
use gatebench_report::chapter::{Block, Chapter, Entry, Head, Line, Lines};
use gatebench_report::format::{counted, grouped, quantity};

use super::headed;
use crate::commands::load::agents::ByAgent;
use crate::commands::load::figures::Figures;
use crate::commands::load::results::Results;

pub fn chapter(results: &Results<'_>) -> Chapter {
    let Some(by_agent) = results.agents else {
        return Chapter::default();
    };
    let lines = by_agent.each.iter().map(|agent| {
        let figures = Figures::of(&agent.outcome);
        let time = |ns: Option<u64>| match ns {
            Some(ns) => quantity(ns as f64, Unit::Nanoseconds),
            None => "–".to_owned(),
        };
        let cells: [String; 7] = [
            agent.node.clone(),
            grouped(agent.cores.len() as f64),
            grouped(figures.counts().sent as f64),
            grouped(figures.failed() as f64),
            time(figures.response.percentile_ns(50.0)),
            time(figures.response.percentile_ns(99.0)),
            time(figures.lateness.percentile_ns(99.0)),
        ];
        Line::new(
            agent.place.as_str(),
            cells.into_iter().map(Entry::from).collect(),
        )
    });
    let heads = Head::row("agent | machine |> workers |> sent |> failed |> p50 |> p99 |> late p99");
    let mut blocks = vec![Lines::new("Agents", heads, lines).into()];
    blocks.extend(start(by_agent).map(Block::sentence));
    headed("Agents", "agents", blocks)
}

/// Returns, for example, `2 agents began within 1.4 ms of each other (known to within ±0.9 ms).`
fn start(by_agent: &ByAgent) -> Option<String> {
    let start = by_agent.start?;
    let time = |ns: u64| quantity(ns as f64, Unit::Nanoseconds);
    Some(format!(
        "{} began within {} of each other (known to within ±{}).",
        counted(by_agent.each.len() as u64, "agent"),
        time(start.spread_ns),
        time(start.uncertainty_ns)
    ))
}
