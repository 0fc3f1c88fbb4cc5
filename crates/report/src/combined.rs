//! The combined results of a specification in words and cells that every form of the report shares.

use gatebench_analysis::findings::{CombinedFindings, RunFigures, Unit, Validity, VersionFindings};
use gatebench_analysis::words::counted;

use crate::number::{Scale, quantity};

/// The heading.
pub const TITLE: &str = "Combined results";

/// The section of docs/METHOD.md that says how it is computed.
pub const METHOD: &str = "Combined results";

/// How to read it.
pub const EXPLANATION: &str = "Mean of the runs' rates with its range, the mean latency over all requests, the longest, and \
     the percentiles of each run: latency at saturation, which restates connections ÷ rate.";

/// What stands over the columns.
pub const HEADS: [&str; 6] = [
    "rate",
    "slowest to fastest run",
    "mean latency",
    "longest",
    "p90 of each run",
    "p99 of each run",
];

/// A version as the cells of a row.
pub struct Line {
    /// The version, with the scenario where there are several.
    pub name: String,
    /// Label of the variant, for its colour.
    pub variant: String,
    /// Under [`HEADS`].
    pub cells: [String; 6],
}

/// The heading with what was run.
pub fn title(found: &CombinedFindings) -> String {
    format!("{TITLE} · {} · {}", found.specification, found.load)
}

/// A row for each version.
pub fn lines(found: &CombinedFindings) -> Vec<Line> {
    found.versions.iter().map(|it| line(found, it)).collect()
}

/// `nginx 1.22.1`, with the scenario where there are several.
pub fn name(found: &CombinedFindings, version: &VersionFindings) -> String {
    let mut name = version.variant.clone();
    if let Some(number) = version.version.as_ref().filter(|it| !name.contains(*it)) {
        name.push_str(&format!(" {number}"));
    }
    let is_one = found
        .versions
        .iter()
        .all(|it| it.scenario == version.scenario);
    if is_one {
        name
    } else {
        format!("{name} · {}", version.scenario)
    }
}

fn line(found: &CombinedFindings, version: &VersionFindings) -> Line {
    let time = |value: f64| quantity(value, Unit::Nanoseconds);
    let mut cells = [const { String::new() }; 6];
    if let Some(it) = &version.combined {
        let rates = [
            it.rate_mean_per_second,
            it.rate_min_per_second,
            it.rate_max_per_second,
        ];
        let scale = Scale::of_all(rates, Unit::RequestsPerSecond);
        cells[0] = scale.full(it.rate_mean_per_second);
        cells[1] = format!("{} to {}", scale.full(rates[1]), scale.full(rates[2]));
        cells[2] = it.mean_ns.map(time).unwrap_or_default();
        cells[3] = it.max_ns.map(|it| time(it as f64)).unwrap_or_default();
    }
    cells[4] = of_each(version, |run| run.p90_ns);
    cells[5] = of_each(version, |run| run.p99_ns);
    Line {
        name: name(found, version),
        variant: version.variant.clone(),
        cells,
    }
}

/// `4.10 / 4.12 / 4.20 ms`; a dash for a run with too few answers.
fn of_each(version: &VersionFindings, pick: impl Fn(&RunFigures) -> Option<f64>) -> String {
    let values: Vec<Option<f64>> = version.runs.iter().map(pick).collect();
    if values.iter().all(Option::is_none) {
        return String::new();
    }
    let scale = Scale::of_all(values.iter().flatten().copied(), Unit::Nanoseconds);
    let words: Vec<String> = values
        .into_iter()
        .map(|value| value.map_or_else(|| "–".into(), |it| scale.number(it)))
        .collect();
    format!("{} {}", words.join(" / "), scale.unit)
}

/// What a reader must know of the runs: invalid ones, failed requests, a machine that was not quiet, trials that were
/// tried again, and where the error logs are.
pub fn facts(found: &CombinedFindings) -> Vec<String> {
    let mut facts = found.tried_again.clone();
    for version in &found.versions {
        facts.extend(of_version(found, version));
    }
    facts
}

fn of_version(found: &CombinedFindings, version: &VersionFindings) -> Vec<String> {
    let name = name(found, version);
    let runs = || version.runs.iter();
    let first = version.runs.first().map(|run| run.trial);
    let is_one_trial = runs().all(|run| Some(run.trial) == first);
    let run_name = |run: &RunFigures| match is_one_trial {
        true => run.run.clone(),
        false => format!("{} of trial {}", run.run, run.trial),
    };
    let listed = |is: fn(&RunFigures) -> bool| {
        let names: Vec<String> = runs().filter(|it| is(it)).map(run_name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let mut facts = Vec::new();
    if let Some(invalid) = listed(|run| run.validity == Validity::Invalid) {
        facts.push(format!(
            "{name}: invalid, and not combined: {invalid}; see Validity."
        ));
    }
    if let Some(limited) = listed(|run| run.validity == Validity::Limited) {
        facts.push(format!("{name}: limited: {limited}; see Validity."));
    }
    if let Some(loud) = listed(|run| run.settled.is_some_and(|it| !it.settled)) {
        facts.push(format!("{name}: the machine was not quiet before {loud}."));
    }
    let failed: u64 = runs().map(|run| run.failed).sum();
    if failed > 0 {
        let requests = counted(failed, "request");
        facts.push(format!("{name}: {requests} had no answer, or a wrong one."));
    }
    facts.extend(version.error_logs.iter().map(|log| {
        let lines = counted(log.lines, "line");
        format!("{name}: {lines} in its error log {}.", log.file)
    }));
    facts
}
