//! The tables for parts of a scenario: its groups, and their slowest routes.

use gatebench_report::Unit;
use gatebench_report::csv::name_of;
use gatebench_report::format::{distinct, grouped};
use gatebench_report::table::{Cell, Lane, Lanes, Row, Table};

use crate::common::facts::{
    GroupFindings, PartEstimate, PartFigures, RouteFindings, ScenarioFindings, SlowestRoutes,
};

/// A table with its caption.
pub struct PartTable {
    /// The heading. If not all parts are shown, it states how many are shown, and the total.
    pub title: String,
    pub table: Table,
}

/// At most `most` groups of a scenario, each with its variants in consecutive rows.
pub fn groups(scenario: &ScenarioFindings, most: usize) -> Option<PartTable> {
    let names = scenario.foremost_groups(most);
    let found = || scenario.groups.iter();
    let all = distinct(found().map(|it| &*it.group));
    let variants = distinct(found().map(|it| &*it.variant));
    let rows: Vec<(&str, &str)> = names
        .iter()
        .flat_map(|name| variants.iter().map(move |variant| (*name, *variant)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let title = if names.len() == all.len() {
        "groups".into()
    } else {
        let (shown, total) = (names.len(), grouped(all.len() as f64));
        format!("groups, {shown} of {total}: those with the most failures, then the slowest")
    };
    let one_variant = variants.len() == 1;
    let row = |(name, variant): &(&str, &str)| match one_variant {
        true => Row::new(*name, variant),
        false => Row::new(format!("{name} · {variant}"), variant),
    };
    let lanes = scenario.phases.iter().map(|phase| {
        let lanes = group_lanes(scenario, &phase.name, &rows);
        Lanes::new(&phase.name, &phase.label, lanes)
    });
    let table = Table::of_lanes(rows.iter().map(row).collect(), lanes.collect());
    Some(PartTable { title, table })
}

fn group_lanes(scenario: &ScenarioFindings, phase: &str, rows: &[(&str, &str)]) -> Vec<Lane> {
    let found: Vec<Option<&GroupFindings>> = rows
        .iter()
        .map(|(name, variant)| {
            let mut groups = scenario.groups.iter();
            groups.find(|it| it.phase == phase && it.group == *name && it.variant == *variant)
        })
        .collect();
    if found.iter().all(Option::is_none) {
        return Vec::new();
    }
    let of = found.iter();
    let figures: Vec<_> = of.clone().map(|it| it.map(|it| &it.figures)).collect();
    let rates: Vec<_> = of.map(|it| it.map(|it| &it.rate_per_second)).collect();
    let mut lanes = counts(&figures);
    lanes.extend(estimates(["rate", ""], Unit::RequestsPerSecond, &rates));
    lanes.extend(TIMES[1..].iter().filter_map(|it| time(it, &figures)));
    lanes
}

/// The slowest routes of each variant in a phase, at most `most` for each variant.
pub fn routes(scenario: &ScenarioFindings, phase: &str, most: usize) -> Vec<PartTable> {
    let slowest = scenario.routes.iter();
    slowest
        .filter(|slowest| slowest.phase == phase)
        .map(|slowest| routes_of(scenario, slowest, most))
        .collect()
}

fn routes_of(scenario: &ScenarioFindings, slowest: &SlowestRoutes, most: usize) -> PartTable {
    let shown = &slowest.routes[..slowest.routes.len().min(most)];
    let first = shown.first().map(|route| &route.group);
    let several_groups = shown.iter().any(|route| Some(&route.group) != first);
    let row = |route: &RouteFindings| {
        let name = match several_groups {
            true => format!("{}: {}", route.group, route.route),
            false => route.route.clone(),
        };
        Row::new(name, &slowest.variant)
    };
    let figures: Vec<_> = shown.iter().map(|route| Some(&route.figures)).collect();
    let mut lanes = counts(&figures);
    lanes.extend(TIMES.iter().filter_map(|it| time(it, &figures)));
    let phase = scenario.phases.iter().find(|it| it.name == slowest.phase);
    let label = phase.map_or("", |phase| &*phase.label);
    let lanes = Lanes::new(&slowest.phase, label, lanes);
    let which = if shown.len() == slowest.total {
        format!("routes of {}", slowest.variant)
    } else {
        let total = grouped(slowest.total as f64);
        format!(
            "the slowest {} of {total} routes of {}",
            shown.len(),
            slowest.variant
        )
    };
    PartTable {
        title: format!("{which}, by {}", name_of(&slowest.by)),
        table: Table::of_lanes(shown.iter().map(row).collect(), vec![lanes]),
    }
}

fn counts(figures: &[Option<&PartFigures>]) -> Vec<Lane> {
    let count = |head, of: fn(&PartFigures) -> u64| {
        Lane::counts(head, figures.iter().map(|figures| figures.map(of)))
    };
    vec![
        count(["requests", ""], |figures| figures.requests),
        count(["errors", ""], |figures| figures.errors),
        count(["checks", "failed"], |figures| figures.checks_failed),
    ]
}

/// The name of a response time, and the function that returns it for a part.
type Time = (&'static str, fn(&PartFigures) -> &PartEstimate);

/// The response times of a part; only routes show the mean.
const TIMES: [Time; 3] = [
    ("mean", |it| &it.response_mean_ns),
    ("p50", |it| &it.response_p50_ns),
    ("p99", |it| &it.response_p99_ns),
];

fn time(shown: &Time, figures: &[Option<&PartFigures>]) -> Option<Lane> {
    let (which, of) = shown;
    let times: Vec<_> = figures.iter().map(|figures| figures.map(of)).collect();
    estimates(["response", *which], Unit::Nanoseconds, &times)
}

/// Returns `None` if no part has the value, for example if too few responses lie beyond a
/// percentile.
fn estimates(head: [&'static str; 2], unit: Unit, found: &[Option<&PartEstimate>]) -> Option<Lane> {
    let found = found
        .iter()
        .map(|it| it.map(|it| (it.estimate.as_ref(), it.validity)));
    let lane = Lane::of(head, unit, found);
    let any = lane.cells.iter().any(|cell| *cell != Cell::Empty);
    any.then_some(lane)
}
