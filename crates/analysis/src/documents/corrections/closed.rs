//! Corrections of the tables of policies, whose loads are users who send as soon as they are answered.

use std::collections::BTreeSet;

use gatebench_stats::concurrency;

use super::super::Document;
use super::super::artefacts::{
    KONG_BUCKETS_MS, as_bucketed, in_steps, mean_of_users_ns, steady_from,
};
use super::super::measured::{Load, median_of};
use super::super::policies::Line;
use super::super::published::{PolicyRow, SOAP};
use super::{effect, or_untold};
use crate::findings::{Aspect, Correction, CorrectionRow, CurveMetric, Unit};
use crate::words::{decimals, three_figures};

/// The earlier edition tells times in whole milliseconds.
const MILLISECOND_NS: f64 = 1e6;

/// What is corrected in a document of policies. Rows that were not measured have no effect to show.
pub(in super::super) fn of_policies(document: Document, lines: &[Line<'_>]) -> Vec<Correction> {
    let named: Vec<Named<'_, '_>> = lines.iter().map(Named::of).collect();
    let mut found = vec![saturation(&named)];
    match document {
        Document::KongSoap => {
            found.splice(0..0, [bucket(&named), users(&named)]);
            found.extend([ramp(&named), gzip(&named), memory(&named)]);
        }
        Document::KongSoapEarlier => {
            found.push(whole_milliseconds(&named));
            found.extend([ramp(&named), memory(&named)]);
        }
        _ => {}
    }
    found.push(one_run(&named));
    found
}

/// A row with the name it has in the tables of effects.
struct Named<'s, 'a> {
    name: &'static str,
    line: &'s Line<'a>,
}

impl<'s, 'a> Named<'s, 'a> {
    fn of(line: &'s Line<'a>) -> Self {
        let name = line.published.label;
        Self { name, line }
    }

    fn closed(&self, aspect: Aspect, figure: impl Fn(&Load<'a>) -> Option<f64>) -> Option<f64> {
        median_of(&self.line.closed, aspect, figure)
    }
}

fn effects(
    lines: &[Named<'_, '_>],
    of: impl Fn(&Named<'_, '_>) -> Option<CorrectionRow>,
) -> Vec<CorrectionRow> {
    lines.iter().filter_map(of).collect()
}

fn bucket(lines: &[Named<'_, '_>]) -> Correction {
    let row = |it: &Named<'_, '_>| {
        // At one rate a gateway is as far from its limit as the document's, whose times are below 1 ms.
        let at_one_rate = bucketed(&it.line.open);
        let (by_buckets, added) = at_one_rate.or_else(|| bucketed(&it.line.closed))?;
        effect(it.name, Some(by_buckets), Some(added))
    };
    let told = SOAP.iter().filter_map(|it| it.figures?.gateway_p95_ms);
    let (low, high) = told.fold((f64::MAX, 0.0_f64), |(low, high), ms| {
        (low.min(ms), high.max(ms))
    });
    let correction = Correction {
        title: "Gateway latency from a histogram whose lowest bucket ends at 1 ms",
        published: format!(
            "The gateway latency p95 is {} to {} ms in every row, with and without policies. It is read off Prometheus \
             buckets of 1, 2, 5, 7, 10 ms and so on, and within the lowest one interpolated from 0: where nearly all \
             requests take less than 1 ms, the p95 is 0.95 ms ÷ their share, whatever they take. It also ends before the \
             policies on answers begin.",
            decimals(low, 2),
            decimals(high, 2)
        ),
        here: "Added latency is timed per request at four points and kept to three digits, answers included. Here the same \
               times are put into those buckets, and read both ways.",
        heads: ["p95 by buckets", "p95"],
        unit: Unit::Nanoseconds,
        rows: effects(lines, row),
        untold: None,
    };
    or_untold(
        correction,
        "Added latency is not known here, or no load may be used for it: as published, requests carry nothing of ours.",
    )
}

/// The 95th percentile of added latency, by buckets and as it was.
fn bucketed(loads: &[Load<'_>]) -> Option<(f64, f64)> {
    let by_buckets = median_of(loads, Aspect::Latency, |load| {
        as_bucketed(load.histogram(CurveMetric::Added)?, &KONG_BUCKETS_MS, 0.95)
    });
    by_buckets.zip(median_of(loads, Aspect::Latency, |load| {
        load.added_ns(95.0)
    }))
}

fn users(lines: &[Named<'_, '_>]) -> Correction {
    let users = lines.iter().flat_map(|it| &it.line.closed);
    let users: BTreeSet<u32> = users.filter_map(Load::users).collect();
    let equal = users.len() == 1;
    let row = |it: &Named<'_, '_>| {
        let users = published_users(&it.line.published)?;
        let rate = it.closed(Aspect::Throughput, Load::rate)?;
        let mean = it.closed(Aspect::Latency, Load::mean_ns);
        effect(it.name, Some(mean_of_users_ns(users, rate)), mean)
    };
    let [first, second] = [0, 1].map(|row| published_users(&SOAP[row]).map(three_figures));
    let correction = Correction {
        title: "Rows at different numbers of users",
        published: format!(
            "By Little's law (rate × mean) {} requests were in flight in scenario 0 and {} in scenario 1: the row without \
             policies has the longest times of the first rows because it had more users, not because it is slower.",
            first.unwrap_or_default(),
            second.unwrap_or_default()
        ),
        here: "All rows of a run have the same number of connections. Here the document's numbers of users are divided by our \
               rates, which is what our means would read with them.",
        heads: ["mean at its users", "mean at equal users"],
        unit: Unit::Nanoseconds,
        rows: if equal {
            effects(lines, row)
        } else {
            Vec::new()
        },
        untold: None,
    };
    or_untold(
        correction,
        "The rows of this run have different numbers of users too, as the document's have: run it without --as-published.",
    )
}

/// Requests in flight in a published row.
fn published_users(row: &PolicyRow) -> Option<f64> {
    let figures = row.figures?;
    Some(concurrency(figures.rate_per_second, figures.mean_ms * 1e6))
}

fn saturation(lines: &[Named<'_, '_>]) -> Correction {
    let row = |it: &Named<'_, '_>| {
        let saturated = it.closed(Aspect::Latency, |load| load.response_ns(95.0));
        let steady = median_of(&it.line.open, Aspect::Latency, |load| {
            load.response_ns(95.0)
        });
        effect(it.name, saturated, steady)
    };
    let correction = Correction {
        title: "Latency at saturation",
        published: "Response times were taken while users sent as fast as they were answered. Their mean is users ÷ rate, so it \
                    says the same as the rate once more, and nothing of how long a request takes on a gateway that is not full."
            .into(),
        here: "Capacity is measured so; latency at one rate for all rows, below the limit of each.",
        heads: ["p95 at saturation", "p95 at one rate"],
        unit: Unit::Nanoseconds,
        rows: effects(lines, row),
        untold: None,
    };
    or_untold(
        correction,
        "There is no load at one rate that may be used: as published there is none.",
    )
}

fn ramp(lines: &[Named<'_, '_>]) -> Correction {
    let row = |it: &Named<'_, '_>| {
        let whole = it.closed(Aspect::Throughput, Load::rate);
        let steady = it.closed(Aspect::Throughput, steady_rate);
        effect(it.name, whole, steady)
    };
    let correction = Correction {
        title: "The ramp in the rate",
        published: "The rate is all requests over the whole time, including the 90 s in which users were still \
                    being added. In the public load scripts, the row without policies adds users until its end \
                    and is never steady."
            .into(),
        here: "The warm-up is discarded. Where a load has a ramp, as published, the seconds after it are told apart.",
        heads: ["rate with the ramp", "rate after it"],
        unit: Unit::RequestsPerSecond,
        rows: effects(lines, row),
        untold: None,
    };
    or_untold(
        correction,
        "No load of this run has a ramp that ends: its warm-up was discarded. With --as-published there is one.",
    )
}

/// Answers per second after the ramp, leaving out the last second, which may be cut.
fn steady_rate(load: &Load<'_>) -> Option<f64> {
    let from = steady_from(&load.phase.shape, load.phase.measure_ns)? as usize;
    let seconds = load.seconds();
    let steady = seconds.get(from..seconds.len().saturating_sub(1))?;
    let sum: u64 = steady.iter().sum();
    (!steady.is_empty()).then(|| sum as f64 / steady.len() as f64)
}

fn gzip(lines: &[Named<'_, '_>]) -> Correction {
    let cpu = |scenario: &str| {
        let mut lines = lines.iter();
        let line = lines.find(|it| it.line.published.scenario == scenario)?;
        line.closed(Aspect::CpuPerRequest, Load::cpu_ns)
    };
    let row = |scenario: &str| {
        let mut rows = SOAP.iter();
        let label = rows.find(|it| it.scenario == scenario)?.label;
        effect(label, cpu(scenario), cpu(&format!("{scenario}-gzip")))
    };
    let correction = Correction {
        title: "Compression that was never asked for",
        published: "The text says that answers of the calculator are compressed with gzip. The requests of its public load scripts \
                    (loadtesting/k6 of jeromeguillaume/kong-plugin-soap-xml-handling) have no Accept-Encoding."
            .into(),
        here: "The scenarios ask for what the document's ask for; a variant of two of them asks for gzip, and checks that it came.",
        heads: ["CPU without gzip", "CPU with gzip"],
        unit: Unit::CpuNanosecondsPerRequest,
        rows: ["soap-0", "soap-6"].into_iter().filter_map(row).collect(),
        untold: None,
    };
    or_untold(
        correction,
        "The scenarios soap-0-gzip and soap-6-gzip are not in this run.",
    )
}

fn memory(lines: &[Named<'_, '_>]) -> Correction {
    let row = |it: &Named<'_, '_>| {
        let at_end = it.closed(Aspect::Memory, Load::memory_at_end_bytes);
        effect(
            it.name,
            at_end,
            it.closed(Aspect::Memory, Load::memory_bytes),
        )
    };
    let correction = Correction {
        title: "Memory as one value at the end",
        published: "Memory is what the gateway's container held when the run ended, and that nothing leaks was read off a curve by eye. \
                    Where memory is given back from time to time, the end of a run is any point of a sawtooth."
            .into(),
        here: "Memory is read every second, and the most of it stands in the tables. Whether it grows is judged over hours, with an \
               interval: gatebench soak.",
        heads: ["at the end", "the most"],
        unit: Unit::Bytes,
        rows: effects(lines, row),
        untold: None,
    };
    or_untold(
        correction,
        "The gateway's memory is not known: add --pid, so that its process tree is.",
    )
}

fn whole_milliseconds(lines: &[Named<'_, '_>]) -> Correction {
    let row = |it: &Named<'_, '_>| {
        let mean = it.closed(Aspect::Latency, Load::mean_ns);
        effect(it.name, mean.map(|it| in_steps(it, MILLISECOND_NS)), mean)
    };
    let correction = Correction {
        title: "Times in whole milliseconds",
        published: "Means and percentiles are printed as whole milliseconds: 4 and 5 ms differ by a quarter, and may differ by \
                    nothing."
            .into(),
        here: "Times are kept to three digits.",
        heads: ["mean in 1 ms", "mean"],
        unit: Unit::Nanoseconds,
        rows: effects(lines, row),
        untold: None,
    };
    or_untold(correction, "No response time was measured.")
}

fn one_run(lines: &[Named<'_, '_>]) -> Correction {
    let row = |it: &Named<'_, '_>| {
        let rates: Vec<f64> = it.line.closed.iter().filter_map(Load::rate).collect();
        let lowest = rates.iter().copied().reduce(f64::min);
        let highest = rates.iter().copied().reduce(f64::max);
        effect(it.name, lowest.filter(|_| rates.len() > 1), highest)
    };
    let correction = Correction {
        title: "One run for each row",
        published:
            "Each row is one run, and what another run of the same would have given is not told."
                .into(),
        here: "Each row is several fresh processes in random order; the range stands beside the median, and from ten blocks on \
               the interval of a ratio. One run could have printed anything between these two.",
        heads: ["lowest block", "highest block"],
        unit: Unit::RequestsPerSecond,
        rows: effects(lines, row),
        untold: None,
    };
    or_untold(correction, "This run has one block.")
}
