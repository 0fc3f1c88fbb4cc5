//! Latency at shares of each gateway's saturation.

pub mod plan;

use gatebench_model::{Phase, Plan, Scenario, Shape, Shares, Variant};
use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::format::counted;
use gatebench_report::section::Section;
use gatebench_report::{Unit, Validity};
use gatebench_store::{PhaseRecord, StoreError, TaggedInterval, TrialRecord};

use crate::choice::PlanError;
use crate::common::collect::Collected;
use crate::common::context::{Context, is_of, throughput_per_second};
use crate::common::facts::{Aspect, Metric};
use crate::common::gates::is_smoke;
use crate::common::loads::arrivals;
use crate::common::shares::OfShare;
use crate::kind::{Analysed, FurtherLoad, Next, StudyFindings, StudyKind};

const EXPLANATION: &str = "A closed load finds the gateway's saturation. In the same process, \
                           requests then arrive at shares of that rate, over the same number of \
                           connections. Each figure is the median of the blocks, with their range. \
                           The rates differ between gateways: each row names its own, and rows of \
                           different gateways are not ranked.";

/// The percentage that marks the closed load at saturation.
const SATURATED: u32 = 100;

const NO_SATURATION: &str = "no request got a response at saturation, so the rates for --at cannot \
                             be computed; read the gateway's log for the reason, or omit --at";

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

impl StudyKind for Option<Shares> {
    fn further_loads(&self) -> Option<String> {
        self.as_ref().map(plan::in_words)
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        self.as_ref()
            .map_or(Ok(()), |shares| plan::check(shares, plan))
    }

    fn after_load(&self, _plan: &Plan, _earlier: &[TrialRecord], current: &TrialRecord) -> Next {
        match self {
            Some(shares) => next_share(shares, current),
            None => Next::Continue,
        }
    }

    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError> {
        let section = self.as_ref().and_then(|shares| section(of, shares));
        Ok(StudyFindings {
            sections: section.into_iter().collect(),
            ..StudyFindings::default()
        })
    }
}

/// Returns first the load that finds the gateway's saturation, and then one load for each share of
/// it.
fn next_share(shares: &Shares, current: &TrialRecord) -> Next {
    let load = |phase: Phase, percent: u32| {
        let mark = move |record: &mut PhaseRecord, _: &[TaggedInterval]| {
            record.saturation_percent = Some(percent);
        };
        Next::Load(FurtherLoad::new(phase, false, mark))
    };
    let percents = current.phases.iter().map(|phase| phase.saturation_percent);
    let Some(done) = percents.flatten().count().checked_sub(1) else {
        return load(shares.saturation(), SATURATED);
    };
    let mut phases = current.phases.iter();
    let saturated = phases.rfind(|phase| phase.saturation_percent == Some(SATURATED));
    let saturation_per_second = saturated.map_or(0.0, throughput_per_second);
    if saturation_per_second <= 0.0 {
        return Next::Stop(NO_SATURATION.into());
    }
    match shares.percents.get(done) {
        Some(percent) => load(shares.at(*percent, saturation_per_second), *percent),
        None => Next::Continue,
    }
}

/// Returns a table for the run; `None` for a smoke run, and if nothing was measured.
fn section(of: &Analysed<'_>, shares: &Shares) -> Option<Section> {
    let (context, collected) = (of.context, of.collected);
    (!is_smoke(context.plan)).then_some(())?;
    let mut rows = Vec::new();
    for (scenario, variant) in context.cells() {
        let percents = shares.percents.iter().chain(&[SATURATED]);
        rows.extend(percents.filter_map(|percent| {
            let own = of_cell(collected, scenario, variant, *percent);
            let name = name(context, scenario, variant, *percent);
            let columns = RATES.iter().chain(&ADDED).chain(&RESPONSE);
            let cells: Vec<FigureCell> = columns.map(|column| cell(column, &own)).collect();
            (!own.is_empty()).then(|| FigureRow::judged(name, variant.label(), cells))
        }));
    }
    let groups = [
        ("rate", &RATES[..]),
        ("added latency", &ADDED),
        ("response time", &RESPONSE),
    ];
    let connections = counted(u64::from(shares.connections), "connection");
    let arrivals = arrivals(shares.arrivals);
    let column = |it: &Column| FigureColumn::new(it.head, it.unit);
    let group = |(title, columns): (&str, &[Column])| {
        FigureGroup::new(title, "", columns.iter().map(column).collect::<Vec<_>>())
    };
    (!rows.is_empty()).then(|| Section {
        id: "shares",
        heading: "Equal utilization",
        explanation: EXPLANATION,
        table: FigureTable {
            title: format!("latency at shares of saturation ({connections}, {arrivals})"),
            first: "gateway",
            groups: groups.map(group).into(),
            rows,
        },
        graphs: Vec::new(),
    })
}

fn of_cell<'c, 'a>(
    collected: &'c Collected<'a>,
    scenario: &Scenario,
    variant: &Variant,
    percent: u32,
) -> Vec<&'c OfShare<'a>> {
    let is_of_cell = |it: &&OfShare<'_>| {
        is_of(it.trial, &scenario.scenario, variant.label())
            && it.phase.saturation_percent == Some(percent)
    };
    collected.shares.iter().filter(is_of_cell).collect()
}

/// The name of a row, `nginx · 50 %`, with its scenario if there are several.
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

/// Blocks in which the figure is invalid are left out of the estimate. The cell has the worst
/// validity of all blocks.
fn cell(column: &Column, blocks: &[&OfShare<'_>]) -> FigureCell {
    let validity = |it: &OfShare<'_>| {
        column
            .aspect
            .map_or(Validity::Valid, |aspect| it.validity(aspect))
    };
    let measured = blocks
        .iter()
        .filter_map(|it| Some((validity(it), (column.read)(it)?)));
    let measured: Vec<(Validity, f64)> = measured.collect();
    FigureCell {
        validity: measured.iter().map(|(validity, _)| *validity).max(),
        ..FigureCell::over(measured)
    }
}
