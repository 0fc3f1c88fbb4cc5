//! The combined results of a specification: its versions side by side.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{CombinedFindings, RunFigures, Unit, Validity, VersionFindings};
use gatebench_analysis::words::{capitalised, counted};

use crate::chapter::{Block, Chapter, Chart, Line, Lines, MARKDOWN, PAGE, PANELS, Part, TERMINAL};
use crate::number::{Scale, quantity};
use crate::palette::Palette;
use crate::plots::combined as plots;

/// The section of docs/METHOD.md that says how it is computed.
const METHOD: &str = "Combined results";

/// How to read it.
const EXPLANATION: &str = "Mean of the runs' rates with its range, the mean latency over all requests, the longest, and \
     the percentiles of each run: latency at saturation, which restates connections ÷ rate.";

/// The chapter; none where the run was made from no specification.
pub fn chapter(findings: &Findings, palette: &Palette) -> Option<Chapter> {
    let found = findings.combined.as_ref()?;
    let title = format!(
        "Combined results · {} · {}",
        found.specification, found.load
    );
    let lines = Lines {
        label: title.clone(),
        first: "version",
        heads: &[
            "rate",
            "slowest to fastest run",
            "mean latency",
            "longest",
            "p90 of each run",
            "p99 of each run",
        ],
        lines: found
            .versions
            .iter()
            .map(|it| line(found, it, palette))
            .collect(),
    };
    let facts = facts(found);
    let mut card = vec![Part::Lines(lines).into()];
    card.extend(facts.iter().map(|it| Block::foot(&**it, "").on(PAGE)));
    card.push(Block::from(Part::Facts { facts }).on(TERMINAL | MARKDOWN));
    card.push(Block::charts(PANELS, charts(found, palette)));
    let blocks = vec![
        Block::heading(&*title).on(TERMINAL),
        Block::lead(EXPLANATION, METHOD).on(MARKDOWN | PAGE),
        Block::card("", card),
    ];
    Some(Chapter {
        heading: title,
        methods: &[METHOD],
        ..Chapter::new("combined", "Combined", blocks)
    })
}

fn charts(found: &CombinedFindings, palette: &Palette) -> impl Iterator<Item = Chart> {
    let chart = |title: &str, svg: Option<String>| {
        Some(Chart {
            caption: capitalised(title),
            svg: svg?,
            ..Chart::default()
        })
    };
    let figures = [
        chart(
            "throughput, with the slowest and the fastest run",
            plots::rates(found, palette),
        ),
        chart("p90 and p99 of the runs", plots::boxes(found, palette)),
    ];
    let trends = plots::trends(found, palette).into_iter();
    let trends = trends.map(move |it| chart(&it.title, Some(it.svg)));
    figures.into_iter().chain(trends).flatten()
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

fn line(found: &CombinedFindings, version: &VersionFindings, palette: &Palette) -> Line {
    let time = |value: f64| quantity(value, Unit::Nanoseconds);
    let mut cells = vec![String::new(); 4];
    if let Some(it) = &version.combined {
        let (mean, least, most) = (
            it.rate_mean_per_second,
            it.rate_min_per_second,
            it.rate_max_per_second,
        );
        let scale = Scale::of_all([mean, least, most], Unit::RequestsPerSecond);
        cells[0] = scale.full(mean);
        cells[1] = format!("{} to {}", scale.full(least), scale.full(most));
        cells[2] = it.mean_ns.map(time).unwrap_or_default();
        cells[3] = it.max_ns.map(|it| time(it as f64)).unwrap_or_default();
    }
    cells.push(of_each(version, |run| run.p90_ns));
    cells.push(of_each(version, |run| run.p99_ns));
    let rate = match &version.combined {
        Some(_) => format!("{} ({})", cells[0], cells[1]),
        None => "no valid run".to_owned(),
    };
    let with_name = |(what, cell): (&str, &String)| match cell.is_empty() {
        true => None,
        false => Some(format!("{what} {cell}")),
    };
    let latencies = ["mean", "longest"].into_iter().zip(&cells[2..]);
    let percentiles = ["p90", "p99"].into_iter().zip(&cells[4..]);
    let brief = std::iter::once(rate).chain(latencies.filter_map(with_name));
    Line {
        name: name(found, version),
        class: palette.class(&version.variant),
        brief: brief.collect(),
        more: percentiles.filter_map(with_name).collect(),
        cells,
        ..Line::default()
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
fn facts(found: &CombinedFindings) -> Vec<String> {
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
