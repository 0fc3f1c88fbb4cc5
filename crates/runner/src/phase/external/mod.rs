//! One phase driven by an external load generator: a warm-up that is discarded, then a measurement,
//! each a process of its own.

mod record;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_external::{Order, Part, UNCHECKED_ANSWERS, parse};
use gatebench_model::{Culprit, Scenario, Variant};
use gatebench_net::clock;
use gatebench_store::PhaseRecord;
use gatebench_testbed::probe::{Sample, Sampler, Scope};
use gatebench_testbed::{Exit, GeneratorProcess, GeneratorStart};

use super::samples::{Moment, Samplers};
use super::{Loading, Measured};
use crate::abort::{Abort, Failure};
use crate::context::TrialContext;
use crate::external::{PreparedGenerator, threads};
use crate::progress::Progress;
use crate::testbed::Testbed;
use crate::testbed::ledger;
use record::{Told, assemble};

/// How often it is seen whether everything is alive, and what the engine uses.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often gateway and upstream are sampled meanwhile.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// Beyond the load and its drain, how long an engine may take: k6 starts slowly on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a phase with an external load generator. Who dies in it, and an interrupt, end it.
pub(crate) fn measure(
    context: &TrialContext<'_>,
    testbed: &mut Testbed,
    loading: &Loading<'_>,
    engine: &PreparedGenerator,
    work: &Path,
) -> Result<Measured, Abort> {
    let phase = loading.phase;
    let address = testbed.target().ok_or(Abort::Interrupted)?.address;
    let mut running = Running {
        context,
        testbed,
        engine,
        url: format!("http://{address}"),
        scenario: asked(context),
        loading,
        work,
    };
    context.observer.observe(Progress::PhaseStarted {
        name: phase.name.clone(),
        warm_up: phase.warm_up.0,
        measure: phase.measure.0,
    });
    if !phase.warm_up.0.is_zero() {
        let order = running.order(Part::WarmUp)?;
        running.run(&order, "warm-up", &mut None)?;
    }
    let measured = running.measure()?;
    context
        .observer
        .observe(Progress::PhaseFinished(measured.summary.clone()));
    Ok(measured)
}

/// Returns the scenario with the paths that are requested: the direct variant has no gateway to
/// strip prefixes.
fn asked(context: &TrialContext<'_>) -> Scenario {
    let mut scenario = context.scenario.clone();
    if *context.variant != Variant::Direct {
        return scenario;
    }
    let groups = scenario
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.requests);
    for request in scenario.requests.iter_mut().chain(groups) {
        *request = request.to_direct();
        if let Some(route) = context.scenario.route_of(&request.path) {
            request.path = route.upstream_path(&request.path).into_owned();
        }
    }
    scenario
}

/// The warnings about a phase that an external load generator drove.
pub(crate) fn warnings(record: &PhaseRecord) -> Vec<String> {
    let Some(external) = &record.external else {
        return Vec::new();
    };
    let crossed = external.thresholds.iter().filter(|(_, held)| !**held);
    let unchecked = external
        .metrics
        .get(UNCHECKED_ANSWERS)
        .and_then(|counts| counts.get("count"))
        .filter(|count| **count > 0.0);
    let unchecked = unchecked.map(|count| {
        format!(
            "{count} answers in '{}' had a status of 400 or above, and {} made no checks; see that they are meant",
            record.name, external.engine
        )
    });
    crossed
        .map(|(threshold, _)| {
            format!(
                "the threshold '{threshold}' of the script does not hold in '{}'; see its figures in trial.json",
                record.name
            )
        })
        .chain(unchecked)
        .collect()
}

struct Running<'a> {
    context: &'a TrialContext<'a>,
    testbed: &'a mut Testbed,
    engine: &'a PreparedGenerator,
    url: String,
    scenario: Scenario,
    loading: &'a Loading<'a>,
    work: &'a Path,
}

/// What was sampled while an engine ran.
struct Watched {
    /// Gateway, upstream and machine, from before the engine's start to after its end. What the
    /// engine used counts as this process's own.
    moments: Vec<Moment>,
    /// The engine's processes.
    engine: Vec<Sample>,
    samplers: Samplers,
}

impl Running<'_> {
    fn order(&self, part: Part) -> Result<Order, Abort> {
        let threads = threads(self.context.plan);
        self.engine
            .order(&self.url, &self.scenario, self.loading.phase, part, threads)
            .map_err(|refusal| {
                // It was rehearsed with the plan; a plan that was changed since comes here.
                self.failed(Culprit::Engine, refusal.message, refusal.remedy)
            })
    }

    fn measure(&mut self) -> Result<Measured, Abort> {
        let order = self.order(Part::Measure)?;
        let before = self.testbed.ledger(self.context.interrupt)?;
        let samplers = Samplers::new(self.testbed, self.context.cores().gateway);
        let pss_before = samplers.pss();
        let began_ns = clock::now_ns();
        let mut watched = Some(Watched {
            moments: Vec::new(),
            engine: Vec::new(),
            samplers,
        });
        let text = self.run(&order, "measure", &mut watched)?;
        let Some(mut watched) = watched else {
            return Err(Abort::Interrupted);
        };
        watched.forget_idle_cores();
        let after = self.testbed.ledger(self.context.interrupt)?;
        let figures = parse(self.engine.generator, &text).map_err(|error| {
            let what = format!(
                "{} {}: {error}",
                self.engine.generator, self.engine.identity.version
            );
            let remedy = format!(
                "read its output in {}, or use the built-in load generator",
                self.work.display()
            );
            self.failed(Culprit::Engine, what, remedy)
        })?;
        let told = Told {
            figures,
            command: self.words(&order),
            limits: order.limits,
            began_ns: began_ns.saturating_sub(self.loading.trial_began_ns),
            pss: (pss_before, watched.samplers.pss()),
            ledger: before
                .zip(after)
                .map(|(before, after)| ledger::delta(&before, &after)),
        };
        Ok(assemble(
            self.context,
            self.loading.phase,
            self.engine,
            told,
            &watched,
        ))
    }

    fn words(&self, order: &Order) -> Vec<String> {
        let program = self.engine.identity.binary.clone();
        std::iter::once(program)
            .chain(order.arguments.iter().cloned())
            .collect()
    }

    /// Runs the engine to its end; returns its result as text.
    fn run(
        &mut self,
        order: &Order,
        part: &str,
        watched: &mut Option<Watched>,
    ) -> Result<String, Abort> {
        let folder = self.work.join(part);
        self.write(order, &folder)?;
        if let Some(watched) = watched {
            watched.moments.push(watched.samplers.sample());
        }
        let placement = &self.context.plan.placement;
        let mut process = GeneratorStart {
            name: self.engine.generator.as_str(),
            command: self.words(order).into_iter().map(OsString::from).collect(),
            environment: &order.environment,
            work: &folder,
            cores: &placement.engine,
            launcher: self.context.launcher,
        }
        .start()?;
        let exit = self.until_ended(&mut process, order, watched)?;
        if let Some(watched) = watched {
            watched.sample();
        }
        match exit {
            Exit::Code(code) if self.engine.generator.finished_with(code) => {}
            exit => return Err(self.ended_badly(exit, &process)),
        }
        let result = match self.engine.generator.result_file() {
            Some(name) => folder.join(name),
            None => process.stdout(),
        };
        fs::read_to_string(&result).map_err(|error| {
            let what = format!("{} left no result: {error}", self.engine.generator);
            self.failed(Culprit::Engine, what, "read its logs in the trial's folder")
        })
    }

    fn write(&self, order: &Order, folder: &Path) -> Result<(), Abort> {
        let written = fs::create_dir_all(folder).and_then(|()| {
            let mut files = order.files.iter();
            files.try_for_each(|file| fs::write(folder.join(file.name), &file.bytes))
        });
        written.map_err(|error| {
            let what = format!("writing to {}: {error}", folder.display());
            self.failed(Culprit::Environment, what, "make room on the disk")
        })
    }

    /// Waits for the engine's end, and ends it where somebody dies or interrupts, or where it takes
    /// far longer than it was asked to.
    fn until_ended(
        &mut self,
        process: &mut GeneratorProcess,
        order: &Order,
        watched: &mut Option<Watched>,
    ) -> Result<Exit, Abort> {
        let phase = self.loading.phase;
        let limit = order.takes + phase.drain.0 + phase.timeout.0 + PATIENCE;
        let begun = Instant::now();
        let mut engine = Sampler::new(process.supervisor_pid(), Scope::Below);
        let mut sampled = Instant::now();
        loop {
            if let Some(exit) = process.exit_status() {
                return Ok(exit);
            }
            if self.context.interrupt.is_raised() {
                process.stop();
                return Err(Abort::Interrupted);
            }
            if let Some(death) = self.testbed.death(self.context.variant) {
                process.stop();
                return Err(death.in_phase(&phase.name).into());
            }
            if begun.elapsed() > limit {
                process.stop();
                let what = format!("{} did not end within {limit:?}", self.engine.generator);
                return Err(self.failed(
                    Culprit::Engine,
                    what,
                    "read its logs in the trial's folder",
                ));
            }
            if let Some(watched) = watched {
                watched.engine.push(engine.sample());
                if sampled.elapsed() >= SAMPLE_EVERY {
                    sampled = Instant::now();
                    watched.sample();
                }
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn ended_badly(&self, exit: Exit, process: &GeneratorProcess) -> Abort {
        let (generator, tail) = (self.engine.generator, process.output_tail());
        let what = format!("{generator} ended with {exit}\n{tail}");
        match self.engine.script() {
            Some(path) => {
                let culprit = Culprit::File {
                    path: path.into(),
                    line: None,
                };
                self.failed(
                    culprit,
                    what,
                    "correct the script; its output is in the trial's folder",
                )
            }
            None => self.failed(Culprit::Engine, what, "read its logs in the trial's folder"),
        }
    }

    fn failed(
        &self,
        culprit: Culprit,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Abort {
        Failure::new(culprit, what, remedy)
            .in_phase(&self.loading.phase.name)
            .into()
    }
}

impl Watched {
    fn sample(&mut self) {
        let mut moment = self.samplers.sample();
        // Else it would be taken for a process that has nothing to do with the run.
        moment.own.cpu_ns += self.engine.last().map_or(0, |sample| sample.cpu_ns);
        self.moments.push(moment);
    }

    /// Before the engine's start and after its end, cores idle at another frequency.
    fn forget_idle_cores(&mut self) {
        let ends = [0, self.moments.len().saturating_sub(1)];
        for at in ends {
            if let Some(moment) = self.moments.get_mut(at) {
                moment.frequencies_khz.clear();
            }
        }
    }
}
