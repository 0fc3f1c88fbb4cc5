//! The differences between two runs, other than in their figures, and the consequences for a
//! comparison.

use std::collections::{BTreeMap, BTreeSet};

use gatebench_model::{Phase, Plan, Scenario, Variant};
use gatebench_store::{FileDigest, GatewayIdentity};
use serde::Serialize;

use super::RunSummary;
use super::compare::facts::{RunDifference, Weight};
use crate::common::facts::{Aspect, Metric};
use crate::common::summary_table::change_words;
use crate::common::{joined, loads};

/// Facts about the machine that must be equal for figures to be comparable.
const MACHINE: [&str; 5] = [
    "cpu.model",
    "cpu.architecture",
    "cpu.online",
    "cpu.allowed",
    "limits.cgroup_cpu",
];

/// Facts about the kernel's accounting, which defines what CPU time includes. Runs that earlier
/// versions of gatebench measured do not have them.
const ACCOUNTING: [&str; 2] = [
    "kernel.accounting.paravirt_time",
    "kernel.accounting.softirq",
];

/// The text for a run that does not record its accounting.
const UNKNOWN: &str = "unknown";

/// The fact that is compared if neither of two runs records its accounting.
const KERNEL: &str = "kernel.release";

/// Unusual values of the accounting facts. Only these values start a new series, because earlier
/// versions of gatebench did not record the accounting.
const UNUSUAL_ACCOUNTING: [(&str, &str); 2] = [
    ("kernel.accounting.paravirt_time", "off"),
    ("kernel.accounting.softirq", "nobody"),
];

/// Prefixes of facts about the machine that may explain different figures.
const CIRCUMSTANCES: [&str; 4] = ["cpu.", "kernel.", "sysctls.", "memory."];

/// Returns all differences, the most serious first.
pub(super) fn between(candidate: &RunSummary, baseline: &RunSummary) -> Vec<RunDifference> {
    let mut found = Differences {
        runs: [baseline, candidate],
        all: Vec::new(),
    };
    found.machine();
    found.instrument();
    found.placement();
    found.load();
    found.scenarios();
    found.gateways();
    found.each(Weight::Noted, "seed", |run| {
        run.manifest.plan.seed.to_string()
    });
    found.each(Weight::Noted, "complete blocks", |run| {
        run.findings.run.blocks_complete.to_string()
    });
    found.all.sort_by_key(|it| it.weight);
    found.all
}

/// Reports whether a gateway's program, folder and settings are the same in both runs. Returns
/// false for an attached gateway and for a user's own configuration, because their content is not
/// recorded.
pub(super) fn is_same_gateway(candidate: &RunSummary, baseline: &RunSummary, label: &str) -> bool {
    let known = |run: &RunSummary| {
        let identity = run.manifest.gateways.get(label)?;
        let setup = run.manifest.plan.variant(label)?.setup()?.clone();
        let digests = (identity.sha256.clone(), identity.folder.clone());
        (!digests.0.is_empty() && setup.config.is_none()).then_some((digests, setup))
    };
    known(candidate).is_some_and(|own| known(baseline) == Some(own))
}

/// Reports whether a phase of a scenario sends the same load in both runs, regardless of the
/// lengths of warm-up and measurement.
pub(super) fn is_same_phase(
    candidate: &RunSummary,
    baseline: &RunSummary,
    scenario: &str,
    phase: &str,
) -> bool {
    let shape = |run: &RunSummary| {
        let load = run.manifest.plan.load_of(scenario);
        let phase = load.phases.iter().find(|it| it.name == phase)?;
        Some((load.cold, sent(phase)))
    };
    shape(candidate).is_some_and(|own| shape(baseline) == Some(own))
}

/// The JSON of a phase's load, including its change and failure.
fn sent(phase: &Phase) -> String {
    json(&(&phase.shape, &phase.change, &phase.failure))
}

/// Returns the scenario without the parts that affect no figure: its title, its family, and the
/// parity cases.
pub(super) fn measured(scenario: &Scenario) -> Scenario {
    let mut measured = scenario.clone();
    measured.title = String::new();
    measured.family = None;
    measured.parity = Vec::new();
    if let Some(later) = &mut measured.later {
        later.parity = Vec::new();
    }
    measured
}

pub(super) fn is_same_scenario(candidate: &RunSummary, baseline: &RunSummary, name: &str) -> bool {
    let scenario = |run: &RunSummary| {
        let scenario = run.manifest.plan.scenario(name)?;
        Some(json(&measured(scenario)))
    };
    scenario(candidate).is_some_and(|own| scenario(baseline) == Some(own))
}

pub(super) fn facts(run: &RunSummary) -> BTreeMap<&str, &str> {
    let facts = run.findings.environment.iter();
    facts
        .map(|fact| (fact.name.as_str(), fact.value.as_str()))
        .collect()
}

pub(super) fn machine_of(run: &RunSummary) -> Vec<(String, String)> {
    let facts = facts(run);
    let known = |name: &&str| Some(((*name).to_owned(), (*facts.get(*name)?).to_owned()));
    MACHINE.iter().filter_map(known).collect()
}

pub(super) fn unusual_accounting(run: &RunSummary) -> Vec<&'static str> {
    let facts = facts(run);
    let unusual = UNUSUAL_ACCOUNTING.iter();
    let found = unusual.filter(|(name, value)| facts.get(name) == Some(value));
    found.map(|(name, _)| *name).collect()
}

/// The result of comparing how two runs account for CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CpuTime {
    /// Both runs record the same accounting.
    Alike,
    /// Neither run records this fact, and no difference between their kernel releases is recorded.
    Assumed(&'static str),
    /// This fact differs between baseline and candidate, or only one of them records it.
    Unlike(&'static str, [String; 2]),
}

impl CpuTime {
    pub(super) fn allows(&self, metric: Metric) -> bool {
        !matches!(self, Self::Unlike(..)) || metric.aspect() != Some(Aspect::CpuPerRequest)
    }
}

pub(super) fn cpu_time(candidate: &RunSummary, baseline: &RunSummary) -> CpuTime {
    let facts = [baseline, candidate].map(facts);
    let values = |name: &str| {
        let value = |side: usize| facts[side].get(name).copied().unwrap_or(UNKNOWN);
        [value(0).to_owned(), value(1).to_owned()]
    };
    let mut found = CpuTime::Alike;
    for name in ACCOUNTING {
        let [own, other] = values(name);
        let kernels = values(KERNEL);
        match own == other {
            false => return CpuTime::Unlike(name, [own, other]),
            true if own != UNKNOWN => {}
            true if kernels[0] != kernels[1] => return CpuTime::Unlike(KERNEL, kernels),
            true => found = CpuTime::Assumed(name),
        }
    }
    found
}

/// The JSON of a value, for exact comparisons.
pub(super) fn json(value: &impl Serialize) -> String {
    // All compared values can be serialized. If two could not, they would compare as equal.
    serde_json::to_string(value).unwrap_or_default()
}

struct Differences<'a> {
    /// The baseline and the candidate.
    runs: [&'a RunSummary; 2],
    all: Vec<RunDifference>,
}

impl Differences<'_> {
    /// Adds a difference if the two values differ.
    fn add(&mut self, weight: Weight, what: impl Into<String>, [baseline, candidate]: [String; 2]) {
        if baseline != candidate {
            let what = what.into();
            self.all.push(RunDifference {
                weight,
                what,
                baseline,
                candidate,
            });
        }
    }

    fn each(
        &mut self,
        weight: Weight,
        what: impl Into<String>,
        of: impl Fn(&RunSummary) -> String,
    ) {
        self.add(weight, what, self.runs.map(of));
    }

    fn machine(&mut self) {
        let facts = self.runs.map(facts);
        let names: BTreeSet<&str> = facts.iter().flat_map(|it| it.keys().copied()).collect();
        for name in names {
            let is_accounting = name.starts_with("kernel.accounting.");
            let missing = if is_accounting { UNKNOWN } else { "" };
            let values = [0, 1].map(|side| (*facts[side].get(name).unwrap_or(&missing)).to_owned());
            let is_known = values.iter().all(|value| value != UNKNOWN);
            let weight = if MACHINE.contains(&name) || ACCOUNTING.contains(&name) && is_known {
                Weight::Forbids
            } else if ACCOUNTING.contains(&name) {
                Weight::LeavesOut
            } else if CIRCUMSTANCES.iter().any(|topic| name.starts_with(topic)) {
                Weight::Caution
            } else {
                Weight::Noted
            };
            self.add(weight, name, values);
        }
    }

    fn instrument(&mut self) {
        let external = |run: &RunSummary| run.manifest.external_generator.clone();
        self.each(Weight::Forbids, "load generator", |run| {
            external(run).map_or_else(|| "gatebench".to_owned(), |it| it.name)
        });
        self.each(Weight::Caution, "version of the load generator", |run| {
            external(run).map_or_else(String::new, |it| it.version)
        });
        self.each(Weight::Caution, "gatebench", |run| {
            run.manifest.gatebench.clone()
        });
        self.each(Weight::Caution, "event loop", |run| {
            run.manifest.engine_backend.clone()
        });
    }

    fn placement(&mut self) {
        let placements = self.runs.map(|run| &run.manifest.plan.placement);
        let count = placements.map(|it| it.gateway.len().to_string());
        let same_count = count[0] == count[1];
        self.add(Weight::Forbids, "cores of the gateway", count);
        if same_count {
            let list = |cores: &[usize]| joined(cores, ",");
            let words = placements.map(|it| {
                format!(
                    "gateway {}, load generator {}, upstream {}",
                    list(&it.gateway),
                    list(&it.engine),
                    list(&it.upstream)
                )
            });
            self.add(Weight::Caution, "cores", words);
        }
    }

    fn load(&mut self) {
        let [other, own] = self.runs.map(phases);
        let added = other.keys().filter(|it| !own.contains_key(*it));
        for name in own.keys().chain(added) {
            let sides = [&other, &own].map(|it| it.get(name).copied());
            let of = |what: fn(&Phase) -> String| sides.map(|it| it.map_or_else(String::new, what));
            let words = of(in_words);
            let [before, now] = sides.map(|it| it.map(sent));
            if before.is_some() && before == now {
                let length = of(|it| it.measure.to_string());
                self.add(Weight::Caution, format!("length of {name}"), length);
                let warm_up = of(|it| it.warm_up.to_string());
                self.add(Weight::Caution, format!("warm-up of {name}"), warm_up);
            } else if words[0] == words[1] {
                let [baseline, candidate] = words.map(|it| format!("{it}, with other settings"));
                let what = format!("load of {name}");
                self.all.push(RunDifference {
                    weight: Weight::LeavesOut,
                    what,
                    baseline,
                    candidate,
                });
            } else {
                self.add(Weight::LeavesOut, format!("load of {name}"), words);
            }
        }
    }

    fn scenarios(&mut self) {
        let [baseline, candidate] = self.runs;
        let names = names(self.runs, |plan| {
            let scenarios = plan.scenarios.iter();
            scenarios.map(|it| it.scenario.as_str()).collect()
        });
        for (name, there) in names {
            let what = format!("scenario {name}");
            let word = |there| if there { "present" } else { "absent" }.to_owned();
            if there != [true, true] {
                self.add(Weight::LeavesOut, what, there.map(word));
            } else if !is_same_scenario(candidate, baseline, name) {
                let words = ["original".to_owned(), "changed".to_owned()];
                self.add(Weight::LeavesOut, what, words);
            }
        }
    }

    fn gateways(&mut self) {
        let labels = names(self.runs, |plan| {
            plan.variants.iter().map(Variant::label).collect()
        });
        for (label, there) in labels {
            if there == [true, true] {
                self.gateway(label);
            } else {
                let word = |there| if there { "measured" } else { "not measured" }.to_owned();
                self.add(Weight::LeavesOut, label, there.map(word));
            }
        }
    }

    fn gateway(&mut self, label: &str) {
        let identities = self.runs.map(|run| run.manifest.gateways.get(label));
        let of = |what: fn(&GatewayIdentity) -> String| {
            identities.map(|it| it.map_or_else(String::new, what))
        };
        let subjects = [
            ("version of", "", of(|it| it.version.clone())),
            ("program of", " (SHA-256)", of(|it| start(&it.sha256))),
            ("folder of", " (SHA-256)", of(|it| digest_of(&it.folder))),
        ];
        for (what, unit, values) in subjects {
            self.add(Weight::Subject, format!("{what} {label}{unit}"), values);
        }
        self.each(Weight::Subject, format!("settings of {label}"), |run| {
            let variant = run.manifest.plan.variant(label);
            variant.map_or_else(String::new, |it| json(&it.setup()))
        });
    }
}

/// Describes a phase: `5,000 requests/s, reload at 3s`.
fn in_words(phase: &Phase) -> String {
    loads::in_words(&phase.shape) + &change_words(phase)
}

/// The phases of a run, by name. If a scenario has its own load, the names of its phases include
/// the scenario.
fn phases<'a>(run: &'a RunSummary) -> BTreeMap<String, &'a Phase> {
    let plan = &run.manifest.plan;
    let common = plan.load.phases.iter();
    let common = common.map(|phase| (phase.name.clone(), phase));
    let own = plan.scenario_loads.iter().flat_map(|(scenario, load)| {
        let named = move |phase: &'a Phase| (format!("{} of {scenario}", phase.name), phase);
        load.phases.iter().map(named)
    });
    common.chain(own).collect()
}

/// The names that occur in either run, the candidate's first. The first flag is true if the
/// baseline has the name, and the second if the candidate has it.
fn names<'a>(
    runs: [&'a RunSummary; 2],
    of: fn(&'a Plan) -> Vec<&'a str>,
) -> Vec<(&'a str, [bool; 2])> {
    let [other, own] = runs.map(|run| of(&run.manifest.plan));
    let added = other.iter().filter(|it| !own.contains(it));
    let all = own.iter().chain(added);
    all.map(|it| (*it, [other.contains(it), own.contains(it)]))
        .collect()
}

fn start(digest: &str) -> String {
    digest.chars().take(12).collect()
}

fn digest_of(files: &[FileDigest]) -> String {
    start(&FileDigest::of("", json(&files).as_bytes()).sha256)
}
