//! The runs of each version of a gateway. A run is a load with a constant number of connections.

use gatebench_model::Published;
use gatebench_model::published::LoadChoice;
use gatebench_report::Validity;
use gatebench_report::format::{counted, listed};

use super::measured::{Load, Measured};
use super::rows::chosen;
use crate::common::by_key;
use crate::common::facts::Aspect;

/// A version and its runs, ordered by block.
pub(super) type Version<'a> = (&'a str, Vec<Load<'a>>);

fn runs<'a>(measured: &Measured<'a>, scenario: &str, variant: &str) -> Vec<Load<'a>> {
    let loads = measured.loads(scenario, variant);
    chosen(&loads, LoadChoice::Connections)
}

/// The versions that have runs of a scenario.
pub(super) fn of<'a>(measured: &Measured<'a>, scenario: &str) -> Vec<Version<'a>> {
    measured
        .variants()
        .into_iter()
        .map(|variant| (variant, runs(measured, scenario, variant)))
        .filter(|(_, runs)| !runs.is_empty())
        .collect()
}

/// Reports whether a run may be combined with others: neither its throughput nor its latency is
/// invalid.
pub(super) fn stands(run: &Load<'_>) -> bool {
    let of = |aspect| run.validity(Some(aspect));
    of(Aspect::Throughput).max(of(Aspect::Latency)) != Validity::Invalid
}

/// A sentence for each version on the runs that its combined results exclude.
pub(super) fn left_out(measured: &Measured<'_>) -> Vec<String> {
    let scenarios = measured.run.manifest().plan.scenarios.iter();
    let all = scenarios.flat_map(|it| {
        let versions = of(measured, &it.scenario).into_iter();
        versions.map(move |version| (&it.scenario, version))
    });
    all.filter_map(|(scenario, (variant, runs))| {
        let numbered = (1_u32..).zip(&runs);
        let left_out = numbered.filter(|(_, run)| !stands(run));
        let numbers: Vec<String> = left_out.map(|(number, _)| number.to_string()).collect();
        let verb = if numbers.len() == 1 { "is" } else { "are" };
        (!numbers.is_empty()).then(|| {
            format!(
                "{scenario}: {} of {variant} ({}) {verb} invalid and not in its combined results.",
                counted(numbers.len() as u64, "run"),
                listed(&numbers)
            )
        })
    })
    .collect()
}

/// A sentence for each scenario and reason, with the versions that the tables lack.
pub(super) fn absent(document: &Published, measured: &Measured<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for scenario in &measured.run.manifest().plan.scenarios {
        for variant in measured.variants() {
            let is_asked = variant != "direct" || scenario.has_direct();
            if !is_asked || !runs(measured, &scenario.scenario, variant).is_empty() {
                continue;
            }
            let at_a_rate = || {
                format!(
                    "its loads fix the rate instead of the number of connections; gatebench run {} --as-published \
                     fixes the number of connections",
                    document.suite
                )
            };
            let why = measured.absence(&scenario.scenario, variant);
            let key = (&scenario.scenario, why.unwrap_or_else(at_a_rate));
            found.push((key, variant.to_owned()));
        }
    }
    let sentence = |((scenario, why), variants): ((&String, String), Vec<String>)| {
        format!("{scenario}, {}: {why}.", listed(&variants))
    };
    by_key(found).into_iter().map(sentence).collect()
}
