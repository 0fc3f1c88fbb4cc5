//! Chooses the loads of a run for the requested length, and describes the changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gatebench_model::limits::MILLIS_PER_CPU;
use gatebench_model::suite::LoadOfSize;
use gatebench_model::{
    AsPublished, HumanDuration, Isolation, Length, Limits, LoadProfile, PlannedLength, Scenario,
    Suite,
};
use gatebench_report::format::counted;

use super::library::{Library, Listed};
use super::selection::Selection;
use crate::error::RunnerError;

const QUICK_BLOCKS_MAX: u32 = 3;
/// The limits on the minimum warm-up and on the measurement of a phase with `--quick`. Long think
/// times raise the first limit, and phases with changes or failures keep their measurement.
const QUICK_WARM_UP: HumanDuration = HumanDuration::from_millis(500);
const QUICK_MEASURE: HumanDuration = HumanDuration::from_millis(2_000);

/// The limit on the minimum warm-up of a load with a requested duration.
const WARM_UP_MAX: Duration = Duration::from_secs(60);

/// The minimum warm-up is at most the requested duration divided by this number.
const WARM_UP_PART: u32 = 10;

pub(crate) struct Loads {
    /// The load of every scenario that has no separate load.
    pub(crate) common: LoadProfile,
    /// The separate loads of scenarios, by name.
    pub(crate) of_scenarios: BTreeMap<String, LoadProfile>,
    pub(crate) blocks: u32,
    pub(crate) length: Option<PlannedLength>,
}

pub(crate) struct Asked<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) suite: &'a Suite,
    /// The base folder of the suite's relative paths.
    pub(crate) base: &'a Path,
    pub(crate) known: &'a Library,
    /// The limits of gateways, one for each size.
    pub(crate) sizes: &'a [Limits],
}

impl Asked<'_> {
    /// # Errors
    /// A load is unknown, there are zero blocks, or a published load is missing or ambiguous.
    pub(crate) fn loads(&self, scenarios: &[Listed<Scenario>]) -> Result<Loads, RunnerError> {
        let published = self.published()?;
        let common = self.common(published)?;
        let mut loads = Loads {
            of_scenarios: self.of_scenarios(scenarios, published)?,
            blocks: self.blocks(published)?,
            common,
            length: None,
        };
        let mut changes = Vec::new();
        if loads.blocks != self.suite.blocks {
            let (now, before) = (counted(loads.blocks.into(), "block"), self.suite.blocks);
            changes.push(format!("{now} in place of {before}"));
        }
        match self.selection.length {
            Length::Full => {}
            Length::Quick => changes.extend(self.quicken(&mut loads)),
            Length::Smoke => changes.extend(smoke(&mut loads, scenarios)),
            Length::AsPublished => changes.extend(self.published_changes(&loads)),
        }
        let length = self.selection.length;
        if length != Length::Full {
            loads.length = Some(PlannedLength { length, changes });
        }
        Ok(loads)
    }

    /// Returns the published settings of the suite, if the run repeats them.
    fn published(&self) -> Result<Option<&AsPublished>, RunnerError> {
        if self.selection.length != Length::AsPublished {
            return Ok(None);
        }
        if let Some(published) = &self.suite.as_published {
            return Ok(Some(published));
        }
        let suites = self.known.suites()?;
        let mut suites: Vec<&Suite> = suites.iter().map(|it| &it.document).collect();
        suites.retain(|suite| suite.as_published.is_some());
        let names: Vec<&str> = suites.iter().map(|suite| suite.suite.as_str()).collect();
        Err(RunnerError::words(
            format!(
                "the suite '{}' does not repeat a published document",
                self.suite.suite
            ),
            format!(
                "use --as-published with one of the suites {}, or omit it",
                names.join(", ")
            ),
        ))
    }

    fn common(&self, published: Option<&AsPublished>) -> Result<LoadProfile, RunnerError> {
        if let Some(load) = self.selection.study().load() {
            return Ok(load);
        }
        if let Some(word) = &self.selection.load {
            return self.find(word, Path::new(""));
        }
        let word = match published {
            None => &self.suite.load,
            Some(published) => self.published_load(published)?,
        };
        self.find(word, self.base)
    }

    /// Returns the published load. If the document has a different load for each size, a run can
    /// repeat only one of these loads.
    fn published_load<'p>(&self, published: &'p AsPublished) -> Result<&'p str, RunnerError> {
        if published.of_cpus.is_empty() || self.sizes.len() < 2 {
            let load = self.of_size(published).map(|it| &it.load);
            return Ok(load.unwrap_or(&published.load));
        }
        let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        Err(RunnerError::words(
            format!(
                "the document that the suite '{}' repeats has a different load for each of {}",
                self.suite.suite,
                sizes.join(", ")
            ),
            "choose one size, for example --gateway-cpus 0.5",
        ))
    }

    /// Returns the published loads of the run's only size, if there are any.
    fn of_size<'p>(&self, published: &'p AsPublished) -> Option<&'p LoadOfSize> {
        let [size] = self.sizes else {
            return None;
        };
        let mut loads = published.of_cpus.iter();
        loads.find(|load| Some(millis(load.cpus)) == size.cpu_millis)
    }

    fn of_scenarios(
        &self,
        scenarios: &[Listed<Scenario>],
        published: Option<&AsPublished>,
    ) -> Result<BTreeMap<String, LoadProfile>, RunnerError> {
        let mut found = BTreeMap::new();
        if self.selection.load.is_some() || self.selection.study().load().is_some() {
            return Ok(found);
        }
        let of_size = published.and_then(|it| self.of_size(it));
        for listed in scenarios {
            // A suite may name the scenario, its family, or the path of its file.
            let family = listed.document.family.as_ref().map(|it| &it.name);
            let words = [Some(&listed.document.scenario), family, Some(&listed.word)];
            let mut entries = words.iter().flatten().filter_map(|word| {
                let mut entries = self.suite.scenarios.iter();
                entries.find(|it| it.word() == word.as_str())
            });
            let own = entries.next().and_then(|it| it.load(published.is_some()));
            let of_size = of_size.and_then(|it| {
                let mut loads = words.iter().flatten();
                loads.find_map(|word| it.of_scenarios.get(word.as_str()))
            });
            if let Some(load) = of_size.map(String::as_str).or(own) {
                let name = listed.document.scenario.clone();
                found.insert(name, self.find(load, self.base)?);
            }
        }
        Ok(found)
    }

    fn find(&self, word: &str, base: &Path) -> Result<LoadProfile, RunnerError> {
        Ok(self.known.find::<LoadProfile>(word, base)?.document)
    }

    fn blocks(&self, published: Option<&AsPublished>) -> Result<u32, RunnerError> {
        let blocks = match (self.selection.blocks, self.selection.length) {
            (Some(blocks), _) => blocks,
            (None, Length::Quick) if self.suite.as_published.is_none() => {
                self.suite.blocks.min(QUICK_BLOCKS_MAX)
            }
            (None, Length::Smoke) => 1,
            (None, _) => published.map_or(self.suite.blocks, |it| it.blocks),
        };
        if blocks == 0 {
            return Err(RunnerError::words(
                "a run needs at least one block",
                "use --blocks 1 or more",
            ));
        }
        Ok(blocks)
    }

    /// Shortens the loads, and describes the changes. The load of a suite that repeats a document
    /// is only minutes long, so it stays as it is.
    fn quicken(&self, loads: &mut Loads) -> Vec<String> {
        if self.suite.as_published.is_some() && self.selection.load.is_none() {
            return vec![format!(
                "the load '{}', which is minutes long; --as-published uses the document's load",
                loads.common.profile
            )];
        }
        for load in loads.all() {
            for phase in &mut load.phases {
                *phase = phase.shortened(QUICK_WARM_UP, QUICK_MEASURE);
            }
        }
        vec![format!(
            "phases of at most {QUICK_MEASURE}, each after a warm-up whose minimum is at most {QUICK_WARM_UP} (or one think time, if longer); \
             phases with changes or failures keep their length"
        )]
    }

    fn published_changes(&self, loads: &Loads) -> Vec<String> {
        let common = &loads.common.profile;
        let mut words = vec![if *common == self.suite.load {
            format!("the load '{common}'")
        } else {
            format!("the load '{common}' in place of '{}'", self.suite.load)
        }];
        let own = loads.of_scenarios.iter();
        words.extend(own.map(|(name, load)| format!("the load '{}' of {name}", load.profile)));
        let header = "requests without gatebench's header, so added latency cannot be measured";
        words.push(header.into());
        words
    }
}

impl Loads {
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut LoadProfile> {
        std::iter::once(&mut self.common).chain(self.of_scenarios.values_mut())
    }

    /// Gives a scenario's own load to its healthy twins too, because twins must differ only in
    /// their requests.
    pub(crate) fn extend_to_twins(&mut self, isolations: &[Isolation]) {
        for isolation in isolations {
            let Some(own) = self.of_scenarios.get(&isolation.failing).cloned() else {
                continue;
            };
            for twin in [&isolation.healthy, &isolation.again] {
                self.of_scenarios.insert(twin.clone(), own.clone());
            }
        }
    }

    fn of(&self, scenario: &str) -> &LoadProfile {
        self.of_scenarios.get(scenario).unwrap_or(&self.common)
    }

    /// Reports whether a phase of the scenario's load has a change or a failure.
    fn is_disturbed(&self, scenario: &str) -> bool {
        let mut phases = self.of(scenario).phases.iter();
        phases.any(|phase| phase.is_disturbed())
    }
}

/// Reduces the loads to one user for each group, who sends each of the group's requests once. A
/// load with changes or failures instead keeps only the phases that have them, shortened to a few
/// seconds.
fn smoke(loads: &mut Loads, scenarios: &[Listed<Scenario>]) -> Vec<String> {
    let has_disturbed = scenarios
        .iter()
        .any(|it| loads.is_disturbed(&it.document.scenario));
    let reduced = scenarios.iter().map(|listed| {
        let scenario = &listed.document;
        let load = loads.of(&scenario.scenario).smoke(scenario);
        (scenario.scenario.clone(), load)
    });
    let mut of_each: BTreeMap<String, LoadProfile> = reduced.collect();
    if let Some(first) = of_each.values().next() {
        loads.common = first.clone();
    }
    of_each.retain(|_, load| *load != loads.common);
    loads.of_scenarios = of_each;
    let mut words =
        vec!["one user for each group, who sends each of the group's requests once".to_owned()];
    if has_disturbed {
        let longer = "a few seconds for loads with changes or failures";
        words.push(longer.into());
    }
    words
}

/// Returns the scenarios. If the shortest length is requested, reduces those whose loads have no
/// change or failure (see [`Scenario::smoke`]).
pub(crate) fn of_length(
    scenarios: Vec<Listed<Scenario>>,
    loads: &Loads,
    length: Length,
) -> Vec<Listed<Scenario>> {
    if length != Length::Smoke {
        return scenarios;
    }
    let smoke = |listed: Listed<Scenario>| {
        let is_disturbed = loads.is_disturbed(&listed.document.scenario);
        Listed {
            document: listed.document.smoke(is_disturbed),
            ..listed
        }
    };
    scenarios.into_iter().map(smoke).collect()
}

/// Sets the requested shape and duration of a load, and adds the phases that `--keep-awake`
/// requests.
pub(crate) fn adapt(load: &mut LoadProfile, selection: &Selection) {
    let duration = selection.study().duration();
    for phase in &mut load.phases {
        if let Some(shape) = &selection.shape {
            phase.shape = shape.clone();
        }
        if let Some(duration) = duration {
            phase.measure = duration;
            let warm_up = (duration.0 / WARM_UP_PART).min(WARM_UP_MAX);
            phase.warm_up = phase.warm_up.min(HumanDuration(warm_up));
        }
    }
    if selection.keep_awake {
        load.repeat_awake();
    }
}

pub(crate) fn millis(cpus: f64) -> u32 {
    (cpus * f64::from(MILLIS_PER_CPU)).round() as u32
}
