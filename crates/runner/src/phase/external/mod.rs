//! One phase with an external load generator: a warm-up that is discarded, then a measurement, each
//! in a separate process.

mod record;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_external::{Order, Part, UNCHECKED_RESPONSES, parse};
use gatebench_model::{Culprit, Scenario};
use gatebench_net::clock;
use gatebench_store::PhaseRecord;
use gatebench_testbed::probe::Sample;
use gatebench_testbed::services::GeneratorStart;
use gatebench_testbed::{Exit, Running, Supervised, Urgency, write_private};

use super::samples::{Moment, Samplers};
use super::{Loading, Measured};
use crate::abort::{Abort, Failure, READ_LOGS};
use crate::context::TrialContext;
use crate::external::{PreparedGenerator, threads};
use crate::ledger;
use crate::progress::Progress;
use crate::workload::make_direct;
use record::{Observed, assemble};

/// The interval at which the processes are checked, and the load generator is sampled.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The interval at which the gateway and the upstream are sampled.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// Additional time for the load generator, because k6 starts slowly on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a phase with an external load generator to completion, or until a process dies or an
/// interrupt arrives.
pub(crate) fn measure(
    context: &TrialContext<'_>,
    running: &mut Running,
    loading: &Loading<'_>,
    engine: &PreparedGenerator,
    work: &Path,
) -> Result<Measured, Abort> {
    let phase = loading.phase;
    let url = format!("http://{}", running.target().address);
    let mut driven = DrivenPhase {
        context,
        running,
        engine,
        url,
        scenario: asked(context),
        loading,
        work,
    };
    context.observer.observe(Progress::PhaseStarted {
        name: phase.name.clone(),
    });
    if !phase.warm_up.0.is_zero() {
        let order = driven.order(Part::WarmUp)?;
        driven.run(&order, "warm-up", None)?;
    }
    driven.measure()
}

/// Returns the scenario with the paths to request. For the direct variant and the null gateway,
/// which do not strip the prefixes of routes, the paths have no prefixes.
fn asked(context: &TrialContext<'_>) -> Scenario {
    let mut scenario = context.scenario.clone();
    if !context.variant.is_control() {
        return scenario;
    }
    let groups = scenario
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.requests);
    let requests = scenario.requests.iter_mut().chain(groups);
    requests.for_each(|request| make_direct(request, context.scenario));
    scenario
}

pub(crate) fn warnings(record: &PhaseRecord) -> Vec<String> {
    let Some(external) = &record.external else {
        return Vec::new();
    };
    let crossed = external.thresholds.iter().filter(|(_, held)| !**held);
    let unchecked = external
        .metrics
        .get(UNCHECKED_RESPONSES)
        .and_then(|counts| counts.get("count"))
        .filter(|count| **count > 0.0);
    let unchecked = unchecked.map(|count| {
        format!(
            "{count} responses in phase '{}' had a status of 400 or above, and {} made no checks; verify that these statuses are intended",
            record.name, external.engine
        )
    });
    crossed
        .map(|(threshold, _)| {
            format!(
                "the threshold '{threshold}' of the script failed in phase '{}'; read the figures in trial.json",
                record.name
            )
        })
        .chain(unchecked)
        .collect()
}

struct DrivenPhase<'a> {
    context: &'a TrialContext<'a>,
    running: &'a mut Running,
    engine: &'a PreparedGenerator,
    url: String,
    scenario: Scenario,
    loading: &'a Loading<'a>,
    work: &'a Path,
}

struct Watched {
    /// Samples of gateway, upstream and machine, from before the load generator's start to after
    /// its end. The load generator's CPU time is added to the CPU time of this process.
    moments: Vec<Moment>,
    /// Samples of the load generator's processes.
    engine: Vec<Sample>,
    samplers: Samplers,
}

impl DrivenPhase<'_> {
    fn order(&self, part: Part) -> Result<Order, Abort> {
        let threads = threads(self.context.plan);
        self.engine
            .order(&self.url, &self.scenario, self.loading.phase, part, threads)
            .map_err(|refusal| {
                // The plan was tested when it was made, so this fails only if the plan was changed
                // later.
                self.failed(Culprit::Engine, refusal.message, refusal.remedy)
            })
    }

    fn measure(&mut self) -> Result<Measured, Abort> {
        let order = self.order(Part::Measure)?;
        let before = ledger::read(&self.running.upstream(), self.context.interrupt)?;
        let samplers = Samplers::new(self.running, self.context.cores().gateway);
        let pss_before = samplers.pss();
        let began_ns = clock::now_ns();
        let mut watched = Watched {
            moments: Vec::new(),
            engine: Vec::new(),
            samplers,
        };
        let text = self.run(&order, "measure", Some(&mut watched))?;
        watched.forget_idle_cores();
        let after = ledger::read(&self.running.upstream(), self.context.interrupt)?;
        let generator = self.engine.generator;
        let figures = parse(generator, &text).map_err(|error| {
            let what = format!("{generator} {}: {error}", self.engine.identity.version);
            let remedy = format!(
                "read the load generator's output in {}, or use the built-in load generator",
                self.work.display()
            );
            self.failed(Culprit::Engine, what, remedy)
        })?;
        let observed = Observed {
            figures,
            command: self.words(&order),
            limits: order.limits,
            began_ns: began_ns.saturating_sub(self.loading.trial_began_ns),
            pss: [pss_before, watched.samplers.pss()],
            ledger: before
                .zip(after)
                .map(|(before, after)| ledger::delta(&before, &after)),
        };
        Ok(assemble(
            self.context,
            self.loading,
            self.engine,
            observed,
            &watched,
        ))
    }

    fn words(&self, order: &Order) -> Vec<String> {
        let program = std::slice::from_ref(&self.engine.identity.binary);
        [program, &order.arguments].concat()
    }

    /// Runs the load generator to completion. Returns its result as text.
    fn run(
        &mut self,
        order: &Order,
        part: &str,
        mut watched: Option<&mut Watched>,
    ) -> Result<String, Abort> {
        let folder = self.work.join(part);
        self.write(order, &folder)?;
        if let Some(watched) = &mut watched {
            watched.moments.push(watched.samplers.sample());
        }
        let placement = &self.context.plan.placement;
        let mut process = self.context.testbed.start_generator(GeneratorStart {
            name: self.engine.generator.as_str(),
            command: self.words(order).into_iter().map(OsString::from).collect(),
            environment: &order.environment,
            work: &folder,
            cores: &placement.engine,
        })?;
        let exit = self.until_ended(&mut process, order, watched.as_deref_mut())?;
        if let Some(watched) = watched {
            watched.sample();
        }
        match exit {
            Exit::Code(code) if self.engine.generator.finished_with(code) => {}
            exit => return Err(self.ended_badly(exit, &process)),
        }
        let result = match self.engine.generator.result_file() {
            Some(name) => folder.join(name),
            None => process.stdout.clone(),
        };
        fs::read_to_string(&result).map_err(|error| {
            let what = format!("{} left no result: {error}", self.engine.generator);
            self.failed(Culprit::Engine, what, READ_LOGS)
        })
    }

    fn write(&self, order: &Order, folder: &Path) -> Result<(), Abort> {
        let written = fs::create_dir_all(folder).and_then(|()| {
            let mut files = order.files.iter();
            // The scenario's requests may contain keys.
            files.try_for_each(|file| write_private(&folder.join(file.name), &file.bytes))
        });
        written.map_err(|error| {
            let what = format!("cannot write to {}: {error}", folder.display());
            let remedy = "free up disk space, or make the directory writable";
            self.failed(Culprit::Environment, what, remedy)
        })
    }

    /// Waits until the load generator ends. Stops the load generator if another process dies, the
    /// run is interrupted, or the load takes far longer than planned.
    fn until_ended(
        &mut self,
        process: &mut Supervised,
        order: &Order,
        mut watched: Option<&mut Watched>,
    ) -> Result<Exit, Abort> {
        let phase = self.loading.phase;
        let limit = order.takes + phase.drain.0 + phase.timeout.0 + PATIENCE;
        let begun = Instant::now();
        let mut engine = process.sampler();
        let mut sampled = Instant::now();
        loop {
            if let Some(exit) = process.exit_status() {
                return Ok(exit);
            }
            let interrupt = self.context.interrupt;
            if interrupt.is_raised() {
                interrupt.cuts_short(Urgency::Now, || process.stop());
                return Err(Abort::Interrupted);
            }
            if let Some(death) = Failure::of_death(self.running) {
                process.stop();
                return Err(death.in_phase(&phase.name).into());
            }
            if begun.elapsed() > limit {
                process.stop();
                let what = format!("{} did not end within {limit:?}", self.engine.generator);
                return Err(self.failed(Culprit::Engine, what, READ_LOGS));
            }
            if let Some(watched) = &mut watched {
                watched.engine.push(engine.sample());
                if sampled.elapsed() >= SAMPLE_EVERY {
                    sampled = Instant::now();
                    watched.sample();
                }
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn ended_badly(&self, exit: Exit, process: &Supervised) -> Abort {
        let (generator, tail) = (self.engine.generator, process.output_tail());
        let what = format!("{generator} ended with {exit}\n{tail}");
        match self.engine.script() {
            Some(path) => {
                let culprit = Culprit::File {
                    path: path.into(),
                    line: None,
                };
                let remedy =
                    "correct the script; the load generator's output is in the trial's folder";
                self.failed(culprit, what, remedy)
            }
            None => self.failed(Culprit::Engine, what, READ_LOGS),
        }
    }

    fn failed(&self, culprit: Culprit, what: String, remedy: impl Into<String>) -> Abort {
        let failure = Failure::new(culprit, what, remedy);
        failure.in_phase(&self.loading.phase.name).into()
    }
}

impl Watched {
    fn sample(&mut self) {
        let mut moment = self.samplers.sample();
        // Without this addition, the load generator's CPU time would count as CPU time of a process
        // outside the run.
        moment.own.cpu_ns += self.engine.last().map_or(0, |sample| sample.cpu_ns);
        self.moments.push(moment);
    }

    /// Drops the frequencies from before the start and after the end of the load generator, because
    /// idle cores may have a different frequency.
    fn forget_idle_cores(&mut self) {
        if let [first, .., last] = &mut self.moments[..] {
            first.frequencies_khz.clear();
            last.frequencies_khz.clear();
        }
    }
}
