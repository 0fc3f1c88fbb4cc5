//! The table of a scenario: its columns, and the content of each cell.

use gatebench_report::table::{Lane, Lanes, Row, Table};

use crate::common::facts::{
    Metric, MetricFindings, PhaseKind, PhaseLine, ScenarioFindings, VariantRow,
};

/// Lays out the results of a scenario. Columns in which no variant has a value are left out.
pub fn of(scenario: &ScenarioFindings) -> Table {
    with(scenario, loads(scenario))
}

/// Like [`of`], with the columns about the gateway's process, for forms with more room.
pub fn whole(scenario: &ScenarioFindings) -> Table {
    let mut groups = loads(scenario);
    groups.push(process(scenario));
    with(scenario, groups)
}

fn with(scenario: &ScenarioFindings, lanes: Vec<Lanes>) -> Table {
    let row = |row: &VariantRow| Row {
        validity: row.validity,
        absence: row.status.absence(),
        ..Row::new(&row.variant, &row.variant)
    };
    Table::of_lanes(scenario.rows_and_null().map(row).collect(), lanes)
}

pub fn has_process(table: &Table) -> bool {
    table.groups.iter().any(|group| group.phase == PROCESS)
}

/// The metrics that a phase shows. Latency in a closed load follows from the throughput, so it is
/// shown only if there is no open load.
fn metrics(kind: PhaseKind, has_open: bool) -> &'static [(Metric, [&'static str; 2])] {
    match (kind, has_open) {
        (PhaseKind::SideBySide, _) => &METRICS[1..2],
        (PhaseKind::Closed, true) => &METRICS[..2],
        (PhaseKind::Closed, false) | (PhaseKind::Paced, _) => &METRICS[..4],
        (PhaseKind::Open, _) => &METRICS[1..],
    }
}

/// The metrics of loads. Closed and paced loads show at most the first four, open loads show all
/// but the throughput, and side-by-side loads show only the CPU time.
static METRICS: [(Metric, [&str; 2]); 16] = [
    (Metric::Throughput, ["throughput", ""]),
    (Metric::GatewayCpuPerRequest, ["CPU/request", ""]),
    (Metric::ResponseP50, ["response", "p50"]),
    (Metric::ResponseP99, ["response", "p99"]),
    (Metric::AddedP50, ["added", "p50"]),
    (Metric::AddedP99, ["added", "p99"]),
    (Metric::AddedP50OverNull, ["over null", "p50"]),
    (Metric::AddedP99OverNull, ["over null", "p99"]),
    // These are measured only in phases with a change or a failure.
    (Metric::ChangeAffected, ["affected", "requests"]),
    (Metric::ChangeErrors, ["failed", "requests"]),
    (Metric::ChangeWorst, ["longest", "response"]),
    (Metric::ChangeRecovery, ["recovered", "after"]),
    (Metric::ChangeEffective, ["in effect", "after"]),
    // These are measured only in phases with a failure.
    (Metric::FailureShare, ["to failing", "target"]),
    (Metric::FailureSentAgain, ["sent", "again"]),
    (Metric::FailureAdded, ["added p99", "meanwhile"]),
];

fn loads(scenario: &ScenarioFindings) -> Vec<Lanes> {
    let has_open = scenario.has_open();
    let phases = scenario.phases.iter();
    phases
        .map(|phase| {
            let wanted = metrics(phase.kind, has_open).iter();
            let lane = |(metric, head): &(_, _)| lane(scenario, &phase.name, *metric, *head);
            Lanes::new(&phase.name, &phase.label, wanted.filter_map(lane).collect())
        })
        .collect()
}

/// The name of the columns about the gateway's process.
const PROCESS: &str = "process";

/// Peak memory in the last load, and the time until the gateway is ready.
fn process(scenario: &ScenarioFindings) -> Lanes {
    let in_phase =
        |phase: Option<&PhaseLine>, metric, head| lane(scenario, &phase?.name, metric, [head, ""]);
    let phases = &scenario.phases;
    let memory = in_phase(phases.last(), Metric::GatewayRssAnonMax, "memory");
    let start = in_phase(phases.first(), Metric::GatewayStart, "start");
    Lanes::new(PROCESS, "", [memory, start].into_iter().flatten().collect())
}

fn lane(
    scenario: &ScenarioFindings,
    phase: &str,
    metric: Metric,
    head: [&'static str; 2],
) -> Option<Lane> {
    let found: Vec<Option<&MetricFindings>> = scenario
        .rows_and_null()
        .map(|row| row.metric_in(phase, metric))
        .collect();
    let unit = found.iter().flatten().next()?.unit;
    let found = found
        .into_iter()
        .map(|it| it.map(|it| (it.estimate.as_ref(), it.validity)));
    Some(Lane::of(head, unit, found))
}
