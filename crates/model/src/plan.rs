//! The plan: every trial in order, determined before anything starts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::label;
use crate::length::SMOKE_PHASE;
use crate::suite::is_zero;
use crate::{
    AttachedPod, Length, LoadProfile, Phase, Placement, Places, PlannedLength, Scenario, Settle,
    Setup, Study, Suite,
};

/// The estimated time that a trial takes in addition to its phases: the startup of the upstream and
/// the gateway, two parity proofs, drains, and shutdown. It is part of [`Plan::expected_duration`].
pub const TRIAL_OVERHEAD: Duration = Duration::from_millis(1_000);

/// The plan of a run. The manifest contains it, and `--dry-run` describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The suite's name.
    pub suite: String,
    pub title: String,
    /// The seed of the random order.
    pub seed: u64,
    /// The planned number of blocks.
    pub blocks: u32,
    /// The maximum number of retries of a failed trial; use [`Plan::retries`] to read it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// The wait for a quiet machine before each load; use [`Plan::settle`] to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
    /// The resolved scenarios.
    pub scenarios: Vec<Scenario>,
    /// The resolved load of scenarios without a separate load.
    pub load: LoadProfile,
    /// The resolved separate loads of scenarios, by scenario name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scenario_loads: BTreeMap<String, LoadProfile>,
    /// The requested length and the resulting changes, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<PlannedLength>,
    /// The variants, in report order.
    pub variants: Vec<Variant>,
    /// The cores of each component.
    pub placement: Placement,
    /// The places of the load generators, the upstreams and Redis, if they are not this machine.
    #[serde(default, skip_serializing_if = "Places::are_here")]
    pub places: Places,
    /// The trials, in execution order.
    pub trials: Vec<Trial>,
    /// True if the bare network is measured before each closed direct load with a constant number
    /// of connections and without TLS or HTTP/2.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network_ceiling: bool,
    /// The study of the run, with the study's settings.
    #[serde(flatten)]
    pub study: Study,
}

/// The label and folder of the null gateway.
pub const NULL: &str = "null";

/// The component between the load generator and the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Variant {
    /// Nothing: the load is sent directly to the upstream.
    #[serde(alias = "floor")]
    Direct,
    Gateway {
        /// The gateway's label, unique in the plan.
        name: String,
        /// The gateway's folder: the name of an embedded one, or a path.
        folder: String,
        /// The user's additional settings.
        #[serde(default, skip_serializing_if = "Setup::is_plain")]
        setup: Setup,
    },
    /// A gateway that the user started.
    Attached {
        /// The gateway's label, unique in the plan.
        name: String,
        /// Base URL, `http://HOST:PORT`.
        url: String,
        /// The root of the gateway's process tree, if its CPU time and memory can be read.
        pid: Option<u32>,
        /// The gateway's pod, if its CPU time and memory are read there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pod: Option<AttachedPod>,
    },
}

impl Variant {
    pub fn gateway(name: impl Into<String>, folder: impl Into<String>) -> Self {
        Self::Gateway {
            name: name.into(),
            folder: folder.into(),
            setup: Setup::default(),
        }
    }

    /// The null gateway, a program that only copies bytes between its clients and the upstream. A
    /// gateway's added latency minus the null gateway's added latency is the part that the gateway
    /// itself causes.
    pub fn null() -> Self {
        Self::gateway(NULL, NULL)
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Gateway { folder, .. } if folder == NULL)
    }

    /// Reports whether the variant is only a reference for the gateways: the direct variant or the
    /// null gateway.
    pub fn is_control(&self) -> bool {
        *self == Self::Direct || self.is_null()
    }

    /// Reports whether the scenario is measured with this variant. Some scenarios exclude the
    /// direct variant or the null gateway.
    fn is_measured_in(&self, scenario: &Scenario) -> bool {
        match self {
            Self::Direct => scenario.has_direct(),
            _ if self.is_null() => scenario.incomparable_with_null().is_none(),
            _ => true,
        }
    }

    /// The user's settings in addition to the folder's, if gatebench starts the gateway.
    pub fn setup(&self) -> Option<&Setup> {
        match self {
            Self::Gateway { setup, .. } => Some(setup),
            Self::Direct | Self::Attached { .. } => None,
        }
    }

    /// The label in tables and file names.
    pub fn label(&self) -> &str {
        match self {
            Self::Direct => label::DIRECT,
            Self::Gateway { name, .. } | Self::Attached { name, .. } => name,
        }
    }
}

/// One trial: the loads of a scenario on one variant. A gateway that gatebench starts has a fresh
/// process in each trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The position in the plan, from 1. A repeated trial has a number after all others.
    pub number: u32,
    /// The number of the block, from 1.
    pub block: u32,
    /// The name of the scenario.
    pub scenario: String,
    /// The label of the variant.
    #[serde(deserialize_with = "label::required")]
    pub variant: String,
    /// The number of the failed trial that this trial repeats. If there were several attempts, it
    /// is the number of the first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<u32>,
}

impl Plan {
    /// Plans one trial per block for each scenario and variant, in random order within the block.
    ///
    /// If the suite requests the direct variant, it becomes the first variant. Some scenarios have
    /// no trials with the direct variant or the null gateway. Sweeps in the load are expanded. All
    /// blocks are Fisher-Yates shuffles from one xoshiro256++ generator seeded with `seed`, so a
    /// plan with more blocks begins with the same trials.
    pub fn expand(
        suite: &Suite,
        scenarios: Vec<Scenario>,
        load: LoadProfile,
        mut variants: Vec<Variant>,
        seed: u64,
        blocks: u32,
        placement: Placement,
    ) -> Self {
        if suite.direct && !variants.contains(&Variant::Direct) {
            variants.insert(0, Variant::Direct);
        }
        let trials = interleave(&scenarios, &variants, seed, blocks);
        Self {
            suite: suite.suite.clone(),
            title: suite.title.clone(),
            seed,
            blocks,
            retries: suite.retries,
            settle: suite.settle,
            scenarios,
            load: load.expanded(),
            scenario_loads: BTreeMap::new(),
            length: None,
            variants,
            placement,
            places: Places::default(),
            trials,
            network_ceiling: suite.network_ceiling,
            study: Study::default(),
        }
    }

    /// Returns the maximum number of retries of a failed trial. Earlier versions stored it under
    /// the plan's key `specification`.
    pub fn retries(&self) -> u32 {
        let earlier = self.study.versions().and_then(|it| it.retries);
        earlier.unwrap_or(self.retries)
    }

    /// Returns the wait for a quiet machine before each load, or `None` if loads do not wait.
    /// Earlier versions stored it under the plan's key `specification`.
    pub fn settle(&self) -> Option<Settle> {
        let earlier = self.study.versions().and_then(|it| it.settle);
        earlier.or(self.settle)
    }

    /// Returns another attempt at a failed trial, with a new number.
    pub fn again(&self, failed: &Trial) -> Trial {
        let last = self.trials.iter().map(|trial| trial.number).max();
        Trial {
            number: last.unwrap_or(0) + 1,
            again: Some(failed.again.unwrap_or(failed.number)),
            ..failed.clone()
        }
    }

    /// Returns the order in which trials of a block that run together take turns. It contains the
    /// indexes of all trials in random order, once for each phase that loads one gateway at a time.
    /// All orders are equally likely. They come from one xoshiro256++ generator seeded with the
    /// plan's seed and the number of the first trial.
    pub fn turns(&self, trials: &[&Trial]) -> Vec<usize> {
        let Some(first) = trials.first() else {
            return Vec::new();
        };
        let mut random =
            Xoshiro256PlusPlus::seed_from_u64(self.seed ^ (u64::from(first.number) << 32));
        let alone = self.phases_of(first).filter(|phase| !phase.side_by_side);
        let order = |_| {
            let mut places: Vec<usize> = (0..trials.len()).collect();
            shuffle(&mut places, &mut random);
            places
        };
        alone.flat_map(order).collect()
    }

    /// The number of the plan's blocks up to and including the given block.
    pub fn blocks_until(&self, block: u32) -> u32 {
        let blocks = self.trials.iter().map(|trial| trial.block);
        let blocks: BTreeSet<u32> = blocks.filter(|it| *it <= block).collect();
        u32::try_from(blocks.len()).unwrap_or(u32::MAX)
    }

    /// The number of blocks in the plan. Their numbers may have gaps after
    /// [`cut_deciding_after_block`](Self::cut_deciding_after_block).
    pub fn blocks_kept(&self) -> u32 {
        self.blocks_until(u32::MAX)
    }

    /// Removes the blocks after the given block. The plan then equals a plan with fewer blocks.
    pub fn cut_after_block(&mut self, block: u32) {
        self.keep_blocks(|other| other <= block);
    }

    /// Removes the deciding blocks after the given block, but keeps the blocks for the other
    /// metrics. The remaining blocks keep their numbers.
    pub fn cut_deciding_after_block(&mut self, block: u32) {
        let study = self.study.clone();
        self.keep_blocks(|other| other <= block || !study.decides_in(other));
    }

    fn keep_blocks(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.trials.retain(|trial| is_kept(trial.block));
        self.blocks = self.blocks.min(self.blocks_kept());
    }

    /// The phases of a trial. They depend on the trial's block if an A/B test measures the deciding
    /// metric first.
    pub fn phases_of<'a>(&'a self, trial: &Trial) -> impl Iterator<Item = &'a Phase> {
        let block = trial.block;
        let phases = self.load_of(&trial.scenario).phases.iter();
        phases.filter(move |phase| self.study.has_phase(block, phase))
    }

    pub fn load_of(&self, scenario: &str) -> &LoadProfile {
        self.scenario_loads.get(scenario).unwrap_or(&self.load)
    }

    /// The phases of all loads, beginning with the common load. A name may occur several times.
    pub fn phases(&self) -> impl Iterator<Item = &Phase> {
        let all = std::iter::once(&self.load).chain(self.scenario_loads.values());
        all.flat_map(|load| &load.phases)
    }

    /// Reports whether the built-in load generator gives each request a nonce that identifies it to
    /// the upstream. It gives none if the run repeats the load of a document unchanged.
    pub fn is_traced(&self) -> bool {
        let length = self.length.as_ref().map(|it| it.length);
        length != Some(Length::AsPublished)
    }

    /// The mean of the expected durations of all trials, in seconds.
    pub fn trial_seconds(&self) -> f64 {
        let trials = self.trials.len().max(1) as f64;
        self.expected_duration().as_secs_f64() / trials
    }

    pub fn expected_duration(&self) -> Duration {
        let all = self.trials.iter().map(|trial| self.duration_of(trial));
        all.fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The expected duration of a trial, with the longest permitted wait for a quiet machine before
    /// each load of the profile.
    pub fn duration_of(&self, trial: &Trial) -> Duration {
        let quiet = self.settle().map_or(Duration::ZERO, |it| it.at_most.0);
        let phases = self.phases_of(trial).map(|phase| match &*phase.name {
            // The phase ends when its few requests have received their responses.
            SMOKE_PHASE => quiet,
            _ => quiet.saturating_add(phase.warm_up.0.saturating_add(phase.measure.0)),
        });
        let loads = phases.fold(TRIAL_OVERHEAD, Duration::saturating_add);
        let variant = self.variant(&trial.variant);
        match variant.is_some_and(Variant::is_control) {
            true => loads,
            false => loads.saturating_add(self.study.further_loads_take()),
        }
    }

    pub fn scenario(&self, name: &str) -> Option<&Scenario> {
        let mut scenarios = self.scenarios.iter();
        scenarios.find(|scenario| scenario.scenario == name)
    }

    pub fn variant(&self, label: &str) -> Option<&Variant> {
        let mut variants = self.variants.iter();
        variants.find(|variant| variant.label() == label)
    }
}

fn interleave(scenarios: &[Scenario], variants: &[Variant], seed: u64, blocks: u32) -> Vec<Trial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let cells: Vec<(&Scenario, &Variant)> = scenarios
        .iter()
        .flat_map(|scenario| variants.iter().map(move |variant| (scenario, variant)))
        .filter(|(scenario, variant)| variant.is_measured_in(scenario))
        .collect();
    let mut trials = Vec::new();
    for block in 1..=blocks {
        let mut order = cells.clone();
        shuffle(&mut order, &mut random);
        for (scenario, variant) in order {
            trials.push(Trial {
                number: trials.len() as u32 + 1,
                block,
                scenario: scenario.scenario.clone(),
                variant: variant.label().into(),
                again: None,
            });
        }
    }
    trials
}

/// Shuffles items (Fisher-Yates). All orders are equally likely.
fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, random) as usize);
    }
}

/// Draws a number from 0 to `bound` - 1; all are equally likely. Draws at or above the largest
/// multiple of `bound` below 2^64 are repeated, because a plain remainder would favor small
/// numbers.
fn below(bound: u64, random: &mut Xoshiro256PlusPlus) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = random.next_u64();
        if drawn < limit {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests;
