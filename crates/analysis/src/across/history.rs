//! Runs over time: a series for each gateway, scenario and metric under the same conditions, and where it changes.

use std::collections::BTreeMap;

use gatebench_model::DecisiveMetric;
use gatebench_stats::change_points::{Rule, VALUES_MAX, change_points};
use gatebench_stats::{ChangePoint, Direction};
use gatebench_store::Status;
use gatebench_store::history::{CellEntry, RunEntry};

use super::cells::{self, geometric_mean};
use super::{RunSummary, conditions};
use crate::findings::{
    Control, HistoryFindings, HistoryRun, Metric, Sentence, SeriesChange, SeriesFindings,
    SeriesPoint, Tone, Unit, Validity,
};
use crate::words::{counted, metric_title, quantity};

/// Share of histories without any change in which one is told, over all their series.
const FALSE_ALARMS: f64 = 0.05;

/// Random orders at the least, and at the most: a share cannot be smaller than one of them.
const ORDERS: (usize, usize) = (499, 4_999);

/// Runs between two changes at the least.
const SEGMENT_MIN: usize = 5;

/// What the index keeps of a run.
pub fn entry(run: &RunSummary, stamp: String) -> RunEntry {
    let facts = &run.findings.run;
    let finished = matches!(run.status(), Status::Finished | Status::Interrupted);
    RunEntry {
        dir: run.name.clone(),
        stamp,
        created: facts.created,
        suite: facts.suite.clone(),
        gatebench: facts.gatebench.clone(),
        blocks: facts.blocks_complete,
        left_out: (!finished).then(|| "it was not finished".to_owned()),
        cells: if finished { cells_of(run) } else { Vec::new() },
    }
}

fn cells_of(run: &RunSummary) -> Vec<CellEntry> {
    let versions = &run.findings.run.gateways;
    let found = cells::of(run, run, DecisiveMetric::Cpu).into_iter();
    // The floor is in no series: it is nobody's gateway.
    let gateways = found.filter(|it| it.place.control != Some(Control::Floor));
    let cell = |it: cells::Candidate| {
        let (place, estimate) = (it.place, it.side.estimate);
        let version = versions.iter().find(|line| line.variant == place.gateway);
        Some(CellEntry {
            conditions: conditions::digest(run, &place.scenario, &place.gateway, &place.phase),
            scenario: place.scenario,
            gateway: place.gateway,
            version: version.map(|line| line.version.clone()).unwrap_or_default(),
            load: place.load,
            metric: word(place.metric)?,
            unit: word(place.unit)?,
            higher_is_better: place.direction == Direction::HigherIsBetter,
            value: estimate.median,
            min: estimate.min,
            max: estimate.max,
            blocks: estimate.blocks as u32,
            limited: it.side.validity == Validity::Limited,
        })
    };
    gateways.filter_map(cell).collect()
}

/// What a metric or unit is called in JSON.
fn word(value: impl serde::Serialize) -> Option<String> {
    let json = serde_json::to_value(value).ok()?;
    json.as_str().map(str::to_owned)
}

fn of_word<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

/// What a folder of runs says over time; `entries` are the oldest first.
pub fn history(entries: &[RunEntry]) -> HistoryFindings {
    let mut series = collect(entries);
    let long = |it: &SeriesFindings| usable(it).len() >= 2 * SEGMENT_MIN;
    let count = series.iter().filter(|it| long(it)).count();
    let dirs: Vec<&str> = entries.iter().map(|it| it.dir.as_str()).collect();
    for found in series.iter_mut().filter(|it| long(it)) {
        found.searched = true;
        found.changes = search(found, count, &dirs);
    }
    HistoryFindings {
        headlines: headlines(entries, &series),
        runs: entries.iter().map(run_line).collect(),
        series,
    }
}

fn run_line(entry: &RunEntry) -> HistoryRun {
    HistoryRun {
        dir: entry.dir.clone(),
        created: entry.created,
        suite: entry.suite.clone(),
        gatebench: entry.gatebench.clone(),
        blocks: entry.blocks,
        left_out: entry.left_out.clone(),
    }
}

/// Series by scenario, gateway and metric; what an unknown version of the index wrote is passed over.
fn collect(entries: &[RunEntry]) -> Vec<SeriesFindings> {
    let mut found: BTreeMap<_, SeriesFindings> = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate() {
        for cell in &entry.cells {
            let metric: Option<Metric> = of_word(&cell.metric);
            let unit: Option<Unit> = of_word(&cell.unit);
            let (Some(metric), Some(unit)) = (metric, unit) else {
                continue;
            };
            let key = (&cell.scenario, &cell.gateway, metric, &cell.conditions);
            let series = found.entry(key).or_insert_with(|| SeriesFindings {
                scenario: cell.scenario.clone(),
                gateway: cell.gateway.clone(),
                load: cell.load.clone(),
                metric,
                unit,
                direction: match cell.higher_is_better {
                    true => Direction::HigherIsBetter,
                    false => Direction::LowerIsBetter,
                },
                conditions: cell.conditions.clone(),
                points: Vec::new(),
                searched: false,
                changes: Vec::new(),
            });
            series.points.push(SeriesPoint {
                run,
                version: cell.version.clone(),
                value: cell.value,
                min: cell.min,
                max: cell.max,
                blocks: cell.blocks,
                limited: cell.limited,
            });
        }
    }
    found.into_values().collect()
}

/// Places of the points that may be searched: the latest, where there are more than the method takes.
fn usable(series: &SeriesFindings) -> Vec<usize> {
    let points = series.points.iter().enumerate();
    let mut places: Vec<usize> = points
        .filter(|(_, point)| !point.limited && point.value > 0.0)
        .map(|(at, _)| at)
        .collect();
    let beyond = places.len().saturating_sub(VALUES_MAX);
    places.drain(..beyond);
    places
}

/// The changes of a series, by e-divisive on the logarithms, so that a factor is as far up as down. The more
/// series are searched, the rarer a change must be by chance.
fn search(series: &SeriesFindings, searched: usize, dirs: &[&str]) -> Vec<SeriesChange> {
    let places = usable(series);
    let values: Vec<f64> = places.iter().map(|at| series.points[*at].value).collect();
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let orders = ((searched as f64 / FALSE_ALARMS).ceil() as usize).clamp(ORDERS.0, ORDERS.1);
    let rule = Rule {
        min_segment: SEGMENT_MIN,
        significance: (FALSE_ALARMS / searched as f64).max(1.0 / orders as f64),
        permutations: orders,
        seed: 1,
    };
    let found = change_points(&logs, rule).unwrap_or_default();
    let ends: Vec<usize> = found.iter().map(|it| it.at).chain([values.len()]).collect();
    let starts: Vec<usize> = [0]
        .into_iter()
        .chain(found.iter().map(|it| it.at))
        .collect();
    let one = |(index, point): (usize, &ChangePoint)| {
        let before = geometric_mean(&values[starts[index]..point.at]);
        let after = geometric_mean(&values[point.at..ends[index + 1]]);
        let [last, first] = [places[point.at - 1], places[point.at]];
        change(series, (last, first), (before, after), point.p, dirs)
    };
    found.iter().enumerate().map(one).collect()
}

fn change(
    series: &SeriesFindings,
    (last, first): (usize, usize),
    (before, after): (f64, f64),
    p: f64,
    dirs: &[&str],
) -> SeriesChange {
    let points = &series.points;
    let worse = (after > before) == (series.direction == Direction::LowerIsBetter);
    let versions = match (&points[last].version, &points[first].version) {
        (old, new) if old != new => format!(", with {old} becoming {new}"),
        _ => String::new(),
    };
    let run = dirs[points[first].run];
    let text = format!(
        "{}, {}: {} at {} goes from {} to {} ({:+.1} %) with {run}{versions}: {}.",
        series.scenario,
        series.gateway,
        metric_title(series.metric),
        series.load,
        quantity(before, series.unit),
        quantity(after, series.unit),
        100.0 * (after / before - 1.0),
        if worse { "worse" } else { "better" },
    );
    SeriesChange {
        at: first,
        run: run.to_owned(),
        after_run: dirs[points[last].run].to_owned(),
        before,
        after,
        p,
        worse,
        text,
    }
}

fn headlines(entries: &[RunEntry], series: &[SeriesFindings]) -> Vec<Sentence> {
    let say = |text: String, tone, series: Option<&SeriesFindings>| Sentence {
        text,
        tone,
        scenario: series.map(|it| it.scenario.clone()),
        variant: series.map(|it| it.gateway.clone()),
    };
    let mut found = Vec::new();
    for of in series {
        for change in &of.changes {
            let tone = if change.worse {
                Tone::Alarm
            } else {
                Tone::Plain
            };
            found.push(say(change.text.clone(), tone, Some(of)));
        }
    }
    found.sort_by_key(|it| it.tone != Tone::Alarm);
    let searched = series.iter().filter(|it| it.searched).count();
    if found.is_empty() && searched > 0 {
        let text = format!(
            "No change in {} over {}.",
            if searched == 1 {
                "one series".into()
            } else {
                format!("{searched} series")
            },
            counted(entries.len() as u64, "run")
        );
        found.push(say(text, Tone::Plain, None));
    }
    let short = series.len() - searched;
    if short > 0 {
        let text = format!(
            "{short} of {} series {} too short to tell a change from chance: {} runs under the same conditions are needed.",
            series.len(),
            if short == 1 { "is" } else { "are" },
            2 * SEGMENT_MIN
        );
        found.push(say(text, Tone::Caution, None));
    }
    found
}
