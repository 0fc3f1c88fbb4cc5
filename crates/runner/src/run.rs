//! Executes the trials of the plan, beginning with the first trial or where the run was
//! interrupted.
//!
//! This module decides which trial comes next, which trials run together, and when the run is over.
//! It may depend on the record of a trial, but not on how the trial proceeds.

mod early_stop;
mod eta;
mod live_log;
mod preflight;
mod resume;
mod together;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use gatebench_model::{Blame, Culprit, Trial, Variant};
use gatebench_net::{Backend, choose};
use gatebench_store::{
    Manifest, Outcome, Run, RunWriter, SCHEMA_VERSION, Status, StoreError, Timestamp, TrialRecord,
    TrialWriter,
};
use gatebench_testbed::Interrupt;
use gatebench_testbed::kubernetes::{Pod, Pods};
use gatebench_testbed::probe::{Accounting, EnvironmentFacts, FrequencySource};

use crate::context::TrialContext;
use crate::error::RunnerError;
use crate::numbers::count;
use crate::outputs::{Outputs, Settings, TrialFeed};
use crate::phase::trace;
use crate::plan::identity;
use crate::plan::selection::Prepared;
use crate::progress::{Observer, Progress, RunSummary};
use crate::threads::{KeptThreads, spare_cores};
use crate::trial::TrialResult;
use crate::warning::Warning;
use early_stop::{EarlyStop, Over};
use eta::Eta;
use live_log::run_logged;

/// The number of consecutive environment failures after which the run ends, because the next trial
/// would probably fail too.
const ENVIRONMENT_FAILURES_MAX: u32 = 2;

/// The inputs of a run.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The plan and its gateways, from [`crate::prepare()`] or [`crate::prepare_resume`].
    pub prepared: Prepared,
    pub out: PathBuf,
    /// True if `out` contains a run to resume.
    pub resume: bool,
    /// The command-line arguments, for the manifest.
    pub command_line: Vec<String>,
    /// The load generator's event loop [default: for a resumed run, the event loop that it began
    /// with; otherwise, the best event loop that the kernel permits].
    pub backend: Option<Backend>,
    /// The time limit of the run: no block starts that would probably exceed it.
    pub budget: Option<Duration>,
    /// The system libraries that the reference gateway uses, with their versions, for the manifest.
    pub libraries: BTreeMap<String, String>,
    /// The servers and files that receive the figures of each second of the run.
    pub outputs: Settings,
}

/// Runs the plan. Each finished trial, or group of trials that run together, is written to disk
/// before the next one starts. A failed trial is kept with its reason, and the run continues.
/// Before the first trial, the threads of this process move to the cores of the load generator and
/// the upstream, if there are any. They move back at the end of the run.
///
/// A resumed run measures the trials that are missing. It repeats the trials that were interrupted
/// and those whose failure was due to neither the gateway nor a file, unless a later attempt
/// replaced them. If it measures one of several gateways that are loaded side by side, it measures
/// all of them.
///
/// # Errors
/// The run directory, the cores, the file descriptors or a required output are not available, or
/// two consecutive trials failed because of the environment or could not be stored. Finished trials
/// are kept.
pub fn run(
    request: &RunRequest,
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> Result<RunSummary, RunnerError> {
    preflight::check(&request.prepared)?;
    // The kernel's accounting of CPU time is tested before the first trial, because the test may
    // use a core for about two seconds.
    Accounting::of_this_machine();
    let opened = open(request)?;
    let placement = &request.prepared.plan.placement;
    let spare = spare_cores(&placement.used());
    let _kept = KeptThreads::on(&[&placement.engine[..], &placement.upstream].concat());
    let warn = |it| observer.observe(Progress::Warning(Warning::Output(it)));
    let started = Outputs::start(&request.outputs, &request.out, spare, &warn);
    let outputs = started.as_ref().ok().and_then(Option::as_ref);
    let mut run_loop = RunLoop::new(request, interrupt, observer, outputs, opened);
    let ended = match &started {
        Err(refusal) => Err(RunnerError::environment(
            refusal.to_string(),
            &refusal.remedy,
        )),
        Ok(_) => watch_pods(&request.prepared, interrupt).and_then(|()| {
            thread::scope(|scope| {
                let done = |delivery| observer.observe(Progress::Delivered(delivery));
                let _encoding = outputs.map(|it| it.encode_on(scope, warn, done));
                run_loop.go()
            })
        }),
    };
    run_loop.conclude(ended)
}

/// Adds a container to the pod of an attached gateway, if the run reads the gateway's CPU time
/// there. The container cannot be removed from the pod, so it is added only after all checks that
/// can refuse the run.
fn watch_pods(prepared: &Prepared, interrupt: &Interrupt) -> Result<(), RunnerError> {
    for variant in &prepared.plan.variants {
        if let Variant::Attached { pod: Some(pod), .. } = variant {
            prepared.testbed.watch(pod, interrupt)?;
        }
    }
    Ok(())
}

struct Opened {
    writer: RunWriter,
    finished: Vec<TrialRecord>,
    backend: Option<Backend>,
    /// Warnings about changes since a resumed run began; empty for a new run.
    changes: Vec<Warning>,
}

fn open(request: &RunRequest) -> Result<Opened, RunnerError> {
    if request.resume {
        return open_again(request);
    }
    let prepared = &request.prepared;
    let plan = &prepared.plan;
    let identity = |variant: &Variant| {
        let identity = match variant {
            Variant::Attached { url, .. } => identity::of_attached(url),
            variant => identity::of(prepared.gateways.get(variant.label())?),
        };
        Some((variant.label().to_owned(), identity))
    };
    let mut facts = EnvironmentFacts::read();
    facts.kernel.accounting = Some(Accounting::of_this_machine());
    facts.frequency = Some(FrequencySource::of_this_machine());
    let mut environment = serde_json::to_value(facts).unwrap_or_default();
    environment["libraries"] = request.libraries.clone().into_iter().collect();
    if let Some(pods) = prepared.testbed.pods() {
        environment["pods"] = pods.all().iter().map(|pod| pod_facts(pods, pod)).collect();
    }
    let manifest = Manifest {
        schema: SCHEMA_VERSION,
        gatebench: env!("CARGO_PKG_VERSION").into(),
        created: Timestamp::now(),
        status: Status::Running,
        command: request.command_line.clone(),
        plan: plan.clone(),
        engine_backend: choose(request.backend).as_str().into(),
        external_generator: prepared.engine.as_ref().map(|it| it.identity.clone()),
        gateways: plan.variants.iter().filter_map(identity).collect(),
        environment,
        notes: prepared.warnings.iter().map(ToString::to_string).collect(),
    };
    Ok(Opened {
        writer: RunWriter::create(&request.out, manifest)?,
        finished: Vec::new(),
        backend: request.backend,
        changes: Vec::new(),
    })
}

fn pod_facts(pods: &Pods, pod: &Pod) -> serde_json::Value {
    let node = pods.node(pod);
    serde_json::json!({
        "pod": pod.place,
        "node": pod.node,
        "address": pod.address,
        "instance_type": node.and_then(|it| it.instance_type.as_deref()),
        "zone": node.and_then(|it| it.zone.as_deref()),
        "runtime": node.map(|it| it.runtime.as_str()),
        "kernel": node.map(|it| it.kernel.as_str()),
    })
}

fn open_again(request: &RunRequest) -> Result<Opened, RunnerError> {
    let (mut writer, finished) = RunWriter::resume(&request.out)?;
    let finished = resume::kept(finished, &request.prepared.plan);
    let backend = resume::backend(request.backend, writer.manifest());
    let changes = resume::changes(writer.manifest(), backend);
    let warnings = request.prepared.warnings.iter().chain(&changes);
    let resumed = format!(
        "Resumed at {} with: {}.",
        Timestamp::now(),
        request.command_line.join(" ")
    );
    writer.update_manifest(|manifest| {
        manifest.notes.push(resumed);
        if request.prepared.plan.study.is_in_segments() {
            // A resumed soak adds a segment to the plan.
            manifest.plan = request.prepared.plan.clone();
        }
        manifest.notes.extend(warnings.map(ToString::to_string));
    })?;
    Ok(Opened {
        writer,
        finished,
        backend,
        changes,
    })
}

struct RunLoop<'a> {
    request: &'a RunRequest,
    interrupt: &'a Interrupt,
    observer: &'a dyn Observer,
    outputs: Option<&'a Outputs>,
    writer: RunWriter,
    backend: Option<Backend>,
    changes: Vec<Warning>,
    done: BTreeSet<u32>,
    eta: Eta,
    summary: RunSummary,
    environment_failures: u32,
    early_stop: EarlyStop,
    first_tag: u16,
}

impl<'a> RunLoop<'a> {
    fn new(
        request: &'a RunRequest,
        interrupt: &'a Interrupt,
        observer: &'a dyn Observer,
        outputs: Option<&'a Outputs>,
        opened: Opened,
    ) -> Self {
        let finished = opened.finished;
        let plan = &request.prepared.plan;
        let mut summary = RunSummary {
            dir: opened.writer.dir().into(),
            planned: count(plan.trials.len()),
            ..RunSummary::default()
        };
        let outcomes = finished.iter().map(|record| &record.outcome);
        outcomes.for_each(|outcome| summary.count(outcome));
        let done = finished.iter().map(|record| record.trial.number).collect();
        let eta = Eta::new(Duration::from_secs_f64(plan.trial_seconds()));
        Self {
            request,
            interrupt,
            observer,
            outputs,
            writer: opened.writer,
            backend: opened.backend,
            changes: opened.changes,
            done,
            eta,
            summary,
            environment_failures: 0,
            early_stop: EarlyStop::new(plan.study.clone(), request.budget),
            first_tag: trace::first_tag(SystemTime::now()),
        }
    }

    fn go(&mut self) -> Result<(), RunnerError> {
        let plan = &self.request.prepared.plan;
        let trials: Vec<&Trial> = plan
            .trials
            .iter()
            .filter(|trial| !self.done.contains(&trial.number))
            .collect();
        self.observer.observe(Progress::RunStarted {
            dir: self.writer.dir().into(),
            plan: Box::new(plan.clone()),
            remaining: count(trials.len()),
            left: self.left(&trials),
        });
        let known = self.request.prepared.warnings.iter().chain(&self.changes);
        let found = preflight::busy_cores(plan).into_iter();
        let found = found.chain(self.outputs_without_requests());
        for warning in known.cloned().chain(found) {
            self.observer.observe(Progress::Warning(warning));
        }
        for (index, trial) in trials.iter().enumerate() {
            if self.done.contains(&trial.number) {
                continue;
            }
            if self.interrupt.is_raised() {
                break;
            }
            self.cut_before(trial)?;
            if self.done.contains(&trial.number) {
                continue;
            }
            let further = trials[index + 1..].iter().copied();
            let further = further.filter(|it| !self.done.contains(&it.number));
            let further: Vec<&Trial> = further.collect();
            let partners = self.partners_of(trial, &further);
            if partners.is_empty() {
                self.until_it_succeeds(trial, &further)?;
                continue;
            }
            let left = further.iter().filter(|it| !partners.contains(it));
            let left: Vec<&Trial> = left.copied().collect();
            self.together(&[&[*trial][..], &partners].concat(), &left)?;
        }
        Ok(())
    }

    fn outputs_without_requests(&self) -> Option<Warning> {
        let engine = self.request.prepared.engine.as_ref()?;
        self.outputs.map(|_| Warning::OutputsWithoutRequests {
            engine: format!("{} {}", engine.generator, engine.identity.version),
        })
    }

    /// Runs a trial, and repeats it after a failure, up to the plan's number of retries. Every
    /// attempt is kept.
    fn until_it_succeeds(&mut self, trial: &Trial, further: &[&Trial]) -> Result<(), RunnerError> {
        let mut retries = self.request.prepared.plan.retries();
        let mut trial = trial.clone();
        loop {
            self.observer.observe(Progress::TrialStarted {
                trial: trial.clone(),
                of: self.last_number(),
                left: self.left(&[&[&trial][..], further].concat()),
            });
            let has_failed = self.one(&trial, further)?;
            if !has_failed || retries == 0 || self.interrupt.is_raised() {
                return Ok(());
            }
            retries -= 1;
            trial = self.plan_again(&trial)?;
        }
    }

    /// Returns the highest trial number in the plan. The numbers may have gaps if the plan was
    /// shortened.
    fn last_number(&self) -> u32 {
        let trials = self.writer.manifest().plan.trials.iter();
        trials.map(|trial| trial.number).max().unwrap_or(0)
    }

    fn plan_again(&mut self, failed: &Trial) -> Result<Trial, RunnerError> {
        let again = self.writer.manifest().plan.again(failed);
        self.writer
            .update_manifest(|manifest| manifest.plan.trials.push(again.clone()))?;
        self.summary.planned += 1;
        Ok(again)
    }

    /// Before this trial begins, shortens the plan if the study needs no more deciding blocks, or
    /// if the next block would probably exceed the time limit. The removed trials count as done.
    fn cut_before(&mut self, trial: &Trial) -> Result<(), RunnerError> {
        let last = trial.block.saturating_sub(1);
        let done = self.writer.manifest().plan.blocks_until(last);
        if !self.early_stop.is_at_a_boundary(done) {
            return Ok(());
        }
        let over = self.early_stop.over(done, trial.block, self.writer.dir())?;
        let Some(over) = over else { return Ok(()) };
        let is_all = matches!(over, Over::Run(_));
        let (Over::Deciding(why) | Over::Run(why)) = over;
        self.writer.update_manifest(|manifest| {
            match is_all {
                true => manifest.plan.cut_after_block(last),
                false => manifest.plan.cut_deciding_after_block(last),
            }
            manifest.notes.push(why.clone());
        })?;
        let kept = self.writer.manifest().plan.trials.iter();
        let kept: BTreeSet<u32> = kept.map(|trial| trial.number).collect();
        self.summary.planned = count(kept.len());
        let planned = self.request.prepared.plan.trials.iter();
        let cut = planned.map(|trial| trial.number);
        self.done
            .extend(cut.filter(|number| !kept.contains(number)));
        self.observer.observe(Progress::EndedEarly(why));
        Ok(())
    }

    /// Returns true if the trial failed.
    fn one(&mut self, trial: &Trial, further: &[&Trial]) -> Result<bool, RunnerError> {
        let context = self.context(trial, self.earlier(trial)?)?;
        let trial_writer = match self.writer.begin_trial(trial) {
            Ok(writer) => writer,
            Err(error) => return self.lost(trial, error),
        };
        let left = self.left(&[&[trial][..], further].concat());
        let result = run_logged(context, &trial_writer, left);
        self.keep(trial, result, trial_writer, 1, further)
    }

    /// Writes a trial that was one of `together` concurrent trials. Returns true if the trial
    /// failed.
    fn keep(
        &mut self,
        trial: &Trial,
        result: TrialResult,
        trial_writer: TrialWriter,
        together: u32,
        further: &[&Trial],
    ) -> Result<bool, RunnerError> {
        let (record, timed) = (result.record, result.timed);
        if !matches!(record.outcome, Outcome::NotSupported { .. }) {
            let took = record.finished.duration_since(record.started);
            self.eta.took(took.unsigned_abs() / together.max(1));
        }
        let outcome = record.outcome.clone();
        for text in &record.warnings {
            self.observer.observe(Progress::Warning(Warning::Trial {
                number: trial.number,
                text: text.clone(),
            }));
        }
        let kept = trial_writer.keep_requests(&timed.requests);
        let written =
            kept.and_then(|()| trial_writer.finish(record, &timed.histograms, &timed.series));
        if let Err(error) = written {
            return self.lost(trial, error);
        }
        self.summary.count(&outcome);
        self.observer.observe(Progress::TrialFinished {
            trial: trial.clone(),
            outcome: outcome.clone(),
            phases: result.summaries,
            left: self.left(further),
        });
        let has_failed = matches!(outcome, Outcome::Failed { .. });
        self.judge(outcome).map(|()| has_failed)
    }

    /// Returns the completed repeats of this trial's search.
    fn earlier(&self, trial: &Trial) -> Result<Vec<TrialRecord>, RunnerError> {
        if !self.request.prepared.plan.study.depends_on_earlier_trials() {
            return Ok(Vec::new());
        }
        let run = Run::open(self.writer.dir())?;
        let same = (&trial.scenario, &trial.variant);
        let records = run.trials().iter().map(|trial| &trial.record);
        let repeats = records.filter(|record| {
            let of = (&record.trial.scenario, &record.trial.variant);
            record.outcome == Outcome::Completed && of == same
        });
        let mut repeats: Vec<TrialRecord> = repeats.cloned().collect();
        repeats.sort_by_key(|record| record.started);
        Ok(repeats)
    }

    fn context<'t>(
        &self,
        trial: &'t Trial,
        earlier: Vec<TrialRecord>,
    ) -> Result<TrialContext<'t>, RunnerError>
    where
        'a: 't,
    {
        let prepared = &self.request.prepared;
        let gateway = prepared.gateways.get(&trial.variant);
        let variant = prepared.plan.variant(&trial.variant);
        let is_resolved =
            |it: &&Variant| gateway.is_some() || !matches!(it, Variant::Gateway { .. });
        let scenario = prepared.plan.scenario(&trial.scenario);
        let Some((variant, scenario)) = variant.filter(is_resolved).zip(scenario) else {
            let number = trial.number;
            return Err(RunnerError::environment(
                format!("trial {number} names a scenario or variant that the plan lacks"),
                "the manifest was edited; start a new run",
            ));
        };
        Ok(TrialContext {
            plan: &prepared.plan,
            trial,
            scenario,
            variant,
            gateway,
            testbed: &prepared.testbed,
            agents: prepared.agents.as_deref(),
            engine: prepared.engine.as_ref(),
            backend: self.backend,
            interrupt: self.interrupt,
            observer: self.observer,
            outputs: self
                .outputs
                .map(|it| TrialFeed::new(it, &prepared.plan, trial)),
            earlier,
            first_tag: self.first_tag,
            lockstep: None,
        })
    }

    /// Returns the expected duration of these trials, but not more than the time that remains until
    /// the run's time limit.
    fn left(&self, trials: &[&Trial]) -> Duration {
        let expected = self.eta.for_trials(self.that_run(trials));
        let left = self.early_stop.left().unwrap_or(Duration::MAX);
        left.min(expected)
    }

    /// Returns the number of these trials that are expected to run, because their gateway supports
    /// the scenario, or because gatebench does not start a gateway for them.
    fn that_run(&self, trials: &[&Trial]) -> u32 {
        let prepared = &self.request.prepared;
        let supported = |trial: &&&Trial| {
            let scenario = prepared.plan.scenario(&trial.scenario);
            let both = prepared.gateways.get(&trial.variant).zip(scenario);
            both.is_none_or(|(gateway, scenario)| gateway.supports(scenario).is_ok())
        };
        count(trials.iter().filter(supported).count())
    }

    /// Ends the run after two consecutive environment failures.
    fn judge(&mut self, outcome: Outcome) -> Result<(), RunnerError> {
        match outcome {
            Outcome::Failed {
                culprit: Culprit::Environment,
                reason,
                remedy,
                ..
            } => {
                self.environment_failures += 1;
                if self.environment_failures >= ENVIRONMENT_FAILURES_MAX {
                    return Err(RunnerError::environment(reason, remedy));
                }
            }
            Outcome::NotSupported { .. } => {}
            _ => self.environment_failures = 0,
        }
        Ok(())
    }

    /// Reports a trial that could not be written, or ends the run after two consecutive environment
    /// failures. Returns false, because the trial did not fail.
    fn lost(&mut self, trial: &Trial, error: StoreError) -> Result<bool, RunnerError> {
        self.environment_failures += 1;
        if self.environment_failures >= ENVIRONMENT_FAILURES_MAX {
            return Err(error.into());
        }
        self.observer.observe(Progress::Warning(Warning::TrialLost {
            number: trial.number,
            reason: error.to_string(),
            remedy: error.remedy(),
        }));
        Ok(false)
    }

    fn conclude(mut self, ended: Result<(), RunnerError>) -> Result<RunSummary, RunnerError> {
        let accounted = self.summary.completed + self.summary.not_supported + self.summary.failed;
        // A stopped segment of a soak counts as completed, but the run was still interrupted.
        let study = &self.request.prepared.plan.study;
        let is_stopped = accounted < self.summary.planned || study.is_in_segments();
        self.summary.interrupted = self.interrupt.is_raised() && is_stopped;
        let status = match &ended {
            Err(_) => Status::Failed,
            Ok(()) if self.summary.interrupted => Status::Interrupted,
            // A trial that could not be written is missing; --resume measures it.
            Ok(()) if accounted < self.summary.planned => Status::Failed,
            Ok(()) => Status::Finished,
        };
        let written = self.writer.set_status(status);
        ended?;
        written?;
        Ok(self.summary)
    }
}
