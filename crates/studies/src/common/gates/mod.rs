//! The validity gates: rules that mark a figure as limited or invalid, each with a reason and a
//! remedy.

mod agents;
mod audited;
mod consistency;
mod gateway;
mod instrument;
mod machine;
mod responses;
mod schedule;
mod steady;
pub mod thresholds;
mod trial;
mod wire;

use gatebench_model::{Length, Plan, Scenario, Variant};
use gatebench_report::Validity;
use gatebench_store::{Histogram, PhaseRecord, SeriesRow, TrialRecord};

use super::context::{Context, kind};
use super::digest::Digest;
use super::facts::{Aspect, CurveMetric, Gate, PhaseKind, Reason};
use steady::not_steady;

/// The phase that a gate judges, and the other facts that the gate needs.
pub(crate) struct View<'a> {
    /// The run and the trial; `None` for a load outside a run.
    pub(crate) run: Option<(&'a Context<'a>, &'a TrialRecord)>,
    pub(crate) phase: &'a PhaseRecord,
    pub(crate) digest: &'a Digest,
    /// The per-second rows of the whole trial; empty for a load outside a run.
    pub(crate) series: &'a [SeriesRow],
}

impl<'a> View<'a> {
    fn is_direct(&self) -> bool {
        self.variant() == Some(&Variant::Direct)
    }

    fn is_null(&self) -> bool {
        self.variant().is_some_and(Variant::is_null)
    }

    fn variant(&self) -> Option<&'a Variant> {
        let (context, record) = self.run?;
        context.plan.variant(&record.trial.variant)
    }

    fn scenario(&self) -> Option<&'a Scenario> {
        let (context, record) = self.run?;
        context.plan.scenario(&record.trial.scenario)
    }

    fn kind(&self) -> PhaseKind {
        kind(self.phase)
    }

    /// Reports whether the load is meant to saturate the load generator and the upstream.
    fn seeks_own_limit(&self) -> bool {
        (self.is_direct() || self.is_null()) && self.kind() == PhaseKind::Closed
    }

    fn reason(
        &self,
        gate: Gate,
        validity: Validity,
        spoils: &[Aspect],
        message: impl Into<String>,
        remedy: &str,
    ) -> Reason {
        let phase = Some(&*self.phase.name);
        reason(gate, validity, spoils, phase, message, remedy)
    }

    fn limited(
        &self,
        gate: Gate,
        spoils: &[Aspect],
        message: impl Into<String>,
        remedy: &str,
    ) -> Reason {
        self.reason(gate, Validity::Limited, spoils, message, remedy)
    }

    fn invalid(
        &self,
        gate: Gate,
        spoils: &[Aspect],
        message: impl Into<String>,
        remedy: &str,
    ) -> Reason {
        self.reason(gate, Validity::Invalid, spoils, message, remedy)
    }
}

fn reason(
    gate: Gate,
    validity: Validity,
    spoils: &[Aspect],
    phase: Option<&str>,
    message: impl Into<String>,
    remedy: &str,
) -> Reason {
    Reason {
        gate,
        validity,
        spoils: spoils.to_vec(),
        phase: phase.map(str::to_owned),
        message: message.into(),
        remedy: remedy.into(),
    }
}

/// All aspects except memory. [`Aspect::Latency`] includes the tail.
const SPEED: [Aspect; 3] = [Aspect::Throughput, Aspect::Latency, Aspect::CpuPerRequest];

pub(crate) const EVERYTHING: [Aspect; 4] = [
    Aspect::Throughput,
    Aspect::Latency,
    Aspect::CpuPerRequest,
    Aspect::Memory,
];

type PhaseGate = fn(&View) -> Option<Reason>;

const PHASE_GATES: [PhaseGate; 43] = [
    responses::checks_failed,
    responses::errors,
    responses::no_responses,
    responses::never_reached_upstream,
    responses::header_stripped,
    responses::retries,
    gateway::restarted,
    gateway::not_saturated,
    schedule::dropped,
    schedule::rate_not_achieved,
    schedule::late,
    schedule::connections_held,
    schedule::tail_late,
    instrument::engine_saturated,
    instrument::engine_waited,
    instrument::upstream_near_direct,
    wire::upstream_connections,
    wire::client_connections,
    wire::old_version,
    wire::writes_log,
    wire::idle_workers,
    machine::throttled,
    machine::steal,
    machine::foreign_process,
    machine::shared_core,
    machine::source_changed,
    machine::source_slow,
    machine::frequency,
    |view| not_steady(view, steady::throughput(view)?),
    |view| not_steady(view, steady::cpu(view)?),
    |view| not_steady(view, steady::latency(view)?),
    steady::untested,
    consistency::clamped,
    consistency::percentiles_and_sums,
    consistency::littles_law,
    consistency::counts_and_bytes,
    audited::cannot_be_true,
    agents::throttled,
    agents::steal,
    agents::late,
    agents::dropped,
    agents::backends,
    agents::medians,
];

pub(crate) fn judge_phase(view: &View) -> Vec<Reason> {
    let is_meant = view.phase.failure.is_some() || view.phase.change.is_some();
    // Side by side, only reasons that spoil CPU time or memory are kept: the gateways share their
    // cores, so their throughput and added latency are not reported.
    let is_reported = |reason: &Reason| {
        let aspects = [Aspect::CpuPerRequest, Aspect::Memory];
        view.kind() != PhaseKind::SideBySide || reason.spoils.iter().any(|it| aspects.contains(it))
    };
    let is_smoke = view.run.is_some_and(|(context, _)| is_smoke(context.plan));
    let is_trial = is_smoke || !has_enough_requests(view.phase);
    let reasons = PHASE_GATES.iter().filter_map(|gate| gate(view));
    reasons
        .filter(|reason| !(is_meant && IS_MEASURED.contains(&reason.gate)))
        .chain(responses::failed_beforehand(view))
        .filter(is_reported)
        .filter(|reason| !is_trial || WHETHER_IT_WORKS.contains(&reason.gate))
        .collect()
}

/// The gates for a load outside a run. No gate concerns failing requests, which are a result of the
/// load, or the gateway's processes, which gatebench did not start.
const LOAD_GATES: [PhaseGate; 17] = [
    schedule::dropped,
    schedule::rate_not_achieved,
    schedule::late,
    schedule::tail_late,
    instrument::engine_saturated,
    instrument::engine_waited,
    machine::throttled,
    machine::steal,
    consistency::clamped,
    consistency::percentiles_and_sums,
    consistency::counts_and_bytes,
    agents::throttled,
    agents::steal,
    agents::late,
    agents::dropped,
    agents::backends,
    agents::medians,
];

/// Judges a load outside a run from its record and from a histogram of each metric over the
/// requests that got a complete response.
pub fn judge_load(
    phase: &PhaseRecord,
    histograms: impl IntoIterator<Item = (CurveMetric, Histogram<u64>)>,
) -> Vec<Reason> {
    let view = View {
        run: None,
        phase,
        digest: &Digest::of_load(&phase.name, histograms),
        series: &[],
    };
    let is_long = phase.measure_ns >= thresholds::SHARE_WINDOW_NS_MIN;
    let is_reported = |reason: &Reason| match reason.gate {
        Gate::EngineSaturated | Gate::EngineWaited if !is_long => false,
        gate => has_enough_requests(phase) || WHETHER_IT_WORKS.contains(&gate),
    };
    let reasons = LOAD_GATES.iter().filter_map(|gate| gate(&view));
    reasons.filter(is_reported).collect()
}

/// Reports whether the machine or the load generator, rather than the gateway, may have delayed the
/// requests of a phase, or may be the reason why none was sent.
pub(crate) fn is_disturbed(view: &View) -> bool {
    let disturb: [PhaseGate; 5] = [
        machine::throttled,
        machine::steal,
        machine::foreign_process,
        instrument::engine_saturated,
        instrument::engine_waited,
    ];
    let nothing_sent = view.phase.counts.sent == 0 && view.phase.counts.errors.is_empty();
    nothing_sent || disturb.iter().any(|gate| gate(view).is_some())
}

/// Reports whether a run only tests that everything works.
pub(crate) fn is_smoke(plan: &Plan) -> bool {
    let planned = plan.length.as_ref();
    planned.is_some_and(|planned| planned.length == Length::Smoke)
}

pub(crate) fn has_enough_requests(phase: &PhaseRecord) -> bool {
    phase.counts.sent.max(phase.counts.completed) >= thresholds::REQUESTS_MIN
}

/// The gates that apply to a smoke run, and to a load with too few requests for a judgment of its
/// speed.
const WHETHER_IT_WORKS: [Gate; 9] = [
    Gate::ArrivalsDropped,
    Gate::ChecksFailed,
    Gate::RequestErrors,
    Gate::NoResponses,
    Gate::GatewayRestarted,
    Gate::Retries,
    Gate::UpstreamVersion,
    Gate::NeverReachedUpstream,
    Gate::HeaderStripped,
];

/// The gates for effects that a phase with a change or failure is meant to measure. Failed requests
/// in the seconds before the change or failure are still judged.
const IS_MEASURED: [Gate; 8] = [
    Gate::ChecksFailed,
    Gate::RateNotAchieved,
    Gate::RequestErrors,
    Gate::NeverReachedUpstream,
    Gate::HeaderStripped,
    Gate::Retries,
    Gate::UpstreamConnections,
    Gate::ClientConnections,
];

pub(crate) use trial::judge_trial;

/// A reason that spoils all latencies also spoils their tail.
fn spoils(reason: &Reason, aspect: Aspect) -> bool {
    let is_tail = aspect == Aspect::LatencyTail;
    reason.spoils.contains(&aspect) || is_tail && reason.spoils.contains(&Aspect::Latency)
}

/// The worst validity among the reasons that spoil `aspect`, or among all reasons if `aspect` is
/// `None`.
pub(crate) fn worst<'a>(
    reasons: impl IntoIterator<Item = &'a Reason>,
    aspect: Option<Aspect>,
) -> Validity {
    reasons
        .into_iter()
        .filter(|reason| aspect.is_none_or(|aspect| spoils(reason, aspect)))
        .map(|reason| reason.validity)
        .max()
        .unwrap_or(Validity::Valid)
}
