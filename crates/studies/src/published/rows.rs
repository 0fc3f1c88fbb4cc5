//! The rows of a table, each with the loads that measure it.

use std::collections::BTreeSet;

use gatebench_model::published::{LoadChoice, PublishedRow, PublishedTable, RowKind};
use gatebench_model::{Shape, Variant};

use super::measured::{Load, Measured, first_like, first_of};
use super::targets::{Target, connections};
use super::versions;
use crate::common::facts::PhaseKind;

#[derive(Default)]
pub(super) struct Line<'a> {
    pub(super) name: String,
    /// Label of the variant; empty if the row has loads of several variants.
    pub(super) variant: &'a str,
    /// Name of the scenario; `None` if the row has loads of several scenarios.
    pub(super) scenario: Option<&'a str>,
    pub(super) published: Option<&'a PublishedRow>,
    /// The number of connections, if each number has a row.
    pub(super) connections: Option<u32>,
    pub(super) loads: Vec<Load<'a>>,
}

/// The subject of a table.
#[derive(Clone, Copy)]
pub(super) enum Page<'a> {
    Gateway(&'a Variant),
    Scenario(&'a str),
    Whole,
}

/// The subjects that the run may have a table for. If each gateway has a table, the direct variant
/// has none. If the tables are by number of CPUs, the null gateway has none either.
pub(super) fn pages<'a>(measured: &Measured<'a>, table: &PublishedTable) -> Vec<Page<'a>> {
    let plan = &measured.run.manifest().plan;
    let is_asked = |variant: &&Variant| match table.by_cpus {
        true => !variant.is_control(),
        false => **variant != Variant::Direct,
    };
    match table.row {
        RowKind::Scenario => {
            let asked = plan.variants.iter().filter(is_asked);
            asked.map(Page::Gateway).collect()
        }
        RowKind::Connections => vec![Page::Whole],
        RowKind::Version | RowKind::Run => {
            let scenarios = plan.scenarios.iter();
            scenarios.map(|it| Page::Scenario(&it.scenario)).collect()
        }
    }
}

/// The rows of a table: in the document's order, in the plan's order, or by number of connections.
pub(super) fn lines<'a>(
    measured: &Measured<'a>,
    table: &'a PublishedTable,
    page: Page<'a>,
    targets: &[Target<'a>],
) -> Vec<Line<'a>> {
    match page {
        Page::Gateway(variant) => {
            let line = |row| of_row(measured, row, variant);
            table.rows.iter().map(line).collect()
        }
        Page::Scenario(scenario) => {
            let versions = versions::of(measured, scenario).into_iter();
            versions
                .flat_map(|(variant, runs)| of_version(table.row, scenario, variant, runs))
                .collect()
        }
        Page::Whole => {
            let all = targets.iter().flat_map(|it| &it.loads);
            let numbers: BTreeSet<u32> = all.filter_map(connections).collect();
            let line = |number: u32| Line {
                name: number.to_string(),
                connections: Some(number),
                loads: targets.iter().flat_map(|it| it.at(number)).collect(),
                ..Line::default()
            };
            numbers.into_iter().map(line).collect()
        }
    }
}

fn of_row<'a>(measured: &Measured<'a>, row: &'a PublishedRow, gateway: &'a Variant) -> Line<'a> {
    let variant = row.variant.as_deref().unwrap_or(gateway.label());
    let scenario = row.scenario.as_deref();
    Line {
        name: row.row.clone(),
        variant,
        scenario,
        published: Some(row),
        loads: scenario.map_or_else(Vec::new, |it| measured.loads(it, variant)),
        ..Line::default()
    }
}

/// A line for all runs of a version together, or one for each run.
fn of_version<'a>(
    kind: RowKind,
    scenario: &'a str,
    variant: &'a str,
    runs: Vec<Load<'a>>,
) -> Vec<Line<'a>> {
    let line = |name, loads| Line {
        name,
        variant,
        scenario: Some(scenario),
        loads,
        ..Line::default()
    };
    if kind == RowKind::Version {
        return vec![line(variant.to_owned(), runs)];
    }
    let numbered = (1_u32..).zip(runs);
    let lines = numbered.map(|(number, run)| line(format!("{variant} · run {number}"), vec![run]));
    lines.collect()
}

/// The loads that `choice` selects among those of a variant in a scenario.
pub(super) fn chosen<'a>(loads: &[Load<'a>], choice: LoadChoice) -> Vec<Load<'a>> {
    match choice {
        LoadChoice::Users => first_of(loads, PhaseKind::Closed),
        LoadChoice::Rate => first_of(loads, PhaseKind::Open),
        LoadChoice::RateOrUsers => {
            first_present([PhaseKind::Open, PhaseKind::Closed].map(|it| first_of(loads, it)))
        }
        LoadChoice::Rising => {
            let [users, rate] = [PhaseKind::Closed, PhaseKind::Open].map(|it| first_of(loads, it));
            first_present([first_like(loads, rises), users, rate])
        }
        LoadChoice::Connections => {
            let kept = loads.iter().filter(|it| connections(it).is_some());
            kept.cloned().collect()
        }
    }
}

fn first_present<'a, const N: usize>(choices: [Vec<Load<'a>>; N]) -> Vec<Load<'a>> {
    let mut present = choices.into_iter().filter(|it| !it.is_empty());
    present.next().unwrap_or_default()
}

fn rises(load: &Load<'_>) -> bool {
    match &load.phase.shape {
        Shape::Open(open) => !open.stages.is_empty() || open.ramp_to_per_second.is_some(),
        Shape::Closed(_) => false,
    }
}

/// A number of CPUs with published figures.
pub(super) struct Size<'a> {
    pub(super) cpus: f64,
    /// The key in `published_of`.
    pub(super) key: &'a str,
}

/// The number of CPUs of a gateway: its limit, or the number of its cores.
pub(super) fn cpus(measured: &Measured<'_>, variant: &Variant) -> f64 {
    let placement = &measured.run.manifest().plan.placement;
    let setup = variant.setup();
    let limit = setup.and_then(|setup| setup.limits.cpus());
    let cores = setup.map(|setup| setup.gateway_cores(placement).len());
    limit.unwrap_or(cores.unwrap_or(placement.gateway.len()) as f64)
}

/// The published number of CPUs that is nearest by ratio; in a tie, the smaller.
pub(super) fn nearest<'a>(table: &'a PublishedTable, cpus: f64) -> Option<Size<'a>> {
    let keys = table.rows.iter().flat_map(|row| row.published_of.keys());
    let sizes = keys.filter_map(|key| {
        let cpus = key.parse().ok()?;
        Some(Size { cpus, key })
    });
    let mut sizes: Vec<Size<'a>> = sizes.collect();
    sizes.sort_by(|a, b| a.cpus.total_cmp(&b.cpus));
    let away = |size: &Size<'a>| (size.cpus / cpus).ln().abs();
    let closer = |a: Size<'a>, b: Size<'a>| if away(&b) < away(&a) { b } else { a };
    sizes.into_iter().reduce(closer)
}
