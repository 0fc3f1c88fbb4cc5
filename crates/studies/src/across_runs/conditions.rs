//! The conditions that runs of one series share.

use gatebench_model::Variant;
use gatebench_store::FileDigest;

use super::RunSummary;
use super::differences::{json, machine_of, measured, unusual_accounting};

/// Digits of a digest; enough to distinguish series.
const DIGITS: usize = 12;

/// A digest of the machine, load generator, scenario, load and size of the gateway. It does not
/// depend on the gateway's version or the length of the measurement.
pub(super) fn digest(run: &RunSummary, scenario: &str, label: &str, phase: &str) -> String {
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
    // Appended only if present, so that series of loads without these properties keep their digest.
    let failure = phase.and_then(|it| it.failure.as_ref()).map(json);
    let cold = if load.cold { "cold" } else { "" };
    let accounting = unusual_accounting(run).concat();
    let text = json(&all) + &failure.unwrap_or_default() + cold + &accounting;
    let digest = FileDigest::of("", text.as_bytes());
    digest.sha256.chars().take(DIGITS).collect()
}
