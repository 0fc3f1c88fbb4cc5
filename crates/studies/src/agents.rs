//! The agents that sent the loads, each with its own figures.

use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::section::Section;
use gatebench_report::{Unit, Validity};
use gatebench_stats::Estimate;
use gatebench_store::{AgentRecord, PhaseRecord};

use crate::common::context::Context;

const EXPLANATION: &str = "The loads were sent by agents. The report's percentiles are read from \
     the sum of all agents' histograms, which may hide a single faulty agent; this table shows \
     each agent's own figures. Each figure is the median of the blocks, with their range. `start` \
     is the difference between the largest and the smallest delay of the agents' first requests, \
     each compared with its schedule, and `±` is the maximum error of that difference. `halves ±` \
     is the maximum error of the request half and the response half of the added latency: 0 if the \
     agent and the upstream read the same clock, and empty if the halves are left out. Added \
     latency as a whole has no such error, because it consists of differences that are each taken \
     on a single clock.";

/// The table of the agents; `None` if a single process sent the loads.
pub(crate) fn section(context: &Context) -> Option<Section> {
    let rows: Vec<FigureRow> = rows(context);
    let count = |head| FigureColumn::new([head, ""], Unit::Count);
    let time = |head| FigureColumn::new([head, ""], Unit::Nanoseconds);
    (!rows.is_empty()).then(|| Section {
        id: "agents",
        heading: "Agents",
        explanation: EXPLANATION,
        table: FigureTable {
            title: "each agent in each load".into(),
            first: "agent",
            rows,
            groups: vec![
                FigureGroup::new("requests", "", ["sent", "dropped"].map(count)),
                FigureGroup::new("response", "", ["p50", "p99"].map(time)),
                FigureGroup::new("late", "", [time("p99")]),
                FigureGroup::new("clocks", "", ["start", "±", "halves ±"].map(time)),
            ],
        },
        graphs: Vec::new(),
    })
}

fn rows(context: &Context) -> Vec<FigureRow> {
    let plan = context.plan;
    let places = plan.scenarios.iter().flat_map(|scenario| {
        let variants = plan.variants.iter();
        variants.map(move |variant| (scenario.scenario.as_str(), variant.label()))
    });
    let of_place = |(scenario, variant): (&str, &str)| -> Vec<FigureRow> {
        let records: Vec<_> = context.completed_of(scenario, variant).collect();
        let first = records.first().map_or(&[][..], |record| &record.phases);
        let of_phase = |phase: &PhaseRecord| {
            let alike = records.iter().flat_map(|record| &record.phases);
            let alike: Vec<_> = alike.filter(|it| it.name == phase.name).collect();
            let agents = phase.agents.iter().flat_map(|it| &it.each).enumerate();
            let row = |(number, agent): (usize, &AgentRecord)| {
                let name = format!("{} · {variant} · {scenario} '{}'", agent.place, phase.name);
                FigureRow::new(name, variant, cells(&alike, number))
            };
            agents.map(row).collect::<Vec<_>>()
        };
        first.iter().flat_map(of_phase).collect()
    };
    places.flat_map(of_place).collect()
}

/// The figures of the agent with this number, across the blocks.
fn cells(phases: &[&PhaseRecord], number: usize) -> Vec<FigureCell> {
    let all = || phases.iter().filter_map(|phase| phase.agents.as_ref());
    let own = |figure: fn(&AgentRecord) -> Option<u64>| {
        cell(
            all()
                .filter_map(|it| it.each.get(number))
                .filter_map(figure),
        )
    };
    vec![
        own(|it| Some(it.sent)),
        own(|it| Some(it.dropped)),
        own(|it| it.response_p50_ns),
        own(|it| it.response_p99_ns),
        own(|it| it.lateness_p99_ns),
        cell(all().filter_map(|it| it.start_spread_ns)),
        cell(all().filter_map(|it| it.start_uncertainty_ns)),
        own(|it| {
            let halves = it.halves.filter(|it| !it.left_out)?;
            Some(halves.uncertainty_ns)
        }),
    ]
}

fn cell(values: impl Iterator<Item = u64>) -> FigureCell {
    let values: Vec<f64> = values.map(|value| value as f64).collect();
    let estimate = Estimate::of_blocks(&values);
    FigureCell {
        validity: estimate.as_ref().map(|_| Validity::Valid),
        estimate,
        words: None,
    }
}
