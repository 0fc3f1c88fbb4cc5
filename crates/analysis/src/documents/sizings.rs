//! Gravitee: a table for each sizing of each gateway, with peak rates and cumulative percentiles as the document
//! has them, beside means and the percentiles of the peak.

use gatebench_model::Variant;
use gatebench_stats::Estimate;
use gatebench_store::{Histogram, StoreError};

use super::artefacts::best_seconds;
use super::checks;
use super::measured::{Load, Measured, cell, first_of, loads_in_words, named};
use super::policies::worst;
use super::published::{GRAVITEE, SIZINGS, Sizing};
use super::ratio::{of_ratios, ratio};
use crate::digest::{metric_word, trusted_percentile};
use crate::findings::{
    Aspect, CurveMetric, DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable,
    PhaseKind, Unit, Validity,
};

/// How long the document holds its peak.
const PEAK_SECONDS: usize = 10;

/// A row with its loads.
pub(super) struct Line<'a> {
    pub(super) label: &'static str,
    scenario: Option<&'a str>,
    variant: &'a str,
    /// Which row of the document it is.
    row: usize,
    /// The load with the ramp.
    pub(super) ramp: Vec<Load<'a>>,
}

/// The rows at each variant. The document's dummy upstream is the floor.
pub(super) fn lines<'a>(measured: &Measured<'a>) -> Vec<Vec<Line<'a>>> {
    let plan = &measured.run.manifest().plan;
    let of_variant = |variant: &'a Variant| {
        let line = |(row, (word, label)): (usize, &(&str, &'static str))| {
            let direct = *word == "upstream";
            let at = if direct { "floor" } else { variant.label() };
            let wanted = if direct { "passthrough" } else { *word };
            let scenario = scenario_of(measured, wanted);
            Line {
                label,
                scenario,
                variant: at,
                row,
                ramp: scenario.map_or_else(Vec::new, |it| ramp(&measured.loads(it, at))),
            }
        };
        GRAVITEE.iter().enumerate().map(line).collect()
    };
    let gateways = plan.variants.iter().filter(|it| !it.is_control());
    gateways.map(of_variant).collect()
}

/// The scenario that measures a row.
fn scenario_of<'a>(measured: &Measured<'a>, word: &str) -> Option<&'a str> {
    let scenarios = measured.run.manifest().plan.scenarios.iter();
    let mut names = scenarios.map(|it| it.scenario.as_str());
    names.find(|name| name.strip_prefix("gravitee-") == Some(word))
}

/// The phase whose rate changes; where there is none, the one that finds the limit.
fn ramp<'a>(loads: &[Load<'a>]) -> Vec<Load<'a>> {
    let rises = |load: &&Load<'_>| match &load.phase.shape {
        gatebench_model::Shape::Open(open) => {
            !open.stages.is_empty() || open.ramp_to_per_second.is_some()
        }
        gatebench_model::Shape::Closed(_) => false,
    };
    let rising = loads.iter().find(rises);
    match rising {
        Some(load) => named(loads, Some(&load.phase.name)),
        None => {
            let closed = first_of(loads, PhaseKind::Closed);
            if closed.is_empty() {
                first_of(loads, PhaseKind::Open)
            } else {
                closed
            }
        }
    }
}

/// The seconds of the peak: the first, how many, and the answers in each of them on average.
fn peak(load: &Load<'_>) -> Option<(usize, usize, f64)> {
    let seconds = load.seconds();
    let length = if seconds.len() >= 3 * PEAK_SECONDS {
        PEAK_SECONDS
    } else {
        1
    };
    let (first, rate) = best_seconds(&seconds, length)?;
    Some((first, length, rate))
}

/// The rate that a document prints which shows the peak.
pub(super) fn peak_rate(load: &Load<'_>) -> Option<f64> {
    Some(peak(load)?.2)
}

/// A percentile of the response times of the peak alone, where enough answers lie beyond it.
pub(super) fn at_peak_ns(load: &Load<'_>, percentile: f64) -> Result<Option<f64>, StoreError> {
    let Some((first, length, _)) = peak(load) else {
        return Ok(None);
    };
    let word = metric_word(CurveMetric::Response);
    let mut sum: Option<Histogram<u64>> = None;
    for second in load.stored.seconds(&load.phase.name)? {
        let class = second
            .tag
            .strip_prefix(word)
            .and_then(|it| it.strip_prefix('.'));
        let answered = class.is_some_and(|class| class != "failed");
        if answered && (first..first + length).contains(&(second.second as usize)) {
            let all = sum.get_or_insert_with(|| {
                let mut empty = Histogram::new_from(&second.histogram);
                empty.auto(true);
                empty
            });
            // It grows as it must, so that nothing is left out.
            let _ = all.add(&second.histogram);
        }
    }
    Ok(sum.and_then(|all| trusted_percentile(&all, percentile)))
}

/// A table for each gateway.
pub(super) fn tables(
    measured: &Measured<'_>,
    lines: &[Vec<Line<'_>>],
) -> Result<Vec<DocumentTable>, StoreError> {
    let mut tables = Vec::new();
    for (variant, lines) in gateways(measured).zip(lines) {
        if lines.iter().any(|line| !line.ramp.is_empty()) {
            tables.push(table(measured, variant, lines)?);
        }
    }
    Ok(tables)
}

fn gateways<'a>(measured: &Measured<'a>) -> impl Iterator<Item = &'a Variant> + use<'a> {
    let variants = measured.run.manifest().plan.variants.iter();
    variants.filter(|it| !it.is_control())
}

/// CPUs of a gateway: its limit, or the cores that it runs on.
fn cpus(measured: &Measured<'_>, variant: &Variant) -> f64 {
    let placement = &measured.run.manifest().plan.placement;
    let setup = variant.setup();
    let limit = setup.and_then(|setup| setup.limits.cpus());
    let cores = setup.map_or(placement.gateway.len(), |setup| {
        setup.gateway_cores(placement).len()
    });
    limit.unwrap_or(cores as f64)
}

/// The published sizing whose number of CPUs is nearest by ratio.
fn nearest(cpus: f64) -> &'static Sizing {
    let away = |sizing: &Sizing| (sizing.cpus / cpus).ln().abs();
    let first = &SIZINGS[0];
    let closer = |a, b| if away(b) < away(a) { b } else { a };
    SIZINGS.iter().fold(first, closer)
}

fn table(
    measured: &Measured<'_>,
    variant: &Variant,
    lines: &[Line<'_>],
) -> Result<DocumentTable, StoreError> {
    let cpus = cpus(measured, variant);
    let sizing = nearest(cpus);
    let base = lines.iter().find(|it| it.label == "passthrough");
    let mut rows = Vec::new();
    for line in lines {
        rows.push(row(measured, line, base, sizing)?);
    }
    Ok(DocumentTable {
        title: format!("{} on {cpus} CPU", variant.label()),
        first: "scenario",
        rows,
        groups: groups(lines, sizing),
    })
}

fn groups(lines: &[Line<'_>], sizing: &Sizing) -> Vec<DocumentGroup> {
    let time = |head| DocumentColumn::new(head, Unit::Nanoseconds);
    let rate = |head| DocumentColumn::new(head, Unit::RequestsPerSecond);
    let ratio = |head| DocumentColumn::new(head, Unit::Ratio);
    let published = format!("{} CPU", sizing.cpus);
    vec![
        DocumentGroup {
            title: "document",
            label: loads_in_words(lines.iter().flat_map(|it| &it.ramp)),
            columns: vec![
                rate(["peak", "requests"]),
                time(["p95", ""]),
                time(["p99", ""]),
            ],
        },
        DocumentGroup {
            title: "ours",
            label: "the whole, and the peak alone".into(),
            columns: vec![
                rate(["mean", "requests"]),
                time(["peak's", "p95"]),
                time(["peak's", "p99"]),
                DocumentColumn::new(["dropped", ""], Unit::Count),
                DocumentColumn::new(["CPU/request", ""], Unit::CpuNanosecondsPerRequest),
                DocumentColumn::new(["checks", ""], Unit::Count),
            ],
        },
        DocumentGroup {
            title: "ratio",
            label: "peak ÷ passthrough".into(),
            columns: vec![
                ratio(["here", ""]),
                ratio(["published", published.as_str()]),
                ratio(["here ÷", "published"]),
            ],
        },
    ]
}

fn row(
    measured: &Measured<'_>,
    line: &Line<'_>,
    base: Option<&Line<'_>>,
    sizing: &Sizing,
) -> Result<DocumentRow, StoreError> {
    use Aspect::{CpuPerRequest, Latency, Throughput};
    let (rate, latency) = (Some(Throughput), Some(Latency));
    let scenario = line.scenario.and_then(|it| measured.scenario(it));
    let mut cells = vec![
        cell(&line.ramp, rate, peak_rate),
        cell(&line.ramp, latency, |it| it.response_ns(95.0)),
        cell(&line.ramp, latency, |it| it.response_ns(99.0)),
        cell(&line.ramp, rate, Load::rate),
        peak_cell(&line.ramp, 95.0)?,
        peak_cell(&line.ramp, 99.0)?,
        cell(&line.ramp, None, |it| Some(it.phase.counts.dropped as f64)),
        cell(&line.ramp, Some(CpuPerRequest), Load::cpu_ns),
        checks::cell(&line.ramp, scenario),
    ];
    cells.extend(against(measured, line, base, sizing));
    let unnamed = || Some("not in this run".to_owned());
    Ok(DocumentRow {
        name: line.label.into(),
        variant: line.variant.into(),
        absence: match line.scenario {
            Some(scenario) => measured.absence(scenario, line.variant),
            None => unnamed(),
        },
        validity: worst(&cells),
        cells,
    })
}

fn peak_cell(loads: &[Load<'_>], percentile: f64) -> Result<DocumentCell, StoreError> {
    let (mut values, mut worst) = (Vec::new(), None);
    for load in loads {
        let validity = load.validity(Some(Aspect::Latency));
        if let Some(value) = at_peak_ns(load, percentile)?
            && validity != Validity::Invalid
        {
            values.push(value);
            worst = worst.max(Some(validity));
        }
    }
    Ok(DocumentCell {
        estimate: Estimate::of_blocks(&values),
        validity: worst,
        words: None,
    })
}

fn against(
    measured: &Measured<'_>,
    line: &Line<'_>,
    base: Option<&Line<'_>>,
    sizing: &Sizing,
) -> [DocumentCell; 3] {
    let Some(base) = base.filter(|base| base.row != line.row) else {
        return Default::default();
    };
    let seed = measured.run.manifest().plan.seed;
    let here = ratio(&line.ramp, &base.ramp, Aspect::Throughput, peak_rate, seed);
    let published = sizing.peaks[line.row].zip(sizing.peaks[base.row]);
    let published = DocumentCell::of_one(published.map(|(own, base)| own / base));
    let over = of_ratios(&here, &published);
    [here, published, over]
}
