//! Checks a gateway folder without measuring the gateway. For each scenario that the gateway
//! supports, the check starts the gateway, sends the parity cases one after another, counts the
//! connections to the upstream while it repeats a case that passed, and stops the gateway. As long
//! as no case fails, the check also sends concurrent requests, and tests the scenario's changes and
//! calls to the admin interface.

mod burst;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gatebench_config::parse;
use gatebench_model::load::{CONFIGURE, WEIGHTS};
use gatebench_model::needs::UPSTREAM_KEEPALIVE;
use gatebench_model::{Culprit, Placement, Request, Scenario, Setup, Variant};
use gatebench_net::clock;
use gatebench_store::{AdminRecord, ParityCaseRecord, ParityRecord};
use gatebench_testbed::gateway::{Catalogue, FoundGateway};
use gatebench_testbed::probe::{allowed_cores, topology};
use gatebench_testbed::{Interrupt, Running, Testbed, TrialParts, Wire};

use crate::abort::{Abort, Failure};
use crate::error::RunnerError;
use crate::http_probe::{exchange, render};
use crate::ledger;
use crate::parity::propagation::Propagation;
use crate::parity::{self, Place, proof};
use crate::phase::admin;
use crate::plan::gateway_selection::split_version;
use crate::plan::library::Library;

/// The scenario that every gateway must pass, regardless of the policies that its folder supports.
const CONTRACT: &str = include_str!("check/contract.yaml");

/// The name of the gateway's folder in a scenario's folder, and the prefix of the upstreams'
/// folders.
const GATEWAY_FOLDER: &str = "gateway";
const UPSTREAM_FOLDER: &str = "upstream";

/// The number of requests that show whether the gateway reuses its connections to the upstream.
/// Each is sent on a new connection, after the response to the previous request.
const REUSE_REQUESTS: u64 = 20;
/// The maximum number of connections per upstream target for [`REUSE_REQUESTS`]. It is above 1,
/// because each of several workers may open a connection.
const REUSE_CONNECTIONS_MAX: u64 = 5;

/// The number of requests that show the effect of weights, and the tolerance for the share of the
/// heaviest targets. The share is inexact, because each worker distributes its requests
/// independently.
const WEIGHED_REQUESTS: u64 = 220;
const WEIGHED_TOLERANCE: f64 = 0.1;

/// The maximum time until changed routes or weights take effect. It exceeds the 2 s for which
/// Traefik waits for further changes.
const EFFECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum numbers of routes and consumers of a scenario that is checked by default. Larger
/// scenarios take longer, but prove nothing new.
const CHECKED_ROUTES_MAX: usize = 100;
const CHECKED_CONSUMERS_MAX: usize = 1_000;

/// The inputs of a check.
#[derive(Debug)]
pub struct CheckRequest<'a> {
    pub gateway: &'a FoundGateway,
    pub scenarios: &'a [Scenario],
    /// The folder for rendered files and logs. Each scenario gets a folder in it.
    pub out: &'a Path,
    pub testbed: &'a Testbed,
    pub interrupt: &'a Interrupt,
}

/// The result of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub scenario: String,
    pub title: String,
    pub outcome: CheckOutcome,
    /// The end of the gateway's standard error if a case failed or a route did not respond;
    /// otherwise empty.
    pub stderr: String,
    /// The crash or the warning that was found when the gateway was stopped.
    pub stopped_badly: Option<String>,
    /// The folder of the rendered files and logs.
    pub work: PathBuf,
}

/// The outcome of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckOutcome {
    /// The gateway does not support the listed policies or changes.
    NotSupported(Vec<String>),
    /// The cases were sent; some may have failed.
    Asked(ParityRecord),
    Failed {
        culprit: Culprit,
        reason: String,
        remedy: String,
    },
    Interrupted,
}

impl Checked {
    /// Reports whether the check found no problem: either the gateway does not claim to support the
    /// scenario, or it passed every test and stopped without a problem.
    pub fn holds(&self) -> bool {
        let proven = match &self.outcome {
            CheckOutcome::NotSupported(_) => true,
            CheckOutcome::Asked(record) => parity::failure(record).is_none(),
            CheckOutcome::Failed { .. } | CheckOutcome::Interrupted => false,
        };
        proven && self.stopped_badly.is_none()
    }
}

/// Returns the default scenarios of a check: the contract for every gateway, then the library's
/// scenarios that have cases, except those with more than 100 routes or 1,000 consumers.
///
/// # Errors
/// A file cannot be read or has mistakes.
pub fn check_scenarios(library: &Library) -> Result<Vec<Scenario>, RunnerError> {
    let contract =
        parse("contract.yaml", CONTRACT).map_err(|it| RunnerError::Mistakes(vec![it]))?;
    let all = library.scenarios()?;
    let all = all.into_iter().map(|listed| listed.document);
    let with_cases = all.filter(|scenario: &Scenario| {
        !scenario.parity.is_empty()
            && scenario.routes.len() <= CHECKED_ROUTES_MAX
            && scenario.consumers.len() <= CHECKED_CONSUMERS_MAX
    });
    Ok([contract].into_iter().chain(with_cases).collect())
}

/// Finds a gateway by name or folder, with its program. `NAME@VERSION` and `NAME@PATH` select the
/// program.
///
/// # Errors
/// The name is unknown, the folder has mistakes, or the program is missing.
pub fn find_gateway(
    word: &str,
    catalogue: &Catalogue,
    testbed: &Testbed,
) -> Result<FoundGateway, RunnerError> {
    let (name, version) = split_version(word);
    let folder = catalogue.resolve(name)?;
    let setup = Setup {
        version: version.map(str::to_owned),
        ..Setup::default()
    };
    Ok(testbed.find(folder, &setup)?)
}

/// Progress of a check, reported before and after each scenario.
#[derive(Clone, Copy, Debug)]
pub enum CheckStep<'a> {
    Begun(&'a Scenario),
    Ended(&'a Checked),
}

/// Checks a gateway with each scenario in turn, and calls `report` before and after each. An
/// interrupt ends the check early. All processes that were started have ended when the function
/// returns.
///
/// # Errors
/// A scenario's folder in [`CheckRequest::out`] cannot be emptied or created.
pub fn check_gateway(
    request: &CheckRequest<'_>,
    mut report: impl FnMut(CheckStep<'_>),
) -> Result<Vec<Checked>, RunnerError> {
    let placement = Placement::automatic(&topology(&allowed_cores()));
    let mut all = Vec::new();
    for scenario in request.scenarios {
        report(CheckStep::Begun(scenario));
        let checked = check_one(request, scenario, &placement)?;
        report(CheckStep::Ended(&checked));
        let interrupted = checked.outcome == CheckOutcome::Interrupted;
        all.push(checked);
        if interrupted {
            break;
        }
    }
    Ok(all)
}

fn check_one(
    request: &CheckRequest<'_>,
    scenario: &Scenario,
    placement: &Placement,
) -> Result<Checked, RunnerError> {
    let work = request.out.join(&scenario.scenario);
    let mut checked = Checked {
        scenario: scenario.scenario.clone(),
        title: scenario.title.clone(),
        outcome: CheckOutcome::Interrupted,
        stderr: String::new(),
        stopped_badly: None,
        work: work.clone(),
    };
    let folder = &request.gateway.folder;
    let unsupported = request.gateway.supports(scenario).err();
    let mut lacking = unsupported.map(|it| it.policies).unwrap_or_default();
    if scenario.later.is_some() && !folder.spec.has(CONFIGURE) {
        lacking.push(CONFIGURE.to_owned());
    }
    if !lacking.is_empty() {
        checked.outcome = CheckOutcome::NotSupported(lacking);
        return Ok(checked);
    }
    let made = empty(&work).and_then(|()| fs::create_dir_all(&work));
    made.map_err(|error| {
        RunnerError::environment(
            format!("cannot create {}: {error}", work.display()),
            "use a directory that gatebench can write to",
        )
    })?;
    let mut running = None;
    let asked = start(request, scenario, placement, &work)
        .and_then(|started| ask(request, scenario, running.insert(started)));
    let stderr = running
        .as_ref()
        .map_or(String::new(), Running::gateway_stderr);
    let shutdown = running.and_then(|it| it.stop(request.interrupt));
    let interrupted = request.interrupt.is_raised();
    checked.stopped_badly = shutdown.filter(|_| !interrupted).and_then(|shutdown| {
        let crashed = shutdown
            .crashed
            .map(|_| format!("the gateway ended {}", shutdown.words));
        crashed.or(shutdown.warning)
    });
    checked.outcome = match asked {
        _ if interrupted => CheckOutcome::Interrupted,
        Ok(record) => {
            if parity::failure(&record).is_some() {
                checked.stderr = stderr;
            }
            CheckOutcome::Asked(record)
        }
        Err(Abort::Interrupted) => CheckOutcome::Interrupted,
        Err(Abort::Failed(failure)) => failed(failure, &stderr),
    };
    Ok(checked)
}

/// Removes the rendered files and logs of an earlier check from a scenario's folder.
fn empty(work: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(work) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if name == GATEWAY_FOLDER || name.starts_with(UPSTREAM_FOLDER) {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

fn failed(failure: Failure, stderr: &str) -> CheckOutcome {
    let reason = match stderr.is_empty() {
        true => failure.reason,
        false => format!("{}\n{stderr}", failure.reason),
    };
    CheckOutcome::Failed {
        culprit: failure.culprit,
        reason,
        remedy: failure.remedy,
    }
}

fn start(
    request: &CheckRequest<'_>,
    scenario: &Scenario,
    placement: &Placement,
    work: &Path,
) -> Result<Running, Abort> {
    let name = &request.gateway.folder.spec.gateway;
    let parts = TrialParts {
        streams: gatebench_upstream::STREAMS,
        scenario,
        variant: &Variant::gateway(name, name),
        gateway: Some(request.gateway),
        folder: work,
        placement,
        connections: 0,
        profile: None,
        opening: None,
    };
    let interrupt = request.interrupt;
    let begin = |_| Ok(interrupt.check()?);
    request.testbed.start(&parts, interrupt, begin)
}

fn ask(
    request: &CheckRequest<'_>,
    scenario: &Scenario,
    running: &mut Running,
) -> Result<ParityRecord, Abort> {
    let (target, upstream) = (running.target().clone(), running.upstream());
    let place = Place {
        target: target.clone(),
        upstream: upstream.clone(),
        tag: 0,
        is_after: false,
        is_attached: false,
        interrupt: request.interrupt,
    };
    let mut record = parity::prove(scenario, &[], &place)?;
    let passed = |name: &str| record.cases.iter().any(|it| it.name == name && it.passed);
    let proxied = scenario.parity.iter().find(|case| {
        let is_simple = case.request.method == "GET" && case.request.body.is_none();
        case.reaches_upstream && is_simple && passed(&case.name)
    });
    let reuses = !request
        .gateway
        .folder
        .spec
        .states_missing(UPSTREAM_KEEPALIVE);
    if let Some(case) = proxied.filter(|_| reuses) {
        let reused = reuse(&case.request, &target, &upstream, request.interrupt)?;
        record.cases.push(reused);
    }
    if parity::failure(&record).is_none() {
        record
            .cases
            .extend(burst::burst(scenario, running, request.interrupt)?);
    }
    if parity::failure(&record).is_none() {
        let (spec, interrupt) = (&request.gateway.folder.spec, request.interrupt);
        if let Some(case) = proxied.filter(|_| spec.has(WEIGHTS)) {
            let proven = prove_weights(scenario, &case.request, running, interrupt)?;
            record.cases.extend(proven);
        }
        let rounds = admin::make_rounds(scenario, Duration::ZERO, running, interrupt)?;
        record.cases.extend(rounds.map(proof_of_rounds));
        prove_later(scenario, running, place, &mut record)?;
    }
    Ok(record)
}

fn proof_of_rounds(record: AdminRecord) -> ParityCaseRecord {
    let name = "a route is created, read, updated and deleted through the admin interface";
    let failure = record.failure.map(|failure| {
        let request = "one round of calls to the admin interface".into();
        let expected = "every call returns 2xx and takes effect".into();
        [request, expected, failure]
    });
    proof(name, true, failure)
}

/// Changes the weights of the targets once, and checks that the heaviest targets get their share of
/// the requests. Returns `None` if the scenario changes no weights.
fn prove_weights(
    scenario: &Scenario,
    request: &Request,
    running: &mut Running,
    interrupt: &Interrupt,
) -> Result<Option<ParityCaseRecord>, Abort> {
    let Some(weights) = scenario.weights.get(1) else {
        return Ok(None);
    };
    running.change(WEIGHTS)?;
    let heaviest = weights.iter().max().copied().unwrap_or(0);
    let share_of_heaviest = |amounts: &[u64]| {
        let of_all: u64 = amounts.iter().sum();
        let all = amounts.iter().zip(weights);
        let of_heaviest = all.filter(|(_, weight)| **weight == heaviest);
        let of_heaviest: u64 = of_heaviest.map(|(amount, _)| amount).sum();
        of_heaviest as f64 / of_all.max(1) as f64
    };
    let wanted: Vec<u64> = weights.iter().map(|weight| u64::from(*weight)).collect();
    let wanted = share_of_heaviest(&wanted);
    let upstream = running.upstream();
    let bytes = render(request, &running.target().address.to_string(), None);
    let until = Instant::now() + EFFECT_TIMEOUT;
    loop {
        let before = ledger::begun(&upstream, interrupt)?;
        for _ in 0..WEIGHED_REQUESTS {
            // The response is ignored: the ledgers count the requests that reached a target.
            let _ = exchange(running.target(), &bytes, false, interrupt);
            interrupt.check()?;
        }
        let after = ledger::begun(&upstream, interrupt)?;
        let got = share_of_heaviest(&ledger::gained(&before, &after));
        let is_right = (got - wanted).abs() <= WEIGHED_TOLERANCE;
        if is_right || Instant::now() >= until {
            let failure = (!is_right).then(|| {
                let request = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
                [
                    format!("{WEIGHED_REQUESTS} times, after the change of weights:\n{request}"),
                    format!(
                        "the targets with weight {heaviest} get {:.0} % of the requests",
                        wanted * 100.0
                    ),
                    format!("the heaviest targets got {:.0} %", got * 100.0),
                ]
            });
            let name = "new weights change the share of each target";
            return Ok(Some(proof(name, true, failure)));
        }
    }
}

/// Changes the routes of the gateway, and adds the results of the changed scenario's cases.
/// Does nothing if there is no case for the new routes.
fn prove_later(
    scenario: &Scenario,
    running: &mut Running,
    place: Place<'_>,
    record: &mut ParityRecord,
) -> Result<(), Abort> {
    let later = scenario.later.as_ref();
    let Some(case) = later.and_then(|later| later.parity.first()) else {
        return Ok(());
    };
    running.change(CONFIGURE)?;
    Propagation::of(clock::now_ns(), place.target.clone(), case).within(EFFECT_TIMEOUT);
    // A repeated nonce would not show that the request reached the upstream, so these requests need
    // another tag.
    let place = Place {
        tag: place.tag + 1,
        is_after: true,
        ..place
    };
    let after = parity::prove(&scenario.changed(), &[], &place)?;
    record.cases.extend(after.cases);
    (record.routes_expected, record.routes_answering) =
        (after.routes_expected, after.routes_answering);
    Ok(())
}

/// Proves that connections to the upstream are reused. The proof fails if the gateway does not
/// respond.
fn reuse(
    request: &Request,
    target: &Wire,
    upstream: &[Wire],
    interrupt: &Interrupt,
) -> Result<ParityCaseRecord, Abort> {
    let name = "connections to the upstream are kept alive and reused";
    let connections_max = REUSE_CONNECTIONS_MAX * upstream.len() as u64;
    let bytes = render(request, &target.address.to_string(), None);
    let before = ledger::read(upstream, interrupt)?.unwrap_or_default();
    for _ in 0..REUSE_REQUESTS {
        let response = exchange(target, &bytes, false, interrupt);
        interrupt.check()?;
        // After a failed case, the gateway may no longer respond.
        if let Err(error) = response {
            let request = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            let failure = [request, "a response".into(), error.to_string()];
            return Ok(proof(name, true, Some(failure)));
        }
    }
    let after = ledger::read(upstream, interrupt)?.unwrap_or_default();
    let opened = ledger::delta(&before, &after).connections_accepted;
    let failure = (opened > connections_max).then(|| {
        let request = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        [
            format!("{REUSE_REQUESTS} times, one after another:\n{request}"),
            format!("at most {connections_max} connections to the upstream are opened"),
            format!("{opened} were opened"),
        ]
    });
    Ok(proof(name, true, failure))
}
