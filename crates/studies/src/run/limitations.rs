//! The limits of the findings as a whole, and those of a scenario. The numbers and the remedies are
//! in each variant's reasons.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use gatebench_model::Scenario;
use gatebench_report::format::{counted, listed, percent};
use gatebench_report::{Tone, Validity};
use gatebench_stats::comparison::CONFIDENCE;
use gatebench_stats::trend::POINTS_MIN;
use gatebench_stats::{MIN_BLOCKS, Method};
use gatebench_store::{PhaseRecord, Status};

use super::gateway_notes;
use crate::common::comparisons::SMALLEST_EFFECT;
use crate::common::context::{Context, kind, resumed_by};
use crate::common::facts::{Gate, MissingTrial, PhaseKind, ScenarioFindings};
use crate::common::gates::thresholds::REQUESTS_MIN;
use crate::common::gates::{has_enough_requests, is_smoke};
use crate::common::trials::{blocks_complete, tried_again};
use crate::common::{by_key, joined, wire};
use crate::policy_cost::facts::CostFindings;

pub(crate) fn of(
    context: &Context,
    missing: &[MissingTrial],
    scenarios: &[ScenarioFindings],
    costs: Option<&CostFindings>,
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(unfinished(context, missing));
    // The combined results of a specification already list the repeated trials.
    let specified = context.plan.study.versions();
    if !specified.is_some_and(|it| it.combines) || is_smoke(context.plan) {
        notes.extend(tried_again(context));
    }
    notes.extend(too_few_requests(context));
    notes.extend(no_verdict(context));
    notes.extend(crate::kind::of(&context.plan.study).note(context));
    notes.extend(how_judged(scenarios, costs));
    notes.extend(steadiness_untested(context));
    notes.extend(warm_ups(context));
    notes.extend(without_null(context));
    notes.extend(gateway_notes::limits(context));
    notes.extend(gateway_notes::self_reported_metrics(context));
    notes.extend(gateway_notes::weights(context));
    let manifest = context.run.manifest();
    notes.extend(Some(context.plan.placement.note.clone()).filter(|note| !note.is_empty()));
    notes.extend(manifest.notes.iter().cloned());
    notes
}

fn unfinished(context: &Context, missing: &[MissingTrial]) -> Option<String> {
    let what = match context.run.manifest().status {
        Status::Finished if missing.is_empty() => return None,
        Status::Finished => "The run is finished, but its directory is not complete",
        Status::Running => "The run had not ended when this report was written",
        Status::Interrupted => "The run was interrupted",
        Status::Failed => "The run could not continue",
    };
    let planned = context.plan.trials.len();
    let missing = missing.len();
    Some(format!(
        "{what}: {missing} of {} {} missing; `gatebench {} --resume DIR` measures the rest.",
        counted(planned as u64, "trial"),
        if missing == 1 { "is" } else { "are" },
        resumed_by(&context.plan.study)
    ))
}

fn too_few_requests(context: &Context) -> Option<String> {
    if is_smoke(context.plan) {
        return Some("The run only tests that everything works; it does not report speed.".into());
    }
    let mut phases = context.completed().flat_map(|record| &record.phases);
    // The think time of a paced load limits its rate, so its figures do not show a gateway's speed.
    let too_few =
        |phase: &PhaseRecord| !has_enough_requests(phase) && kind(phase) != PhaseKind::Paced;
    phases.any(too_few).then(|| {
        format!(
            "Loads of fewer than {REQUESTS_MIN} requests show whether something works, but not how fast: their throughput and \
             CPU time are not reported."
        )
    })
}

fn no_verdict(context: &Context) -> Option<String> {
    let study = &context.plan.study;
    let blocks = blocks_complete(context);
    // A smoke run does not measure speed.
    if !study.needs_blocks() || is_smoke(context.plan) || blocks as usize >= MIN_BLOCKS {
        return None;
    }
    let verb = if blocks == 1 { "is" } else { "are" };
    let how = match study.ab() {
        Some(_) => "allow more time: gatebench ab --budget".to_owned(),
        None => format!("gatebench run --blocks {MIN_BLOCKS}"),
    };
    Some(format!(
        "{} {verb} too few for a verdict, which needs at least {MIN_BLOCKS} ({how}).",
        counted(u64::from(blocks), "block")
    ))
}

/// The comparisons, methods and confidence that the verdicts rest on.
fn how_judged(scenarios: &[ScenarioFindings], costs: Option<&CostFindings>) -> Option<String> {
    let compared = scenarios.iter().flat_map(|it| &it.comparisons);
    let costed = costs.into_iter().flat_map(CostFindings::ratios);
    let compared = compared.map(|cell| (cell.primary, &cell.result));
    // The deciding metric of an A/B test has a separate note.
    let judged = compared.chain(costed.map(|it| (false, it)));
    let judged = judged.filter_map(|(primary, it)| Some((primary, it.method?)));
    let judged = judged.filter(|(_, method)| *method != Method::Repeated);
    let judged: Vec<(bool, Method)> = judged.collect();
    let (all, confidence) = (judged.len(), percent(CONFIDENCE));
    let together = match judged.iter().filter(|(primary, _)| *primary).count() {
        primary if primary > 0 && primary < all => format!(
            "the verdicts on CPU per request ({primary}) hold jointly with {confidence} confidence, and so do the \
             others ({})",
            all - primary
        ),
        _ => format!("all hold jointly with {confidence} confidence"),
    };
    let methods = [
        (Method::Student, "Student's t"),
        (Method::Bootstrap, "a seeded bootstrap over blocks"),
    ];
    let is_used = |method| judged.iter().any(|(_, used)| *used == method);
    let methods = methods.into_iter().filter(|(method, _)| is_used(*method));
    let methods = joined(methods.map(|(_, words)| words), " and ");
    (!methods.is_empty()).then(|| {
        format!(
            "Verdicts rest on {}, paired by block, with intervals by {methods}, widened (Holm) so that \
             {together}; a difference within ±{} % counts as no change.",
            counted(all as u64, "comparison"),
            SMALLEST_EFFECT * 100.0,
        )
    })
}

fn steadiness_untested(context: &Context) -> Option<String> {
    // In phases with bins and in those of an external load generator, a gate reports it if steady
    // state was not tested. A smoke run does not measure speed.
    (!is_smoke(context.plan)).then_some(())?;
    let is_short = |phase: &&PhaseRecord| {
        let seconds = phase.measure_ns / 1_000_000_000;
        let has_gate = phase.bins.is_some() || phase.external.is_some();
        !has_gate && seconds < POINTS_MIN as u64
    };
    let phases = context.completed().flat_map(|record| &record.phases);
    let short: BTreeSet<&str> = phases.filter(is_short).map(|it| it.name.as_str()).collect();
    (!short.is_empty()).then(|| {
        format!(
            "Steady state was not tested in {}: without bins of 100 ms, the test needs at least \
             {POINTS_MIN} s.",
            joined(short, ", ")
        )
    })
}

/// The scenarios in which the null gateway is not comparable, with the reasons.
fn without_null(context: &Context) -> Option<String> {
    let plan = context.plan;
    plan.variants.iter().find(|it| it.is_null())?;
    let incomparable = |scenario: &Scenario| {
        let why = scenario.incomparable_with_null()?;
        Some(format!("{} ({why})", scenario.scenario))
    };
    let scenarios = joined(plan.scenarios.iter().filter_map(incomparable), ", ");
    (!scenarios.is_empty()).then(|| format!("The null gateway is not comparable in {scenarios}."))
}

/// The lengths of the warm-ups that waited for the CPU time per request to settle.
fn warm_ups(context: &Context) -> Option<String> {
    let phases = context.completed().flat_map(|record| &record.phases);
    let adaptive: Vec<_> = phases
        .filter_map(|phase| Some((phase.warm_up_ns, phase.adaptive_warm_up?.settled)))
        .collect();
    let seconds = || {
        adaptive
            .iter()
            .map(|(length_ns, _)| *length_ns as f64 / 1e9)
    };
    let (shortest, longest) = (seconds().reduce(f64::min)?, seconds().reduce(f64::max)?);
    let unsettled = adaptive.iter().filter(|(_, settled)| !settled).count();
    let whose = match context.plan.placement.gateway_is_elsewhere {
        true => {
            "the upstream's CPU time per request (that of a gateway on another host cannot be read \
             often enough)"
        }
        false => "the CPU time per request",
    };
    let all = adaptive.len();
    let (shortest, longest) = (format!("{shortest:.1}"), format!("{longest:.1}"));
    let lengths = match shortest == longest {
        true => shortest,
        false => format!("{shortest} to {longest}"),
    };
    Some(format!(
        "Warm-ups lasted {lengths} s, until {whose} had settled; {unsettled} of {all} reached their \
         time limit first."
    ))
}

/// One sentence for each phase and validity, the worst first; whole trials come before the phases,
/// which are in the plan's order. The differences on the wire come last.
pub(crate) fn of_scenario(scenario: &ScenarioFindings) -> Vec<(Tone, String)> {
    let tripped = scenario.rows.iter().flat_map(|row| {
        let reasons = row.reasons.iter();
        reasons.map(|it| ((it.validity, it.phase.as_deref()), (&*row.variant, it.gate)))
    });
    let place = |phase: Option<&str>| {
        let phases = &scenario.phases;
        phase.map(|name| phases.iter().position(|phase| phase.name == name))
    };
    let mut places = by_key(tripped);
    places.sort_by_key(|((validity, phase), _)| (Reverse(*validity), place(*phase)));
    let limits = places.into_iter();
    limits
        .map(|((validity, phase), tripped)| sentence(validity, phase, tripped))
        .chain(wire::differences(&scenario.wire))
        .collect()
}

/// The limits as a sentence, from the variants and the gates that they tripped: `limited in
/// saturate: nginx and haproxy (near direct throughput); reference (near direct throughput, other
/// processes).`
fn sentence(validity: Validity, phase: Option<&str>, tripped: Vec<(&str, Gate)>) -> (Tone, String) {
    let (word, tone) = match validity {
        Validity::Invalid => ("invalid", Tone::Alarm),
        Validity::Limited | Validity::Valid => ("limited", Tone::Caution),
    };
    let place = phase
        .map(|phase| format!(" in {phase}"))
        .unwrap_or_default();
    // Variants that tripped the same gates are named together, even if the order of the gates
    // differs.
    let variants = by_key(tripped).into_iter().map(|(variant, mut gates)| {
        gates.sort();
        (gates, variant.to_owned())
    });
    let groups = by_key(variants).into_iter().map(|(gates, names)| {
        let why = joined(gates.iter().map(|gate| gate.in_short()), ", ");
        format!("{} ({why})", listed(&names))
    });
    (tone, format!("{word}{place}: {}.", joined(groups, "; ")))
}
