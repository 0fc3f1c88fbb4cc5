//! One trial: a fresh gateway process, from its upstream's start to its record on disk.
//!
//! [`run`] brings the testbed up, proves parity, goes through the phases, proves parity again and
//! brings everything down. It must not know other trials or the order of the run, except through
//! the lockstep of its block.

mod further;
mod start;
mod unsupported;
mod wait_for_idle;

use gatebench_model::load::CONFIGURE;
use gatebench_model::{Phase, Variant};
use gatebench_net::clock;
use gatebench_store::{
    Buffering, ClockSource, ErrorLog, Outcome, ParityRecord, ProfileRecord, SCHEMA_VERSION,
    SeriesRow, SettleRecord, TaggedInterval, Timestamp, TrialRecord, TrialWriter,
};
use gatebench_testbed::probe::Profile;

use crate::abort::{Abort, Failure};
use crate::context::TrialContext;
use crate::parity::{self, Place, buffering};
use crate::phase::{self, Loading, admin, ceiling, external, trace};
use crate::progress::{PhaseSummary, Progress, Step};
use crate::testbed::log;
use crate::testbed::opening::Opening;
use crate::testbed::sampler::GatewaySampler;
use crate::testbed::{self, Testbed};
use crate::workload::Workload;

/// The result of a trial, ready to be written.
pub(crate) struct TrialResult {
    pub(crate) record: TrialRecord,
    pub(crate) histograms: Vec<TaggedInterval>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) summaries: Vec<PhaseSummary>,
}

/// Runs a trial. When this returns, everything it started is down.
pub(crate) fn run(context: &TrialContext<'_>, writer: &TrialWriter) -> TrialResult {
    let mut runner = TrialRunner::new(context);
    if let Some(policies) = unsupported::unsupported(context) {
        runner.result.record.outcome = Outcome::NotSupported { policies };
        return runner.result;
    }
    // Declared before anything is started, so that it ends what is up also on a panic.
    let mut testbed = Testbed::default();
    let outcome = match runner.go(&mut testbed, writer) {
        Ok(()) => Outcome::Completed,
        Err(Abort::Interrupted) if runner.keeps_what_it_has() => Outcome::Completed,
        Err(abort) => abort.into(),
    };
    runner.result.record.outcome = runner.take_down(&mut testbed, outcome);
    runner.keep_error_log(writer);
    runner.keep_clock_source();
    runner.result.record.finished = Timestamp::now();
    runner.result
}

/// Writes the samples of a phase next to the trial's record.
fn keep_profile(
    writer: &TrialWriter,
    phase: &str,
    profile: Option<Profile>,
) -> Result<Option<ProfileRecord>, Failure> {
    let Some(Profile { folded, sampled_ns }) = profile else {
        return Ok(None);
    };
    let file = writer
        .keep_profile(phase, &folded)
        .map_err(|error| Failure::from(&error))?;
    Ok(Some(ProfileRecord { file, sampled_ns }))
}

/// Reports whether a phase gives the gateway the routes under `later`.
fn is_configured_anew(context: &TrialContext<'_>) -> bool {
    let phases = context.phases().iter();
    phases
        .filter_map(|phase| phase.change.as_ref())
        .any(|change| change.action == CONFIGURE)
}

/// The tag of the nonces of a part of the trial.
fn tag(context: &TrialContext<'_>, slot: u32) -> u16 {
    // As many for every trial, so that tags differ between them.
    let loads = std::iter::once(&context.plan.load).chain(context.plan.scenario_loads.values());
    let most = loads.map(|load| load.phases.len()).max().unwrap_or(0);
    let slots = u32::try_from(most)
        .unwrap_or(u32::MAX)
        .saturating_add(FIRST_PHASE_SLOT)
        .saturating_add(context.plan.study.further_loads_max());
    trace::tag(context.plan.seed, context.trial.number, slots, slot)
}

/// Where a gateway's standard error goes, to which its folder has it log: in the trial's folder.
const ERROR_LOG: &str = "gateway/gateway.stderr.log";

const PARITY_BEFORE_SLOT: u32 = 0;
const PARITY_AFTER_SLOT: u32 = 1;
const FIRST_PHASE_SLOT: u32 = 2;

/// The target of a trial's loads, their requests, and the place of their files.
struct Setting<'s> {
    testbed: &'s mut Testbed,
    workload: &'s Workload,
    writer: &'s TrialWriter,
}

/// Runs one trial.
struct TrialRunner<'a> {
    context: &'a TrialContext<'a>,
    began_ns: u64,
    /// The clock source at its begin, where the kernel shows it.
    clock_source: Option<String>,
    result: TrialResult,
    /// Of the gateway's processes, from readiness to the end of the trial.
    processes: Option<GatewaySampler>,
}

impl<'a> TrialRunner<'a> {
    fn new(context: &'a TrialContext<'a>) -> Self {
        let now = Timestamp::now();
        let record = TrialRecord {
            schema: SCHEMA_VERSION,
            trial: context.trial.clone(),
            started: now,
            finished: now,
            outcome: Outcome::Interrupted,
            parity_before: None,
            parity_after: None,
            buffering: None,
            gateway: None,
            phases: Vec::new(),
            admin: None,
            clock_source: None,
            warnings: Vec::new(),
        };
        let result = TrialResult {
            record,
            histograms: Vec::new(),
            series: Vec::new(),
            summaries: Vec::new(),
        };
        Self {
            context,
            began_ns: clock::now_ns(),
            clock_source: gatebench_testbed::probe::clock_source(),
            result,
            processes: None,
        }
    }

    fn go(&mut self, testbed: &mut Testbed, writer: &TrialWriter) -> Result<(), Abort> {
        let context = self.context;
        let workload = Workload::of(context.scenario, context.variant)
            .map_err(|error| Failure::of_manifest(&error))?;
        let first = workload.samples.first();
        let first = first.filter(|_| context.is_cold() && context.gateway.is_some());
        let tag = tag(context, PARITY_BEFORE_SLOT);
        let opening = first.map(|it| Opening::new(it, tag, context.interrupt));
        self.bring_up(testbed, writer, opening.as_ref())?;
        if opening.is_none() {
            self.prove_before(testbed, &workload, writer)?;
        }
        context.meet()?;
        let mut setting = Setting {
            testbed: &mut *testbed,
            workload: &workload,
            writer,
        };
        for (slot, phase) in (FIRST_PHASE_SLOT..).zip(context.plan.phases_of(context.trial)) {
            self.load(&mut setting, phase, slot)?;
        }
        self.further_loads(&mut setting)?;
        self.result.record.admin =
            admin::rounds(context, testbed, &mut self.result.record.warnings)?;
        context.meet()?;
        context.step(Step::ParityAfter)?;
        // What it says is a finding: a gate of the analysis, not the end of the trial.
        self.result.record.parity_after =
            Some(self.prove(testbed, &workload, PARITY_AFTER_SLOT)?);
        self.count_processes_ended();
        match testbed.death(context.variant) {
            Some(death) => Err(death.into()),
            None => Ok(()),
        }
    }

    /// Proves parity before the loads, and tries buffering.
    fn prove_before(
        &mut self,
        testbed: &mut Testbed,
        workload: &Workload,
        writer: &TrialWriter,
    ) -> Result<(), Abort> {
        self.context.step(Step::ParityBefore)?;
        let before = self.prove(testbed, workload, PARITY_BEFORE_SLOT)?;
        let failure = parity::failure(&before);
        self.result.record.parity_before = Some(before);
        if let Some(reason) = failure {
            return Err(self.parity_failure(testbed, reason, writer).into());
        }
        self.result.record.buffering = Some(self.try_buffering(testbed, workload)?);
        Ok(())
    }

    fn bring_up(
        &mut self,
        testbed: &mut Testbed,
        writer: &TrialWriter,
        opening: Option<&Opening<'_>>,
    ) -> Result<(), Abort> {
        let facts = {
            let _starting = self.context.force_stop.while_starting();
            start::start_testbed(self.context, testbed, writer, opening)
        };
        // What was ended because of an interrupt did not fail.
        if self.context.interrupt.is_raised() {
            return Err(Abort::Interrupted);
        }
        self.result.record.gateway = facts?;
        if let Variant::Attached { pid: None, .. } = self.context.variant {
            let unknown =
                "what the attached gateway costs cannot be read; give its process with --pid";
            self.result.record.warnings.push(unknown.into());
        }
        if let Some(facts) = &mut self.result.record.gateway {
            if let Some(first) = &mut facts.first_correct {
                first.at_ns = first.at_ns.saturating_sub(self.began_ns);
            }
            self.processes = testbed.gateway_sampler();
            let ready = self.processes.as_mut().map(GatewaySampler::sample);
            facts.processes = ready.map_or(0, |sample| sample.processes);
        }
        Ok(())
    }

    fn place<'s>(&'s self, testbed: &Testbed, slot: u32) -> Result<Place<'s>, Abort> {
        Ok(Place {
            target: testbed.target().ok_or(Abort::Interrupted)?,
            upstream: testbed.upstream(),
            tag: tag(self.context, slot),
            is_after: slot == PARITY_AFTER_SLOT,
            is_attached: matches!(self.context.variant, Variant::Attached { .. }),
            interrupt: self.context.interrupt,
        })
    }

    fn try_buffering(&self, testbed: &Testbed, workload: &Workload) -> Result<Buffering, Abort> {
        let place = self.place(testbed, PARITY_BEFORE_SLOT)?;
        buffering::buffering(self.context.scenario, &workload.samples, &place)
    }

    fn prove(
        &self,
        testbed: &Testbed,
        workload: &Workload,
        slot: u32,
    ) -> Result<ParityRecord, Abort> {
        let context = self.context;
        let place = self.place(testbed, slot)?;
        match context.variant {
            Variant::Direct => parity::prove_direct(&workload.samples, &place),
            variant if variant.is_null() => parity::prove_direct(&workload.samples, &place),
            _ if place.is_after && is_configured_anew(context) => {
                parity::prove(&context.scenario.changed(), &workload.samples, &place)
            }
            _ => parity::prove(context.scenario, &workload.samples, &place),
        }
    }

    /// A gateway that died fails every case, and then its death is the reason.
    fn parity_failure(
        &self,
        testbed: &mut Testbed,
        reason: String,
        writer: &TrialWriter,
    ) -> Failure {
        let remedy = match self.context.variant {
            Variant::Direct => {
                "correct the scenario's checks, or name the upstream that it needs".into()
            }
            Variant::Attached { .. } => {
                "configure the attached gateway as the scenario says, or choose a scenario that fits it with --scenario"
                    .into()
            }
            _ => format!(
                "correct the gateway's templates or the scenario; what was rendered is in {}",
                writer.gateway_folder().display()
            ),
        };
        let stderr = testbed.gateway_stderr();
        let reason = if stderr.is_empty() {
            reason
        } else {
            format!("{reason}\nthe gateway's last words:\n{stderr}")
        };
        testbed
            .death(self.context.variant)
            .unwrap_or_else(|| Failure::new(self.context.target_culprit(), reason, remedy))
    }

    /// A worker that crashed in a warm-up or between two loads is seen here only.
    fn count_processes_ended(&mut self) {
        let last = self.processes.as_mut().map(GatewaySampler::sample);
        if let Some((facts, last)) = self.result.record.gateway.as_mut().zip(last) {
            facts.processes_ended = last.processes_ended;
        }
    }

    /// The slot after those of the loads of the profile.
    fn slot_after_phases(&self) -> u32 {
        let phases = self.context.phases().len();
        FIRST_PHASE_SLOT + u32::try_from(phases).unwrap_or(u32::MAX)
    }

    /// Measures a load in this slot of the trial.
    fn load(&mut self, setting: &mut Setting<'_>, phase: &Phase, slot: u32) -> Result<(), Abort> {
        let loading = Loading {
            phase,
            workload: setting.workload,
            tag: tag(self.context, slot),
            trial_began_ns: self.began_ns,
            folder: setting.writer.folder(),
        };
        self.measure(setting.testbed, &loading, setting.writer)
    }

    fn measure(
        &mut self,
        testbed: &mut Testbed,
        loading: &Loading<'_>,
        writer: &TrialWriter,
    ) -> Result<(), Abort> {
        if self.context.interrupt.is_raised() {
            return Err(Abort::Interrupted);
        }
        let lockstep = self.context.lockstep.as_ref();
        let is_alone = lockstep.filter(|_| !loading.phase.side_by_side);
        let _turn = is_alone
            .map(|it| it.turn(self.context.interrupt))
            .transpose()?;
        let settled = self.wait_for_idle(loading)?;
        let warnings = &mut self.result.record.warnings;
        let ceiling = ceiling::measure(self.context, testbed, loading, warnings);
        let mut measured = match self.context.engine {
            None => phase::measure(self.context, testbed, loading)?,
            Some(engine) => {
                let work = writer.folder().join("engine").join(&loading.phase.name);
                external::measure(self.context, testbed, loading, engine, &work)?
            }
        };
        measured.record.settled = settled;
        measured.record.ceiling = ceiling;
        measured.record.profile = keep_profile(writer, &loading.phase.name, measured.profile)?;
        let warnings = external::warnings(&measured.record);
        self.result.record.warnings.extend(warnings);
        let called = admin::warnings(&measured.record);
        self.result.record.warnings.extend(called);
        self.result.record.phases.push(measured.record);
        self.result.histograms.extend(measured.histograms);
        self.result.series.extend(measured.series);
        self.result.summaries.push(measured.summary);
        if loading.phase.side_by_side {
            self.context.meet()?;
        }
        measured.abort.map_or(Ok(()), Err)
    }

    /// Waits until the machine is quiet, where the plan asks for it. A load that begins at the first
    /// correct response waits for nothing.
    fn wait_for_idle(&mut self, loading: &Loading<'_>) -> Result<Option<SettleRecord>, Abort> {
        let context = self.context;
        let is_opening = context.is_cold() && self.result.record.phases.is_empty();
        let Some(settle) = context.plan.settle().filter(|_| !is_opening) else {
            return Ok(None);
        };
        context.step(Step::Settling)?;
        let record = wait_for_idle::wait(&settle, context.interrupt);
        if context.interrupt.is_raised() {
            return Err(Abort::Interrupted);
        }
        let warning = record.and_then(|it| wait_for_idle::warning(&loading.phase.name, &it));
        self.result.record.warnings.extend(warning);
        Ok(record)
    }

    /// Notes the clock source at both ends: times read from two of them do not agree.
    fn keep_clock_source(&mut self) {
        let both = self
            .clock_source
            .take()
            .zip(gatebench_testbed::probe::clock_source());
        self.result.record.clock_source = both.map(|(began, ended)| ClockSource { began, ended });
    }

    /// Notes where the gateway's complaints are kept.
    fn keep_error_log(&mut self, writer: &TrialWriter) {
        let Some(facts) = &mut self.result.record.gateway else {
            return;
        };
        let lines = log::lines(&writer.folder().join(ERROR_LOG)).unwrap_or(0);
        facts.error_log = (lines > 0).then(|| ErrorLog {
            file: ERROR_LOG.into(),
            lines,
        });
    }

    /// Whether an interrupt leaves something worth keeping: a soak that was stopped has lasted shorter, and a profile
    /// has fewer samples.
    fn keeps_what_it_has(&mut self) -> bool {
        let is_kept =
            self.context.plan.study.may_be_stopped() && !self.result.record.phases.is_empty();
        if is_kept {
            let stopped =
                "it was stopped before its time was over, and parity was not proven after it";
            self.result.record.warnings.push(stopped.into());
        }
        is_kept
    }

    /// Ends what is up and gives the trial's outcome, which a gateway that had ended by itself changes.
    fn take_down(&mut self, testbed: &mut Testbed, outcome: Outcome) -> Outcome {
        self.context
            .observer
            .observe(Progress::StepStarted(Step::Down));
        let stop = self
            .context
            .gateway
            .map(|gateway| gateway.folder.spec.stop.clone())
            .unwrap_or_default();
        let shutdown = testbed.bring_gateway_down(&stop.signal, stop.timeout.0);
        testbed.bring_upstream_down();
        let Some(shutdown) = shutdown else {
            return outcome;
        };
        if let Some(facts) = &mut self.result.record.gateway {
            facts.stopped = shutdown.words;
            facts.access_log_lines = testbed.access_log_lines();
        }
        // What was hurried did not have the time it asks for.
        if !self.context.interrupt.is_raised() {
            self.result.record.warnings.extend(shutdown.warning);
        }
        match (outcome, shutdown.crashed) {
            (Outcome::Completed, Some(exit)) => {
                Abort::from(testbed::crashed(self.context.variant.label(), exit)).into()
            }
            (outcome, _) => outcome,
        }
    }
}
