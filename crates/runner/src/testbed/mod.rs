//! The processes that a trial needs, brought up and down: the upstream, the gateway in front of it,
//! further upstreams and a Redis.
//!
//! The gateway runs on this machine or on another host ([`remote`]). A [`Testbed`] owns what is up,
//! and dropping it ends everything in reverse order. It must not know loads, plans or records of
//! phases, and it never measures: it hands out samplers and addresses.

pub(crate) mod cores;
pub(crate) mod force_stop;
mod gateway;
pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod opening;
pub(crate) mod remote;
pub(crate) mod resolve_gateway;
mod rest;
pub(crate) mod sampler;
mod secure;
mod targets;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gatebench_model::{Culprit, Limits, Scenario, UpstreamKind, Variant};
use gatebench_net::tls::Identity;
use gatebench_store::{FileDigest, GatewayFacts};
use gatebench_testbed::probe::Scope;
use gatebench_testbed::{
    AdminCalls, Attached, CERTIFICATE_FILE, DriverError, Ended, Exit, GatewayStart, KEY_FILE,
    Launcher, Ports, RedisProcess, Running, UPSTREAM_KEEPALIVE,
};

use crate::abort::{Abort, Failure};
use crate::http_probe::wire::Wire;
use crate::interrupt::Interrupt;
use gateway::Gateway;
use opening::Opening;
use remote::RemoteGateway;
use resolve_gateway::PreparedGateway;
use sampler::GatewaySampler;
use targets::{Starting, Targets};

/// The processes that are up. Dropping it ends the gateway first, then the upstream and Redis: fields
/// drop in this order.
#[derive(Debug, Default)]
pub(crate) struct Testbed {
    gateway: Option<Gateway>,
    attached: Option<Attached>,
    upstream: Targets,
    /// What limits are counted in.
    redis: Option<RedisProcess>,
    /// Where the gateway's access log goes, where its folder says so.
    access_log: Option<PathBuf>,
    /// The trial's certificate, once somebody shows it.
    identity: Option<Identity>,
    gateway_has_tls: bool,
    upstream_has_tls: bool,
}

/// Everything needed to bring a gateway up.
pub(crate) struct GatewaySpec<'a> {
    pub(crate) gateway: &'a PreparedGateway,
    pub(crate) scenario: &'a Scenario,
    pub(crate) work: &'a Path,
    pub(crate) cores: &'a [usize],
    /// What was asked that it use at most.
    pub(crate) limits: Limits,
    /// The most connections that any phase opens.
    pub(crate) connections: u32,
    pub(crate) launcher: &'a Launcher,
    /// Ends the waiting for an answer.
    pub(crate) interrupt: &'a Interrupt,
    /// Looks for the response at which the load begins, if that is the first correct one.
    pub(crate) opening: Option<&'a Opening<'a>>,
}

/// The way a gateway came down.
#[derive(Debug)]
pub(crate) struct ShutdownReport {
    /// In words, for the record.
    pub(crate) words: String,
    /// What the reader must know.
    pub(crate) warning: Option<String>,
    /// Set where it had ended by itself.
    pub(crate) crashed: Option<Exit>,
}

impl Testbed {
    /// Starts this many targets of the upstream on their cores, each in a folder of its own.
    pub(crate) fn bring_upstream_up(
        &mut self,
        kind: UpstreamKind,
        has_tls: bool,
        targets: u32,
        (cores, work): (&[usize], &Path),
        launcher: &Launcher,
        listen: IpAddr,
    ) -> Result<(), Abort> {
        self.upstream_has_tls = has_tls;
        for number in 1..=targets {
            let work = match number {
                1 => work.to_owned(),
                _ => work.with_file_name(format!("upstream-{number}")),
            };
            let starting = Starting {
                command: upstream_command(launcher, kind, cores),
                work,
                cores: cores.to_vec(),
                launcher: launcher.clone(),
                listen,
            };
            self.start_upstream(None, has_tls, starting)?;
        }
        Ok(())
    }

    /// Starts one upstream, one of the scenario's own or a further one of this name, with the certificate that
    /// TLS needs.
    fn start_upstream(
        &mut self,
        name: Option<&str>,
        has_tls: bool,
        mut starting: Starting,
    ) -> Result<(), Abort> {
        if has_tls {
            self.put_certificate(&starting.work)?;
            let words = ["--tls", "--cert", CERTIFICATE_FILE, "--key", KEY_FILE];
            starting.command.extend(words.map(OsString::from));
        }
        self.upstream.add(name.map(str::to_owned), starting)
    }

    /// Renders, checks and starts the gateway, and waits until it answers.
    pub(crate) fn bring_gateway_up(
        &mut self,
        spec: &GatewaySpec<'_>,
    ) -> Result<GatewayFacts, Abort> {
        let prepared = spec.gateway;
        let targets = self.upstream.addresses();
        let target = *targets.first().ok_or(Abort::Interrupted)?;
        let transport = spec.scenario.transport;
        if transport.tls || transport.upstream_tls {
            self.put_certificate(spec.work)?;
        }
        let more = self.upstream.named();
        let gateway = match &prepared.host {
            None => {
                let wire = |address| self.wire(address, transport.tls);
                Gateway::Here(Box::new(start(spec, &targets, &more, wire)?))
            }
            Some(host) => Gateway::There(Box::new(RemoteGateway::start(host, spec, target)?)),
        };
        let binary = &prepared.binary;
        let (commands, rendered) = gateway.made_of();
        let facts = GatewayFacts {
            version: binary.version.clone(),
            binary: binary.place(),
            sha256: binary.sha256.clone(),
            commands: commands.to_vec(),
            rendered: rendered
                .iter()
                .map(|file| FileDigest {
                    path: file.path.display().to_string(),
                    sha256: file.sha256.clone(),
                })
                .collect(),
            workers: u32::try_from(spec.cores.len()).unwrap_or(u32::MAX).max(1),
            processes: 0,
            processes_ended: 0,
            access_log_lines: None,
            error_log: None,
            started_in_ms: u64::try_from(gateway.ready_after().as_millis()).unwrap_or(u64::MAX),
            first_correct: spec.opening.and_then(|it| gateway.first_correct(it)),
            limits: spec.limits,
            limited_by: prepared.limited_by(spec.limits).map(str::to_owned),
            stopped: String::new(),
        };
        self.access_log = gateway.access_log(&prepared.folder.spec, spec.work);
        self.gateway = Some(gateway);
        self.gateway_has_tls = transport.tls;
        if transport.tls && spec.opening.is_none() {
            self.await_answer(spec)?;
        }
        Ok(facts)
    }

    /// Finds a gateway that someone else started.
    pub(crate) fn attach(&mut self, url: &str, pid: Option<u32>) -> Result<GatewayFacts, Abort> {
        self.attached = Some(Attached::new(url, pid)?);
        Ok(GatewayFacts {
            version: "unknown".into(),
            ..GatewayFacts::default()
        })
    }

    /// Does what the gateway's folder names under `actions`.
    pub(crate) fn change(&mut self, action: &str) -> Result<(), Failure> {
        match &mut self.gateway {
            Some(gateway) => gateway.act(action).map_err(|error| Failure::from(&error)),
            None => Ok(()),
        }
    }

    /// Where the load goes: the gateway, or without one the upstream.
    pub(crate) fn target(&self) -> Option<Wire> {
        let gateway = self.gateway.as_ref();
        let attached = self.attached.map(|attached| Wire::plain(attached.addr));
        gateway
            .map(|gateway| {
                let wire = self.wire(gateway.address(), self.gateway_has_tls);
                wire.explained_by(gateway.stderr_log())
            })
            .or(attached)
            .or_else(|| self.targets().into_iter().next())
    }

    /// The address of the gateway's own metrics, if it has any.
    pub(crate) fn metrics_address(&self) -> Option<SocketAddr> {
        self.gateway.as_ref()?.metrics()
    }

    /// What the scenario has done through the gateway's admin interface, if it has one.
    pub(crate) fn admin(&self) -> Option<&AdminCalls> {
        self.gateway.as_ref()?.admin()
    }

    /// What samples the gateway's processes.
    pub(crate) fn gateway_sampler(&self) -> Option<GatewaySampler> {
        let attached = || Some(GatewaySampler::here(self.attached?.pid?, Scope::Tree));
        let gateway = self.gateway.as_ref();
        gateway.map(Gateway::sampler).or_else(attached)
    }

    /// The process below which the upstream is; none where it has several targets.
    pub(crate) fn upstream_root(&self) -> Option<u32> {
        self.upstream.only_root()
    }

    /// Lines of the gateway's access log, where it is known; whole once the gateway has ended.
    pub(crate) fn access_log_lines(&self) -> Option<u64> {
        log::lines(self.access_log.as_ref()?).ok()
    }

    /// The end of what a gateway of ours wrote to standard error.
    pub(crate) fn gateway_stderr(&self) -> String {
        self.gateway
            .as_ref()
            .map(Gateway::stderr_tail)
            .unwrap_or_default()
    }

    /// How the gateway died, or the connection to it, if one has.
    fn gateway_death(&mut self, label: &str) -> Option<Failure> {
        match self.gateway.as_mut()?.exit_status() {
            Ok(None) => None,
            Ok(Some(exit)) => Some(gateway_died(label, exit, &self.gateway_stderr())),
            Err(error) => Some(Failure::from(&error)),
        }
    }

    /// Who has died, if somebody has.
    pub(crate) fn death(&mut self, variant: &Variant) -> Option<Failure> {
        let gateway = self.gateway_death(variant.label());
        if gateway.is_some() {
            return gateway;
        }
        if let Some(pid) = self.attached.and_then(|attached| attached.pid)
            && !Path::new("/proc").join(pid.to_string()).exists()
        {
            let culprit = Culprit::Gateway(variant.label().into());
            return Some(Failure::new(
                culprit,
                format!("process {pid} is gone"),
                "start it again and repeat the run",
            ));
        }
        if self.redis.as_mut().is_some_and(|redis| !redis.is_alive()) {
            let reason = "the Redis that limits are counted in has ended";
            let remedy = "read its log in the trial's folder, and repeat the trial with `gatebench run --resume DIR`";
            return Some(Failure::new(Culprit::Environment, reason, remedy));
        }
        let (exit, stderr) = self.upstream.death()?;
        Some(upstream_died(exit, &stderr))
    }

    /// Ends the gateway, if there is one of ours.
    pub(crate) fn bring_gateway_down(
        &mut self,
        stop_signal: &str,
        stop_timeout: Duration,
    ) -> Option<ShutdownReport> {
        let mut gateway = self.gateway.take()?;
        let begun = Instant::now();
        let ended = gateway.stop();
        let took_ms = begun.elapsed().as_millis();
        Some(match ended {
            Err(error) => ShutdownReport {
                words: format!("by itself: {error}"),
                warning: Some(error.to_string()),
                crashed: None,
            },
            Ok(Ended::Stopped) => ShutdownReport {
                words: format!("on SIG{stop_signal} after {took_ms} ms"),
                warning: None,
                crashed: None,
            },
            Ok(Ended::Killed) => ShutdownReport {
                words: format!("killed after {took_ms} ms"),
                warning: Some(format!(
                    "the gateway did not end on SIG{stop_signal} within {stop_timeout:?} and was killed; \
                     if it needs longer, raise stop.timeout in its gateway.yaml"
                )),
                crashed: None,
            },
            Ok(Ended::Crashed(exit)) => ShutdownReport {
                words: format!("by itself, {}", exit_words(exit)),
                warning: None,
                crashed: Some(exit),
            },
        })
    }

    /// Ends the upstream, and Redis.
    pub(crate) fn bring_upstream_down(&mut self) {
        // They hold nothing that is kept, so how they end does not matter.
        self.upstream = Targets::default();
        self.redis = None;
    }
}

/// Starts a gateway on this machine.
fn start(
    spec: &GatewaySpec<'_>,
    targets: &[SocketAddr],
    more_upstreams: &[(String, SocketAddr)],
    wire: impl Fn(SocketAddr) -> Wire,
) -> Result<Running, DriverError> {
    let gateway = spec.gateway;
    let start = GatewayStart {
        folder: &gateway.folder,
        binary: &gateway.binary,
        scenario: spec.scenario,
        work: spec.work,
        cores: spec.cores,
        limits: &gateway.limits,
        amounts: &gateway.amounts,
        listen: Ipv4Addr::LOCALHOST.into(),
        targets,
        more_upstreams,
        keepalive: UPSTREAM_KEEPALIVE.max(spec.connections),
        access_log: spec.scenario.access_log,
        ports: Ports::default(),
        launcher: spec.launcher,
    };
    match spec.opening {
        None => start.start(),
        Some(opening) => start.start_until(&|address| opening.ask(&wire(address))),
    }
}

/// The command line of the embedded upstream but for `--listen`; it says on one line of JSON where it listens.
fn upstream_command(launcher: &Launcher, kind: UpstreamKind, cores: &[usize]) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![launcher.program.clone().into()];
    words.extend(["upstream", kind.as_str(), "--json"].map(OsString::from));
    if !cores.is_empty() {
        let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
        words.extend(["--cores".into(), cores.join(",").into()]);
    }
    words
}

fn exit_words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("it ended with exit code {code}"),
        Exit::Signal(_) => format!("it was killed by {exit}"),
    }
}

fn with_stderr(what: String, stderr: &str) -> String {
    if stderr.is_empty() {
        what
    } else {
        format!("{what}\n{stderr}")
    }
}

fn gateway_died(label: &str, exit: Exit, stderr: &str) -> Failure {
    let remedy = "read its logs in the trial's folder; if nobody killed it, look for the out-of-memory killer in the \
                  kernel's log";
    let reason = with_stderr(format!("the gateway died: {}", exit_words(exit)), stderr);
    Failure::new(Culprit::Gateway(label.into()), reason, remedy)
}

fn upstream_died(exit: Exit, stderr: &str) -> Failure {
    let remedy = "repeat the trial with `gatebench run --resume DIR`; if nobody killed it, look for the out-of-memory killer in the kernel's log";
    let reason = with_stderr(format!("the upstream died: {}", exit_words(exit)), stderr);
    Failure::new(Culprit::Upstream, reason, remedy)
}

/// The failure of a gateway that had ended when it was to be stopped.
pub(crate) fn crashed(label: &str, exit: Exit) -> Failure {
    gateway_died(label, exit, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upstream_gets_a_worker_per_core() {
        let launcher = Launcher {
            program: "gatebench".into(),
            prefix_args: vec!["supervise".into()],
        };
        let words = upstream_command(&launcher, UpstreamKind::GoBench, &[0, 2]);
        assert_eq!(
            words.join(" ".as_ref()),
            "gatebench upstream go-bench --json --cores 0,2"
        );
    }

    #[test]
    fn a_death_names_its_signal_and_its_last_words() {
        let failure = gateway_died("nginx", Exit::Signal(9), "boom");
        assert_eq!(
            failure.reason,
            "the gateway died: it was killed by signal KILL\nboom"
        );
        assert_eq!(
            upstream_died(Exit::Code(3), "").reason,
            "the upstream died: it ended with exit code 3"
        );
    }
}
