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
/// tried again, and where the error logs are. What is so of several versions is told once.
pub fn facts(found: &CombinedFindings) -> Vec<String> {
    let mut shared: Vec<(String, Vec<String>)> = Vec::new();
    for version in &found.versions {
        for words in of_runs(version) {
            let name = name(found, version);
            match shared.iter_mut().find(|(known, _)| *known == words) {
                Some((_, names)) => names.push(name),
                None => shared.push((words, vec![name])),
            }
        }
    }
    let whose = |names: &[String]| match names {
        [name] => name.clone(),
        names if names.len() == found.versions.len() => "All".to_owned(),
        names => names.join(", "),
    };
    let mut facts = found.tried_again.clone();
    let shared = shared.iter();
    facts.extend(shared.map(|(words, names)| format!("{}: {words}.", whose(names))));
    for version in &found.versions {
        facts.extend(version.error_logs.iter().map(|log| {
            let (name, lines) = (name(found, version), counted(log.lines, "line"));
            format!("{name}: {lines} in its error log {}.", log.file)
        }));
    }
    facts
}

fn of_runs(version: &VersionFindings) -> Vec<String> {
    let runs = || version.runs.iter();
    let first = version.runs.first().map(|run| run.trial);
    let is_one_trial = runs().all(|run| Some(run.trial) == first);
    let run_name = |run: &RunFigures| match is_one_trial {
        true => run.run.clone(),
        false => format!("{} of trial {}", run.run, run.trial),
    };
    let listed = |is: fn(&RunFigures) -> bool| {
        let names: Vec<String> = runs().filter(|it| is(it)).map(run_name).collect();
        match names.len() {
            0 => None,
            count if count > 1 && count == version.runs.len() => Some("every run".to_owned()),
            _ => Some(names.join(", ")),
        }
    };
    let invalid = listed(|run| run.validity == Validity::Invalid);
    let invalid = invalid.map(|it| format!("invalid, and not combined: {it}; see Validity"));
    let limited = listed(|run| run.validity == Validity::Limited);
    let limited = limited.map(|it| format!("limited: {it}; see Validity"));
    let loud = listed(|run| run.settled.is_some_and(|it| !it.settled));
    let loud = loud.map(|it| format!("the machine was not quiet before {it}"));
    let failed: u64 = runs().map(|run| run.failed).sum();
    let failed = (failed > 0).then(|| {
        let requests = counted(failed, "request");
        format!("{requests} had no answer, or a wrong one")
    });
    let all = [invalid, limited, loud, failed];
    all.into_iter().flatten().collect()
}
