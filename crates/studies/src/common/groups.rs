//! Groups and routes of a scenario. Counts are added up over the trials; measurements are
//! summarized over the usable blocks.

use gatebench_model::Trial;
use gatebench_report::Validity;
use gatebench_report::validity::estimate_of;
use gatebench_store::{GroupRecord, PhaseRecord, RouteRecord, TimeFigures};

use super::context::is_of;
use super::facts::{
    GroupFindings, PartEstimate, PartFigures, RouteFindings, SlowestRoutes, Slowness,
};
use super::{Names, loads};

/// The maximum number of routes that are reported for a variant in a phase; the trial records
/// contain all routes.
const ROUTES_MAX: usize = 20;

/// The phases with groups, from completed trials.
#[derive(Default)]
pub(crate) struct Groups<'a> {
    seen: Vec<Seen<'a>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    trial: &'a Trial,
    pub(crate) phase: &'a PhaseRecord,
    pub(crate) throughput: Validity,
    pub(crate) latency: Validity,
}

#[derive(Clone, Copy)]
pub(crate) struct GroupOfTrial<'a> {
    pub(crate) block: u32,
    pub(crate) group: &'a GroupRecord,
    pub(crate) seen: Seen<'a>,
}

/// The trials of a variant in a phase.
type Cell<'s, 'a> = Vec<&'s Seen<'a>>;

impl<'a> Groups<'a> {
    pub(crate) fn add(
        &mut self,
        trial: &'a Trial,
        phase: &'a PhaseRecord,
        throughput: Validity,
        latency: Validity,
    ) {
        if !phase.groups.is_empty() {
            self.seen.push(Seen {
                trial,
                phase,
                throughput,
                latency,
            });
        }
    }

    /// Returns a group of a variant in a scenario: one record for each block, from the first phase
    /// that has the group.
    pub(crate) fn of_trials(
        &self,
        scenario: &str,
        variant: &str,
        group: &str,
    ) -> Vec<GroupOfTrial<'a>> {
        let own = |seen: &&Seen<'a>| is_of(seen.trial, scenario, variant);
        let mut found: Vec<GroupOfTrial<'a>> = Vec::new();
        for seen in self.seen.iter().filter(own) {
            let mut groups = seen.phase.groups.iter();
            let known = found.iter().any(|it| it.block == seen.trial.block);
            if let Some(group) = groups.find(|it| it.name == group).filter(|_| !known) {
                found.push(GroupOfTrial {
                    block: seen.trial.block,
                    group,
                    seen: *seen,
                });
            }
        }
        found.sort_by_key(|it| it.block);
        found
    }

    /// The trials of each phase and variant. Combinations without trials are left out.
    fn cells(&self, names: &Names) -> Vec<Cell<'_, 'a>> {
        let cell = |(phase, variant): (&str, &str)| {
            let own = self.seen.iter();
            let own = own.filter(|seen| is_of(seen.trial, names.scenario, variant));
            let mut cell: Cell<'_, 'a> = own.filter(|seen| seen.phase.name == phase).collect();
            cell.sort_by_key(|seen| (seen.trial.block, seen.trial.number));
            cell
        };
        let cells = names.cells().map(cell);
        cells.filter(|cell| !cell.is_empty()).collect()
    }

    /// The groups of a scenario by phase and variant. A phase with only one group is left out,
    /// because the figures of the group are those of the phase.
    pub(crate) fn of_scenario(&self, names: &Names) -> Vec<GroupFindings> {
        let cells = self.cells(names);
        cells
            .iter()
            .filter(|cell| cell[0].phase.groups.len() > 1)
            .flat_map(|cell| {
                let groups = cell[0].phase.groups.iter().enumerate();
                groups.map(|(index, group)| group_findings(cell, index, group))
            })
            .collect()
    }

    /// The slowest routes of each phase and variant. Phases in which no group has several routes
    /// are left out.
    pub(crate) fn routes_of_scenario(&self, names: &Names) -> Vec<SlowestRoutes> {
        let cells = self.cells(names);
        let several = |cell: &&Cell<'_, 'a>| {
            let mut groups = cell[0].phase.groups.iter();
            groups.any(|group| group.routes.len() > 1)
        };
        cells.iter().filter(several).map(slowest_routes).collect()
    }
}

fn group_findings(cell: &Cell<'_, '_>, index: usize, first: &GroupRecord) -> GroupFindings {
    let own = || {
        let groups = cell.iter();
        groups.filter_map(|seen| Some((*seen, seen.phase.groups.get(index)?)))
    };
    let sums = own().map(|(seen, group)| {
        let sums = Sums {
            requests: group.counts.completed,
            errors: group.counts.errors.values().sum(),
            checks_failed: group.failing_checks,
            response: group.response,
        };
        (seen, sums)
    });
    let rates = own().map(|(seen, group)| {
        let measure_ns = seen.phase.measure_ns;
        let rate = group.counts.completed_in_window as f64 * 1e9 / measure_ns as f64;
        (seen.throughput, (measure_ns > 0).then_some(rate))
    });
    GroupFindings {
        group: first.name.clone(),
        phase: cell[0].phase.name.clone(),
        variant: cell[0].trial.variant.clone(),
        load: loads::in_words(&first.shape),
        trials: own().count() as u32,
        dropped: own().map(|(_, group)| group.counts.dropped).sum(),
        rate_per_second: estimate(rates),
        figures: figures(&sums.collect::<Vec<_>>()),
    }
}

struct Sums {
    requests: u64,
    errors: u64,
    checks_failed: u64,
    response: TimeFigures,
}

fn figures(sums: &[(&Seen<'_>, Sums)]) -> PartFigures {
    let total = |of: fn(&Sums) -> u64| sums.iter().map(|(_, sums)| of(sums)).sum();
    let time = |of: fn(&TimeFigures) -> Option<u64>| {
        let times = sums.iter().map(|(seen, sums)| {
            let time = of(&sums.response).map(|time| time as f64);
            (seen.latency, time)
        });
        estimate(times)
    };
    PartFigures {
        requests: total(|sums| sums.requests),
        errors: total(|sums| sums.errors),
        checks_failed: total(|sums| sums.checks_failed),
        response_mean_ns: time(|times| times.mean_ns),
        response_p50_ns: time(|times| times.p50_ns),
        response_p99_ns: time(|times| times.p99_ns),
    }
}

fn estimate(values: impl Iterator<Item = (Validity, Option<f64>)>) -> PartEstimate {
    let (estimate, validity) = estimate_of(values.filter_map(|(of, value)| Some((of, value?))));
    PartEstimate {
        estimate,
        validity: validity.unwrap_or(Validity::Valid),
    }
}

fn slowest_routes(cell: &Cell<'_, '_>) -> SlowestRoutes {
    let mut routes: Vec<RouteFindings> = Vec::new();
    for (group_index, group) in cell[0].phase.groups.iter().enumerate() {
        for (index, route) in group.routes.iter().enumerate() {
            routes.push(route_findings(cell, group_index, index, group, route));
        }
    }
    let total = routes.len();
    let by = slowness(&routes);
    // The sort is stable, so equally slow routes keep the scenario's order.
    routes.sort_by(|a, b| slow(b, by).total_cmp(&slow(a, by)));
    routes.truncate(ROUTES_MAX);
    SlowestRoutes {
        phase: cell[0].phase.name.clone(),
        variant: cell[0].trial.variant.clone(),
        by,
        total,
        routes,
    }
}

fn route_findings(
    cell: &Cell<'_, '_>,
    group_index: usize,
    index: usize,
    group: &GroupRecord,
    route: &RouteRecord,
) -> RouteFindings {
    let sums = cell.iter().filter_map(|seen| {
        let route = seen.phase.groups.get(group_index)?.routes.get(index)?;
        let sums = Sums {
            requests: route.completed,
            errors: route.failed,
            checks_failed: route.failing_checks,
            response: route.response,
        };
        Some((*seen, sums))
    });
    RouteFindings {
        group: group.name.clone(),
        route: route.name.clone(),
        figures: figures(&sums.collect::<Vec<_>>()),
    }
}

fn slowness(routes: &[RouteFindings]) -> Slowness {
    let has = |route: &RouteFindings, by| time(route, by).estimate.is_some();
    let all_have = |by: &Slowness| routes.iter().all(|route| has(route, *by));
    let mut known = [Slowness::P99, Slowness::P50].into_iter();
    known.find(all_have).unwrap_or(Slowness::Mean)
}

fn slow(route: &RouteFindings, by: Slowness) -> f64 {
    let estimate = time(route, by).estimate.as_ref();
    estimate.map_or(0.0, |estimate| estimate.median)
}

fn time(route: &RouteFindings, by: Slowness) -> &PartEstimate {
    match by {
        Slowness::P99 => &route.figures.response_p99_ns,
        Slowness::P50 => &route.figures.response_p50_ns,
        Slowness::Mean => &route.figures.response_mean_ns,
    }
}
