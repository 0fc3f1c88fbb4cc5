//! Builds a series for each gateway, scenario and metric from all runs under the same conditions,
//! and searches each series for changes.

mod chapters;
pub mod facts;

use std::collections::BTreeMap;
use std::path::Path;

use gatebench_model::{DecisiveMetric, Variant};
use gatebench_report::csv::name_of;
use gatebench_report::format::{counted, quantity};
use gatebench_report::{Tone, Unit, Validity};
use gatebench_stats::Direction;
use gatebench_stats::change_points::{Alarm, LOOKS, WATCHED_MIN, watch};
use gatebench_store::history::{CellEntry, Found, HistoryIndex, RunEntry};
use gatebench_store::{FileDigest, Run, Status, StoreError, Timestamp};

use super::cells::geometric_mean;
use super::compare::facts::{Control, Place};
use super::differences::{json, machine_of, measured, unusual_accounting};
use super::{RunSummary, cells, summarize};
use crate::common::facts::{Metric, Sentence};
use facts::{HistoryFindings, HistoryRun, SeriesChange, SeriesFindings, SeriesPoint};

/// The largest share of unchanged histories in which a change may be reported, in any series and at
/// any look.
const FALSE_ALARMS: f64 = 0.05;

/// The number of hexadecimal digits to which a digest of conditions is truncated. They are enough
/// to distinguish series.
const DIGITS: usize = 12;

/// The smallest number of runs in which a change can be found.
pub const RUNS_MIN: usize = WATCHED_MIN + LOOKS - 1;

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
        left_out: (!finished).then(|| "it failed, or its end was not recorded".to_owned()),
        cells: if finished { cells_of(run) } else { Vec::new() },
    }
}

fn cells_of(run: &RunSummary) -> Vec<CellEntry> {
    let found = cells::of(run, run, DecisiveMetric::Cpu).into_iter();
    // The direct variant has no separate series; its values are the controls for the series of the
    // gateways.
    let (direct, gateways): (Vec<_>, Vec<_>) =
        found.partition(|it| it.place.control == Some(Control::Direct));
    let of_direct = |of: &Place| {
        let metric = cells::of_direct(of.metric)?;
        let found = direct.iter().find(|it| {
            let place = &it.place;
            (&place.scenario, &place.phase, place.metric) == (&of.scenario, &of.phase, metric)
        });
        found.map(|it| it.side.estimate.median)
    };
    let cell = |it: cells::Candidate| {
        let control = of_direct(&it.place);
        let estimate = it.side.estimate;
        CellEntry {
            value: estimate.median,
            min: estimate.min,
            max: estimate.max,
            blocks: estimate.blocks as u32,
            limited: it.side.validity == Validity::Limited,
            control,
            ..without_value(run, it.place, it.side.spoiled)
        }
    };
    let lost = cells::wholly_spoiled(run, DecisiveMetric::Cpu).into_iter();
    let lost = lost.map(|(place, blocks)| without_value(run, place, blocks));
    gateways.into_iter().map(cell).chain(lost).collect()
}

/// The entry of a place that has no value because the gateway spoiled its blocks. [`cells_of`] also
/// uses it as the base of entries with values.
fn without_value(run: &RunSummary, place: Place, spoiled: usize) -> CellEntry {
    let mut versions = run.findings.run.gateways.iter();
    let version = versions.find(|line| line.variant == place.gateway);
    CellEntry {
        conditions: conditions(run, &place.scenario, &place.gateway, &place.phase),
        scenario: place.scenario,
        gateway: place.gateway,
        version: version.map(|line| line.version.clone()).unwrap_or_default(),
        load: place.load,
        metric: name_of(&place.metric),
        unit: name_of(&place.unit),
        higher_is_better: place.direction == Direction::HigherIsBetter,
        value: 0.0,
        min: 0.0,
        max: 0.0,
        blocks: 0,
        limited: false,
        control: None,
        spoiled: spoiled as u32,
    }
}

/// A digest of the machine, load generator, scenario, load, size of the gateway and unusual
/// accounting of CPU time. It does not depend on the gateway's version or the length of the
/// measurement.
fn conditions(run: &RunSummary, scenario: &str, label: &str, phase: &str) -> String {
    let plan = &run.manifest.plan;
    let engine = run.manifest.external_generator.as_ref().map(|it| &it.name);
    let load = plan.load_of(scenario);
    let phase = load.phases.iter().find(|it| it.name == phase);
    let setup = plan.variant(label).and_then(Variant::setup);
    let size = setup.map(|setup| (setup.limits, setup.gateway_cores(&plan.placement).len()));
    let all = (
        machine_of(run),
        engine,
        plan.scenario(scenario).map(measured),
        phase.map(|it| (&it.shape, &it.change)),
        size,
    );
    // These properties are appended only if present, so series without them keep the digest of
    // earlier versions.
    let failure = phase.and_then(|it| it.failure.as_ref()).map(json);
    let cold = if load.cold { "cold" } else { "" };
    let accounting = unusual_accounting(run).concat();
    let text = json(&all) + &failure.unwrap_or_default() + cold + &accounting;
    let digest = FileDigest::of("", text.as_bytes());
    digest.sha256.chars().take(DIGITS).collect()
}

fn of_word<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

/// Reads the new and changed runs of a folder into its index, and returns the entries of all runs,
/// oldest first. Before each run is read, `on_read` is called with the run's name, its number from
/// 1, and the number of runs to read.
///
/// # Errors
/// Fails with [`StoreError::Io`] if the folder cannot be read, and with [`StoreError::Index`] if
/// the index cannot be used.
pub fn updated(
    index: &mut HistoryIndex,
    folder: &Path,
    mut on_read: impl FnMut(&str, usize, usize),
) -> Result<Vec<RunEntry>, StoreError> {
    let stale = index.stale()?;
    for (number, found) in (1..).zip(&stale) {
        on_read(&found.dir, number, stale.len());
        index.put(&read(folder, found))?;
    }
    index.entries()
}

/// The index entry of a run. If the run cannot be read, the entry states the reason, and the run is
/// not read again until it changes.
fn read(folder: &Path, found: &Found) -> RunEntry {
    let dir = folder.join(&found.dir);
    let summary = Run::open(&dir).and_then(|run| summarize(found.dir.as_str(), &run));
    match summary {
        Ok(summary) => entry(&summary, found.stamp.clone()),
        Err(error) => RunEntry {
            dir: found.dir.clone(),
            stamp: found.stamp.clone(),
            created: Timestamp::UNIX_EPOCH,
            suite: String::new(),
            gatebench: String::new(),
            blocks: 0,
            left_out: Some(error.to_string()),
            cells: Vec::new(),
        },
    }
}

/// Returns the history of a folder of runs. The entries must be sorted, oldest first.
pub fn history(entries: &[RunEntry]) -> HistoryFindings {
    let mut series = collect(entries);
    let shares = shares(&series);
    let dirs: Vec<&str> = entries.iter().map(|it| it.dir.as_str()).collect();
    for (found, share) in series.iter_mut().zip(shares) {
        if let Some(share) = share {
            found.searched = true;
            found.changes = search(found, share, &dirs);
        }
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

/// Builds the series. Cells whose metric or unit is unknown are ignored.
fn collect(entries: &[RunEntry]) -> Vec<SeriesFindings> {
    let mut found: BTreeMap<_, SeriesFindings> = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate() {
        // A cell without a usable block has no value; only the function `spoiled` uses it.
        for cell in entry.cells.iter().filter(|cell| cell.blocks > 0) {
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
                control: cell.control,
                spoiled: cell.spoiled,
            });
        }
    }
    found.into_values().collect()
}

/// The indexes of the points that are searched. Limited points are left out, as are points with
/// spoiled blocks, because the remaining blocks could look like an improvement.
fn usable(series: &SeriesFindings) -> Vec<usize> {
    let points = series.points.iter().enumerate();
    points
        .filter(|(_, point)| !point.limited && point.spoiled == 0 && point.value > 0.0)
        .map(|(at, _)| at)
        .collect()
}

/// The share of false alarms of each series; `None` for a series that is too short. The series that
/// became long enough with the same run form a batch. Batch number b divides [`FALSE_ALARMS`] ÷
/// (b(b + 1)) equally among its series; the sum over all batches is at most [`FALSE_ALARMS`]. The
/// shares do not depend on later batches, so a reported change remains reported when series are
/// added.
fn shares(series: &[SeriesFindings]) -> Vec<Option<f64>> {
    let batch = |it: &SeriesFindings| {
        let places = usable(it);
        let last = places.get(RUNS_MIN - 1)?;
        Some(it.points[*last].run)
    };
    let batches: Vec<Option<usize>> = series.iter().map(batch).collect();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for run in batches.iter().flatten() {
        *counts.entry(*run).or_default() += 1;
    }
    let share = |(number, (run, count)): (u32, (&usize, &usize))| {
        let parts = f64::from(number) * (f64::from(number) + 1.0);
        (*run, FALSE_ALARMS / parts / *count as f64)
    };
    let shares: BTreeMap<usize, f64> = (1_u32..).zip(&counts).map(share).collect();
    let of = |run: Option<usize>| shares.get(&run?).copied();
    batches.into_iter().map(of).collect()
}

struct Searched<'a> {
    series: &'a SeriesFindings,
    places: Vec<usize>,
    values: Vec<f64>,
    /// Values of the direct variant; `None` if a run lacks one.
    control: Option<Vec<f64>>,
}

/// Finds the changes in the logarithms of a series, in which a rise and a fall by the same factor
/// have the same size. `share` is the series' share of the false alarms.
fn search(series: &SeriesFindings, share: f64, dirs: &[&str]) -> Vec<SeriesChange> {
    let places = usable(series);
    let points = || places.iter().map(|at| &series.points[*at]);
    let values: Vec<f64> = points().map(|it| it.value).collect();
    let control = points().map(|it| it.control.filter(|value| *value > 0.0));
    let control = control.collect();
    let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.ln()).collect() };
    let of = Searched {
        series,
        values,
        control,
        places,
    };
    let control = of.control.as_deref().map(logs);
    let found = watch(&logs(&of.values), control.as_deref(), share).unwrap_or_default();
    let starts = [0].into_iter().chain(found.iter().map(|it| it.at));
    let ends = found.iter().skip(1).map(|it| it.at);
    starts
        .zip(ends.chain([of.values.len()]))
        .zip(&found)
        .map(|((start, end), alarm)| of.change(start, alarm, end, dirs))
        .collect()
}

impl Searched<'_> {
    /// The change at an alarm, with the levels since the previous alarm and until the next one.
    fn change(&self, start: usize, alarm: &Alarm, end: usize, dirs: &[&str]) -> SeriesChange {
        let (series, points) = (self.series, &self.series.points);
        let means = |of: &[f64]| {
            let before = geometric_mean(&of[start..alarm.at]);
            (before, geometric_mean(&of[alarm.at..end]))
        };
        let (before, after) = means(&self.values);
        let machine = self.control.as_deref().map_or(1.0, |control| {
            let (before, after) = means(control);
            (after / before).powf(alarm.share)
        });
        let net = after / before / machine;
        let worse = (net > 1.0) == (series.direction == Direction::LowerIsBetter);
        let [last, first] = [self.places[alarm.at - 1], self.places[alarm.at]];
        let run = |at: usize| dirs[points[at].run].to_owned();
        let told_with = run(self.places[alarm.told_with - 1]);
        let versions = match (&points[last].version, &points[first].version) {
            (old, new) if old != new => format!(", where the version changed from {old} to {new}"),
            _ => String::new(),
        };
        let per_cent = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0));
        let without_direct = match alarm.share > 0.0 {
            true => format!(", {} without the direct variant's change", per_cent(net)),
            false => String::new(),
        };
        let text = format!(
            "{}, {}: {} at {} goes from {} to {} ({}{without_direct}) in {}{versions}: {}.",
            series.scenario,
            series.gateway,
            series.metric.title(),
            series.load,
            quantity(before, series.unit),
            quantity(after, series.unit),
            per_cent(after / before),
            run(first),
            if worse { "worse" } else { "better" },
        );
        SeriesChange {
            at: first,
            run: run(first),
            after_run: run(last),
            before,
            after,
            net,
            p: alarm.p,
            told_with,
            worse,
            text,
        }
    }
}

fn headlines(entries: &[RunEntry], series: &[SeriesFindings]) -> Vec<Sentence> {
    let mut found = Vec::new();
    for of in series {
        for change in &of.changes {
            let tone = if change.worse {
                Tone::Alarm
            } else {
                Tone::Plain
            };
            let (scenario, gateway) = (Some(of.scenario.as_str()), Some(of.gateway.as_str()));
            found.push(Sentence::new(tone, &change.text, scenario, gateway));
        }
    }
    found.sort_by_key(|it| it.tone != Tone::Alarm);
    let searched = series.iter().filter(|it| it.searched).count();
    if found.is_empty() && searched > 0 {
        let text = format!(
            "No change was found in {} across {}.",
            if searched == 1 {
                "one series".into()
            } else {
                format!("{searched} series")
            },
            counted(entries.len() as u64, "run")
        );
        found.push(Sentence::new(Tone::Plain, text, None, None));
    }
    found.extend(spoiled(entries));
    let short = series.len() - searched;
    if short > 0 {
        let text = format!(
            "{short} of {} series {} too short to distinguish a change from chance: {} runs under the same conditions are needed.",
            series.len(),
            if short == 1 { "is" } else { "are" },
            RUNS_MIN
        );
        found.push(Sentence::new(Tone::Caution, text, None, None));
    }
    found
}

/// For each run, by its index: the number of spoiled blocks and the number of all blocks, for the
/// metric with the most spoiled blocks.
type SpoiledByRun = BTreeMap<usize, (u32, u32)>;

/// Returns a sentence for each gateway that spoiled blocks of a scenario. The sentence names the
/// latest run with spoiled blocks.
fn spoiled(entries: &[RunEntry]) -> Vec<Sentence> {
    let mut seen: BTreeMap<(&str, &str), SpoiledByRun> = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate() {
        for cell in entry.cells.iter().filter(|cell| cell.spoiled > 0) {
            let of = (cell.scenario.as_str(), cell.gateway.as_str());
            let runs = seen.entry(of).or_default();
            let blocks = (cell.spoiled, cell.spoiled + cell.blocks);
            let most = runs.entry(run).or_insert(blocks);
            *most = blocks.max(*most);
        }
    }
    let sentence = |((scenario, gateway), runs): ((&str, &str), SpoiledByRun)| {
        let (last, (spoiled, all)) = runs.last_key_value()?;
        let which = match runs.len() {
            1 => String::new(),
            count => format!("{count} runs, the last of them "),
        };
        let text = format!(
            "{scenario}, {gateway}: the gateway itself spoiled blocks of {which}{} ({spoiled} of \
             {}). The affected figures of such a run come from the remaining blocks and are not \
             searched for changes.",
            entries[*last].dir,
            counted(u64::from(*all), "block"),
        );
        let (scenario, gateway) = (Some(scenario), Some(gateway));
        Some(Sentence::new(Tone::Caution, text, scenario, gateway))
    };
    seen.into_iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn series(runs: Range<usize>) -> SeriesFindings {
        let point = |run| SeriesPoint {
            run,
            version: "1".into(),
            value: 1.0,
            min: 1.0,
            max: 1.0,
            blocks: 1,
            limited: false,
            control: None,
            spoiled: 0,
        };
        SeriesFindings {
            scenario: "proxy-json".into(),
            gateway: "nginx".into(),
            load: "64 connections".into(),
            metric: Metric::GatewayCpuPerRequest,
            unit: Unit::Nanoseconds,
            direction: Direction::LowerIsBetter,
            conditions: String::new(),
            points: runs.map(point).collect(),
            searched: false,
            changes: Vec::new(),
        }
    }

    #[test]
    fn earlier_names_of_metrics_are_read() {
        let metrics = ["throughput_of_floor", "throughput_of_direct"].map(of_word);
        assert_eq!(metrics, [Some(Metric::ThroughputOfDirect); 2]);
    }

    #[test]
    fn added_series_do_not_change_the_shares_of_earlier_ones() {
        let first = Some(FALSE_ALARMS / 2.0 / 2.0);
        let early = [series(0..20), series(0..20)];
        assert_eq!(shares(&early), [first; 2]);
        // The third series reached its thirteenth run later; the fourth has not reached it.
        let all = [early, [series(5..20), series(8..20)]].concat();
        let second = Some(FALSE_ALARMS / 6.0);
        assert_eq!(shares(&all), [first, first, second, None]);
    }
}
