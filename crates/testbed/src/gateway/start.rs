//! Bringing a gateway up and taking it down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gatebench_model::Scenario;
use gatebench_model::gateway::Action;
use gatebench_model::load::{CONFIGURE, WEIGHTS};
use rustix::process::Signal;

use super::action;
use super::admin::{self, AdminCalls};
use super::binary::FoundBinary;
use super::config;
use super::folder::Folder;
use super::input::{Wiring, changed_input_for, input_for, route_of};
use super::ready::{self, Opening, Outcome};
use super::render::{RenderedFile, Renderer, render};
use super::running::Running;
use crate::container::ContainerSpec;
use crate::error::DriverError;
use crate::process::{Launcher, Orders, Supervised, signal_from_name};
use crate::system::command::{self, wait_until};
use crate::system::exit::Exit;
use crate::system::limit::{Amount, Limit};
use crate::system::private::write_rendered;

/// Another process may take a reserved port before the gateway does; more often than this it is no accident.
const PORT_ATTEMPTS: usize = 5;

/// A runtime that has to warm up may take long to check its configuration, and so may a compiler of ten thousand
/// consumers, on a machine that is busy.
const CHECK_TIMEOUT: Duration = Duration::from_secs(120);

/// A check has nothing to finish in order.
const CHECK_STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Open descriptors a gateway may have, as far as the machine's hard limit allows.
const NOFILE: u64 = 65_536;

/// The port of a rehearsal, where nothing listens; an unusual one, so that a configuration that names it
/// means it.
const REHEARSED_PORT: u16 = 48_611;

/// On which port a gateway listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ports {
    /// A free one.
    #[default]
    Free,
    /// These, one after the other, until one is not taken.
    Try(Vec<u16>),
}

/// Everything needed to start a gateway.
#[derive(Clone, Debug)]
pub struct GatewayStart<'a> {
    /// What it is.
    pub folder: &'a Folder,
    /// Its program.
    pub binary: &'a FoundBinary,
    /// What it does.
    pub scenario: &'a Scenario,
    /// Its working folder; made where it does not exist.
    pub work: &'a Path,
    /// Cores it runs on, with one worker for each.
    pub cores: &'a [usize],
    /// What it may use at most.
    pub limits: &'a [Limit],
    /// What a container engine is told that it may use at most.
    pub amounts: &'a [Amount],
    /// The address of this machine that it listens at.
    pub listen: IpAddr,
    /// Where the upstream listens.
    pub targets: &'a [SocketAddr],
    /// Where the scenario's further upstreams listen, by their names.
    pub more_upstreams: &'a [(String, SocketAddr)],
    /// Idle upstream connections it keeps.
    pub keepalive: u32,
    /// Whether it logs each request.
    pub access_log: bool,
    /// On which port it listens.
    pub ports: Ports,
    /// The supervising program.
    pub launcher: &'a Launcher,
}

/// What became of one port.
enum Attempt {
    Ready(Box<Running>),
    Clash,
}

impl GatewayStart<'_> {
    /// Renders, checks, starts, and waits until the gateway answers. On an error nothing is left running.
    ///
    /// # Errors
    /// Unsupported policies, a template that does not render, a refused configuration, an end or a
    /// hang before it is ready, ports that others hold.
    pub fn start(&self) -> Result<Running, DriverError> {
        self.bring_up(None)
    }

    /// Starts like [`Self::start`], but waits for the first response that `opening` accepts, and for
    /// nothing after it: nothing else is sent to the gateway.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_until(&self, opening: Opening<'_>) -> Result<Running, DriverError> {
        self.bring_up(Some(opening))
    }

    fn bring_up(&self, opening: Option<Opening<'_>>) -> Result<Running, DriverError> {
        self.folder.supports(self.scenario, self.binary)?;
        fs::create_dir_all(self.work)
            .map_err(DriverError::io(format!("making {}", self.work.display())))?;
        let work = self
            .work
            .canonicalize()
            .map_err(DriverError::io(format!("opening {}", self.work.display())))?;
        let mut tried = Vec::new();
        while let Some(port) = self.next_port(&tried)? {
            match self.attempt(&work, port, opening)? {
                Attempt::Ready(running) => return Ok(*running),
                Attempt::Clash => tried.push(port),
            }
        }
        Err(DriverError::PortTaken { ports: tried })
    }

    /// Renders everything as for a start, and writes and starts nothing.
    ///
    /// # Errors
    /// Unsupported policies, a template that does not render.
    pub fn rehearse(&self) -> Result<(), DriverError> {
        self.folder.supports(self.scenario, self.binary)?;
        self.prepare(self.work, SocketAddr::from((self.listen, REHEARSED_PORT)))
            .map(drop)
    }

    fn next_port(&self, tried: &[u16]) -> Result<Option<u16>, DriverError> {
        match &self.ports {
            Ports::Free if tried.len() < PORT_ATTEMPTS => reserve_port(self.listen)
                .map(Some)
                .map_err(DriverError::io("looking for a free port")),
            Ports::Free => Ok(None),
            Ports::Try(ports) => Ok(ports.get(tried.len()).copied()),
        }
    }

    fn attempt(
        &self,
        work: &Path,
        port: u16,
        opening: Option<Opening<'_>>,
    ) -> Result<Attempt, DriverError> {
        let prepared = self.prepare(work, SocketAddr::from((self.listen, port)))?;
        prepared.write_files(work)?;
        self.check(work, &prepared)?;
        let spec = &self.folder.spec;
        let started = Instant::now();
        let mut process = self.spawn(work, &prepared)?;
        let stderr = |process: &Supervised| process.stderr_tail();
        let has_tls = self.scenario.transport.tls;
        match ready::wait_for(&mut process, prepared.addr, &spec.ready, has_tls, opening) {
            Outcome::Ready(since, unready_at) => {
                let ready_after = since.duration_since(started);
                let not_before = unready_at.map_or(Duration::ZERO, |it| it.duration_since(started));
                if opening.is_none() {
                    ready::wait_to_be_heard(&process, &action::signals(&prepared.actions));
                }
                Ok(Attempt::Ready(Box::new(
                    prepared.into_running(process, (not_before, ready_after)),
                )))
            }
            Outcome::Clash => Ok(Attempt::Clash),
            Outcome::Ended(exit) => {
                let gateway = spec.gateway.clone();
                if let Some(message) = process.supervisors_complaint() {
                    return Err(DriverError::Supervisor { gateway, message });
                }
                Err(DriverError::EndedAtStart {
                    gateway,
                    exit,
                    stderr: stderr(&process),
                })
            }
            Outcome::TimedOut(seen) => Err(DriverError::NotReady {
                gateway: spec.gateway.clone(),
                waited: started.elapsed(),
                state: seen.to_string(),
                stderr: stderr(&process),
            }),
        }
    }

    fn prepare(&self, work: &Path, addr: SocketAddr) -> Result<Prepared, DriverError> {
        let metrics = self.metrics_address()?;
        let wiring = Wiring {
            binary: &self.binary.path,
            work,
            listen: addr,
            targets: self.targets,
            more_upstreams: self.more_upstreams,
            keepalive: self.keepalive,
            cores: self.cores,
            access_log: self.access_log,
            metrics,
            weights: 0,
        };
        let input = input_for(self.scenario, &wiring);
        let spec = &self.folder.spec;
        let renderer = Renderer::new(self.folder, &input)?;
        let later = match self.scenario.later {
            Some(_) => vec![render(
                self.folder,
                &changed_input_for(self.scenario, &wiring),
            )?],
            None => Vec::new(),
        };
        let environment = renderer.variables()?;
        let secrets = Arc::new(self.scenario.secrets());
        let action = |(name, action): (&String, &Action)| {
            let action = match action {
                Action::Command(words) => Action::Command(renderer.words("actions", words)?),
                Action::Signal(_) | Action::Watched(_) | Action::Send(_) => action.clone(),
            };
            let files = match name.as_str() {
                CONFIGURE => later.clone(),
                WEIGHTS => self.weighed(&wiring)?,
                _ => Vec::new(),
            };
            Ok(action::Ready {
                gateway: spec.gateway.clone(),
                name: name.clone(),
                action,
                work: work.to_owned(),
                environment: environment.clone(),
                files,
                secrets: Arc::clone(&secrets),
                done: 0,
            })
        };
        let files = render(self.folder, &input)?;
        config::must_be_wired(self.folder, &files, &input)?;
        Ok(Prepared {
            gateway: spec.gateway.clone(),
            addr,
            metrics,
            files,
            check: renderer.words("check", &spec.check)?,
            start: renderer.words("start", &spec.start)?,
            actions: spec
                .actions
                .iter()
                .map(action)
                .collect::<Result<_, DriverError>>()?,
            environment,
            secrets: Arc::clone(&secrets),
            admin: self.admin_calls(&renderer, work)?,
        })
    }

    /// What the scenario has done through the admin interface.
    fn admin_calls(
        &self,
        renderer: &Renderer<'_>,
        work: &Path,
    ) -> Result<Option<AdminCalls>, DriverError> {
        let both = self
            .folder
            .spec
            .admin
            .as_ref()
            .zip(self.scenario.admin.as_ref());
        let calls = both.map(|(admin, rounds)| {
            let route = |route: &_| route_of(self.scenario, route);
            admin::calls(admin, rounds, renderer, work, route)
        });
        calls.transpose()
    }

    /// The files with each of the scenario's lists of weights, in the order in which they follow on the first.
    fn weighed(&self, wiring: &Wiring<'_>) -> Result<Vec<Vec<RenderedFile>>, DriverError> {
        let count = self.scenario.weights.len();
        let order = (1..count).chain((count > 1).then_some(0));
        let weighed = order.map(|weights| {
            let wiring = Wiring {
                weights,
                ..wiring.clone()
            };
            render(self.folder, &input_for(self.scenario, &wiring))
        });
        weighed.collect()
    }

    /// A port of its own for the gateway's metrics, where the scenario asks for them.
    fn metrics_address(&self) -> Result<Option<SocketAddr>, DriverError> {
        if self.scenario.metrics.is_none() {
            return Ok(None);
        }
        let port = reserve_port(self.listen).map_err(DriverError::io("looking for a free port"))?;
        Ok(Some(SocketAddr::new(self.listen, port)))
    }

    /// Runs the folder's check under a supervisor too: one that hangs must end with gatebench, and at Ctrl-C.
    fn check(&self, work: &Path, prepared: &Prepared) -> Result<(), DriverError> {
        if prepared.check.is_empty() {
            return Ok(());
        }
        let orders = Orders {
            cores: Vec::new(),
            nofile: Some(NOFILE),
            limits: Vec::new(),
            container: self.container(work, prepared, "check", &[]),
            stop_signal: Signal::TERM,
            stop_timeout: CHECK_STOP_TIMEOUT,
            command: prepared.check.iter().map(Into::into).collect(),
        };
        let mut process = self.supervised(&orders, work, prepared, "check")?;
        let exit = wait_until(Instant::now() + CHECK_TIMEOUT, || process.exit());
        if exit.is_none() {
            process.stop();
        }
        let gateway = self.folder.spec.gateway.clone();
        if let Some(message) = process.supervisors_complaint() {
            return Err(DriverError::Supervisor { gateway, message });
        }
        let command = command::display(&prepared.check);
        let output = process.output_tail();
        let how = match exit {
            Some(Exit::Code(0)) => return Ok(()),
            Some(Exit::Code(code)) => {
                let output = if output.is_empty() {
                    Exit::Code(code).to_string()
                } else {
                    output
                };
                return Err(DriverError::Refused {
                    gateway,
                    command,
                    output,
                });
            }
            Some(signal) => signal.to_string(),
            None => format!("no end after {CHECK_TIMEOUT:?}"),
        };
        Err(DriverError::Unchecked {
            gateway,
            command,
            how,
            output,
        })
    }

    fn spawn(&self, work: &Path, prepared: &Prepared) -> Result<Supervised, DriverError> {
        let stop = &self.folder.spec.stop;
        let orders = Orders {
            cores: self.cores.to_vec(),
            nofile: Some(NOFILE),
            limits: self.limits.to_vec(),
            container: self.container(work, prepared, "gateway", self.amounts),
            stop_signal: signal_from_name(&stop.signal).ok_or_else(|| DriverError::BadFolder {
                path: self.folder.file_path(Path::new("gateway.yaml")),
                line: None,
                message: format!("stop.signal: there is no signal '{}'", stop.signal),
                remedy: "write a signal, for example TERM or QUIT".into(),
            })?,
            stop_timeout: stop.timeout.0,
            command: prepared.start.iter().map(Into::into).collect(),
        };
        self.supervised(&orders, work, prepared, "gateway")
    }

    /// The container that a command runs in, where the gateway is an image.
    fn container(
        &self,
        work: &Path,
        prepared: &Prepared,
        name: &str,
        amounts: &[Amount],
    ) -> Option<ContainerSpec> {
        let image = self.binary.image.as_ref()?;
        Some(ContainerSpec {
            socket: image.socket.clone(),
            image: image.id.clone(),
            user: image.user.clone(),
            environment: prepared.environment.clone(),
            work: work.to_owned(),
            amounts: amounts.to_vec(),
            state: work.join(format!("{name}.container.json")),
        })
    }

    fn supervised(
        &self,
        orders: &Orders,
        work: &Path,
        prepared: &Prepared,
        name: &str,
    ) -> Result<Supervised, DriverError> {
        Supervised::spawn(self.launcher, orders, &prepared.environment, work, name).map_err(
            DriverError::io(format!("starting the {name} in {}", work.display())),
        )
    }
}

/// A port that was free a moment ago.
fn reserve_port(address: IpAddr) -> io::Result<u16> {
    Ok(TcpListener::bind((address, 0))?.local_addr()?.port())
}

/// A gateway rendered for one port.
struct Prepared {
    gateway: String,
    addr: SocketAddr,
    metrics: Option<SocketAddr>,
    files: Vec<RenderedFile>,
    check: Vec<String>,
    start: Vec<String>,
    environment: BTreeMap<String, String>,
    secrets: Arc<BTreeSet<String>>,
    actions: Vec<action::Ready>,
    admin: Option<AdminCalls>,
}

impl Prepared {
    fn write_files(&self, work: &Path) -> Result<(), DriverError> {
        for file in &self.files {
            let path = work.join(&file.path);
            let written = path
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| write_rendered(&path, &file.text, &self.secrets));
            written.map_err(DriverError::io(format!("writing {}", path.display())))?;
        }
        action::date_watched_back(&self.actions, work).map_err(DriverError::io(format!(
            "dating files in {}",
            work.display()
        )))
    }

    fn into_running(
        self,
        process: Supervised,
        (not_before, ready_after): (Duration, Duration),
    ) -> Running {
        let commands = [self.check, self.start]
            .into_iter()
            .filter(|command| !command.is_empty())
            .collect();
        Running {
            process,
            gateway: self.gateway,
            addr: self.addr,
            metrics: self.metrics,
            ready_after,
            not_ready_before: not_before,
            commands,
            rendered: self.files,
            actions: self.actions,
            admin: self.admin,
        }
    }
}
