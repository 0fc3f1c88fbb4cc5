//! Turns a run on disk into the facts that its outputs would have received.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gatebench_engine::Metric;
use gatebench_model::Shape;
use gatebench_outputs::{Class, Fact, Load, Own, Second, Trend, What};
use gatebench_store::{
    Histogram, PhaseRecord, Run, SecondHistogram, SeriesRow, StoreError, StoredTrial,
};
use gatebench_studies::common::facts::{CurveMetric, Reason};
use gatebench_studies::judge_load;

use super::feed::{
    Requests, Window, distribution, edges, labels_of, second_of, usage_of, validity_of,
};
use crate::workload::{Workload, connections_max};

/// The kind that is reported for errors in runs of earlier versions, which did not record kinds.
const UNKNOWN: &str = "unknown";
const FAILED: &str = "failed";

/// The times that a load is judged by.
pub(crate) const JUDGED: [(CurveMetric, Metric); 3] = [
    (CurveMetric::Response, Metric::Response),
    (CurveMetric::Service, Metric::Service),
    (CurveMetric::Lateness, Metric::Lateness),
];

/// Passes the facts of a run to `take`, trial by trial, in chronological order within each trial.
///
/// # Errors
/// A file of the run cannot be read.
pub fn replay(
    run: &Run,
    tags: &BTreeMap<String, String>,
    take: &mut dyn FnMut(&Fact),
) -> Result<(), StoreError> {
    let name = run.dir().file_name().unwrap_or(run.dir().as_os_str());
    let name = name.to_string_lossy();
    let mut id = 0;
    for trial in run.trials() {
        let mut facts = Vec::new();
        for phase in &trial.record.phases {
            id += 1;
            let past = Past {
                trial,
                phase,
                load: Arc::new(load_of(run, &name, trial, phase, tags, id)),
            };
            facts.extend(past.facts()?);
        }
        facts.sort_by_key(|fact| fact.to_ns);
        facts.iter().for_each(&mut *take);
    }
    Ok(())
}

fn load_of(
    run: &Run,
    name: &str,
    trial: &StoredTrial,
    phase: &PhaseRecord,
    tags: &BTreeMap<String, String>,
    id: u64,
) -> Load {
    let planned = &trial.record.trial;
    let plan = &run.manifest().plan;
    let scenario = plan.scenario(&planned.scenario);
    let both = scenario.zip(plan.variant(&planned.variant));
    let workload = both.and_then(|(scenario, variant)| Workload::of(scenario, variant).ok());
    let all = workload.iter().flat_map(Workload::requests).collect();
    let shapes: Vec<&Shape> = match &phase.groups[..] {
        [] => vec![&phase.shape],
        groups => groups.iter().map(|group| &group.shape).collect(),
    };
    let connections = shapes.into_iter().map(|it| u64::from(connections_max(it)));
    let requests = Requests {
        all,
        is_http2: scenario.is_some_and(|it| it.transport.http2_streams.is_some()),
        secrets: &plan.secrets(),
        connections_max: connections.sum(),
    };
    requests.load(labels_of(name, planned, &phase.name, tags), id)
}

struct Past<'a> {
    trial: &'a StoredTrial,
    phase: &'a PhaseRecord,
    load: Arc<Load>,
}

impl Past<'_> {
    fn facts(&self) -> Result<Vec<Fact>, StoreError> {
        let name = &self.phase.name;
        let times = self.trial.seconds(name)?;
        let series = self.trial.series()?;
        let series: Vec<&SeriesRow> = series.iter().filter(|row| row.phase == *name).collect();
        let mut rows = self.trial.requests()?;
        rows.retain(|row| row.phase == *name);
        let seconds = match rows.is_empty() {
            true => seconds_of_times(&times),
            false => rows.iter().map(second_of).collect(),
        };
        let mut facts: Vec<Fact> = with_times(seconds, &times)
            .into_iter()
            .map(|second| self.second(second, &series))
            .collect();
        facts.extend(series.iter().flat_map(|row| self.of_row(row)));
        let end_ns = self.end_ns();
        facts.push(self.at(end_ns, What::Judged(validity_of(&self.reasons()?))));
        facts.push(self.at(end_ns, What::Ended));
        let finished = u64::try_from(self.trial.record.finished.as_nanosecond()).unwrap_or(0);
        facts.push(self.at(finished.max(end_ns), What::Closed));
        Ok(facts)
    }

    fn window(&self) -> Window {
        let started = u64::try_from(self.trial.record.started.as_nanosecond()).unwrap_or(0);
        Window {
            begin_ns: started + self.phase.began_ns,
            measure_ns: self.phase.measure_ns,
        }
    }

    fn end_ns(&self) -> u64 {
        let window = self.window();
        window.begin_ns + window.measure_ns + self.phase.drained_ns
    }

    fn second(&self, mut second: Second, series: &[&SeriesRow]) -> Fact {
        let of_second = series.iter().find(|row| row.second == second.number);
        let engine = of_second.and_then(|row| row.engine);
        second.engine_cpu_ns = engine.map_or(0, |usage| usage.cpu_ns);
        self.during(second.number, What::Second(second))
    }

    fn of_row(&self, row: &SeriesRow) -> Vec<Fact> {
        let usage = usage_of(row.second, [row.gateway, row.engine, row.upstream]);
        let mut facts = Vec::new();
        if !usage.components.is_empty() {
            facts.push(self.during(row.second, What::Usage(usage)));
        }
        if row.own_requests.is_some() || !row.pools.is_empty() {
            let own = Own {
                requests: row.own_requests,
                pools: row.pools.clone(),
            };
            facts.push(self.during(row.second, What::Own(own)));
        }
        facts
    }

    fn during(&self, second: u32, what: What) -> Fact {
        self.fact(edges(self.window(), second, self.end_ns()), what)
    }

    fn at(&self, at_ns: u64, what: What) -> Fact {
        self.fact((at_ns, at_ns), what)
    }

    fn fact(&self, edges_ns: (u64, u64), what: What) -> Fact {
        let (from_ns, to_ns) = edges_ns;
        Fact {
            load: Arc::clone(&self.load),
            from_ns,
            to_ns,
            what,
        }
    }

    fn reasons(&self) -> Result<Vec<Reason>, StoreError> {
        let merged = self.trial.histograms()?;
        let of = |(metric, recorded): (CurveMetric, Metric)| {
            let prefix = format!("{}.{}.", self.phase.name, recorded.as_str());
            let of_class = |(tag, it): (&String, &Histogram<u64>)| {
                let class = tag.strip_prefix(&prefix)?;
                (class != FAILED).then(|| it.clone())
            };
            let sum = merged.iter().filter_map(of_class).reduce(|mut sum, it| {
                // This cannot fail, because the histogram grows as needed.
                let _ = sum.add(it);
                sum
            });
            Some((metric, sum?))
        };
        Ok(judge_load(self.phase, JUDGED.into_iter().filter_map(of)))
    }
}

/// Returns the seconds of a run of an earlier version, which recorded outcomes only by class.
fn seconds_of_times(times: &[SecondHistogram]) -> Vec<Second> {
    let mut seconds: BTreeMap<u32, Second> = BTreeMap::new();
    for it in times {
        let Some(class) = it.tag.strip_prefix("response.") else {
            continue;
        };
        let second = seconds.entry(it.second).or_insert_with(|| Second {
            number: it.second,
            ..Second::default()
        });
        match Class::named(class) {
            Some(Class::Failed) => {
                *second.errors.entry(UNKNOWN.into()).or_default() += it.histogram.len();
            }
            Some(class) => *second.classes.entry(class).or_default() += it.histogram.len(),
            None => {}
        }
    }
    seconds.into_values().collect()
}

/// Adds the recorded times to the seconds. If a histogram covers several seconds, its times are
/// added to the last of these seconds.
fn with_times(seconds: Vec<Second>, times: &[SecondHistogram]) -> Vec<Second> {
    let starts: BTreeSet<u32> = times.iter().map(|it| it.second).collect();
    let gaps = starts.iter().zip(starts.iter().skip(1)).map(|(a, b)| b - a);
    let stretch = gaps.min().unwrap_or(1);
    let mut by_number: BTreeMap<u32, Second> =
        seconds.into_iter().map(|it| (it.number, it)).collect();
    for it in times {
        let in_stretch = by_number.range(it.second..it.second + stretch);
        let last = in_stretch.last().map(|(number, _)| *number);
        let key = it.tag.split_once('.');
        let key = key.and_then(|(trend, class)| Some((Trend::named(trend)?, Class::named(class)?)));
        let second = last.and_then(|last| by_number.get_mut(&last));
        if let Some((second, key)) = second.zip(key) {
            let times = second.times.entry(key).or_default();
            times.add(&distribution(&it.histogram));
        }
    }
    by_number.into_values().collect()
}
