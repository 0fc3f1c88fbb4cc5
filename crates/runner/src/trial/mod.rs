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
use gatebench_probe::Profile;
use gatebench_store::{
    Buffering, ClockSource, ErrorLog, Outcome, ParityRecord, ProfileRecord, SCHEMA_VERSION,
    SeriesRow, SettleRecord, TaggedInterval, Timestamp, TrialRecord, TrialWriter,
};

use crate::abort::{Failure, Halt};
use crate::context::Scene;
use crate::parity::{self, Place, buffering};
use crate::phase::{self, Loading, admin, ceiling, external, trace};
use crate::progress::{PhaseSummary, Progress, Step};
use crate::testbed::log;
use crate::testbed::sampler::GatewaySampler;
use crate::testbed::{self, Stage};
use crate::workload::Demand;

/// A trial that has ended, to be written.
pub(crate) struct Ended {
    pub(crate) record: TrialRecord,
    pub(crate) histograms: Vec<TaggedInterval>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) summaries: Vec<PhaseSummary>,
}

/// Runs a trial. When this returns, everything it started is down.
pub(crate) fn run(scene: &Scene<'_>, writer: &TrialWriter) -> Ended {
    let mut course = Course::new(scene);
    if let Some(policies) = unsupported::unsupported(scene) {
        course.ended.record.outcome = Outcome::NotSupported { policies };
        return course.ended;
    }
    // Declared before anything is started, so that it ends what is up also on a panic.
    let mut stage = Stage::default();
    let outcome = match course.go(&mut stage, writer) {
        Ok(()) => Outcome::Completed,
        Err(Halt::Interrupted) if course.keeps_what_it_has() => Outcome::Completed,
        Err(halt) => halt.into(),
    };
    course.ended.record.outcome = course.take_down(&mut stage, outcome);
    course.keep_error_log(writer);
    course.keep_clock_source();
    course.ended.record.finished = Timestamp::now();
    course.ended
}

/// Writes what was sampled in a phase beside the trial's record.
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

/// Whether a phase gives the gateway the routes under `later`.
fn is_configured_anew(scene: &Scene<'_>) -> bool {
    let phases = scene.phases().iter();
    phases
        .filter_map(|phase| phase.change.as_ref())
        .any(|change| change.action == CONFIGURE)
}

/// The tag of the nonces of a part of the trial.
fn tag(scene: &Scene<'_>, slot: u32) -> u16 {
    // As many for every trial, so that tags differ between them.
    let loads = std::iter::once(&scene.plan.load).chain(scene.plan.scenario_loads.values());
    let most = loads.map(|load| load.phases.len()).max().unwrap_or(0);
    let slots = u32::try_from(most)
        .unwrap_or(u32::MAX)
        .saturating_add(FIRST_PHASE_SLOT)
        .saturating_add(scene.plan.study.further_loads_max());
    trace::tag(scene.plan.seed, scene.trial.number, slots, slot)
}

/// Where a gateway's standard error goes, to which its folder has it log: in the trial's folder.
const ERROR_LOG: &str = "gateway/gateway.stderr.log";

const PARITY_BEFORE_SLOT: u32 = 0;
const PARITY_AFTER_SLOT: u32 = 1;
const FIRST_PHASE_SLOT: u32 = 2;

/// The target of a trial's loads, their requests, and the place of their files.
struct Setting<'s> {
    stage: &'s mut Stage,
    demand: &'s Demand,
    writer: &'s TrialWriter,
}

/// A trial on its way.
struct Course<'a> {
    scene: &'a Scene<'a>,
    began_ns: u64,
    /// The clock source at its begin, where the kernel shows it.
    clock_source: Option<String>,
    ended: Ended,
    /// Of the gateway's processes, from readiness to the end of the trial.
    processes: Option<GatewaySampler>,
}

impl<'a> Course<'a> {
    fn new(scene: &'a Scene<'a>) -> Self {
        let now = Timestamp::now();
        let record = TrialRecord {
            schema: SCHEMA_VERSION,
            trial: scene.trial.clone(),
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
        let ended = Ended {
            record,
            histograms: Vec::new(),
            series: Vec::new(),
            summaries: Vec::new(),
        };
        Self {
            scene,
            began_ns: clock::now_ns(),
            clock_source: gatebench_probe::clock_source(),
            ended,
            processes: None,
        }
    }

    fn go(&mut self, stage: &mut Stage, writer: &TrialWriter) -> Result<(), Halt> {
        let scene = self.scene;
        let demand = Demand::of(scene.scenario, scene.variant)
            .map_err(|error| Failure::of_manifest(&error))?;
        self.bring_up(stage, writer)?;
        scene.step(Step::ParityBefore)?;
        let before = self.prove(stage, &demand, PARITY_BEFORE_SLOT)?;
        let failure = parity::failure(&before);
        self.ended.record.parity_before = Some(before);
        if let Some(reason) = failure {
            return Err(self.parity_failure(stage, reason, writer).into());
        }
        self.ended.record.buffering = Some(self.try_buffering(stage, &demand)?);
        scene.meet()?;
        let mut setting = Setting {
            stage: &mut *stage,
            demand: &demand,
            writer,
        };
        for (slot, phase) in (FIRST_PHASE_SLOT..).zip(scene.plan.phases_of(scene.trial)) {
            self.load(&mut setting, phase, slot)?;
        }
        self.further_loads(&mut setting)?;
        self.ended.record.admin = admin::rounds(scene, stage, &mut self.ended.record.warnings)?;
        scene.meet()?;
        scene.step(Step::ParityAfter)?;
        // What it says is a finding: a gate of the analysis, not the end of the trial.
        self.ended.record.parity_after = Some(self.prove(stage, &demand, PARITY_AFTER_SLOT)?);
        self.count_processes_ended();
        match stage.death(scene.variant) {
            Some(death) => Err(death.into()),
            None => Ok(()),
        }
    }

    fn bring_up(&mut self, stage: &mut Stage, writer: &TrialWriter) -> Result<(), Halt> {
        let facts = {
            let _starting = self.scene.hurry.while_starting();
            start::start_testbed(self.scene, stage, writer)
        };
        // What was ended because of an interrupt did not fail.
        if self.scene.interrupt.is_raised() {
            return Err(Halt::Interrupted);
        }
        self.ended.record.gateway = facts?;
        if let Variant::Attached { pid: None, .. } = self.scene.variant {
            let unknown =
                "what the attached gateway costs cannot be read; give its process with --pid";
            self.ended.record.warnings.push(unknown.into());
        }
        if let Some(facts) = &mut self.ended.record.gateway {
            self.processes = stage.gateway_sampler();
            let ready = self.processes.as_mut().map(GatewaySampler::sample);
            facts.processes = ready.map_or(0, |sample| sample.processes);
        }
        Ok(())
    }

    fn place<'s>(&'s self, stage: &Stage, slot: u32) -> Result<Place<'s>, Halt> {
        Ok(Place {
            target: stage.target().ok_or(Halt::Interrupted)?,
            upstream: stage.upstream(),
            tag: tag(self.scene, slot),
            is_after: slot == PARITY_AFTER_SLOT,
            is_attached: matches!(self.scene.variant, Variant::Attached { .. }),
            interrupt: self.scene.interrupt,
        })
    }

    fn try_buffering(&self, stage: &Stage, demand: &Demand) -> Result<Buffering, Halt> {
        let place = self.place(stage, PARITY_BEFORE_SLOT)?;
        buffering::buffering(self.scene.scenario, &demand.samples, &place)
    }

    fn prove(&self, stage: &Stage, demand: &Demand, slot: u32) -> Result<ParityRecord, Halt> {
        let scene = self.scene;
        let place = self.place(stage, slot)?;
        match scene.variant {
            Variant::Floor => parity::prove_floor(&demand.samples, &place),
            variant if variant.is_null() => parity::prove_floor(&demand.samples, &place),
            _ if place.is_after && is_configured_anew(scene) => {
                parity::prove(&scene.scenario.changed(), &demand.samples, &place)
            }
            _ => parity::prove(scene.scenario, &demand.samples, &place),
        }
    }

    /// A gateway that died fails every case, and then its death is the reason.
    fn parity_failure(&self, stage: &mut Stage, reason: String, writer: &TrialWriter) -> Failure {
        let remedy = match self.scene.variant {
            Variant::Floor => {
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
        let stderr = stage.gateway_stderr();
        let reason = if stderr.is_empty() {
            reason
        } else {
            format!("{reason}\nthe gateway's last words:\n{stderr}")
        };
        stage
            .death(self.scene.variant)
            .unwrap_or_else(|| Failure::new(self.scene.target_culprit(), reason, remedy))
    }

    /// A worker that crashed in a warm-up or between two loads is seen here only.
    fn count_processes_ended(&mut self) {
        let last = self.processes.as_mut().map(GatewaySampler::sample);
        if let Some((facts, last)) = self.ended.record.gateway.as_mut().zip(last) {
            facts.processes_ended = last.processes_ended;
        }
    }

    /// The slot after those of the loads of the profile.
    fn slot_after_phases(&self) -> u32 {
        let phases = self.scene.phases().len();
        FIRST_PHASE_SLOT + u32::try_from(phases).unwrap_or(u32::MAX)
    }

    /// Measures a load in this slot of the trial.
    fn load(&mut self, setting: &mut Setting<'_>, phase: &Phase, slot: u32) -> Result<(), Halt> {
        let loading = Loading {
            phase,
            demand: setting.demand,
            tag: tag(self.scene, slot),
            trial_began_ns: self.began_ns,
            folder: setting.writer.folder(),
        };
        self.measure(setting.stage, &loading, setting.writer)
    }

    fn measure(
        &mut self,
        stage: &mut Stage,
        loading: &Loading<'_>,
        writer: &TrialWriter,
    ) -> Result<(), Halt> {
        if self.scene.interrupt.is_raised() {
            return Err(Halt::Interrupted);
        }
        let company = self.scene.company.as_ref();
        let is_alone = company.filter(|_| !loading.phase.side_by_side);
        let _turn = is_alone
            .map(|it| it.turn(self.scene.interrupt))
            .transpose()?;
        let settled = self.settle(loading)?;
        let warnings = &mut self.ended.record.warnings;
        let ceiling = ceiling::measure(self.scene, stage, loading, warnings);
        let mut measured = match self.scene.engine {
            None => phase::measure(self.scene, stage, loading)?,
            Some(engine) => {
                let work = writer.folder().join("engine").join(&loading.phase.name);
                external::measure(self.scene, stage, loading, engine, &work)?
            }
        };
        measured.record.settled = settled;
        measured.record.ceiling = ceiling;
        measured.record.profile = keep_profile(writer, &loading.phase.name, measured.profile)?;
        let warnings = external::warnings(&measured.record);
        self.ended.record.warnings.extend(warnings);
        let called = admin::warnings(&measured.record);
        self.ended.record.warnings.extend(called);
        self.ended.record.phases.push(measured.record);
        self.ended.histograms.extend(measured.histograms);
        self.ended.series.extend(measured.series);
        self.ended.summaries.push(measured.summary);
        if loading.phase.side_by_side {
            self.scene.meet()?;
        }
        measured.halt.map_or(Ok(()), Err)
    }

    /// Waits until the machine is quiet, where the plan asks for it.
    fn settle(&mut self, loading: &Loading<'_>) -> Result<Option<SettleRecord>, Halt> {
        let scene = self.scene;
        let Some(settle) = scene.plan.settle() else {
            return Ok(None);
        };
        scene.step(Step::Settling)?;
        let record = wait_for_idle::wait(&settle, scene.interrupt);
        if scene.interrupt.is_raised() {
            return Err(Halt::Interrupted);
        }
        let warning = record.and_then(|it| wait_for_idle::warning(&loading.phase.name, &it));
        self.ended.record.warnings.extend(warning);
        Ok(record)
    }

    /// Notes the clock source at both ends: times read from two of them do not agree.
    fn keep_clock_source(&mut self) {
        let both = self
            .clock_source
            .take()
            .zip(gatebench_probe::clock_source());
        self.ended.record.clock_source = both.map(|(began, ended)| ClockSource { began, ended });
    }

    /// Notes where the gateway's complaints are kept.
    fn keep_error_log(&mut self, writer: &TrialWriter) {
        let Some(facts) = &mut self.ended.record.gateway else {
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
            self.scene.plan.study.may_be_stopped() && !self.ended.record.phases.is_empty();
        if is_kept {
            let stopped =
                "it was stopped before its time was over, and parity was not proven after it";
            self.ended.record.warnings.push(stopped.into());
        }
        is_kept
    }

    /// Ends what is up and gives the trial's outcome, which a gateway that had ended by itself changes.
    fn take_down(&mut self, stage: &mut Stage, outcome: Outcome) -> Outcome {
        self.scene
            .observer
            .observe(Progress::StepStarted(Step::Down));
        let stop = self
            .scene
            .gateway
            .map(|gateway| gateway.folder.spec.stop.clone())
            .unwrap_or_default();
        let down = stage.bring_gateway_down(&stop.signal, stop.timeout.0);
        stage.bring_upstream_down();
        let Some(down) = down else { return outcome };
        if let Some(facts) = &mut self.ended.record.gateway {
            facts.stopped = down.words;
            facts.access_log_lines = stage.access_log_lines();
        }
        // What was hurried did not have the time it asks for.
        if !self.scene.interrupt.is_raised() {
            self.ended.record.warnings.extend(down.warning);
        }
        match (outcome, down.crashed) {
            (Outcome::Completed, Some(exit)) => {
                Halt::from(testbed::crashed(self.scene.variant.label(), exit)).into()
            }
            (outcome, _) => outcome,
        }
    }
}
