//! Audits gateways' own metrics: compares their counts and times over whole loads with those of the
//! load generator.

mod rule;

use gatebench_model::own_metrics::{Covers, LatencyKind};
use gatebench_report::chapter::{Block, Chapter, Head, Line, Lines, Text};
use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_report::format::{counted, distinct, percent, quantity};
use gatebench_report::section::Section;
use gatebench_report::{Tone, Unit};
use gatebench_store::{OwnAuditRecord, OwnLatencyRecord, TrialRecord};

use crate::common::context::Context;
use crate::common::facts::Sentence;
use rule::{Counted, Timed, Word};

/// The anchor of the section.
pub(crate) const ID: &str = "own-metrics";

const HEADING: &str = "The gateway's own metrics";

const EXPLANATION: &str = "Each gateway's own metrics are fetched before and after each load; \
     their growth between the two fetches is compared with the load generator's own counts and \
     times of the same requests (including those of the warm-up). Percentiles are those that a \
     dashboard draws from the buckets (histogram_quantile). A metric is judged as follows. \
     \"agrees\": every request is counted, and each drawn percentile lies in the bucket of the \
     measured one or in the bucket next to it (a mean: within a factor of two). \"too coarse\": the \
     measured p99 lies in the first bucket or beyond the last one, so the drawn values depend on \
     the bounds and not on the times. \"half\": the time that the gateway reports ends when it \
     sends the request to the upstream. \"whole milliseconds\": the gateway rounds its times to \
     steps of more than a tenth of the median. \"late by\" a time: the metrics include the last \
     requests only after this time. \"miscounts\": requests are missing, or counted more than \
     once. \"differs\": a figure does not agree; often, clients wait where the gateway does not \
     measure, for example in the kernel's queues.";

const PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];

/// All loads of a gateway in a scenario that have the same name.
struct Cell {
    scenario: String,
    variant: String,
    phase: String,
    counted: Counted,
    timed: Vec<Timed>,
}

/// The table of all audited metrics; `None` if no gateway was audited.
pub(crate) fn sections(context: &Context) -> Option<Section> {
    let cells = cells(context);
    let are_several = distinct(cells.iter().map(|it| &it.scenario)).len() > 1;
    let rows: Vec<FigureRow> = cells.iter().flat_map(|it| it.rows(are_several)).collect();
    let count = |name| FigureColumn::new([name, ""], Unit::Count);
    let time = |name| FigureColumn::new([name, ""], Unit::Nanoseconds);
    let pairs = PERCENTILES.map(|it| {
        let columns = ["as drawn", "measured"].map(time);
        FigureGroup::new(format!("p{it}"), "", columns)
    });
    let counts = FigureGroup::new("requests", "", ["its count", "completed"].map(count));
    let means = FigureGroup::new("mean", "", ["its own", "measured"].map(time));
    let bound = ["its own / measured", "judgment"].map(count);
    let bound = FigureGroup::new("share up to a bound", "", bound);
    let mut groups = vec![counts];
    groups.extend(pairs);
    groups.extend([means, bound]);
    (!rows.is_empty()).then(|| Section {
        id: ID,
        heading: HEADING,
        explanation: EXPLANATION,
        table: FigureTable {
            title: "the gateway's figures and the measured ones".into(),
            first: "metric",
            rows,
            groups,
        },
        graphs: Vec::new(),
    })
}

/// The section for a terminal: a line per metric with its name and judgment.
pub(crate) fn brief(section: &Section) -> Chapter {
    let line = |row: &FigureRow| {
        let judgment = || row.cells.last()?.words.clone();
        let words = row.absence.clone().or_else(judgment);
        Line::brief(&*row.name, vec![Text::from(words.unwrap_or_default())])
    };
    let heads = Head::row("metric | judgment");
    let lines = Lines::new(HEADING, heads, section.table.rows.iter().map(line));
    let blocks = vec![
        Block::heading(format!("{HEADING} · figures: --verbose, or the page")),
        lines.into(),
    ];
    Chapter::new(ID, HEADING, blocks)
}

/// A sentence for each load whose requests a gateway miscounts.
pub(crate) fn headlines(context: &Context) -> Vec<Sentence> {
    cells(context).iter().filter_map(Cell::headline).collect()
}

fn cells(context: &Context) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (scenario, variant) in context.cells() {
        let (name, label) = (scenario.scenario.as_str(), variant.label());
        let records: Vec<_> = context.completed_of(name, label).collect();
        let phases = records.iter().flat_map(|record| &record.phases);
        for phase in distinct(phases.map(|phase| phase.name.as_str())) {
            let audits = audits(&records, phase);
            if !audits.is_empty() {
                cells.push(Cell::new(name, label, phase, &audits));
            }
        }
    }
    cells
}

fn audits<'a>(records: &[&'a TrialRecord], phase: &str) -> Vec<&'a OwnAuditRecord> {
    let phases = records.iter().flat_map(|record| &record.phases);
    let alike = phases.filter(|it| it.name == phase);
    alike
        .filter_map(|it| it.own_metrics.as_ref()?.audit.as_ref())
        .collect()
}

impl Cell {
    fn new(scenario: &str, variant: &str, phase: &str, audits: &[&OwnAuditRecord]) -> Self {
        let mut counted = Counted::default();
        audits.iter().for_each(|it| counted.add(it));
        let latencies = audits.iter().flat_map(|it| &it.latencies);
        // A metric may time several parts of a request, each under a separate label.
        let key = |it: &OwnLatencyRecord| (it.metric.clone(), it.covers);
        let keys = distinct(latencies.map(key));
        let timed = keys.into_iter().map(|wanted| {
            let latencies = audits.iter().flat_map(|it| &it.latencies);
            let alike: Vec<_> = latencies.filter(|it| key(it) == wanted).collect();
            Timed::over(&alike)
        });
        Self {
            scenario: scenario.to_owned(),
            variant: variant.to_owned(),
            phase: phase.to_owned(),
            counted,
            timed: timed.collect(),
        }
    }

    fn name(&self, metric: &str, are_several: bool) -> String {
        let (variant, phase) = (&self.variant, &self.phase);
        match are_several {
            true => format!("{variant} · {metric}, {phase} of {}", self.scenario),
            false => format!("{variant} · {metric}, {phase}"),
        }
    }

    /// A row for the count, and one for each metric of times.
    fn rows(&self, are_several: bool) -> Vec<FigureRow> {
        let number = |it: u64| FigureCell::of_one(Some(it as f64));
        let counted = &self.counted;
        let mut cells = vec![number(counted.own), number(counted.completed)];
        cells.resize_with(11, FigureCell::default);
        let late = Some(counted.late_ns).filter(|_| counted.words().contains(&Word::Late));
        cells.push(judgment(&counted.words(), late));
        let first = FigureRow::new(self.name("requests", are_several), &self.variant, cells);
        let timed = self.timed.iter().map(|it| {
            let name = format!("{} ({})", it.metric, covers(it.covers));
            FigureRow {
                absence: it.words().is_empty().then(|| "nothing was timed".into()),
                ..FigureRow::new(self.name(&name, are_several), &self.variant, it.cells())
            }
        });
        [first].into_iter().chain(timed).collect()
    }

    fn headline(&self) -> Option<Sentence> {
        let Counted {
            missing,
            forgotten,
            excess,
            completed,
            repeated,
            ..
        } = self.counted;
        let share = |count: u64| percent(count as f64 / completed.max(1) as f64);
        let mut faults = Vec::new();
        if missing > 0 {
            faults.push(format!(
                "it does not count {} ({}) that got a response",
                counted(missing, "request"),
                share(missing)
            ));
        }
        if forgotten > 0 {
            faults.push(format!(
                "it does not count {} that the upstream received but whose clients stopped waiting",
                counted(forgotten, "request")
            ));
        }
        if excess > 0 {
            let retries = match repeated {
                0 => String::new(),
                count => format!(
                    "; the upstream received {} again, so the gateway may count retries",
                    counted(count, "request")
                ),
            };
            faults.push(format!(
                "it counts {} ({}) that nobody sent{retries}",
                counted(excess, "request"),
                share(excess)
            ));
        }
        let (variant, phase) = (&self.variant, &self.phase);
        (!faults.is_empty()).then(|| {
            let text = format!(
                "{variant} miscounts its requests in {phase}: {}.",
                faults.join(", and ")
            );
            Sentence::new(Tone::Alarm, text, Some(&self.scenario), Some(variant))
        })
    }
}

impl Timed {
    /// The sum over the blocks. Each measured percentile is the median of its values over the
    /// blocks (the upper of the two middle ones if their number is even).
    fn over(records: &[&OwnLatencyRecord]) -> Self {
        let mut sum = Self::new(records[0]);
        for next in &records[1..] {
            sum.add(next);
        }
        for (percentile, time_ns) in &mut sum.measured.percentiles {
            let all = records.iter().flat_map(|it| &it.measured.percentiles);
            let mut of_all: Vec<u64> = all
                .filter(|it| it.0 == *percentile)
                .map(|it| it.1)
                .collect();
            of_all.sort_unstable();
            *time_ns = of_all[of_all.len() / 2];
        }
        sum
    }

    fn add(&mut self, next: &OwnLatencyRecord) {
        let mean = |(a, of_a): (Option<f64>, u64), (b, of_b): (Option<f64>, u64)| {
            let (a, b) = (a?, b?);
            // A gauge has no count.
            let weights = [of_a, of_b].map(|it| it.max(1) as f64);
            Some((a * weights[0] + b * weights[1]) / (weights[0] + weights[1]))
        };
        self.add_buckets(next);
        self.mean_ns = mean((self.mean_ns, self.count), (next.mean_ns, next.count));
        let (to, from) = (&mut self.measured, &next.measured);
        to.mean_ns = mean((to.mean_ns, to.count), (from.mean_ns, from.count));
        to.count += from.count;
        self.count += next.count;
        if self.resolution_ns != next.resolution_ns {
            self.resolution_ns = None;
        }
    }

    /// Adds up the buckets. Their counts are cumulative, so the sums at the bounds that both
    /// records have are exact.
    fn add_buckets(&mut self, next: &OwnLatencyRecord) {
        if next.count == 0 {
            return;
        }
        if self.count == 0 {
            self.bounds_ns = next.bounds_ns.clone();
            self.up_to = next.up_to.clone();
            self.measured.up_to = next.measured.up_to.clone();
            return;
        }
        let place = |bound| next.bounds_ns.iter().position(|it| it == bound);
        let bounds = self.bounds_ns.iter().enumerate();
        let common: Vec<(usize, usize)> = bounds
            .filter_map(|(own, bound)| Some((own, place(bound)?)))
            .collect();
        let sums = |a: &[u64], b: &[u64]| -> Vec<u64> {
            let places = common.iter();
            let sum = |(own, other): &(usize, usize)| Some(a.get(*own)? + b.get(*other)?);
            places.filter_map(sum).collect()
        };
        self.up_to = sums(&self.up_to, &next.up_to);
        self.measured.up_to = sums(&self.measured.up_to, &next.measured.up_to);
        self.bounds_ns = common.iter().map(|(own, _)| self.bounds_ns[*own]).collect();
    }

    fn cells(&self) -> Vec<FigureCell> {
        let mut cells = vec![
            FigureCell::of_one(Some(self.count as f64).filter(|_| self.kind != LatencyKind::Mean)),
            FigureCell::of_one(Some(self.measured.count as f64)),
        ];
        for percentile in PERCENTILES {
            let mut measured = self.measured.percentiles.iter();
            let measured = measured.find(|it| it.0 == percentile);
            let drawn = measured.and_then(|_| self.drawn_ns(percentile));
            cells.push(FigureCell::of_one(drawn));
            cells.push(FigureCell::of_one(measured.map(|it| it.1 as f64)));
        }
        cells.push(FigureCell::of_one(self.mean_ns));
        cells.push(FigureCell::of_one(self.measured.mean_ns));
        cells.push(self.widest());
        cells.push(judgment(&self.words(), None));
        cells
    }

    /// The bound at which the shares differ most: `≤ 1 ms: 99.8 % / 71.0 %`.
    fn widest(&self) -> FigureCell {
        let share = |count: u64, of: u64| count as f64 / of.max(1) as f64;
        let pairs = self.up_to.iter().zip(&self.measured.up_to);
        let shares = pairs.map(|(own, measured)| {
            (
                share(*own, self.count),
                share(*measured, self.measured.count),
            )
        });
        let all = self.bounds_ns.iter().zip(shares);
        let width = |of: &(&u64, (f64, f64))| (of.1.0 - of.1.1).abs();
        let widest = all.max_by(|a, b| width(a).total_cmp(&width(b)));
        FigureCell {
            words: widest
                .filter(|_| self.count > 0)
                .map(|(bound, (own, measured))| {
                    let bound = quantity(*bound as f64, Unit::Nanoseconds);
                    format!("≤ {bound}: {} / {}", percent(own), percent(measured))
                }),
            ..FigureCell::default()
        }
    }
}

fn judgment(words: &[Word], late_ns: Option<u64>) -> FigureCell {
    let words = words.iter().map(|word| match (word, late_ns) {
        (Word::Late, Some(ns)) => format!("late by {}", quantity(ns as f64, Unit::Nanoseconds)),
        _ => word.as_str().to_owned(),
    });
    FigureCell {
        words: Some(words.collect::<Vec<_>>().join(", ")),
        ..FigureCell::default()
    }
}

fn covers(part: Covers) -> &'static str {
    match part {
        Covers::Request => "request",
        Covers::Gateway => "gateway",
        Covers::RequestSide => "request side",
        Covers::Upstream => "upstream",
    }
}

#[cfg(test)]
mod tests {
    use gatebench_store::MeasuredTimes;

    use super::*;

    fn record(bounds_ns: &[u64], up_to: &[u64], count: u64) -> OwnLatencyRecord {
        OwnLatencyRecord {
            metric: "m".into(),
            kind: LatencyKind::Histogram,
            covers: Covers::Request,
            count,
            mean_ns: None,
            resolution_ns: None,
            bounds_ns: bounds_ns.into(),
            up_to: up_to.into(),
            measured: MeasuredTimes {
                count,
                up_to: up_to.into(),
                ..MeasuredTimes::default()
            },
        }
    }

    #[test]
    fn buckets_are_added_up_at_the_bounds_that_all_blocks_have() {
        let blocks = [
            record(&[], &[], 0),
            record(&[1, 2, 5], &[10, 20, 30], 40),
            record(&[2, 5, 9], &[1, 2, 3], 4),
        ];
        let sum = Timed::over(&blocks.iter().collect::<Vec<_>>());
        assert_eq!((sum.bounds_ns, sum.up_to), (vec![2, 5], vec![21, 32]));
        assert_eq!((sum.measured.up_to, sum.count), (vec![21, 32], 44));
    }
}
