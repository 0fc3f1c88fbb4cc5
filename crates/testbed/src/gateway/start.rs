//! Starts a gateway and waits until it is ready.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gatebench_model::gateway::{Action, ControlPlane as ControlPlaneSpec, Ready};
use gatebench_model::load::{CONFIGURE, WEIGHTS};
use gatebench_model::{ParityCase, Scenario};
use gatebench_net::tls::Pem;
use serde::{Deserialize, Serialize};

use super::admin::{self, AdminCalls};
use super::binary::FoundGateway;
use super::control_plane::{self, ControlPlane};
use super::folder::{Folder, SPEC_FILE};
use super::input::{
    CERTIFICATE_FILE, UPSTREAM_KEEPALIVE, Wiring, changed_input_for, input_for, route_of,
};
use super::ready::{self, Opening, Outcome};
use super::render::{RenderedFile, Renderer, render};
use super::{action, config};
use crate::container::ContainerSpec;
use crate::error::DriverError;
use crate::process::{Launcher, NOFILE, Orders, Supervised, signal_from_name};
use crate::system::command::{self, wait_until};
use crate::system::exit::Exit;
use crate::system::limit::Amount;
use crate::system::private::{write_private, write_rendered};
use crate::wire::Wire;

/// The number of attempts to start on a free port. Another process may take the port first, but is
/// unlikely to do so this many times in a row.
const PORT_ATTEMPTS: usize = 5;

/// The timeout of a check. On a busy machine, warming up a runtime takes a long time, and so does
/// checking a configuration with ten thousand consumers.
const CHECK_TIMEOUT: Duration = Duration::from_secs(120);

/// The stop timeout of a check and of a control plane, which have no client requests to finish.
const CHECK_STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// The ports of the gateway, the upstream, Redis and PostgreSQL in a rehearsal, which starts no
/// process. They are unusual, so a configuration is unlikely to contain them by accident.
const REHEARSED_PORT: u16 = 48_611;
const REHEARSED_UPSTREAM_PORT: u16 = 48_612;
const REHEARSED_REDIS_PORT: u16 = 48_613;
const REHEARSED_DATABASE_PORT: u16 = 48_614;

/// A gateway with everything that its start depends on, such as cores, addresses and ports.
#[derive(Clone, Debug)]
pub struct GatewayStart<'a> {
    pub gateway: &'a FoundGateway,
    pub scenario: &'a Scenario,
    /// The gateway's working folder, which is created if it does not exist. For a scenario with
    /// TLS, the folder must contain the trial's certificate and its key.
    pub work: &'a Path,
    pub cores: &'a [usize],
    pub control_plane_cores: &'a [usize],
    pub listen: IpAddr,
    /// The addresses of the scenario's own upstream, one for each target.
    pub targets: &'a [SocketAddr],
    /// The addresses of the scenario's further upstreams, by name.
    pub more_upstreams: &'a [(String, SocketAddr)],
    /// The address of PostgreSQL, if the gateway needs a database.
    pub database: Option<SocketAddr>,
    /// The maximum number of upstream connections that a load may need.
    pub connections: u32,
    /// The samples per second that the gateway's own profiler takes; none if the profiler is off.
    pub profile: Option<u32>,
    /// The ports that the gateway may listen on, in order of preference; any free port if the list
    /// is empty.
    pub ports: &'a [u16],
    pub launcher: &'a Launcher,
}

/// Checks that a gateway supports a scenario, and renders the gateway's files and commands with
/// placeholders for folders and addresses. Writes no file and starts no process.
pub(crate) fn rehearse(
    gateway: &FoundGateway,
    scenario: &Scenario,
    cores: &[usize],
    launcher: &Launcher,
) -> Result<(), DriverError> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let upstream = at(REHEARSED_UPSTREAM_PORT);
    let names = scenario.more_upstreams.keys();
    let more_upstreams: Vec<_> = names.map(|name| (name.clone(), upstream)).collect();
    let needs_postgres = gateway.folder.spec.needs_postgres(scenario);
    let start = GatewayStart {
        gateway,
        scenario: &scenario.clone().with_redis(at(REHEARSED_REDIS_PORT)),
        work: Path::new("/trial/gateway"),
        cores,
        control_plane_cores: &[],
        listen: Ipv4Addr::LOCALHOST.into(),
        targets: &[upstream],
        more_upstreams: &more_upstreams,
        database: needs_postgres.then_some(at(REHEARSED_DATABASE_PORT)),
        connections: 0,
        profile: None,
        ports: &[],
        launcher,
    };
    gateway.supports(scenario)?;
    start.prepare(start.work, at(REHEARSED_PORT)).map(drop)
}

impl GatewayStart<'_> {
    /// Renders and checks the configuration, starts the gateway, and waits until it is ready. With
    /// an `opening`, this function waits for the first response that the opening accepts, and sends
    /// nothing else to the gateway. After an error, no process is left running.
    ///
    /// # Errors
    /// For example, the gateway lacks a feature or rejects its configuration, a template does not
    /// render, a file cannot be written, all ports are taken, or the control plane or the gateway
    /// does not start.
    pub fn start(&self, opening: Option<Opening<'_>>) -> Result<LocalGateway, DriverError> {
        self.gateway.supports(self.scenario)?;
        let work = fs::create_dir_all(self.work).and_then(|()| self.work.canonicalize());
        let work = work.map_err(DriverError::at("create", self.work))?;
        let attempt = |port| self.attempt(&work, port, opening);
        on_usable_port(self.listen, self.ports, attempt)
    }

    fn folder(&self) -> &Folder {
        &self.gateway.folder
    }

    /// Starts the gateway on one port. Returns none if another process uses the port.
    fn attempt(
        &self,
        work: &Path,
        port: u16,
        opening: Option<Opening<'_>>,
    ) -> Result<Option<LocalGateway>, DriverError> {
        let prepared = self.prepare(work, SocketAddr::from((self.listen, port)))?;
        let wire = self.wire(work, prepared.started.address)?;
        prepared.write_files(work)?;
        self.check(work, &prepared)?;
        let spec = &self.folder().spec;
        let control_plane = self.control_plane_start(work, &prepared);
        let control_plane = control_plane.map(ControlPlane::start).transpose()?;
        let started = Instant::now();
        let mut process = self.spawn(work, &prepared)?;
        let gateway = spec.gateway.clone();
        match ready::wait_for(&mut process, &wire, &self.ready(), opening) {
            Outcome::Ready(since, unready_at) => {
                if opening.is_none() {
                    let own = prepared.actions.iter().filter(|it| !it.is_of_control_plane);
                    ready::wait_for_signal_handlers(&process, &action::signals(own));
                }
                let since_start = |at: Instant| at.duration_since(started);
                Ok(Some(LocalGateway {
                    process,
                    control_plane,
                    gateway,
                    actions: prepared.actions,
                    started: Started {
                        ready_after: since_start(since),
                        not_ready_before: unready_at.map_or(Duration::ZERO, since_start),
                        ..prepared.started
                    },
                }))
            }
            Outcome::Clash => Ok(None),
            Outcome::Ended(exit) => Err(match process.supervisors_complaint() {
                Some(message) => DriverError::Supervisor { gateway, message },
                None => DriverError::EndedAtStart {
                    gateway,
                    exit,
                    stderr: process.stderr_tail(),
                },
            }),
            Outcome::TimedOut(seen) => Err(DriverError::NotReady {
                gateway,
                waited: started.elapsed(),
                state: seen.to_string(),
                stderr: process.stderr_tail(),
            }),
        }
    }

    /// Returns the conditions for readiness. With a control plane, the gateway may listen before it
    /// has its routes. The readiness check then requests the path of the first parity case that is
    /// a GET without headers and must reach the upstream, if there is such a case.
    fn ready(&self) -> Ready {
        let mut ready = self.folder().spec.ready.clone();
        if self.folder().spec.control_plane_in(self.scenario).is_some() {
            let is_plain = |it: &&ParityCase| {
                let request = &it.request;
                it.reaches_upstream && request.method == "GET" && request.headers.is_empty()
            };
            let case = self.scenario.parity.iter().find(is_plain);
            ready.path = case.map(|it| it.request.path.clone()).or(ready.path);
        }
        ready
    }

    fn wire(&self, work: &Path, address: SocketAddr) -> Result<Wire, DriverError> {
        let has_tls = self.scenario.transport.tls;
        let certificate = has_tls.then(|| Pem::read(&work.join(CERTIFICATE_FILE)));
        Ok(Wire::new(address, certificate.transpose()?))
    }

    /// Returns the wiring without the addresses of the metrics and the control plane.
    fn wiring<'w>(&'w self, work: &'w Path, listen: SocketAddr) -> Wiring<'w> {
        Wiring {
            binary: &self.gateway.binary.path,
            version: &self.gateway.binary.version,
            work,
            listen,
            targets: self.targets,
            more_upstreams: self.more_upstreams,
            keepalive: UPSTREAM_KEEPALIVE.max(self.connections),
            cores: self.cores,
            access_log: self.scenario.access_log,
            metrics: None,
            profile: self.profile,
            control_plane: None,
            database: self.database,
            weights: 0,
        }
    }

    fn prepare(&self, work: &Path, addr: SocketAddr) -> Result<Prepared, DriverError> {
        let spec = &self.folder().spec;
        let metrics = self.reserved(self.scenario.metrics.is_some())?;
        let control_plane = spec.control_plane_in(self.scenario);
        let wiring = Wiring {
            metrics,
            control_plane: self.reserved(control_plane.is_some())?,
            ..self.wiring(work, addr)
        };
        let input = input_for(self.scenario, &wiring);
        let renderer = Renderer::new(self.folder(), &input)?;
        let environment = renderer.variables()?;
        let secrets = Arc::new(self.scenario.secrets());
        let action = |(name, action): (&str, &Action)| {
            let action = match action {
                Action::Command(words) => Action::Command(renderer.words("actions", words)?),
                _ => action.clone(),
            };
            let files = match name {
                CONFIGURE if self.scenario.later.is_some() => {
                    let changed = changed_input_for(self.scenario, &wiring);
                    vec![render(self.folder(), &changed)?]
                }
                WEIGHTS => self.weighed(&wiring)?,
                _ => Vec::new(),
            };
            Ok(action::Ready {
                gateway: spec.gateway.clone(),
                name: name.to_owned(),
                action,
                is_of_control_plane: control_plane.is_some_and(|it| it.actions.contains_key(name)),
                work: work.to_owned(),
                environment: environment.clone(),
                files,
                secrets: Arc::clone(&secrets),
                done: 0,
            })
        };
        let rendered = render(self.folder(), &input)?;
        config::must_be_wired(self.folder(), &rendered, &input)?;
        let actions = spec.all_actions(self.scenario).into_iter().map(action);
        let actions = actions.collect::<Result<_, DriverError>>()?;
        let check = renderer.words("check", &spec.check)?;
        let start = renderer.words("start", &spec.start)?;
        let of_control_plane = |it: &ControlPlaneSpec| {
            let command = renderer.words("control_plane.start", &it.start)?;
            Ok::<_, DriverError>((command, it.timeout.0))
        };
        let control_plane = control_plane.map(of_control_plane).transpose()?;
        let started_first = control_plane.as_ref().map(|it| it.0.clone());
        let commands = [Some(check.clone()), started_first, Some(start.clone())];
        let commands = commands.into_iter().flatten();
        Ok(Prepared {
            own_config: self.folder().own_file(),
            check,
            start,
            control_plane: control_plane.zip(wiring.control_plane),
            actions,
            environment,
            secrets: Arc::clone(&secrets),
            started: Started {
                address: addr,
                metrics,
                ready_after: Duration::ZERO,
                not_ready_before: Duration::ZERO,
                commands: commands.filter(|command| !command.is_empty()).collect(),
                rendered,
                admin: self.admin_calls(&renderer, work)?,
            },
        })
    }

    fn admin_calls(
        &self,
        renderer: &Renderer<'_>,
        work: &Path,
    ) -> Result<Option<AdminCalls>, DriverError> {
        let (Some(admin), Some(rounds)) = (&self.folder().spec.admin, &self.scenario.admin) else {
            return Ok(None);
        };
        let route = |route: &_| route_of(self.scenario, route);
        admin::calls(admin, rounds, renderer, work, route).map(Some)
    }

    /// Renders the files for each of the scenario's lists of weights, starting with the second list
    /// and ending with the first. Renders none if there are fewer than two lists.
    fn weighed(&self, wiring: &Wiring<'_>) -> Result<Vec<Vec<RenderedFile>>, DriverError> {
        let count = self.scenario.weights.len();
        let order = (1..count).chain((count > 1).then_some(0));
        order
            .map(|weights| {
                let wiring = Wiring {
                    weights,
                    ..wiring.clone()
                };
                render(self.folder(), &input_for(self.scenario, &wiring))
            })
            .collect()
    }

    fn reserved(&self, is_needed: bool) -> Result<Option<SocketAddr>, DriverError> {
        let port = is_needed.then(|| reserve_port(self.listen)).transpose()?;
        Ok(port.map(|port| SocketAddr::new(self.listen, port)))
    }

    fn control_plane_start(
        &self,
        work: &Path,
        prepared: &Prepared,
    ) -> Option<control_plane::Start> {
        let ((command, timeout), address) = prepared.control_plane.clone()?;
        let orders = Orders {
            cores: self.control_plane_cores.to_vec(),
            nofile: Some(NOFILE),
            container: self.container(work, prepared, control_plane::NAME, &[]),
            stop_timeout: CHECK_STOP_TIMEOUT,
            command: command.into_iter().map(Into::into).collect(),
            ..Orders::default()
        };
        Some(control_plane::Start {
            gateway: self.folder().spec.gateway.clone(),
            orders,
            environment: prepared.environment.clone(),
            work: work.to_owned(),
            address,
            timeout,
            launcher: self.launcher.clone(),
        })
    }

    /// Runs the folder's check under a supervisor, so the check does not outlive gatebench, and
    /// Ctrl-C ends it.
    fn check(&self, work: &Path, prepared: &Prepared) -> Result<(), DriverError> {
        if prepared.check.is_empty() {
            return Ok(());
        }
        let orders = Orders {
            nofile: Some(NOFILE),
            container: self.container(work, prepared, "check", &[]),
            stop_timeout: CHECK_STOP_TIMEOUT,
            command: prepared.check.iter().map(Into::into).collect(),
            ..Orders::default()
        };
        let mut process = self.supervised(&orders, work, prepared, "check")?;
        let exit = wait_until(Instant::now() + CHECK_TIMEOUT, || process.exit_status());
        if exit.is_none() {
            process.stop();
        }
        let gateway = self.folder().spec.gateway.clone();
        if let Some(message) = process.supervisors_complaint() {
            return Err(DriverError::Supervisor { gateway, message });
        }
        let command = command::display(&prepared.check);
        let output = process.output_tail();
        let how = match exit {
            Some(Exit::Code(0)) => return Ok(()),
            Some(exit) => exit.to_string(),
            None => format!("still running after {CHECK_TIMEOUT:?}"),
        };
        Err(match exit {
            Some(Exit::Code(_)) => DriverError::Refused {
                gateway,
                command,
                output: if output.is_empty() { how } else { output },
            },
            _ => DriverError::Unchecked {
                gateway,
                command,
                how,
                output,
            },
        })
    }

    fn spawn(&self, work: &Path, prepared: &Prepared) -> Result<Supervised, DriverError> {
        let stop = &self.folder().spec.stop;
        let stop_signal = signal_from_name(&stop.signal).ok_or_else(|| {
            let path = self.folder().file_path(Path::new(SPEC_FILE));
            let message = format!("stop.signal: there is no signal '{}'", stop.signal);
            let remedy = "write the name of a signal, for example TERM or QUIT";
            DriverError::bad_file(path, message, remedy)
        })?;
        let orders = Orders {
            cores: self.cores.to_vec(),
            nofile: Some(NOFILE),
            limits: self.gateway.limiter.groups().to_vec(),
            container: self.container(work, prepared, "gateway", self.gateway.limiter.amounts()),
            stop_signal,
            stop_timeout: stop.timeout.0,
            command: prepared.start.iter().map(Into::into).collect(),
        };
        self.supervised(&orders, work, prepared, "gateway")
    }

    /// Returns the container that a command runs in; none if the gateway runs directly on this
    /// machine.
    fn container(
        &self,
        work: &Path,
        prepared: &Prepared,
        name: &str,
        amounts: &[Amount],
    ) -> Option<ContainerSpec> {
        let image = self.gateway.binary.image.as_ref()?;
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
        Supervised::spawn(self.launcher, orders, &prepared.environment, work, name)
            .map_err(DriverError::at(&format!("start the {name} in"), work))
    }
}

/// Starts a program on the first unused port of `ports`, or of [`PORT_ATTEMPTS`] free ports if
/// `ports` is empty. `attempt` returns none if another process uses the port.
pub(crate) fn on_usable_port<T>(
    address: IpAddr,
    ports: &[u16],
    mut attempt: impl FnMut(u16) -> Result<Option<T>, DriverError>,
) -> Result<T, DriverError> {
    let mut tried = Vec::new();
    let attempts = if ports.is_empty() {
        PORT_ATTEMPTS
    } else {
        ports.len()
    };
    while tried.len() < attempts {
        let named = ports.get(tried.len()).copied();
        let port = named.map_or_else(|| reserve_port(address), Ok)?;
        if let Some(started) = attempt(port)? {
            return Ok(started);
        }
        tried.push(port);
    }
    Err(DriverError::PortTaken { ports: tried })
}

fn reserve_port(address: IpAddr) -> Result<u16, DriverError> {
    TcpListener::bind((address, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(DriverError::io("find a free port"))
}

/// The files and commands of a gateway, rendered for one port.
struct Prepared {
    /// The path of the rendered file that is the user's configuration, if there is one. That file
    /// may contain secrets that gatebench does not know.
    own_config: Option<PathBuf>,
    check: Vec<String>,
    start: Vec<String>,
    /// The control plane's command, start timeout and address, if the scenario uses one.
    control_plane: Option<((Vec<String>, Duration), SocketAddr)>,
    environment: BTreeMap<String, String>,
    secrets: Arc<BTreeSet<String>>,
    actions: Vec<action::Ready>,
    /// The result of the start; its times are set once the gateway is ready.
    started: Started,
}

impl Prepared {
    fn write_files(&self, work: &Path) -> Result<(), DriverError> {
        for file in &self.started.rendered {
            let path = work.join(&file.path);
            let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
            let is_own = self.own_config.as_ref() == Some(&file.path);
            let written = folder.and_then(|()| match is_own {
                true => write_private(&path, file.text.as_bytes()),
                false => write_rendered(&path, &file.text, file.group, &self.secrets),
            });
            written.map_err(DriverError::at("write", &path))?;
        }
        action::date_watched_back(&self.actions, work)
            .map_err(DriverError::at("set the times of files in", work))
    }
}

/// A gateway on this machine that responds. Dropping it stops the process, then its control plane.
#[derive(Debug)]
pub struct LocalGateway {
    pub process: Supervised,
    control_plane: Option<ControlPlane>,
    pub started: Started,
    gateway: String,
    actions: Vec<action::Ready>,
}

/// The result of starting a gateway, on this machine or another host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Started {
    pub address: SocketAddr,
    pub metrics: Option<SocketAddr>,
    /// The time from the gateway's start to the first response after which it stayed ready. The
    /// check, the start of the control plane and the time to settle are not included.
    pub ready_after: Duration,
    /// The time from the gateway's start to the last observation that it was not ready. The gateway
    /// became ready between this time and `ready_after`.
    pub not_ready_before: Duration,
    /// The commands that ran, in this order: check, control plane, gateway.
    pub commands: Vec<Vec<String>>,
    pub rendered: Vec<RenderedFile>,
    pub admin: Option<AdminCalls>,
}

impl LocalGateway {
    /// Runs one of the folder's `actions`: `reload`; `configure`, which first writes the files of
    /// the changed scenario; or `weights`, which first writes the files with the next weights.
    ///
    /// # Errors
    /// [`DriverError::Action`], or [`DriverError::ControlPlane`] if the control plane is down.
    pub fn act(&mut self, name: &str) -> Result<(), DriverError> {
        let actions = &mut self.actions;
        match actions.iter_mut().find(|action| action.name == name) {
            Some(action) => {
                let of_control_plane = self.control_plane.as_mut();
                match of_control_plane.filter(|_| action.is_of_control_plane) {
                    Some(control_plane) => action.perform(control_plane.process()?),
                    None => action.perform(&mut self.process),
                }
            }
            None => Err(DriverError::Action {
                gateway: self.gateway.clone(),
                action: name.into(),
                message: "its folder has no such action".into(),
            }),
        }
    }

    /// Kills the gateway's control plane, if it has one. The gateway itself keeps running.
    pub(crate) fn kill_control_plane(&mut self) {
        if let Some(control_plane) = &mut self.control_plane {
            control_plane.kill();
        }
    }

    pub(crate) fn start_control_plane_again(&mut self) -> Result<(), DriverError> {
        let control_plane = self.control_plane.as_mut();
        control_plane.map_or(Ok(()), ControlPlane::start_again)
    }

    pub(crate) fn control_plane_death(&mut self) -> Option<DriverError> {
        self.control_plane.as_mut()?.death()
    }
}
