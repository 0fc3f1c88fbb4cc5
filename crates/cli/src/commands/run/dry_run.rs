//! `--dry-run`: prints the plan without starting anything.

use std::collections::BTreeSet;
use std::path::Path;

use gatebench_import::Change;
use gatebench_model::group::{Group, divide};
use gatebench_model::{Phase, Plan, Scenario, Trial, Variant};
use gatebench_report::format::counted;
use gatebench_runner::outputs::Target;
use gatebench_runner::{Prepared, own_config};
use gatebench_studies::common::loads;
use gatebench_studies::further_loads;

use super::display::progress_text::{clock, length_in_words};
use crate::failure::Failure;
use crate::terminal;

pub fn print(prepared: &Prepared, outputs: &[Target], json: bool) -> Result<(), Failure> {
    for warning in &prepared.warnings {
        terminal::complain(&format!("warning: {warning}"));
    }
    if json {
        return terminal::say_json(&serde_json::json!(prepared.plan));
    }
    terminal::say(&in_words(prepared, outputs))?;
    differences(prepared)
}

/// Prints the lines that differ between the user's configurations and their copies in a trial.
fn differences(prepared: &Prepared) -> Result<(), Failure> {
    let setups = prepared.plan.variants.iter().filter_map(Variant::setup);
    let files: BTreeSet<&String> = setups.filter_map(|setup| setup.config.as_ref()).collect();
    for file in files {
        let Some(own) = own_config(Path::new(file))? else {
            continue;
        };
        terminal::say(&format!(
            "\ndiff     {file} (the file itself is not changed)"
        ))?;
        for change in &own.changes {
            let Change {
                file,
                line,
                before,
                after,
                why,
            } = change;
            let after = if after.is_empty() { "(removed)" } else { after };
            let before = if before.is_empty() { "(added)" } else { before };
            terminal::say(&format!("{file}:{line}: {why}\n- {before}\n+ {after}"))?;
        }
    }
    Ok(())
}

fn in_words(prepared: &Prepared, outputs: &[Target]) -> String {
    let plan = &prepared.plan;
    let mut lines = vec![format!("{}: {}", plan.suite, plan.title), String::new()];
    for (label, gateway) in &prepared.gateways {
        lines.push(format!(
            "gateway  {label} {} ({})",
            gateway.binary.version,
            gateway.binary.place()
        ));
    }
    lines.extend(plan.variants.iter().filter_map(attached).map(wrapped));
    lines.extend(length_in_words(plan).map(wrapped));
    lines.extend(loads(plan));
    lines.extend(further_loads(&plan.study).map(wrapped));
    lines.extend(plan.scenarios.iter().flat_map(|it| groups(it, plan)));
    lines.push(format!(
        "order    seed {}, {}",
        plan.seed,
        counted(plan.blocks.into(), "block")
    ));
    lines.push(wrapped(format!("cores    {}", plan.placement.note)));
    lines.extend(skipped(prepared).map(wrapped));
    lines.extend(outputs.iter().map(|it| format!("output   {it}")));
    lines.push(String::new());
    lines.extend(table(plan));
    lines.push(String::new());
    lines.push(format!(
        "{}, about {}",
        counted(plan.trials.len() as u64, "trial"),
        clock(plan.expected_duration())
    ));
    lines.join("\n")
}

/// Describes the container that the run adds to the pod of an attached gateway.
fn attached(variant: &Variant) -> Option<String> {
    match variant {
        Variant::Attached { pod, .. } => Some(format!("pod      {}", pod.as_ref()?.addition())),
        _ => None,
    }
}

fn skipped(prepared: &Prepared) -> impl Iterator<Item = String> {
    prepared.gateways.iter().filter_map(|(label, gateway)| {
        let scenarios = prepared.plan.scenarios.iter();
        let unsupported = scenarios.filter_map(|scenario| {
            let missing = gateway.supports(scenario).err()?.policies.join(", ");
            Some(format!("{} ({missing})", scenario.scenario))
        });
        let all = Vec::from_iter(unsupported).join(", ");
        (!all.is_empty()).then(|| format!("skipped  {label} does not support {all}"))
    })
}

/// Wraps a line, and indents its continuation lines by the width of a label such as `gateway`,
/// which is padded to 9 columns.
fn wrapped(words: String) -> String {
    terminal::wrapped(&words, terminal::WIDTH, 9)
}

/// Describes the common load, if a scenario uses it, and then the loads of individual scenarios.
fn loads(plan: &Plan) -> Vec<String> {
    let line = |phase: &Phase| {
        let shape = loads::in_words(&phase.shape);
        let (warm_up, measure) = (phase.warm_up.as_secs_f64(), phase.measure.as_secs_f64());
        format!(
            "load     {}: {shape}, at least {warm_up} s of warm-up, {measure} s measured",
            phase.name
        )
    };
    let is_common = |scenario: &Scenario| !plan.scenario_loads.contains_key(&scenario.scenario);
    let common = plan.scenarios.iter().any(is_common);
    let common = plan.load.phases.iter().filter(|_| common).map(line);
    let own = plan.scenario_loads.iter().flat_map(|(name, load)| {
        let of = move |phase| format!("{} · {name}", line(phase));
        load.phases.iter().map(of)
    });
    common.chain(own).collect()
}

/// The maximum number of groups that are listed for a scenario; the others are only counted.
const GROUPS_MAX: usize = 8;

fn groups(scenario: &Scenario, plan: &Plan) -> Vec<String> {
    let groups = scenario.groups();
    if groups.len() < 2 {
        return Vec::new();
    }
    let (shown, more) = groups.split_at(groups.len().min(GROUPS_MAX));
    let width = terminal::widest(shown.iter().map(|group| &*group.name));
    let phases = plan.load_of(&scenario.scenario).phases.iter();
    // A load that a script replaces may have too few connections or requests for the groups.
    let parts = phases.filter_map(|it| Some((&it.name, divide(&it.shape, &groups).ok()?)));
    let parts: Vec<_> = parts.collect();
    let line = |(index, group): (usize, &Group)| {
        let loads: Vec<_> = parts
            .iter()
            .map(|(phase, shapes)| format!("{phase} {}", loads::in_words(&shapes[index])))
            .collect();
        format!("         {:<width$}  {}", group.name, loads.join(", "))
    };
    let head = format!("groups   {} of {}", groups.len(), scenario.scenario);
    let mut lines = vec![head];
    lines.extend(shown.iter().enumerate().map(line));
    if !more.is_empty() {
        lines.push(format!("         and {} more", more.len()));
    }
    lines
}

fn table(plan: &Plan) -> Vec<String> {
    let widest =
        |head, of: fn(&Trial) -> &str| terminal::widest(plan.trials.iter().map(of).chain([head]));
    let scenario = widest("scenario", |trial| &trial.scenario);
    let variant = widest("variant", |trial| &trial.variant);
    let row = |it: [&str; 8]| {
        format!(
            "{:>5}  {:>5}  {:<scenario$}  {:<variant$}  {:>7}  {:>6}  {:>8}  {:>6}",
            it[0], it[1], it[2], it[3], it[4], it[5], it[6], it[7]
        )
    };
    let mut lines = vec![row([
        "trial", "block", "scenario", "variant", "gateway", "engine", "upstream", "takes",
    ])];
    let placement = &plan.placement;
    for trial in &plan.trials {
        let gateway = match plan.variant(&trial.variant) {
            Some(Variant::Gateway { setup, .. }) => cores(setup.gateway_cores(placement)),
            _ => "-".into(),
        };
        lines.push(row([
            &trial.number.to_string(),
            &trial.block.to_string(),
            &trial.scenario,
            &trial.variant,
            &gateway,
            &cores(&placement.engine),
            &cores(&placement.upstream),
            &clock(plan.duration_of(trial)),
        ]));
    }
    lines
}

fn cores(cores: &[usize]) -> String {
    if cores.is_empty() {
        return "any".into();
    }
    Vec::from_iter(cores.iter().map(usize::to_string)).join(",")
}
