//! Tables of policies: a row for each scenario, with the document's columns, ours, and both as ratios to the
//! row without policies.

use super::checks;
use super::measured::{Load, Measured, cell, first_of, loads_in_words};
use super::published::PolicyRow;
use super::ratio::{of_ratios, ratio};
use crate::findings::{
    Aspect, DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, PhaseKind,
    Unit, Validity,
};

/// A row with its loads.
pub(super) struct Line<'a> {
    /// What was published of it.
    pub(super) published: PolicyRow,
    /// Label of the variant.
    pub(super) variant: &'a str,
    /// The load that the document has: a number of users who send as soon as they are answered.
    pub(super) closed: Vec<Load<'a>>,
    /// A load at one rate for all; none in a run that has only the document's.
    pub(super) open: Vec<Load<'a>>,
}

/// The rows at a variant, in the document's order.
pub(super) fn lines<'a>(
    measured: &Measured<'a>,
    rows: &[PolicyRow],
    variant: &'a str,
) -> Vec<Line<'a>> {
    let line = |row: &PolicyRow| {
        let loads = measured.loads(row.scenario, variant);
        Line {
            published: *row,
            variant,
            closed: first_of(&loads, PhaseKind::Closed),
            open: first_of(&loads, PhaseKind::Open),
        }
    };
    rows.iter().map(line).collect()
}

/// Which of the document's columns a table has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// All.
    Whole,
    /// Without the gateway's latency, as the earlier edition.
    WithoutGatewayLatency,
    /// Rate and percentiles only.
    Percentiles,
}

/// A figure of the document's load.
type Figure = fn(&Load<'_>) -> Option<f64>;

/// A column of the document: its head, its unit, what must stand for it, and the figure.
type Column = ([&'static str; 2], Unit, Option<Aspect>, Figure);

impl Columns {
    /// The columns but for the checks, which are words.
    fn figures(self) -> Vec<Column> {
        use Aspect::{Latency, Memory, Throughput};
        const TIME: Unit = Unit::Nanoseconds;
        let rate: Column = (
            ["requests", ""],
            Unit::RequestsPerSecond,
            Some(Throughput),
            |it| it.rate(),
        );
        let p95: Column = (["p95", ""], TIME, Some(Latency), |it| it.response_ns(95.0));
        let p99: Column = (["p99", ""], TIME, Some(Latency), |it| it.response_ns(99.0));
        if self == Self::Percentiles {
            return vec![rate, p99, p95];
        }
        let gateway: Column = (["gateway", "p95"], TIME, Some(Latency), |it| {
            it.added_ns(95.0)
        });
        let rest: [Column; 6] = [
            (["average", ""], TIME, Some(Latency), |it| it.mean_ns()),
            p95,
            p99,
            (["memory", ""], Unit::Bytes, Some(Memory), |it| {
                it.memory_bytes()
            }),
            (["sent", ""], Unit::Bytes, None, |it| {
                Some(it.phase.counts.bytes_sent as f64)
            }),
            (["received", ""], Unit::Bytes, None, |it| {
                Some(it.phase.counts.bytes_received as f64)
            }),
        ];
        let gateway = (self == Self::Whole).then_some(gateway);
        [rate].into_iter().chain(gateway).chain(rest).collect()
    }
}

/// The table of these lines, with ratios to the row whose scenario is `base`. None where none of the rows was
/// measured.
pub(super) fn table(
    measured: &Measured<'_>,
    lines: &[Line<'_>],
    (title, columns, base): (String, Columns, &str),
) -> Option<DocumentTable> {
    lines.iter().find(|line| !line.closed.is_empty())?;
    let figures = columns.figures();
    let base_of = |line: &Line<'_>| base_line(lines, line, base);
    let seed = measured.run.manifest().plan.seed;
    let row = |line: &Line<'_>| {
        let mut cells: Vec<DocumentCell> = figures
            .iter()
            .map(|(_, _, aspect, figure)| cell(&line.closed, *aspect, figure))
            .collect();
        cells.push(checks::cell(
            &line.closed,
            measured.scenario(line.published.scenario),
        ));
        cells.extend(ours(line));
        cells.extend(against(line, base_of(line), seed));
        row(measured, line, cells)
    };
    Some(DocumentTable {
        title,
        first: "scenario",
        rows: lines
            .iter()
            .filter(|it| is_in_run(measured, it))
            .map(row)
            .collect(),
        groups: groups(lines, &figures),
    })
}

/// Whether the run has the row's scenario.
pub(super) fn is_in_run(measured: &Measured<'_>, line: &Line<'_>) -> bool {
    measured.scenario(line.published.scenario).is_some()
}

/// What rows of these upstreams are set against: the first of them with figures. The rows of the calculator have the
/// document's own base.
const OTHER_UPSTREAMS: [&str; 2] = ["httpbin-", "go-bench-"];

/// The row that a row is set against: the one without policies of the same upstream, or where the document has no
/// figures of that the first that it has.
fn base_line<'s, 'a>(lines: &'s [Line<'a>], line: &Line<'_>, base: &str) -> Option<&'s Line<'a>> {
    let scenario = line.published.scenario;
    let mut upstreams = OTHER_UPSTREAMS.iter();
    let upstream = upstreams.find(|it| scenario.starts_with(**it));
    let mut lines = lines.iter();
    match upstream {
        None => lines.find(|it| it.published.scenario == base),
        Some(upstream) => lines.find(|it| {
            it.published.scenario.starts_with(*upstream) && it.published.figures.is_some()
        }),
    }
}

fn row(measured: &Measured<'_>, line: &Line<'_>, cells: Vec<DocumentCell>) -> DocumentRow {
    let absence = measured.absence(line.published.scenario, line.variant);
    let unloaded = || "has no load of users who send as soon as they are answered".to_owned();
    let mut loads = line.closed.iter();
    let answerless = !line.closed.is_empty() && loads.all(|it| it.rate().is_none());
    let unanswered = || "no answer within the measurement".to_owned();
    DocumentRow {
        name: line.published.label.into(),
        variant: line.variant.into(),
        absence: absence
            .or_else(|| line.closed.is_empty().then(unloaded))
            .or_else(|| answerless.then(unanswered)),
        validity: worst(&cells),
        cells,
    }
}

/// The worst validity of cells that were measured.
pub(super) fn worst(cells: &[DocumentCell]) -> Option<Validity> {
    cells.iter().filter_map(|cell| cell.validity).max()
}

fn groups(lines: &[Line<'_>], figures: &[Column]) -> Vec<DocumentGroup> {
    let column = |(head, unit, ..): &Column| DocumentColumn::new(*head, *unit);
    // What grows with the length of the measurement stands by itself.
    let is_size = |it: &&Column| it.1 == Unit::Bytes;
    let times: Vec<&Column> = figures.iter().filter(|it| !is_size(it)).collect();
    let sizes = figures.iter().filter(is_size).map(column);
    let checks = DocumentColumn::new(["checks", ""], Unit::Count);
    let open = lines.iter().flat_map(|it| &it.open);
    let label = match loads_in_words(open) {
        none if none.is_empty() => "no load at one rate".into(),
        loads => loads,
    };
    let time = |head| DocumentColumn::new(head, Unit::Nanoseconds);
    let ratios = || {
        let heads = [["here", ""], ["published", ""], ["here ÷", "published"]];
        heads.map(|it| DocumentColumn::new(it, Unit::Ratio)).into()
    };
    vec![
        DocumentGroup {
            title: "document",
            label: loads_in_words(lines.iter().flat_map(|it| &it.closed)),
            columns: times.into_iter().map(column).collect(),
        },
        DocumentGroup {
            title: "document",
            label: "the same, in all".into(),
            columns: sizes.chain([checks]).collect(),
        },
        DocumentGroup {
            title: "ours",
            label,
            columns: vec![
                DocumentColumn::new(["CPU/request", ""], Unit::CpuNanosecondsPerRequest),
                time(["added", "p50"]),
                time(["added", "p99"]),
                time(["response", "p95"]),
            ],
        },
        DocumentGroup {
            title: "ratio",
            label: "requests/s ÷ the base row".into(),
            columns: ratios(),
        },
        DocumentGroup {
            title: "ratio",
            label: "CPU/request ÷ the base row (published: if all CPUs were full)".into(),
            columns: ratios(),
        },
    ]
}

/// What we tell beside: at one rate for all, where the run has such a load.
fn ours(line: &Line<'_>) -> [DocumentCell; 4] {
    let at = if line.open.is_empty() {
        &line.closed
    } else {
        &line.open
    };
    let latency = Some(Aspect::Latency);
    [
        cell(at, Some(Aspect::CpuPerRequest), Load::cpu_ns),
        cell(&line.open, latency, |it| it.added_ns(50.0)),
        cell(&line.open, latency, |it| it.added_ns(99.0)),
        cell(&line.open, latency, |it| it.response_ns(95.0)),
    ]
}

/// Its rate and its CPU time over the base's: here, as published, and one over the other. The
/// documents do not publish CPU time: if all CPUs were full in both rows, as the document's load
/// intends, its ratio is the inverse of the ratio of rates.
fn against(line: &Line<'_>, base: Option<&Line<'_>>, seed: u64) -> [DocumentCell; 6] {
    let is_other = |base: &&Line<'_>| base.published.scenario != line.published.scenario;
    let Some(base) = base.filter(is_other) else {
        return Default::default();
    };
    let rates = ratio(
        &line.closed,
        &base.closed,
        Aspect::Throughput,
        Load::rate,
        seed,
    );
    let cpu = Aspect::CpuPerRequest;
    let cpu = ratio(&line.closed, &base.closed, cpu, Load::cpu_ns, seed);
    let figures = line.published.figures.zip(base.published.figures);
    let published = figures.map(|(own, base)| own.rate_per_second / base.rate_per_second);
    let of_rates = DocumentCell::of_one(published);
    let of_cpu = DocumentCell::of_one(published.map(f64::recip));
    let [rates_over, cpu_over] = [of_ratios(&rates, &of_rates), of_ratios(&cpu, &of_cpu)];
    [rates, of_rates, rates_over, cpu, of_cpu, cpu_over]
}
