//! The loads of a run in the length that was asked for, and the changes that this makes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gatebench_analysis::format::counted;
use gatebench_model::setup::MILLIS_PER_CPU;
use gatebench_model::suite::LoadOfSize;
use gatebench_model::{
    AsPublished, HumanDuration, Isolation, Length, Limits, LoadProfile, PlannedLength, Scenario,
    Suite,
};

use super::library::{Library, Listed};
use super::selection::Selection;
use crate::error::RunnerError;

/// Blocks of `--quick` at the most.
const QUICK_BLOCKS_MAX: u32 = 3;
/// Of its phases at the most.
const QUICK_WARM_UP: HumanDuration = HumanDuration::from_millis(500);
const QUICK_MEASURE: HumanDuration = HumanDuration::from_millis(2_000);

/// The longest warm-up of a load whose duration was asked for.
const WARM_UP_MAX: Duration = Duration::from_secs(60);

/// The part of such a duration that the warm-up takes at most.
const WARM_UP_PART: u32 = 10;

/// The loads of a plan.
pub(crate) struct Loads {
    /// Of every scenario that has none of its own.
    pub(crate) common: LoadProfile,
    /// Of single scenarios by their names.
    pub(crate) of_scenarios: BTreeMap<String, LoadProfile>,
    pub(crate) blocks: u32,
    pub(crate) length: Option<PlannedLength>,
}

/// Where loads are looked for, and for what.
pub(crate) struct Asked<'a> {
    pub(crate) selection: &'a Selection,
    pub(crate) suite: &'a Suite,
    /// The folder from which the suite's paths are seen.
    pub(crate) base: &'a Path,
    pub(crate) known: &'a Library,
    /// The sizes that gateways are held to.
    pub(crate) sizes: &'a [Limits],
}

impl Asked<'_> {
    /// The loads of these scenarios, named by these words.
    ///
    /// # Errors
    /// Words that name no load, no blocks, a published load that there is not or that is not one.
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
            Length::AsPublished => changes.extend(self.told_published(&loads)),
        }
        if self.selection.length != Length::Full {
            let length = self.selection.length;
            loads.length = Some(PlannedLength { length, changes });
        }
        Ok(loads)
    }

    /// What the suite's document has asked for, where that is wanted.
    fn published(&self) -> Result<Option<&AsPublished>, RunnerError> {
        if self.selection.length != Length::AsPublished {
            return Ok(None);
        }
        if let Some(published) = &self.suite.as_published {
            return Ok(Some(published));
        }
        let suites = self.known.suites()?;
        let repeat = suites
            .iter()
            .filter(|it| it.document.as_published.is_some());
        let names: Vec<&str> = repeat.map(|it| it.document.suite.as_str()).collect();
        Err(RunnerError::words(
            format!("'{}' repeats no published document", self.suite.suite),
            format!(
                "use --as-published with one of {}, or omit it",
                names.join(", ")
            ),
        ))
    }

    /// The load of the scenarios that have none of their own.
    fn common(&self, published: Option<&AsPublished>) -> Result<LoadProfile, RunnerError> {
        if let Some(load) = self.selection.study.load() {
            return Ok(load);
        }
        if let Some(word) = &self.selection.load {
            return self.find(word, Path::new(""));
        }
        match published {
            None => self.find(&self.suite.load, self.base),
            Some(published) => self.find(self.published_load(published)?, self.base),
        }
    }

    /// Where a document has a load for each size, only one of them can be repeated at a time.
    fn published_load<'p>(&self, published: &'p AsPublished) -> Result<&'p str, RunnerError> {
        if published.of_cpus.is_empty() || self.sizes.len() < 2 {
            let load = self.of_size(published).map(|it| &it.load);
            return Ok(load.unwrap_or(&published.load));
        }
        let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        Err(RunnerError::words(
            format!(
                "the document that '{}' repeats has a different load for each of {}",
                self.suite.suite,
                sizes.join(", ")
            ),
            "choose one size, for example --gateway-cpus 0.5",
        ))
    }

    /// The loads of the one size that gateways are held to, where the document has some of it.
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
        if self.selection.load.is_some() || self.selection.study.load().is_some() {
            return Ok(found);
        }
        let words = match &self.selection.scenarios[..] {
            [] => self.suite.scenarios.iter().map(|it| it.word()).collect(),
            chosen => chosen.iter().map(String::as_str).collect::<Vec<_>>(),
        };
        let of_size = published.and_then(|it| self.of_size(it));
        for (word, listed) in words.into_iter().zip(scenarios) {
            let entry = self.suite.scenarios.iter().find(|it| it.word() == word);
            let own = entry.and_then(|it| it.load(published.is_some()));
            let of_size = of_size.and_then(|it| it.of_scenarios.get(word));
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
                "0 blocks measure nothing",
                "use --blocks 1 or more",
            ));
        }
        Ok(blocks)
    }

    /// A suite that repeats a document has a length of minutes by itself.
    fn quicken(&self, loads: &mut Loads) -> Vec<String> {
        if self.suite.as_published.is_some() && self.selection.load.is_none() {
            let words = format!(
                "the load '{}', which is minutes long; --as-published takes the document's",
                loads.common.profile
            );
            return vec![words];
        }
        for load in loads.all() {
            for phase in &mut load.phases {
                *phase = phase.shortened(QUICK_WARM_UP, QUICK_MEASURE);
            }
        }
        vec![format!(
            "phases of at most {QUICK_MEASURE} after {QUICK_WARM_UP} of warm-up, or a thought of their users; those in \
             which something happens keep their length"
        )]
    }

    fn told_published(&self, loads: &Loads) -> Vec<String> {
        let common = &loads.common.profile;
        let mut words = vec![if *common == self.suite.load {
            format!("the load '{common}'")
        } else {
            format!("the load '{common}' in place of '{}'", self.suite.load)
        }];
        let own = loads.of_scenarios.iter();
        words.extend(own.map(|(name, load)| format!("the load '{}' of {name}", load.profile)));
        let header =
            "requests without gatebench's header, so that nothing added can be told of them";
        words.push(header.into());
        words
    }
}

impl Loads {
    /// All loads.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut LoadProfile> {
        std::iter::once(&mut self.common).chain(self.of_scenarios.values_mut())
    }

    /// Gives the healthy twins of a scenario with a load of its own that load too: only who sends what differs.
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

    /// The load of a scenario.
    fn of(&self, scenario: &str) -> &LoadProfile {
        self.of_scenarios.get(scenario).unwrap_or(&self.common)
    }
}

/// One user for each group, who does everything once.
fn smoke(loads: &mut Loads, scenarios: &[Listed<Scenario>]) -> Vec<String> {
    let is_disturbed = |load: &LoadProfile| load.phases.iter().any(|it| it.is_disturbed());
    let has_disturbed = scenarios
        .iter()
        .any(|it| is_disturbed(loads.of(&it.document.scenario)));
    let of_each: BTreeMap<String, LoadProfile> = scenarios
        .iter()
        .map(|listed| {
            let scenario = &listed.document;
            let load = loads.of(&scenario.scenario);
            (scenario.scenario.clone(), load.smoke(scenario))
        })
        .collect();
    if let Some(first) = of_each.values().next() {
        loads.common = first.clone();
    }
    // What most scenarios have is not written for each.
    loads.of_scenarios = of_each
        .into_iter()
        .filter(|(_, load)| *load != loads.common)
        .collect();
    let mut words = vec!["one user for each group, who sends each of its requests once".to_owned()];
    if has_disturbed {
        let longer = "seconds where something happens to the gateway or the upstream";
        words.push(longer.into());
    }
    words
}

/// The scenarios as they are in the shortest length.
pub(crate) fn of_length(
    scenarios: Vec<Listed<Scenario>>,
    loads: &Loads,
    length: Length,
) -> Vec<Listed<Scenario>> {
    if length != Length::Smoke {
        return scenarios;
    }
    let smoke = |listed: Listed<Scenario>| {
        let load = loads.of(&listed.document.scenario);
        let is_disturbed = load.phases.iter().any(|it| it.is_disturbed());
        Listed {
            document: listed.document.smoke(is_disturbed),
            source: listed.source,
        }
    };
    scenarios.into_iter().map(smoke).collect()
}

/// Gives the load the shape and the duration that were asked for.
pub(crate) fn adapt(load: &mut LoadProfile, selection: &Selection) {
    let duration = selection.study.duration();
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

/// CPUs in thousandths.
pub(crate) fn millis(cpus: f64) -> u32 {
    (cpus * f64::from(MILLIS_PER_CPU)).round() as u32
}
