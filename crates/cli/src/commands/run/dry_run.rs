//! `--dry-run`: the plan, before anything starts.

use gatebench_analysis::loads;
use gatebench_model::group::{Group, divide};
use gatebench_model::load::Spread;
use gatebench_model::{Capacity, Phase, Plan, Scenario, Shares, Study, Trial, Variant};
use gatebench_runner::Prepared;

use super::display::progress_text::{clock, length_in_words, trials};
use crate::failure::Failure;
use crate::terminal;

/// Prints every trial in order, with its cores and expected duration.
pub fn print(prepared: &Prepared, json: bool) -> Result<(), Failure> {
    for warning in &prepared.warnings {
        terminal::complain(&format!("warning: {warning}"));
    }
    if json {
        let plan = serde_json::to_value(&prepared.plan).unwrap_or_default();
        return terminal::say_data(&format!("{plan:#}"));
    }
    terminal::say(&in_words(prepared))
}

fn in_words(prepared: &Prepared) -> String {
    let plan = &prepared.plan;
    let mut lines = vec![format!("{}: {}", plan.suite, plan.title), String::new()];
    for (label, gateway) in &prepared.gateways {
        lines.push(format!(
            "gateway  {label} {} ({})",
            gateway.binary.version,
            gateway.binary.place()
        ));
    }
    lines.extend(length_in_words(plan).map(|words| terminal::wrapped(&words, terminal::WIDTH, 9)));
    lines.extend(loads(plan));
    lines.extend(further_loads(&plan.study));
    lines.extend(plan.scenarios.iter().flat_map(|it| groups(it, plan)));
    lines.push(format!(
        "order    seed {}, {} {}",
        plan.seed,
        plan.blocks,
        if plan.blocks == 1 { "block" } else { "blocks" }
    ));
    lines.push(terminal::wrapped(
        &format!("cores    {}", plan.placement.note),
        terminal::WIDTH,
        9,
    ));
    lines.push(String::new());
    lines.extend(table(plan));
    lines.push(String::new());
    lines.push(format!(
        "{}, about {}",
        trials(plan.trials.len() as u32),
        clock(plan.expected_duration())
    ));
    lines.join("\n")
}

/// The common load, and under the names of their scenarios those of their own.
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

/// The loads that the study adds to those.
fn further_loads(study: &Study) -> Option<String> {
    match study {
        Study::Measure(Some(at)) => Some(shares(at)),
        Study::Capacity(capacity) => Some(search(capacity)),
        _ => None,
    }
}

/// What a search tries after that.
fn search(capacity: &Capacity) -> String {
    let most = capacity
        .rate_max_per_second
        .map_or_else(String::new, |rate| format!(", at most {rate}/s"));
    terminal::wrapped(
        &format!(
            "search   the rate sustained with {}, in steps of {} with {}{most}; the outcome of each step sets \
             the next rate",
            capacity.objective,
            capacity.step,
            arrivals(capacity.arrivals)
        ),
        terminal::WIDTH,
        9,
    )
}

/// The loads that follow, at shares of each gateway's saturation.
fn shares(shares: &Shares) -> String {
    let each: Vec<String> = shares.percents.iter().map(|it| format!("{it} %")).collect();
    let (warm_up, measure) = (shares.warm_up.as_secs_f64(), shares.measure.as_secs_f64());
    terminal::wrapped(
        &format!(
            "shares   {} connections find each gateway's saturation, then open loads offer {} of it with {}; \
             each {warm_up} s of warm-up, {measure} s measured",
            shares.connections,
            each.join(", "),
            arrivals(shares.arrivals)
        ),
        terminal::WIDTH,
        9,
    )
}

fn arrivals(spread: Spread) -> &'static str {
    match spread {
        Spread::Poisson => "Poisson arrivals",
        Spread::Uniform => "uniform arrivals",
    }
}

/// Groups of a scenario that are listed; the others are counted.
const GROUPS_MAX: usize = 8;

/// The groups of a scenario with their parts of each load; nothing where it has but one.
fn groups(scenario: &Scenario, plan: &Plan) -> Vec<String> {
    let groups = scenario.groups();
    if groups.len() < 2 {
        return Vec::new();
    }
    let shown = &groups[..groups.len().min(GROUPS_MAX)];
    let names = shown.iter().map(|group| group.name.chars().count());
    let width = names.max().unwrap_or(0);
    let parts: Vec<_> = plan
        .load_of(&scenario.scenario)
        .phases
        .iter()
        // A load that is too small for them was refused, but for a script, which has no need of it.
        .filter_map(|phase| Some((&phase.name, divide(&phase.shape, &groups).ok()?)))
        .collect();
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
    if groups.len() > GROUPS_MAX {
        let more = groups.len() - GROUPS_MAX;
        lines.push(format!("         and {more} more"));
    }
    lines
}

fn table(plan: &Plan) -> Vec<String> {
    let widest = |of: fn(&Trial) -> &str| {
        plan.trials
            .iter()
            .map(|trial| of(trial).chars().count())
            .max()
            .unwrap_or(0)
    };
    let scenario = widest(|trial| &trial.scenario).max("scenario".len());
    let variant = widest(|trial| &trial.variant).max("variant".len());
    let row = |cells: [&str; 8]| {
        let [
            number,
            block,
            scenario_name,
            variant_name,
            gateway,
            engine,
            upstream,
            takes,
        ] = cells;
        format!(
            "{number:>5}  {block:>5}  {scenario_name:<scenario$}  {variant_name:<variant$}  {gateway:>7}  {engine:>6}  {upstream:>8}  {takes:>6}"
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
    cores
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(",")
}
