//! What differs between two runs besides their figures, and what that means for a comparison.

use std::collections::BTreeMap;

use gatebench_model::{Phase, Scenario, Variant};
use serde::Serialize;

use super::RunSummary;
use crate::findings::{Aspect, Metric, RunDifference, Weight};
use crate::loads;
use crate::metrics::aspect;
use crate::summary_table::change_words;

/// Facts of the machine without which figures cannot be set beside each other.
const MACHINE: [&str; 5] = [
    "cpu.model",
    "cpu.architecture",
    "cpu.online",
    "cpu.allowed",
    "limits.cgroup_cpu",
];

/// Facts of the kernel's accounting: under different accounting, CPU time is a different quantity.
/// Runs of earlier versions do not have them.
const ACCOUNTING: [&str; 2] = [
    "kernel.accounting.paravirt_time",
    "kernel.accounting.softirq",
];

/// The word for accounting that the run does not record.
const UNKNOWN: &str = "unknown";

/// The fact that stands for accounting that neither of two runs records.
const KERNEL: &str = "kernel.release";

/// Earlier versions did not record accounting. Only unusual values separate a series from theirs.
const UNUSUAL_ACCOUNTING: [(&str, &str); 2] = [
    ("kernel.accounting.paravirt_time", "off"),
    ("kernel.accounting.softirq", "nobody"),
];

/// Topics of the machine that may be why figures differ.
const CIRCUMSTANCES: [&str; 4] = ["cpu.", "kernel.", "sysctls.", "memory."];

/// Everything that differs, the gravest first.
pub(super) fn between(candidate: &RunSummary, baseline: &RunSummary) -> Vec<RunDifference> {
    let mut found = Differences::default();
    machine(&mut found, candidate, baseline);
    instrument(&mut found, candidate, baseline);
    placement(&mut found, candidate, baseline);
    load(&mut found, candidate, baseline);
    scenarios(&mut found, candidate, baseline);
    gateways(&mut found, candidate, baseline);
    let plans = [baseline, candidate].map(|run| &run.manifest.plan);
    found.add(
        Weight::Told,
        "seed",
        plans.map(|plan| plan.seed.to_string()),
    );
    let blocks = [baseline, candidate].map(|run| run.findings.run.blocks_complete.to_string());
    found.add(Weight::Told, "complete blocks", blocks);
    found.0.sort_by_key(|it| it.weight);
    found.0
}

/// Whether a gateway is the same in both: program, folder and settings. Not known of one that somebody else
/// started, nor of one with a configuration of the user's, whose content is not on record.
pub(super) fn is_same_gateway(candidate: &RunSummary, baseline: &RunSummary, label: &str) -> bool {
    let known = |run: &RunSummary| {
        let identity = run.manifest.gateways.get(label)?;
        let setup = run.manifest.plan.variant(label)?.setup()?.clone();
        let digests = (identity.sha256.clone(), identity.folder.clone());
        (!digests.0.is_empty() && setup.config.is_none()).then_some((digests, setup))
    };
    known(candidate).is_some_and(|own| known(baseline) == Some(own))
}

/// Whether a phase of a scenario sends the same in both, however long.
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

/// What a phase sends, and what happens meanwhile.
fn sent(phase: &Phase) -> String {
    json(&(&phase.shape, &phase.change, &phase.failure))
}

/// Whether a scenario is the same in both.
pub(super) fn is_same_scenario(candidate: &RunSummary, baseline: &RunSummary, name: &str) -> bool {
    let scenario = |run: &RunSummary| run.manifest.plan.scenario(name).map(json);
    scenario(candidate).is_some_and(|own| scenario(baseline) == Some(own))
}

/// The facts of the machine by name.
pub(super) fn facts(run: &RunSummary) -> BTreeMap<&str, &str> {
    let facts = run.findings.environment.iter();
    facts
        .map(|fact| (fact.name.as_str(), fact.value.as_str()))
        .collect()
}

/// The facts of the machine that figures cannot do without.
pub(super) fn machine_of(run: &RunSummary) -> Vec<(String, String)> {
    let facts = facts(run);
    let known = |name: &&str| Some(((*name).to_owned(), (*facts.get(*name)?).to_owned()));
    MACHINE.iter().filter_map(known).collect()
}

/// The ways in which the kernel's accounting of CPU time differs from the usual.
pub(super) fn unusual_accounting(run: &RunSummary) -> Vec<&'static str> {
    let facts = facts(run);
    let unusual = UNUSUAL_ACCOUNTING.iter();
    let found = unusual.filter(|(name, value)| facts.get(name) == Some(value));
    found.map(|(name, _)| *name).collect()
}

/// Reports whether CPU time means the same in two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CpuTime {
    /// Both record the same accounting.
    Alike,
    /// Neither records this part of it, and their kernels do not differ as far as they are
    /// recorded.
    Assumed(&'static str),
    /// This fact of the baseline and of the candidate differs, or only one of them records it.
    Unlike(&'static str, [String; 2]),
}

impl CpuTime {
    /// Reports whether values of this metric may be compared.
    pub(super) fn allows(&self, metric: Metric) -> bool {
        !matches!(self, Self::Unlike(..)) || aspect(metric) != Some(Aspect::CpuPerRequest)
    }
}

/// The accounting of CPU time that two runs record.
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

/// What is compared when two things must be alike to the last word.
pub(super) fn json(value: &impl Serialize) -> String {
    // Maps with keys that are no strings do not occur in plans; two such would be called different.
    serde_json::to_string(value).unwrap_or_default()
}

#[derive(Default)]
struct Differences(Vec<RunDifference>);

impl Differences {
    /// Notes what baseline and candidate are, in this order, where they differ.
    fn add(&mut self, weight: Weight, what: impl Into<String>, [baseline, candidate]: [String; 2]) {
        if baseline != candidate {
            let what = what.into();
            self.0.push(RunDifference {
                weight,
                what,
                baseline,
                candidate,
            });
        }
    }
}

fn machine(found: &mut Differences, candidate: &RunSummary, baseline: &RunSummary) {
    let facts = [baseline, candidate].map(facts);
    let names: std::collections::BTreeSet<&str> =
        facts.iter().flat_map(|it| it.keys().copied()).collect();
    for name in names {
        let is_accounting = name.starts_with("kernel.accounting.");
        let values = [0, 1].map(|side| {
            let value = facts[side].get(name).copied();
            let missing = if is_accounting { UNKNOWN } else { "" };
            value.unwrap_or(missing).to_owned()
        });
        let is_known = values.iter().all(|value| value != UNKNOWN);
        let weight = if MACHINE.contains(&name) || ACCOUNTING.contains(&name) && is_known {
            Weight::Forbids
        } else if ACCOUNTING.contains(&name) {
            Weight::LeavesOut
        } else if CIRCUMSTANCES.iter().any(|topic| name.starts_with(topic)) {
            Weight::Caution
        } else {
            Weight::Told
        };
        found.add(weight, name, values);
    }
}

fn instrument(found: &mut Differences, candidate: &RunSummary, baseline: &RunSummary) {
    let manifests = [baseline, candidate].map(|run| &run.manifest);
    let engine = manifests.map(|it| {
        let external = it.external_generator.as_ref();
        external.map_or_else(|| "gatebench".to_owned(), |external| external.name.clone())
    });
    found.add(Weight::Forbids, "load engine", engine);
    let version = manifests.map(|it| {
        it.external_generator
            .as_ref()
            .map_or_else(String::new, |external| external.version.clone())
    });
    found.add(Weight::Caution, "version of the load engine", version);
    found.add(
        Weight::Caution,
        "gatebench",
        manifests.map(|it| it.gatebench.clone()),
    );
    found.add(
        Weight::Caution,
        "event loop",
        manifests.map(|it| it.engine_backend.clone()),
    );
}

fn placement(found: &mut Differences, candidate: &RunSummary, baseline: &RunSummary) {
    let placements = [baseline, candidate].map(|run| &run.manifest.plan.placement);
    let count = placements.map(|it| it.gateway.len().to_string());
    let same_count = count[0] == count[1];
    found.add(Weight::Forbids, "cores of the gateway", count);
    if same_count {
        let words = placements.map(|it| {
            let list = |cores: &[usize]| {
                cores
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(",")
            };
            format!(
                "gateway {}, engine {}, upstream {}",
                list(&it.gateway),
                list(&it.engine),
                list(&it.upstream)
            )
        });
        found.add(Weight::Caution, "cores", words);
    }
}

/// `5,000 requests/s, reload at 3s`.
fn told(phase: &Phase) -> String {
    loads::in_words(&phase.shape) + &change_words(phase)
}

fn load(found: &mut Differences, candidate: &RunSummary, baseline: &RunSummary) {
    let phases = |run: &RunSummary| -> BTreeMap<String, Phase> {
        let plan = &run.manifest.plan;
        let common = plan.load.phases.iter();
        let common = common.map(|phase| (phase.name.clone(), phase.clone()));
        let own = plan.scenario_loads.iter().flat_map(|(scenario, load)| {
            let named =
                move |phase: &Phase| (format!("{} of {scenario}", phase.name), phase.clone());
            load.phases.iter().map(named)
        });
        common.chain(own).collect()
    };
    let (own, other) = (phases(candidate), phases(baseline));
    for name in own
        .keys()
        .chain(other.keys().filter(|it| !own.contains_key(*it)))
    {
        let sides = [other.get(name), own.get(name)];
        let words = sides.map(|it| it.map_or_else(String::new, told));
        let [before, now] = sides.map(|it| it.map(sent));
        if before.is_some() && before == now {
            let length = sides.map(|it| it.map_or_else(String::new, |it| it.measure.to_string()));
            found.add(Weight::Caution, format!("length of {name}"), length);
            let warm_up = sides.map(|it| it.map_or_else(String::new, |it| it.warm_up.to_string()));
            found.add(Weight::Caution, format!("warm-up of {name}"), warm_up);
        } else if words[0] == words[1] {
            let [baseline, candidate] = words.map(|it| format!("{it}, with other settings"));
            let what = format!("load of {name}");
            found.0.push(RunDifference {
                weight: Weight::LeavesOut,
                what,
                baseline,
                candidate,
            });
        } else {
            found.add(Weight::LeavesOut, format!("load of {name}"), words);
        }
    }
}

fn scenarios(found: &mut Differences, candidate: &RunSummary, baseline: &RunSummary) {
    let named = |run: &RunSummary| -> Vec<String> {
        let scenarios = run.manifest.plan.scenarios.iter();
        scenarios.map(|it: &Scenario| it.scenario.clone()).collect()
    };
    let (own, other) = (named(candidate), named(baseline));
    for name in own
        .iter()
        .chain(other.iter().filter(|it| !own.contains(it)))
    {
        let [in_baseline, in_candidate] = [other.contains(name), own.contains(name)];
        let word = |there| if there { "has it" } else { "does not have it" }.to_owned();
        if !(in_baseline && in_candidate) {
            found.add(
                Weight::LeavesOut,
                format!("scenario {name}"),
                [word(in_baseline), word(in_candidate)],
            );
        } else if !is_same_scenario(candidate, baseline, name) {
            let words = ["as it was".to_owned(), "changed".to_owned()];
            found.add(Weight::LeavesOut, format!("scenario {name}"), words);
        }
    }
}

fn gateways(found: &mut Differences, candidate: &RunSummary, baseline: &RunSummary) {
    let labels = |run: &RunSummary| -> Vec<String> {
        let variants = run.manifest.plan.variants.iter();
        variants.map(|it: &Variant| it.label().to_owned()).collect()
    };
    let (own, other) = (labels(candidate), labels(baseline));
    for label in own
        .iter()
        .chain(other.iter().filter(|it| !own.contains(it)))
    {
        let there = [other.contains(label), own.contains(label)];
        if there == [true, true] {
            gateway(found, [baseline, candidate], label);
        } else {
            let word = |there| if there { "measured" } else { "not measured" }.to_owned();
            found.add(Weight::LeavesOut, label.clone(), there.map(word));
        }
    }
}

/// Both sides of a gateway that both have, the baseline first.
fn gateway(found: &mut Differences, runs: [&RunSummary; 2], label: &str) {
    let identities = runs.map(|run| run.manifest.gateways.get(label));
    let of = |what: fn(&gatebench_store::GatewayIdentity) -> String| {
        identities.map(|it| it.map_or_else(String::new, what))
    };
    found.add(
        Weight::Subject,
        format!("version of {label}"),
        of(|it| it.version.clone()),
    );
    let program = of(|it| it.sha256.chars().take(12).collect());
    found.add(
        Weight::Subject,
        format!("program of {label} (SHA-256)"),
        program,
    );
    let folder = of(|it| digest_of_folder(&it.folder));
    found.add(
        Weight::Subject,
        format!("folder of {label} (SHA-256)"),
        folder,
    );
    let setup = runs.map(|run| {
        run.manifest
            .plan
            .variant(label)
            .map(Variant::setup)
            .map_or_else(String::new, |it| json(&it))
    });
    found.add(Weight::Subject, format!("settings of {label}"), setup);
}

fn digest_of_folder(files: &[gatebench_store::FileDigest]) -> String {
    let whole = gatebench_store::FileDigest::of("", json(&files).as_bytes());
    whole.sha256.chars().take(12).collect()
}
