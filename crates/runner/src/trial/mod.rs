//! Runs one trial, from the start of its upstream to the record that the run writes to disk.
//!
//! A trial must not depend on other trials or on the order of the run, except through the lockstep
//! of its block and the earlier repeats of its search.

mod opening;
mod start;
mod unsupported;
mod wait_for_idle;

use gatebench_model::load::CONFIGURE;
use gatebench_model::{Phase, Variant};
use gatebench_net::clock;
use gatebench_store::{
    ClockSource, ErrorLog, Outcome, ParityRecord, ProfileRecord, SCHEMA_VERSION, SettleRecord,
    Timestamp, TrialRecord, TrialWriter,
};
use gatebench_studies::{Next, after_load};
use gatebench_testbed::probe::clock_source;
use gatebench_testbed::{GatewaySampler, Running};

use crate::abort::{Abort, Failure};
use crate::context::TrialContext;
use crate::numbers::count;
use crate::parity::{self, Place, buffering};
use crate::phase::{self, Loading, Timed, admin, ceiling, external, trace};
use crate::progress::{PhaseSummary, Progress, Step};
use crate::workload::Workload;
use opening::Opening;

pub(crate) struct TrialResult {
    pub(crate) record: TrialRecord,
    pub(crate) timed: Timed,
    pub(crate) summaries: Vec<PhaseSummary>,
}

/// Runs a trial. When the function returns, all processes that the trial started have ended.
pub(crate) fn run(context: &TrialContext<'_>, writer: &TrialWriter) -> TrialResult {
    let mut runner = TrialRunner::new(context);
    if let Some(policies) = unsupported::unsupported(context) {
        runner.result.record.outcome = Outcome::NotSupported { policies };
        return runner.result;
    }
    // Dropping this value ends all processes, even on a panic.
    let mut running = None;
    let outcome = match runner.go(&mut running, writer) {
        Ok(()) => Outcome::Completed,
        Err(Abort::Interrupted) if runner.keeps_what_it_has() => Outcome::Completed,
        Err(abort) => abort.into(),
    };
    runner.result.record.outcome = runner.take_down(running, outcome);
    runner.keep_clock_source();
    runner.result.record.finished = Timestamp::now();
    runner.result
}

/// Reports whether a phase gives the gateway the routes under `later`.
fn is_reconfigured(context: &TrialContext<'_>) -> bool {
    let phases = context.phases().iter();
    phases
        .filter_map(|phase| phase.change.as_ref())
        .any(|change| change.action == CONFIGURE)
}

/// Returns the first nonce tag for a part of the trial. If agents send the load, they share several
/// consecutive tags, of which this is the first.
fn tag(context: &TrialContext<'_>, slot: u32) -> u16 {
    let tags = context.agents.map_or(1, |agents| count(agents.tags(&[])));
    let slots = slots(context).saturating_mul(tags);
    let slot = slot.saturating_mul(tags);
    trace::tag(context.first_tag, context.trial.number, slots, slot)
}

fn load_seed(context: &TrialContext<'_>, slot: u32) -> u64 {
    let number = context.trial.number;
    trace::load_seed(context.plan.seed, number, slots(context), slot).into()
}

/// Returns the number of parts in a trial. The number is the same for all trials of the run, so
/// that tags differ between trials.
fn slots(context: &TrialContext<'_>) -> u32 {
    let loads = std::iter::once(&context.plan.load).chain(context.plan.scenario_loads.values());
    let most = loads.map(|load| load.phases.len()).max().unwrap_or(0);
    count(most)
        .saturating_add(FIRST_PHASE_SLOT)
        .saturating_add(context.plan.study.further_loads_max())
}

/// The file in the trial's folder for the gateway's standard error, which serves as its error log.
const ERROR_LOG: &str = "gateway/gateway.stderr.log";

const PARITY_BEFORE_SLOT: u32 = 0;
const PARITY_AFTER_SLOT: u32 = 1;
const FIRST_PHASE_SLOT: u32 = 2;

struct Setting<'s> {
    running: &'s mut Running,
    workload: &'s Workload,
    writer: &'s TrialWriter,
}

struct TrialRunner<'a> {
    context: &'a TrialContext<'a>,
    began_ns: u64,
    /// The clock source at the start, if the kernel exposes it.
    clock_source: Option<String>,
    result: TrialResult,
    /// Samples the gateway's processes from readiness to the end of the trial.
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
            timed: Timed::default(),
            summaries: Vec::new(),
        };
        Self {
            context,
            began_ns: clock::now_ns(),
            clock_source: clock_source(),
            result,
            processes: None,
        }
    }

    fn go(&mut self, running: &mut Option<Running>, writer: &TrialWriter) -> Result<(), Abort> {
        let context = self.context;
        let workload = Workload::of(context.scenario, context.variant)
            .map_err(|error| Failure::of_manifest(&error))?;
        let first = workload.samples.first();
        let first = first.filter(|_| context.is_cold() && context.gateway.is_some());
        let tag = tag(context, PARITY_BEFORE_SLOT);
        let opening = first.map(|it| Opening::new(it, tag, context.interrupt));
        let running = self.bring_up(running, writer, opening.as_ref())?;
        if opening.is_none() {
            self.prove_before(running, &workload, writer)?;
        }
        context.meet()?;
        let mut setting = Setting {
            running: &mut *running,
            workload: &workload,
            writer,
        };
        for (slot, phase) in (FIRST_PHASE_SLOT..).zip(context.plan.phases_of(context.trial)) {
            self.load(&mut setting, phase, slot)?;
        }
        self.further_loads(&mut setting)?;
        self.result.record.admin =
            admin::rounds(context, running, &mut self.result.record.warnings)?;
        context.meet()?;
        context.step(Step::ParityAfter)?;
        // A parity failure after the loads is a finding of the analysis and does not end the
        // trial.
        self.result.record.parity_after =
            Some(self.prove(running, &workload, PARITY_AFTER_SLOT)?);
        self.count_processes_ended();
        Failure::of_death(running).map_or(Ok(()), |death| Err(death.into()))
    }

    fn prove_before(
        &mut self,
        running: &mut Running,
        workload: &Workload,
        writer: &TrialWriter,
    ) -> Result<(), Abort> {
        self.context.step(Step::ParityBefore)?;
        let before = self.prove(running, workload, PARITY_BEFORE_SLOT)?;
        let failure = parity::failure(&before);
        self.result.record.parity_before = Some(before);
        if let Some(reason) = failure {
            return Err(self.parity_failure(running, reason, writer).into());
        }
        let buffering = buffering::buffering(
            self.context.scenario,
            &workload.samples,
            &self.place(running, PARITY_BEFORE_SLOT),
        )?;
        self.result.record.buffering = Some(buffering);
        Ok(())
    }

    fn bring_up<'s>(
        &mut self,
        slot: &'s mut Option<Running>,
        writer: &TrialWriter,
        opening: Option<&Opening<'_>>,
    ) -> Result<&'s mut Running, Abort> {
        let context = self.context;
        let started = start::start(context, writer, opening).map(|it| slot.insert(it));
        // An interrupted start is not a failure.
        context.interrupt.check()?;
        let running = started?;
        self.result.record.gateway = start::facts(context, running, opening, self.began_ns);
        if let Variant::Attached {
            pid: None,
            pod: None,
            ..
        } = context.variant
        {
            let unknown = "CPU and memory of the attached gateway are unknown; name its process with --pid, or its pod with --attach-pod";
            self.result.record.warnings.push(unknown.into());
        }
        if let Some(facts) = &mut self.result.record.gateway {
            self.processes = running.gateway_sampler();
            let ready = self.processes.as_mut().map(GatewaySampler::sample);
            facts.processes = ready.map_or(0, |sample| sample.processes);
        }
        Ok(running)
    }

    fn place<'s>(&'s self, running: &Running, slot: u32) -> Place<'s> {
        Place {
            target: running.target().clone(),
            upstream: running.upstream(),
            tag: tag(self.context, slot),
            is_after: slot == PARITY_AFTER_SLOT,
            is_attached: matches!(self.context.variant, Variant::Attached { .. }),
            interrupt: self.context.interrupt,
        }
    }

    fn prove(
        &self,
        running: &Running,
        workload: &Workload,
        slot: u32,
    ) -> Result<ParityRecord, Abort> {
        let context = self.context;
        let place = self.place(running, slot);
        match context.variant {
            variant if variant.is_control() => parity::prove_direct(&workload.samples, &place),
            _ if place.is_after && is_reconfigured(context) => {
                parity::prove(&context.scenario.changed(), &workload.samples, &place)
            }
            _ => parity::prove(context.scenario, &workload.samples, &place),
        }
    }

    /// Returns the parity failure or, if a part of the testbed has died, the failure that reports
    /// the death.
    fn parity_failure(
        &self,
        running: &mut Running,
        reason: String,
        writer: &TrialWriter,
    ) -> Failure {
        let gateway = self.context.gateway;
        let own = gateway.and_then(|gateway| gateway.folder.own_config());
        let rendered = writer.gateway_folder();
        let remedy = match self.context.variant {
            Variant::Direct => {
                "correct the scenario's checks, or choose the upstream that they expect".into()
            }
            Variant::Attached { .. } => {
                "configure the attached gateway as the scenario requires, or use --scenario to choose a scenario \
                 that fits it"
                    .into()
            }
            _ if own.is_some() => format!(
                "if the configuration refuses such requests, run it with your own scenario (gatebench run SCENARIO \
                 --config FILE; for Kong and APISIX, gatebench import writes one); the rendered files are in {}",
                rendered.display()
            ),
            _ => format!(
                "correct the gateway's templates or the scenario; the rendered files are in {}",
                rendered.display()
            ),
        };
        let reason = match running.gateway_stderr() {
            stderr if stderr.is_empty() => reason,
            stderr => format!("{reason}\nthe end of the gateway's standard error:\n{stderr}"),
        };
        Failure::of_death(running)
            .unwrap_or_else(|| Failure::new(self.context.target_culprit(), reason, remedy))
    }

    /// Counts the gateway's processes that have ended since it was ready. Unlike the counts of the
    /// loads, this count includes a worker that crashed in a warm-up or between two loads.
    fn count_processes_ended(&mut self) {
        let last = self.processes.as_mut().map(GatewaySampler::sample);
        if let Some((facts, last)) = self.result.record.gateway.as_mut().zip(last) {
            facts.processes_ended = last.processes_ended;
        }
    }

    fn slot_after_phases(&self) -> u32 {
        FIRST_PHASE_SLOT + count(self.context.phases().len())
    }

    /// Measures a load; `slot` is the load's number among the parts of the trial.
    fn load(&mut self, setting: &mut Setting<'_>, phase: &Phase, slot: u32) -> Result<(), Abort> {
        let loading = Loading {
            phase,
            workload: setting.workload,
            tag: tag(self.context, slot),
            seed: load_seed(self.context, slot),
            trial_began_ns: self.began_ns,
            folder: setting.writer.folder(),
        };
        let (running, writer) = (&mut *setting.running, setting.writer);
        self.context.interrupt.check()?;
        let lockstep = self.context.lockstep.as_ref();
        let is_alone = lockstep.filter(|_| !phase.side_by_side);
        let _turn = is_alone
            .map(|it| it.turn(self.context.interrupt))
            .transpose()?;
        let settled = self.wait_for_idle(phase)?;
        let warnings = &mut self.result.record.warnings;
        let ceiling = ceiling::measure(self.context, running, &loading, warnings);
        let mut measured = match self.context.engine {
            None => phase::measure(self.context, running, &loading)?,
            Some(engine) => {
                let work = writer.folder().join("engine").join(&phase.name);
                external::measure(self.context, running, &loading, engine, &work)?
            }
        };
        measured.record.settled = settled;
        measured.record.ceiling = ceiling;
        if let Some(profile) = &measured.profile {
            let file = writer.keep_profile(&phase.name, &profile.folded);
            measured.record.profile = Some(ProfileRecord {
                file: file.map_err(|error| Failure::from(&error))?,
                sampled_ns: profile.sampled_ns,
            });
        }
        let warnings = &mut self.result.record.warnings;
        warnings.extend(external::warnings(&measured.record));
        warnings.extend(admin::warnings(&measured.record));
        self.result.record.phases.push(measured.record);
        self.result.timed.extend(measured.timed);
        self.result.summaries.push(measured.summary);
        if phase.side_by_side {
            self.context.meet()?;
        }
        measured.abort.map_or(Ok(()), Err)
    }

    /// Runs the loads that the study adds to the profile's loads. Each load is chosen after the
    /// previous load has ended. Every step of a search is on disk before the next step begins.
    fn further_loads(&mut self, setting: &mut Setting<'_>) -> Result<(), Abort> {
        let context = self.context;
        let planned = context.phases().len();
        let first_slot = self.slot_after_phases();
        for number in 0..context.plan.study.further_loads_max() {
            let further = match after_load(context.plan, &context.earlier, &self.result.record) {
                Next::Load(further) => further,
                Next::Continue => break,
                Next::Stop(why) => {
                    self.result.record.warnings.push(why);
                    break;
                }
            };
            if further.is_step {
                // The summary shows only the last step.
                self.result.summaries.truncate(planned);
            }
            self.load(setting, &further.phase, first_slot + number)?;
            let result = &mut self.result;
            if let Some(record) = result.record.phases.last_mut() {
                further.mark(record, &result.timed.histograms);
            }
            if further.is_step {
                self.keep(setting.writer)?;
            }
        }
        Ok(())
    }

    /// Writes the trial to disk before it has ended.
    fn keep(&mut self, writer: &TrialWriter) -> Result<(), Abort> {
        self.result.record.finished = Timestamp::now();
        let (record, timed) = (&self.result.record, &self.result.timed);
        let kept = writer.checkpoint(record, &timed.histograms, &timed.series);
        kept.map_err(|error| Failure::from(&error).into())
    }

    /// Waits for an idle machine, if the plan requires it. A load that starts at the first correct
    /// response does not wait.
    fn wait_for_idle(&mut self, phase: &Phase) -> Result<Option<SettleRecord>, Abort> {
        let context = self.context;
        let is_opening = context.is_cold() && self.result.record.phases.is_empty();
        let Some(settle) = context.plan.settle().filter(|_| !is_opening) else {
            return Ok(None);
        };
        context.step(Step::Settling)?;
        let record = wait_for_idle::wait(&settle, context.interrupt);
        context.interrupt.check()?;
        let warning = record.and_then(|it| wait_for_idle::warning(&phase.name, &it));
        self.result.record.warnings.extend(warning);
        Ok(record)
    }

    /// Records the clock source at the start and the end of the trial, because times from different
    /// sources are not comparable.
    fn keep_clock_source(&mut self) {
        let both = self.clock_source.take().zip(clock_source());
        self.result.record.clock_source = both.map(|(began, ended)| ClockSource { began, ended });
    }

    /// Reports whether an interrupted trial is kept, and adds a warning if it is. A stopped soak is
    /// only shorter, and a stopped profile only has fewer samples.
    fn keeps_what_it_has(&mut self) -> bool {
        let is_kept =
            self.context.plan.study.may_be_stopped() && !self.result.record.phases.is_empty();
        if is_kept {
            let stopped = "the load was stopped early, so parity was not checked after it";
            self.result.record.warnings.push(stopped.into());
        }
        is_kept
    }

    /// Ends all processes. Returns the outcome of the trial: a completed trial becomes a failure if
    /// the gateway had already ended.
    fn take_down(&mut self, running: Option<Running>, outcome: Outcome) -> Outcome {
        self.context
            .observer
            .observe(Progress::StepStarted(Step::Down));
        let shutdown = running.and_then(|it| it.stop(self.context.interrupt));
        let Some(shutdown) = shutdown else {
            return outcome;
        };
        if let Some(facts) = &mut self.result.record.gateway {
            facts.stopped = shutdown.words;
            facts.access_log_lines = shutdown.access_log_lines;
            facts.error_log = (shutdown.stderr_lines > 0).then(|| ErrorLog {
                file: ERROR_LOG.into(),
                lines: shutdown.stderr_lines,
            });
        }
        // An interrupt cuts the shutdown short.
        if !self.context.interrupt.is_raised() {
            self.result.record.warnings.extend(shutdown.warning);
        }
        match (outcome, shutdown.crashed) {
            (Outcome::Completed, Some(crashed)) => Abort::from(crashed).into(),
            (outcome, _) => outcome,
        }
    }
}
