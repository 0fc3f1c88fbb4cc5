//! Finds scenarios and loads that are the same except for one number.

use gatebench_model::load::Closed;
use gatebench_model::{AxisValue, Phase, Plan, Scenario, Shape};

use super::facts::{MarginalCostMeasure, MarginalUnit};
use crate::common::by_key;
use crate::common::facts::{Metric, PhaseKind, PhaseLine, ScenarioFindings};

/// Scenarios or loads that differ only in one number.
pub(super) struct Family {
    /// The common part of the members' names.
    pub(super) name: String,
    pub(super) what: MarginalUnit,
    /// The members, in ascending order of [`Member::count`].
    pub(super) members: Vec<Member>,
    pub(super) measures: Vec<MarginalCostMeasure>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    pub(super) count: u32,
    pub(super) scenario: String,
    /// The phase with this number, if each number has a separate phase.
    pub(super) phase: Option<String>,
}

/// The families of the plan, in the plan's order; those of scenarios come first.
pub(super) fn of_plan(plan: &Plan, scenarios: &[ScenarioFindings]) -> Vec<Family> {
    let measures = scenarios.first().map(|it| measures(&it.phases));
    let of_scenarios = measures.into_iter().flat_map(|it| of_scenarios(plan, &it));
    let of_loads = plan.scenarios.iter().filter_map(|it| of_loads(plan, it));
    let mut families: Vec<Family> = of_scenarios.chain(of_loads).collect();
    families.retain(|family| family.members.len() > 1);
    families.iter_mut().for_each(|it| it.members.sort());
    families
}

/// Scenarios belong to the same family if [`marginal_unit`] finds the same name and unit for them,
/// and if they have the same upstream and policies.
fn of_scenarios(plan: &Plan, measures: &[MarginalCostMeasure]) -> Vec<Family> {
    let members = plan.scenarios.iter().filter_map(|scenario| {
        let (name, what, count) = marginal_unit(scenario)?;
        let member = Member {
            count,
            scenario: scenario.scenario.clone(),
            phase: None,
        };
        let shared = (&scenario.upstream, scenario.policies());
        Some(((name, what, shared), member))
    });
    let families = by_key(members).into_iter();
    let families = families.map(|((name, what, _), members)| Family {
        name: name.to_owned(),
        what,
        members,
        measures: measures.to_vec(),
    });
    families.collect()
}

/// The family of a scenario, the unit in which its members differ, and the number in this scenario.
/// `None` if the members differ in several numbers or in something else, or if the scenario does
/// not have that number of units.
pub(crate) fn marginal_unit(scenario: &Scenario) -> Option<(&str, MarginalUnit, u32)> {
    let Some(family) = &scenario.family else {
        return by_name(scenario);
    };
    let mut values = family.values.iter();
    let (Some((axis, AxisValue::Number(count))), None) = (values.next(), values.next()) else {
        return None;
    };
    let (unit, has) = match axis.as_str() {
        "upstreams" => (MarginalUnit::Upstreams, scenario.upstreams as usize),
        "consumers" => (MarginalUnit::Consumers, scenario.consumers.len()),
        "routes" => (MarginalUnit::Routes, scenario.routes.len()),
        _ => return None,
    };
    (has > 0 && has == *count as usize).then_some((&family.name, unit, *count))
}

/// Like [`marginal_unit`], for scenarios that declare no family, as in earlier runs: their names
/// end with the number.
fn by_name(scenario: &Scenario) -> Option<(&str, MarginalUnit, u32)> {
    let (name, number) = scenario.scenario.rsplit_once('-')?;
    let count: u32 = number.parse().ok().filter(|count| *count > 0)?;
    let has = |length: usize| u32::try_from(length) == Ok(count);
    if scenario.upstreams == count && count > 1 {
        Some((name, MarginalUnit::Upstreams, count))
    } else if has(scenario.consumers.len()) {
        Some((name, MarginalUnit::Consumers, count))
    } else if has(scenario.routes.len()) {
        Some((name, MarginalUnit::Routes, count))
    } else {
        None
    }
}

/// The family of a scenario's loads that differ only in their number of connections, if users think
/// between two requests. Without think time, the requests would take more memory than the
/// connections.
fn of_loads(plan: &Plan, scenario: &Scenario) -> Option<Family> {
    let resting = |phase: &Phase| match &phase.shape {
        Shape::Closed(closed) if closed.think.is_some() && closed.stages.is_empty() => {
            Some((phase.name.clone(), closed.clone()))
        }
        Shape::Closed(_) | Shape::Open(_) => None,
    };
    let phases = &plan.load_of(&scenario.scenario).phases;
    let all: Vec<(String, Closed)> = phases.iter().filter_map(resting).collect();
    let (_, first) = all.first()?;
    let is_alike = |closed: &Closed| {
        let connections = first.connections;
        Closed {
            connections,
            ..closed.clone()
        } == *first
    };
    let alike = all.iter().filter(|(_, closed)| is_alike(closed));
    let members = by_key(alike.map(|(phase, closed)| (closed.connections, phase))).into_iter();
    let member = |(count, phases): (u32, Vec<&String>)| Member {
        count,
        scenario: scenario.scenario.clone(),
        phase: phases.first().copied().cloned(),
    };
    Some(Family {
        name: scenario.scenario.clone(),
        what: MarginalUnit::Connections,
        members: members.map(member).collect(),
        measures: vec![MarginalCostMeasure {
            metric: Metric::GatewayRssAnonMax,
            unit: Metric::GatewayRssAnonMax.unit(),
            phase: None,
            load: None,
        }],
    })
}

/// Memory and start time of the process, followed by the CPU time and the added latency of a
/// request at the first fixed rate. If there is none, the CPU time is that of the first closed
/// load, and there is no added latency.
fn measures(phases: &[PhaseLine]) -> Vec<MarginalCostMeasure> {
    let first = |kind| phases.iter().find(|phase| phase.kind == kind);
    let open = first(PhaseKind::Open);
    let wanted = [
        (phases.last(), Metric::GatewayRssAnonMax),
        (phases.first(), Metric::GatewayStart),
        (
            open.or(first(PhaseKind::Closed)),
            Metric::GatewayCpuPerRequest,
        ),
        (open, Metric::AddedP50),
        (open, Metric::AddedP99),
    ];
    let measure = |(phase, metric): (Option<&PhaseLine>, _)| {
        let phase = phase?;
        Some(MarginalCostMeasure {
            metric,
            unit: metric.unit(),
            phase: Some(phase.name.clone()),
            load: Some(phase.load().to_owned()),
        })
    };
    wanted.into_iter().filter_map(measure).collect()
}
