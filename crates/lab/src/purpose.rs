//! What a run is made for besides measuring: endurance, or isolation.

use std::collections::BTreeMap;
use std::time::Duration;

use gatebench_model::{Flame, Isolation, LoadProfile, Plan, Scenario, Shares, Soak, Span, Trial};
use gatebench_store::TrialRecord;

use crate::equip::PreparedGateway;
use crate::error::LabError;
use crate::library::Listed;
use crate::prepare::Selection;

/// The longest warm-up of a soak.
const WARM_UP_MAX: Duration = Duration::from_secs(60);

/// The part of a soak's duration that its warm-up takes at most.
const WARM_UP_PART: u32 = 10;

/// How often a soak fetches what a gateway says of its pools: seldom enough to cost nothing that is seen.
const POOLS_EVERY: Span = Span::from_millis(10_000);

/// What is left of a soak and shorter than this is not worth a process.
const SEGMENT_MIN: Duration = Duration::from_secs(1);

/// A soak, as a user asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct SoakChoice {
    /// How long is measured, in place of what the load profile says.
    pub duration: Option<Span>,
    /// Growth of memory that does not matter, in bytes per hour.
    pub growth_bytes_per_hour: u64,
}

/// A profile, as a user asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameChoice {
    /// How long is measured, in place of what the load profile says.
    pub duration: Option<Span>,
    /// What is sampled.
    pub flame: Flame,
}

/// A test of isolation, as a user asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IsolationChoice {
    /// The group that must not be harmed; none is the one called `good`, or the first.
    pub group: Option<String>,
}

/// The load, with the shape and the duration that were asked for.
pub(crate) fn load(load: &mut LoadProfile, selection: &Selection) {
    let soaked = selection.soak.as_ref().and_then(|soak| soak.duration);
    let duration = soaked.or_else(|| selection.flame.and_then(|flame| flame.duration));
    for phase in &mut load.phases {
        if let Some(shape) = &selection.shape {
            phase.shape = shape.clone();
        }
        if let Some(duration) = duration {
            phase.measure = duration;
            let warm_up = (duration.0 / WARM_UP_PART).min(WARM_UP_MAX);
            phase.warm_up = phase.warm_up.min(Span(warm_up));
        }
    }
    if selection.keep_awake {
        load.repeat_awake();
    }
}

/// The scenarios, each beside its healthy twins where isolation is tested.
pub(crate) fn scenarios(
    listed: Vec<Listed<Scenario>>,
    selection: &Selection,
) -> Result<(Vec<Listed<Scenario>>, Vec<Isolation>), LabError> {
    let Some(choice) = &selection.isolation else {
        return Ok((listed, Vec::new()));
    };
    let mut all = Vec::new();
    let mut isolations = Vec::new();
    for Listed { document, source } in listed {
        let (isolation, twins) = Isolation::of(&document, choice.group.as_deref())
            .map_err(|error| {
                LabError::words(
                    error.to_string(),
                    "name a scenario with a good group and failing ones, as soap-1-errors, and its good group with --group",
                )
            })?;
        isolations.push(isolation);
        all.extend(twins.map(|document| Listed {
            document,
            source: source.clone(),
        }));
    }
    Ok((all, isolations))
}

/// The soak that a plan is made for: its first trial is the soak's first process.
pub(crate) fn soak(selection: &Selection, plan: &Plan) -> Option<Soak> {
    let choice = selection.soak.as_ref()?;
    let load = plan.load_of(&plan.trials.first()?.scenario);
    let measured = load.phases.iter().map(|phase| phase.measure.0);
    Some(Soak {
        duration: Span(measured.fold(Duration::ZERO, Duration::saturating_add)),
        growth_bytes_per_hour: choice.growth_bytes_per_hour,
    })
}

/// Refuses to keep the cores of a gateway awake that gatebench did not place on any.
///
/// # Errors
/// Such a gateway takes part.
pub(crate) fn refuse_unknown_cores(selection: &Selection) -> Result<(), LabError> {
    if !selection.keep_awake || selection.attach.is_none() {
        return Ok(());
    }
    Err(LabError::words(
        "--keep-awake needs cores that gatebench assigns, and an attached gateway has none of them",
        "leave out --keep-awake, or let gatebench start the gateway with --gateway",
    ))
}

/// The shares of saturation at which gateways are also measured.
///
/// # Errors
/// Gateways that are loaded side by side: the rate of each would be a share of its saturation
/// alone. A load of the profile that has the name of one at a share.
pub(crate) fn shares(selection: &Selection, plan: &Plan) -> Result<Option<Shares>, LabError> {
    if selection.at.is_empty() {
        return Ok(None);
    }
    if let Some(phase) = plan.phases().find(|phase| phase.side_by_side) {
        return Err(LabError::words(
            format!(
                "--at measures gateways one after the other, and the load '{}' side by side",
                phase.name
            ),
            "leave out --at, or choose another load with --load",
        ));
    }
    let shares = Shares::new(selection.at.clone(), selection.length);
    let is_taken = |name: &String| plan.phases().any(|phase| phase.name == *name);
    let taken = shares.names().find(is_taken);
    if let Some(name) = taken {
        return Err(LabError::words(
            format!("--at adds a load named '{name}', and the load profile has one of that name"),
            "rename that phase in the load profile, leave out --at, or choose another load with --load",
        ));
    }
    Ok(Some(shares))
}

/// Lets a soak fetch what its gateway says of its pools, where that says anything.
pub(crate) fn watch_pools(plan: &mut Plan, gateways: &BTreeMap<String, PreparedGateway>) {
    let tells = |gateway: &PreparedGateway| {
        let metrics = gateway.folder.spec.metrics.as_ref();
        metrics.is_some_and(|it| !it.pools.is_empty())
    };
    if plan.soak.is_none() || !gateways.values().all(tells) {
        return;
    }
    for scenario in &mut plan.scenarios {
        let metrics = scenario.metrics.get_or_insert_default();
        metrics.scrape_every.get_or_insert(POOLS_EVERY);
    }
}

/// Plans what is left of a soak: the segments on disk stay, and a further one has the rest of the time.
pub(crate) fn go_on<'a>(plan: &mut Plan, records: impl Iterator<Item = &'a TrialRecord>) {
    let (Some(soak), Some(first)) = (&plan.soak, plan.trials.first().cloned()) else {
        return;
    };
    let kept: Vec<&TrialRecord> = records.filter(|it| it.outcome.is_final()).collect();
    let phases = kept.iter().flat_map(|record| &record.phases);
    let measured = Duration::from_nanos(phases.map(|phase| phase.measure_ns).sum());
    let left = soak.duration.0.saturating_sub(measured);
    plan.trials = kept.iter().map(|record| record.trial.clone()).collect();
    if left >= SEGMENT_MIN {
        let number = plan.trials.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        plan.trials.push(Trial {
            number,
            block: number,
            ..first
        });
        let loads = std::iter::once(&mut plan.load).chain(plan.scenario_loads.values_mut());
        for phase in loads.flat_map(|load| &mut load.phases) {
            phase.measure = Span(left);
        }
    }
    plan.blocks = plan.trials.iter().map(|it| it.block).max().unwrap_or(1);
}
