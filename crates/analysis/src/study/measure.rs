//! Latency at shares of each gateway's saturation.

use gatebench_model::load::Spread;
use gatebench_model::{Scenario, Shape, Shares, Variant};
use gatebench_stats::Estimate;
use gatebench_store::TrialRecord;

use super::{FurtherLoad, Next};
use crate::collect::Collected;
use crate::context::{Context, throughput_per_second};
use crate::findings::{
    Aspect, DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, Metric,
    SectionFindings, Unit, Validity,
};
use crate::format::counted;
use crate::gates::is_smoke;
use crate::shares::OfShare;

const EXPLANATION: &str = "A closed load finds the gateway's saturation, in the same process; then \
                           requests arrive at shares of that rate, over as many connections. \
                           Median of the blocks, with their range. The rates differ between \
                           gateways: each row names its own, and rows of different gateways are \
                           not ranked.";

/// The share of the load that finds the saturation.
const SATURATED: u32 = 100;

const NO_SATURATION: &str = "no request was answered at saturation, so there is no share of it to \
                             offer; read the gateway's log for why, or leave out --at";

/// A column of the table.
struct Column {
    head: [&'static str; 2],
    unit: Unit,
    aspect: Option<Aspect>,
    read: fn(&OfShare<'_>) -> Option<f64>,
}

const RATES: [Column; 2] = [
    Column {
        head: ["offered", ""],
        unit: Unit::RequestsPerSecond,
        aspect: None,
        read: |it| match &it.phase.shape {
            Shape::Open(open) => Some(open.rate_per_second),
            Shape::Closed(_) => None,
        },
    },
    Column {
        head: ["achieved", ""],
        unit: Unit::RequestsPerSecond,
        aspect: Some(Aspect::Throughput),
        read: |it| Some(throughput_per_second(it.phase)),
    },
];

const ADDED: [Column; 3] = [
    latency(["added", "p50"], |it| it.latency_ns(Metric::AddedP50)),
    latency(["added", "p99"], |it| it.latency_ns(Metric::AddedP99)),
    latency(["added", "p99.9"], |it| it.latency_ns(Metric::AddedP999)),
];

const RESPONSE: [Column; 2] = [
    latency(["response", "p50"], |it| it.latency_ns(Metric::ResponseP50)),
    latency(["response", "p99"], |it| it.latency_ns(Metric::ResponseP99)),
];

const fn latency(head: [&'static str; 2], read: fn(&OfShare<'_>) -> Option<f64>) -> Column {
    Column {
        head,
        unit: Unit::Nanoseconds,
        aspect: Some(Aspect::Latency),
        read,
    }
}

/// Returns what comes after the last load of a trial: the load that finds the gateway's saturation,
/// then one for each share of it.
pub(super) fn after_load(shares: &Shares, current: &TrialRecord) -> Next {
    let percents = current.phases.iter().map(|phase| phase.saturation_percent);
    let Some(done) = percents.flatten().count().checked_sub(1) else {
        return FurtherLoad::share(shares.saturation(), SATURATED);
    };
    let mut phases = current.phases.iter();
    let saturated = phases.rfind(|phase| phase.saturation_percent == Some(SATURATED));
    let saturation_per_second = saturated.map_or(0.0, throughput_per_second);
    if saturation_per_second <= 0.0 {
        return Next::Stop(NO_SATURATION.into());
    }
    match shares.percents.get(done) {
        Some(percent) => FurtherLoad::share(shares.at(*percent, saturation_per_second), *percent),
        None => Next::Continue,
    }
}

/// Returns a table for the run; none if nothing was measured.
pub(super) fn section(
    context: &Context,
    collected: &Collected<'_>,
    shares: &Shares,
) -> Option<SectionFindings> {
    // A smoke run does not measure speed.
    (!is_smoke(context.plan)).then_some(())?;
    let mut rows = Vec::new();
    for scenario in &context.plan.scenarios {
        for variant in &context.plan.variants {
            let percents = shares.percents.iter().chain(&[SATURATED]);
            rows.extend(percents.filter_map(|percent| {
                let own = of_cell(collected, scenario, variant, *percent);
                let name = name(context, scenario, variant, *percent);
                (!own.is_empty()).then(|| row(name, variant, &own))
            }));
        }
    }
    let groups = [
        ("rate", &RATES[..]),
        ("added latency", &ADDED),
        ("response time", &RESPONSE),
    ];
    let group = |(title, columns): (&str, &[Column])| DocumentGroup {
        title: title.into(),
        label: String::new(),
        columns: columns
            .iter()
            .map(|it| DocumentColumn::new(it.head, it.unit))
            .collect(),
    };
    (!rows.is_empty()).then(|| SectionFindings {
        id: "shares",
        heading: "Equal utilisation",
        explanation: EXPLANATION,
        table: DocumentTable {
            title: title(shares),
            first: "gateway",
            groups: groups.map(group).into(),
            rows,
        },
        graphs: Vec::new(),
    })
}

/// What was loaded, by the plan of the run.
fn title(shares: &Shares) -> String {
    let arrivals = match shares.arrivals {
        Spread::Poisson => "Poisson arrivals",
        Spread::Uniform => "even arrivals",
    };
    let connections = counted(u64::from(shares.connections), "connection");
    format!("latency at shares of saturation ({connections}, {arrivals})")
}

fn of_cell<'c, 'a>(
    collected: &'c Collected<'a>,
    scenario: &Scenario,
    variant: &Variant,
    percent: u32,
) -> Vec<&'c OfShare<'a>> {
    let is_of_cell = |it: &&OfShare<'_>| {
        it.trial.scenario == scenario.scenario
            && it.trial.variant == variant.label()
            && it.phase.saturation_percent == Some(percent)
    };
    collected.shares.iter().filter(is_of_cell).collect()
}

/// `nginx · 50 %`, with its scenario where there are several.
fn name(context: &Context, scenario: &Scenario, variant: &Variant, percent: u32) -> String {
    let label = variant.label();
    let what = match percent {
        SATURATED => "saturation".to_owned(),
        _ => format!("{percent} %"),
    };
    match context.plan.scenarios.len() {
        1 => format!("{label} · {what}"),
        _ => format!("{label} · {what} in {}", scenario.scenario),
    }
}

fn row(name: String, variant: &Variant, blocks: &[&OfShare<'_>]) -> DocumentRow {
    let columns = RATES.iter().chain(&ADDED).chain(&RESPONSE);
    let cells: Vec<DocumentCell> = columns.map(|column| cell(column, blocks)).collect();
    let validity = cells.iter().filter_map(|cell| cell.validity).max();
    DocumentRow {
        name,
        variant: variant.label().to_owned(),
        absence: None,
        validity: validity.filter(|validity| *validity != Validity::Valid),
        cells,
    }
}

/// Blocks in which the figure is invalid are left out.
fn cell(column: &Column, blocks: &[&OfShare<'_>]) -> DocumentCell {
    let validity = |it: &OfShare<'_>| {
        column
            .aspect
            .map_or(Validity::Valid, |aspect| it.validity(aspect))
    };
    let measured = blocks
        .iter()
        .filter_map(|it| Some(((column.read)(it)?, validity(it))));
    let measured: Vec<(f64, Validity)> = measured.collect();
    let usable = measured.iter().filter(|(_, it)| *it != Validity::Invalid);
    let values: Vec<f64> = usable.map(|(value, _)| *value).collect();
    DocumentCell {
        estimate: Estimate::of_blocks(&values),
        validity: measured.iter().map(|(_, validity)| *validity).max(),
        words: None,
    }
}
