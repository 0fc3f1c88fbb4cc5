//! The remote end, which responds to requests, one at a time, until the connection ends.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::env;
use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use gatebench_net::choose;
use serde::Serialize;
use serde_json::Value as Json;

use super::carrier::CONNECTION;
use super::folder::WorkFolder;
use super::kept;
use super::link::{LIFE_SIGN, READY};
use super::protocol::{
    Ask, CANCEL, Hello, Inspected, Numbered, Ordered, Response, ServiceOrder, Start,
    StartedService, Stopped, Tried, VERSION,
};
use crate::error::{DriverError, RemoteError};
use crate::gateway::{FoundGateway, GatewayStart, LocalGateway, Started, can_hold};
use crate::probe::{
    EnvironmentFacts, GroupChoice, Sampler, Scope, allowed_cores, clock_identity, usable_cores,
};
use crate::process::{Launcher, end_supervisors};
use crate::services::{Service, UpstreamStart, start_redis};
use crate::system::exit::Exit;

/// The other end is considered lost after this time without a message.
const SILENCE: Duration = LIFE_SIGN.saturating_mul(6);

/// The timeout for connecting to an upstream.
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// A role that a remote end has in addition to those of this crate. Dropping it ends its work.
pub trait Role {
    fn respond(&mut self, ask: Json) -> Result<Json, RemoteError>;
}

/// The variable that contains the pod's address, if this end runs in a pod.
const POD_ADDRESS: &str = "POD_IP";

/// Responds on standard output to requests on standard input, until standard input ends or is
/// silent for [`SILENCE`]. Then ends all processes that it started, and removes its working folder.
///
/// # Errors
/// The address of the other end is unknown, the working folder cannot be created, standard output
/// is closed, or a message is malformed.
pub fn serve(launcher: Launcher, role: impl Role + 'static) -> io::Result<()> {
    let hello = hello()?;
    let folder = WorkFolder::make(&env::temp_dir())?;
    say(&format!("{READY}{}", serde_json::to_string(&hello)?))?;
    let questions = questions();
    let mut end = End {
        launcher,
        trials: 0,
        gateway: None,
        watched: None,
        samplers: BTreeMap::new(),
        services: Vec::new(),
        role: Box::new(role),
        folder,
    };
    let mut last = (0, String::new());
    while let Ok(line) = questions.recv_timeout(SILENCE) {
        if line.is_empty() {
            continue;
        }
        let asked: Numbered<Json> = serde_json::from_str(&line)?;
        // A repeated request is not carried out again, but gets the same response.
        if asked.number != last.0 {
            let response: Response = match serde_json::from_value(asked.message) {
                Ok(ask) => end.response(ask),
                Err(error) => Err(error.into()),
            };
            let response = Numbered {
                number: asked.number,
                message: response,
            };
            last = (asked.number, serde_json::to_string(&response)?);
        }
        say(&last.1)?;
    }
    Ok(())
}

fn is_in_pod() -> bool {
    env::var_os(POD_ADDRESS).is_some()
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// Receives the lines of standard input. At the end of standard input, and at each [`CANCEL`], all
/// processes that this end has started are ended.
fn questions() -> Receiver<String> {
    let (sender, questions) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if line == CANCEL {
                end_supervisors();
            } else if sender.send(line).is_err() {
                return;
            }
        }
        end_supervisors();
    });
    questions
}

fn hello() -> io::Result<Hello> {
    let (here, there) = addresses()?;
    Ok(Hello {
        version: VERSION.to_owned(),
        here,
        there,
        cores: allowed_cores(),
        clock: clock_identity(),
    })
}

/// Returns the addresses of the other end and of this end.
fn addresses() -> io::Result<(IpAddr, IpAddr)> {
    if let Some(there) = env::var(POD_ADDRESS).ok().and_then(|it| it.parse().ok()) {
        // Nothing connects from the pod to the other end.
        return Ok((there, there));
    }
    let connection = env::var(CONNECTION).unwrap_or_default();
    let words: Vec<&str> = connection.split(' ').collect();
    let address = |at: usize| {
        let address: Option<IpAddr> = words.get(at).and_then(|word| word.parse().ok());
        address.map(|address| address.to_canonical())
    };
    let (Some(here), Some(there)) = (address(0), address(2)) else {
        return Err(io::Error::other(format!(
            "{CONNECTION} does not name the client; gatebench or sshd must start this command"
        )));
    };
    Ok((here, there))
}

/// The state of a remote end. Its fields are dropped in order, so all processes end before their
/// folder is removed.
struct End {
    launcher: Launcher,
    trials: u32,
    gateway: Option<LocalGateway>,
    /// The root of the processes of a gateway that was not started here.
    watched: Option<u32>,
    samplers: BTreeMap<u32, Sampler>,
    /// The services by number; none for a service that was stopped.
    services: Vec<Option<Service>>,
    role: Box<dyn Role>,
    folder: WorkFolder,
}

impl End {
    fn response(&mut self, ask: Ask) -> Response {
        match ask {
            Ask::Find { folder, setup } => {
                json(&FoundGateway::find(*folder, &setup, &self.launcher)?)
            }
            Ask::CanHold { limits } => json(&can_hold(limits)),
            Ask::Reach { address } => match TcpStream::connect_timeout(&address, REACH_TIMEOUT) {
                Ok(_) => json(&()),
                Err(error) => Err(RemoteError::environment(
                    format!("cannot reach the upstream at {address}: {error}"),
                    "allow connections to it in the firewall, or choose another address for the upstream: --upstream-address ADDRESS",
                )),
            },
            Ask::Start(start) => json(&self.try_start(&start)),
            Ask::Exit => json(&self.gateway()?.process.exit_status()),
            Ask::Stderr => json(&self.gateway()?.process.stderr_tail()),
            Ask::Act { action } => json(&self.gateway()?.act(&action)?),
            Ask::Sample { sampler } => json(&self.sampler(sampler)?.sample()),
            Ask::Outside { sampler } => json(&self.sampler(sampler)?.outside()),
            Ask::Pss { sampler } => json(&self.sampler(sampler)?.pss_bytes()),
            Ask::Stop => json(&self.stop()?),
            Ask::StartService(order) => json(&self.start_service(&order)?),
            Ask::ServiceDeath { number } => json(&self.service_death(number)),
            Ask::StopService { number } => {
                if let Some(service) = self.services.get_mut(number) {
                    *service = None;
                }
                json(&())
            }
            Ask::Role(ask) => self.role.respond(ask),
            Ask::Watch { pid } => {
                self.watched = Some(pid);
                json(&())
            }
            Ask::Inspect => json(&Inspected {
                backend: choose(None).as_str().to_owned(),
                facts: EnvironmentFacts::read(),
            }),
        }
    }

    fn start_service(&mut self, order: &ServiceOrder) -> Result<StartedService, RemoteError> {
        let number = self.services.len();
        let work = self.folder.path().join(format!("service-{number}"));
        let cores = usable_cores();
        let service = match &order.service {
            Ordered::Redis => start_redis(order.listen, &work, &cores, &self.launcher)?,
            Ordered::Upstream {
                kind,
                streams,
                files,
            } => {
                kept::put(&work, files).map_err(DriverError::at("write to", &work))?;
                let start = UpstreamStart::of(*kind, work, &cores, &self.launcher);
                let start = start.with_streams(*streams).with_tls(!files.is_empty());
                start.start(SocketAddr::new(order.listen, order.port))?
            }
        };
        let address = service.addr;
        self.services.push(Some(service));
        Ok(StartedService { number, address })
    }

    fn service_death(&mut self, number: usize) -> Option<(Exit, String)> {
        let process = &mut self.services.get_mut(number)?.as_mut()?.process;
        let exit = process.exit_status()?;
        Some((exit, process.stderr_tail()))
    }

    fn try_start(&mut self, start: &Start) -> Tried {
        // A gateway that was not stopped belongs to a trial that failed.
        self.gateway = None;
        self.samplers.clear();
        self.trials += 1;
        let started = self.start(start);
        let kept = match &started {
            Ok(_) => Vec::new(),
            Err(_) => kept::texts_of(&self.work()),
        };
        Tried { started, kept }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join(self.trials.to_string())
    }

    fn start(&mut self, start: &Start) -> Result<Started, RemoteError> {
        let work = self.work();
        kept::put(&work, &start.files).map_err(|error| {
            RemoteError::environment(
                format!("cannot write to {}: {error}", work.display()),
                "free up space for temporary files, or set TMPDIR",
            )
        })?;
        let gateway = GatewayStart {
            gateway: &start.gateway,
            scenario: &start.scenario,
            work: &work,
            cores: &some_cores(start.cores)?,
            control_plane_cores: &[],
            listen: start.listen,
            targets: &start.targets,
            more_upstreams: &start.more_upstreams,
            database: None,
            connections: start.connections,
            profile: None,
            ports: &[],
            launcher: &self.launcher,
        }
        .start(None)?;
        Ok(self.gateway.insert(gateway).started.clone())
    }

    fn gateway(&mut self) -> Result<&mut LocalGateway, RemoteError> {
        self.gateway.as_mut().ok_or_else(none_runs)
    }

    fn sampler(&mut self, number: u32) -> Result<&mut Sampler, RemoteError> {
        match self.samplers.entry(number) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => match (&self.gateway, self.watched) {
                (Some(gateway), _) => {
                    let group = match is_in_pod() {
                        true => GroupChoice::Shared,
                        false => GroupChoice::Own,
                    };
                    Ok(entry.insert(gateway.process.sampler().in_group(group)))
                }
                (None, Some(pid)) => {
                    let sampler = Sampler::new(pid, Scope::Tree);
                    Ok(entry.insert(sampler.in_group(GroupChoice::OfContainer)))
                }
                (None, None) => Err(none_runs()),
            },
        }
    }

    fn stop(&mut self) -> Result<Stopped, RemoteError> {
        let mut gateway = self.gateway.take().ok_or_else(none_runs)?;
        let ended = gateway.process.stop();
        drop(gateway);
        let kept = kept::texts_of(&self.work());
        // Otherwise, the logs of all trials would remain until the end of the run.
        let _ = fs::remove_dir_all(self.work());
        Ok(Stopped { ended, kept })
    }
}

fn json(value: &impl Serialize) -> Response {
    Ok(serde_json::to_value(value)?)
}

fn none_runs() -> RemoteError {
    RemoteError::environment("no gateway is running on this host", "repeat the trial")
}

fn some_cores(count: usize) -> Result<Vec<usize>, RemoteError> {
    let mut allowed = allowed_cores();
    let Some(others) = allowed.len().checked_sub(count) else {
        let allowed = allowed.len();
        return Err(RemoteError::environment(
            format!("the gateway needs {count} cores, but there are only {allowed}"),
            "use a host with more cores, or give the gateway fewer cores: --gateway-cores",
        ));
    };
    Ok(allowed.split_off(others))
}
