//! A check of a gateway folder without a load: for each scenario the gateway is started, sent the
//! parity cases, and stopped.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gatebench_config::parse;
use gatebench_model::load::CONFIGURE;
use gatebench_model::{Culprit, Limits, Placement, Request, Scenario, Setup};
use gatebench_net::clock;
use gatebench_store::{ParityCaseRecord, ParityRecord};
use gatebench_testbed::{Catalogue, Launcher};

use crate::abort::{Abort, Failure};
use crate::error::RunnerError;
use crate::http_probe::wire::Wire;
use crate::http_probe::{exchange, render};
use crate::interrupt::Interrupt;
use crate::parity::propagation::Propagation;
use crate::parity::{self, Place};
use crate::plan::gateway_selection::split_version;
use crate::plan::library::Library;
use crate::testbed::ledger::{self, Origins};
use crate::testbed::resolve_gateway::{self, PreparedGateway};
use crate::testbed::{GatewaySpec, Testbed};

/// What every gateway must do, whatever its policies.
const CONTRACT: &str = include_str!("check/contract.yaml");

/// The gateway's folder in that of a scenario, and the prefix of the upstream's folders.
const GATEWAY_FOLDER: &str = "gateway";
const UPSTREAM_FOLDER: &str = "upstream";

/// So many requests are sent one after the other, each on a connection of its own.
const REUSE_REQUESTS: u64 = 20;
/// For these a gateway opens so many connections at most; it may have several workers.
const REUSE_CONNECTIONS_MAX: u64 = 5;

/// How long other routes may take to act; Traefik waits two seconds for more of them.
const EFFECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A gateway that has so many routes or consumers right has more of them right too.
const CHECKED_ROUTES_MAX: usize = 100;
const CHECKED_CONSUMERS_MAX: usize = 1_000;

/// Everything that a check needs.
#[derive(Debug)]
pub struct CheckRequest<'a> {
    /// The gateway.
    pub gateway: &'a PreparedGateway,
    /// What it is asked.
    pub scenarios: &'a [Scenario],
    /// A folder in which each scenario gets a folder of its own, with what was rendered and the logs.
    pub out: &'a Path,
    /// The supervising program.
    pub launcher: &'a Launcher,
    /// Ends the check.
    pub interrupt: &'a Interrupt,
}

/// What became of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Its name.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// What came of it.
    pub outcome: CheckOutcome,
    /// The end of the gateway's standard error, if a case fails.
    pub stderr: String,
    /// How the gateway did not end as it should.
    pub stopped_badly: Option<String>,
    /// Where the rendered files and the logs are.
    pub work: PathBuf,
}

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckOutcome {
    /// The folder does not claim these policies.
    NotSupported(Vec<String>),
    /// The cases were asked; some may have failed.
    Asked(ParityRecord),
    /// It could not be asked.
    Failed {
        /// Whose fault that is.
        culprit: Culprit,
        /// What happened.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// Someone ended it.
    Interrupted,
}

impl Checked {
    /// Whether everything that was claimed holds.
    pub fn holds(&self) -> bool {
        let proven = match &self.outcome {
            CheckOutcome::NotSupported(_) => true,
            CheckOutcome::Asked(record) => parity::failure(record).is_none(),
            CheckOutcome::Failed { .. } | CheckOutcome::Interrupted => false,
        };
        proven && self.stopped_badly.is_none()
    }
}

/// The scenarios that a check asks where none is named: the contract that holds for every gateway, then
/// all of the library whose cases prove something. Those that only have more routes or consumers than others are
/// left out: they are there to be measured.
///
/// # Errors
/// A file with mistakes.
pub fn check_scenarios(library: &Library) -> Result<Vec<Scenario>, RunnerError> {
    let contract =
        parse("contract.yaml", CONTRACT).map_err(|it| RunnerError::Mistakes(vec![it]))?;
    let all = library
        .scenarios()?
        .into_iter()
        .map(|listed| listed.document);
    let with_cases = all.filter(|scenario: &Scenario| {
        !scenario.parity.is_empty()
            && scenario.routes.len() <= CHECKED_ROUTES_MAX
            && scenario.consumers.len() <= CHECKED_CONSUMERS_MAX
    });
    Ok([contract].into_iter().chain(with_cases).collect())
}

/// The gateway of a name or a folder, with its program; `NAME@VERSION` and `NAME@PATH` choose among
/// several programs.
///
/// # Errors
/// A word that names nothing, a folder with mistakes, a program that is not there.
pub fn find_gateway(
    word: &str,
    catalogue: &Catalogue,
    launcher: &Launcher,
) -> Result<PreparedGateway, RunnerError> {
    let (name, version) = split_version(word);
    let folder = catalogue.resolve(name)?;
    let setup = Setup {
        version: version.map(str::to_owned),
        ..Setup::default()
    };
    let binary = resolve_gateway::binary(&folder, &setup, launcher, None)?;
    Ok(resolve_gateway::gateway(word, folder, binary, &setup, None)?.0)
}

/// Asks a gateway one scenario after the other; each is told when it is done. Nothing is left running.
///
/// # Errors
/// A folder that cannot be written.
pub fn check_gateway(
    request: &CheckRequest<'_>,
    mut told: impl FnMut(&Checked),
) -> Result<Vec<Checked>, RunnerError> {
    let placement = Placement::automatic(&crate::testbed::cores::topology());
    let mut all = Vec::new();
    for scenario in request.scenarios {
        let checked = check_one(request, scenario, &placement)?;
        told(&checked);
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
    if scenario.later.is_some() && !folder.spec.actions.contains_key(CONFIGURE) {
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
    let mut testbed = Testbed::default();
    let asked = ask(request, scenario, placement, &work, &mut testbed);
    let stderr = testbed.gateway_stderr();
    let stop = &request.gateway.folder.spec.stop;
    let shutdown = testbed.bring_gateway_down(&stop.signal, stop.timeout.0);
    testbed.bring_upstream_down();
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

/// Removes an earlier check's files from a scenario's folder: a program that copies or appends
/// would find them.
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
    let reason = if stderr.is_empty() || failure.reason.contains(stderr) {
        failure.reason
    } else {
        format!("{}\n{stderr}", failure.reason)
    };
    CheckOutcome::Failed {
        culprit: failure.culprit,
        reason,
        remedy: failure.remedy,
    }
}

fn ask(
    request: &CheckRequest<'_>,
    scenario: &Scenario,
    placement: &Placement,
    work: &Path,
    testbed: &mut Testbed,
) -> Result<ParityRecord, Abort> {
    let upstream_work = work.join(UPSTREAM_FOLDER);
    testbed.bring_upstream_up(
        scenario.upstream,
        scenario.transport.upstream_tls,
        scenario.targets,
        (&placement.upstream, &upstream_work),
        request.launcher,
        Ipv4Addr::LOCALHOST.into(),
    )?;
    let rest = (&placement.upstream[..], upstream_work.as_path());
    testbed.bring_the_rest_up(scenario, rest, request.launcher)?;
    let started = testbed.as_started(scenario);
    let spec = GatewaySpec {
        gateway: request.gateway,
        scenario: &started,
        work: &work.join(GATEWAY_FOLDER),
        cores: &placement.gateway,
        limits: Limits::default(),
        connections: 0,
        launcher: request.launcher,
        interrupt: request.interrupt,
        opening: None,
    };
    testbed.bring_gateway_up(&spec)?;
    let (Some(target), Some(upstream)) = (testbed.target(), testbed.upstream()) else {
        return Err(Abort::Interrupted);
    };
    let place = Place {
        target: target.clone(),
        upstream: Some(upstream.clone()),
        tag: 0,
        is_after: false,
        is_attached: false,
        interrupt: request.interrupt,
    };
    let mut record = parity::prove(scenario, &[], &place)?;
    let proxied = scenario.parity.iter().find(|case| {
        case.reaches_upstream && case.request.method == "GET" && case.request.body.is_none()
    });
    if let Some(case) = proxied.filter(|_| parity::failure(&record).is_none()) {
        record
            .cases
            .push(reuse(&case.request, &target, &upstream, request.interrupt)?);
    }
    if parity::failure(&record).is_none() {
        prove_later(scenario, testbed, place, &mut record)?;
    }
    Ok(record)
}

/// Gives the gateway its other routes, and adds the cases that hold from then on.
fn prove_later(
    scenario: &Scenario,
    testbed: &mut Testbed,
    place: Place<'_>,
    record: &mut ParityRecord,
) -> Result<(), Abort> {
    let Some(case) = scenario
        .later
        .as_ref()
        .and_then(|later| later.parity.first())
    else {
        return Ok(());
    };
    testbed.change(CONFIGURE)?;
    Propagation::of(clock::now_ns(), place.target.clone(), case).within(EFFECT_TIMEOUT);
    // Nonces that were sent before would not be counted again.
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

/// Whether connections to the upstream are kept and used again.
fn reuse(
    request: &Request,
    target: &Wire,
    upstream: &Origins,
    interrupt: &Interrupt,
) -> Result<ParityCaseRecord, Abort> {
    let targets = upstream.wires.len() as u64;
    let connections_max = REUSE_CONNECTIONS_MAX * targets;
    let bytes = render(request, &target.address.to_string(), None);
    let before = ledger::read(upstream, interrupt)?;
    for _ in 0..REUSE_REQUESTS {
        // An answer was proven before this; one that is missing now shows in the count.
        let _ = exchange(target, &bytes, false, interrupt);
        if interrupt.is_raised() {
            return Err(Abort::Interrupted);
        }
    }
    let after = ledger::read(upstream, interrupt)?;
    // Reading the ledger takes a connection to each target too.
    let opened = ledger::delta(&before, &after)
        .connections_accepted
        .saturating_sub(targets);
    let passed = opened <= connections_max;
    let mut record = ParityCaseRecord {
        name: "connections to the upstream are kept and used again".into(),
        passed,
        reached_upstream: true,
        ..ParityCaseRecord::default()
    };
    if !passed {
        record.sent = format!(
            "{REUSE_REQUESTS} times, one after the other:\n{}",
            String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
        );
        record.expected =
            format!("at most {connections_max} connections to the upstream are opened");
        record.received = format!("{opened} were opened");
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_contract_is_asked_first_and_every_scenario_once() {
        let scenarios = check_scenarios(&Library::default()).unwrap();
        let names: Vec<&str> = scenarios.iter().map(|it| it.scenario.as_str()).collect();
        assert_eq!(names[0], "contract");
        assert!(
            names.contains(&"proxy-json") && names.contains(&"api-key"),
            "{names:?}"
        );
    }
}
