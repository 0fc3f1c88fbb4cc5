//! `gatebench run`.

mod cluster;
pub mod companion;
mod conduct;
mod display;
mod dry_run;
mod hosts;
pub mod measuring;
mod values;
mod verdict;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use gatebench_model::{Elsewhere, Host, Hosts, Length, Place, Places};
use gatebench_runner::{Attach, ClusterPlan, GeneratorChoice, Selection};
use gatebench_studies::measure::plan::MeasureChoice;

use self::measuring::Measuring;
use self::values::AgentsAt;
use super::values::{ENGINES, Engine, one_of};
use crate::exit::Exit;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  gatebench run                                   the tour, a few minutes
  gatebench run api-key --gateway nginx --blocks 10
  gatebench run --gateway ./mine --smoke          does my gateway folder work?
  gatebench run soap                              the scenarios of a document, in minutes
  gatebench run soap --as-published --dry-run     with its original ramps, users and durations
  gatebench run proxy-json --gateway nginx --gateway-cpus 0.5,1,2
  gatebench run proxy-json --gateway nginx@1.22 --gateway nginx@/opt/nginx-1.26
  gatebench run --config /etc/nginx/nginx.conf --dry-run     show the routes and what is replaced
  gatebench run proxy-json --gateway nginx --config my-nginx.conf
  gatebench run proxy-json --gateway nginx --gateway-on bench@10.0.0.7
  gatebench run proxy-json --gateway nginx --hosts terraform:infra --provision --destroy
  gatebench run proxy-json --gateway nginx --kubernetes bench --agents 2 --image localhost/gatebench-nginx:1.22.1
  gatebench run gravitee --gateway gravitee --kubernetes bench --image localhost/gravitee --dry-run
  gatebench run gravitee --attach http://gateway:82 --kubernetes bench --engine k6 --testrun
  gatebench run --attach http://127.0.0.1:8080 --pid 4711 --scenario proxy-json
  gatebench run --attach http://kong.kong.svc:8000 --attach-pod kong/app=kong --scenario proxy-json
  gatebench run proxy-json --at 50%,70%,90%       also measure latency at shares of saturation
  gatebench run my-suite.yaml --dry-run
  gatebench run --serve                           show the run in a browser
  gatebench run api-key --engine k6               the same load, sent by k6
  gatebench run api-key --engine k6 --script mine.js
  gatebench run --resume gatebench-runs/tour-20260102T030405Z

Exit code:
  0    success; limited trials, and invalid trials among valid ones, are only marked in the report
  1    a trial failed because of a gateway, an upstream or a load generator, a gateway restarted,
       parity was lost, responses failed their checks, too many requests got no response, a
       threshold of your script was missed, or the verdict of a resumed test is 'worse'
  3    a trial failed because of the machine, or could not be stored
  4    all completed trials of the gateways are invalid, or a resumed test has no verdict
  130  interrupted; finished trials are kept and reported";

/// Start gateways, verify their policies, measure them and report the results
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    /// A suite or scenarios: names (see `gatebench list`), files, or an imported folder [default:
    /// tour]
    #[arg(value_name = "SUITE|FILE|DIR")]
    words: Vec<String>,
    /// Measure this gateway instead of those of the suite: a name, NAME@VERSION, NAME@/PREFIX, a
    /// folder, or `all` for all installed gateways (repeatable)
    #[arg(long = "gateway", value_name = "NAME|DIR")]
    gateways: Vec<String>,
    /// Measure a gateway that is already running at http://HOST:PORT, in front of a `gatebench
    /// upstream`
    #[arg(long, value_name = "URL")]
    attach: Option<String>,
    /// The process ID of the attached gateway; CPU time and memory are those of this process and
    /// its descendants
    #[arg(long, requires = "attach")]
    pid: Option<u32>,
    /// Measure this scenario (name or file; repeatable) instead of those of the suite
    #[arg(long = "scenario", value_name = "NAME|FILE")]
    scenarios: Vec<String>,
    /// Use this load profile (name or file) instead of that of the suite
    #[arg(long, value_name = "NAME|FILE")]
    load: Option<String>,
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',', value_parser = values::percent,
          conflicts_with = "as_published", help = values::help_of_at())]
    at: Vec<u32>,
    /// Repeat everything N times, each time with fresh processes; a verdict needs at least 10
    /// [default: the number in the suite]
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Seed for the random order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Shorten the run to minutes: at most 3 blocks (unless --blocks is given), and phases of at
    /// most 2 s unless they contain a change or a failure; the loads of suites that reproduce a
    /// document already take minutes and are not shortened
    #[arg(long, conflicts_with_all = ["smoke", "as_published"])]
    quick: bool,
    /// Verify in seconds that everything works, without measuring: in one block (unless --blocks is
    /// given), one user of each group sends each request once; loads with a change or a failure
    /// send their requests for a few seconds
    #[arg(long, conflicts_with = "as_published")]
    smoke: bool,
    /// Use the durations, ramps and users of the document that the suite reproduces (see `gatebench
    /// list suites`), and send no gatebench headers
    #[arg(long)]
    as_published: bool,
    /// Omit the trials without a gateway, and the suite's null gateway
    #[arg(long, alias = "no-floor")]
    no_direct: bool,
    /// Also measure the null gateway, which only copies bytes; the report then shows each gateway's
    /// added latency minus that of the null gateway, which is the cost of the gateway itself
    #[arg(long, conflicts_with_all = ["attach", "as_published"])]
    null: bool,
    /// Repeat each open load while threads keep the gateway's cores from going idle
    #[arg(long, conflicts_with = "gateway_on")]
    keep_awake: bool,
    /// Give each gateway N cores and N workers [default: 1]
    #[arg(long, value_name = "N")]
    gateway_cores: Option<usize>,
    /// Limit each gateway to this number of CPUs with a control group, on as many cores as needed;
    /// each value is a variant
    #[arg(long, value_name = "CPUS,...", value_delimiter = ',', value_parser = values::cpu_millis)]
    gateway_cpus: Vec<u32>,
    /// Limit each gateway to this amount of memory, for example 256M or 1G; each value is a
    /// variant. With --kubernetes, if --gateway-cpus has as many values, the two lists are combined
    /// in pairs
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = values::bytes)]
    gateway_memory: Vec<u64>,
    /// Run the gateways on this host over ssh, after copying gatebench there; by default, the load
    /// generator and the upstream run on this machine
    #[arg(long, value_name = "USER@HOST", conflicts_with = "attach")]
    gateway_on: Option<String>,
    /// Send the loads from these machines, a comma-separated list of `here` and ssh destinations
    /// such as me@a. Each host uses all of its cores; this machine uses the cores of the load
    /// generator. With --kubernetes, send them from N pods on N nodes [default: 1]
    #[arg(long, value_name = "PLACES|N")]
    agents: Option<AgentsAt>,
    /// Run the upstream on this host over ssh; with several hosts, the targets of a scenario are
    /// assigned to them in turn
    #[arg(
        long,
        value_name = "PLACES",
        value_delimiter = ',',
        conflicts_with = "attach"
    )]
    upstream_on: Vec<Place>,
    /// Run Redis, for scenarios that need it, on this host over ssh
    #[arg(long, value_name = "PLACE", conflicts_with = "attach")]
    redis_on: Option<Place>,
    /// The address of this machine that the gateways' host uses to reach the upstream, and that
    /// agents use to reach gateways and upstreams here [default: the source address of the ssh
    /// connection]
    #[arg(long, value_name = "ADDRESS")]
    upstream_address: Option<IpAddr>,
    /// Measure your own configuration: nginx.conf, haproxy.cfg, envoy.yaml, kong.yml, apisix.yaml,
    /// or a template of the gateway's folder. Ports, addresses and file paths are replaced in a
    /// copy of the file (repeatable; each file is a variant) [default gateway: the one that reads
    /// the file; default scenario: the routes in the file]
    #[arg(long = "config", value_name = "FILE", conflicts_with = "attach")]
    configs: Vec<String>,
    /// Send the load with this generator; external generators measure less, and the report states
    /// what is missing
    #[arg(long, value_name = "ENGINE", default_value = "gatebench", value_parser = one_of(&ENGINES))]
    engine: Engine,
    /// Send the requests with this script (k6: JavaScript, wrk: Lua), which reads the target from
    /// GATEBENCH_URL
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Finish the interrupted run in this directory: measure the missing trials as planned
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "words", "gateways", "attach", "scenarios", "load", "at", "blocks", "seed", "quick", "smoke", "as_published",
        "no_direct", "null", "keep_awake",
        "gateway_cores", "gateway_cpus", "gateway_memory", "gateway_on", "agents",
        "upstream_on", "redis_on", "upstream_address", "configs", "engine", "script",
        "dir", "kubernetes", "hosts",
    ])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    hosts: hosts::HostsArgs,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    cluster: cluster::ClusterArgs,
}

impl Run {
    pub fn run(self) -> Result<Exit, Failure> {
        let is_dry = self.measuring.dry_run;
        self.hosts.with(is_dry, |hosts| self.measure(hosts))
    }

    fn measure(&self, hosts: Option<&Hosts>) -> Result<Exit, Failure> {
        let resume = self.resume.as_deref();
        let selection = self.selection(hosts)?;
        if let (true, Some(url)) = (self.cluster.testrun, &self.attach) {
            let loads = ClusterPlan::loads(&selection, &self.measuring.overlay.scenarios())?;
            let cluster = selection.cluster.unwrap_or_default();
            self.cluster.print_testruns(&cluster, &loads, url)?;
            return Ok(Exit::Fine);
        }
        if self.measuring.dry_run
            && let Some(plan) = self.measuring.cluster_plan(&selection, resume)?
        {
            cluster::print(&plan, self.cluster.attached_pod().as_ref())?;
            return Ok(Exit::Fine);
        }
        self.measuring.run(&selection, resume, None)
    }

    /// Rejects an external load generator in pods, unless TestRuns for the k6 operator are printed.
    fn check_cluster(&self) -> Result<(), Failure> {
        if self.cluster.kubernetes.is_none() || self.cluster.testrun || self.engine.is_none() {
            return Ok(());
        }
        Err(Failure::words(
            "--kubernetes",
            "only the built-in load generator runs in pods",
            "omit --engine, or print TestRuns for the k6 operator: --engine k6 --testrun --attach URL",
        ))
    }

    fn selection(&self, hosts: Option<&Hosts>) -> Result<Selection, Failure> {
        self.check_cluster()?;
        let cluster = self.cluster.cluster(self.pods()?);
        let selection = Selection {
            words: self.words.clone(),
            gateways: self.gateways.clone(),
            scenarios: self.scenarios.clone(),
            no_direct: self.no_direct,
            null: self.null,
            keep_awake: self.keep_awake,
            attach: self.attach.clone().map(|url| Attach {
                url,
                pid: self.pid,
                pod: self.cluster.attached_pod(),
            }),
            load: self.load.clone(),
            study: Box::new(MeasureChoice {
                percents: self.at.clone(),
            }),
            blocks: self.blocks,
            seed: self.seed,
            gateway_cores: self.gateway_cores,
            sizes: match self.cluster.kubernetes {
                None => values::sizes(&self.gateway_cpus, &self.gateway_memory),
                Some(_) => values::paired_sizes(&self.gateway_cpus, &self.gateway_memory),
            },
            elsewhere: self.elsewhere(hosts),
            places: match &cluster {
                Some(cluster) => Places::in_cluster(cluster),
                None => self.places(hosts)?,
            },
            cluster,
            configs: self.configs.clone(),
            length: self.length(),
            engine: self.engine()?,
            ..Selection::default()
        };
        Ok(selection.completed()?)
    }

    fn pods(&self) -> Result<u32, Failure> {
        match (&self.agents, &self.cluster.kubernetes) {
            (_, None) | (None, _) => Ok(1),
            (Some(AgentsAt::Pods(number)), Some(_)) => Ok(*number),
            (Some(AgentsAt::Places(_)), Some(_)) => Err(Failure::words(
                "--agents",
                "with --kubernetes, load generators are pods",
                "write their number: --agents N",
            )),
        }
    }

    fn places(&self, hosts: Option<&Hosts>) -> Result<Places, Failure> {
        let named = hosts.map(hosts::places).unwrap_or_default();
        let agents = match (&self.agents, &self.cluster.kubernetes) {
            (None, _) | (_, Some(_)) => named.agents,
            (Some(AgentsAt::Places(places)), None) => places.clone(),
            (Some(AgentsAt::Pods(number)), None) => {
                return Err(Failure::words(
                    "--agents",
                    format!("a number of pods ({number}) requires --kubernetes"),
                    "name the machines: `here` or ssh destinations such as me@a",
                ));
            }
        };
        if !agents.is_empty() && self.engine.is_some() {
            return Err(Failure::words(
                "--agents",
                "only the built-in load generator runs on other machines",
                "omit --engine, or omit --agents and the hosts that send the load",
            ));
        }
        let elsewhere = |place: &&Place| **place != Place::Here;
        let upstream = self.upstream_on.iter().filter(elsewhere).cloned();
        let address = self.upstream_address.or(named.address);
        Ok(Places {
            upstream: named.upstream.into_iter().chain(upstream).collect(),
            redis: self.redis_on.iter().find(elsewhere).cloned(),
            address: address.filter(|_| !agents.is_empty()),
            agents,
            cluster: None,
        })
    }

    /// Returns the host or the pods that the gateways run on; `None` if they run on this machine or
    /// are attached.
    fn elsewhere(&self, hosts: Option<&Hosts>) -> Option<Elsewhere> {
        if let Some(hosts) = hosts {
            let named = hosts::elsewhere(hosts);
            let upstream_address = self.upstream_address.or(named.upstream_address);
            return Some(Elsewhere {
                upstream_address,
                ..named
            });
        }
        if self.cluster.kubernetes.is_some() {
            return self.attach.is_none().then(Elsewhere::in_pods);
        }
        self.gateway_on.as_deref().map(|host| Elsewhere {
            upstream_address: self.upstream_address,
            ..Elsewhere::new(Place::Ssh(Host::new(host)))
        })
    }

    fn length(&self) -> Length {
        match (self.quick, self.smoke, self.as_published) {
            (true, ..) => Length::Quick,
            (_, true, _) => Length::Smoke,
            (_, _, true) => Length::AsPublished,
            _ => Length::Full,
        }
    }

    fn engine(&self) -> Result<Option<GeneratorChoice>, Failure> {
        let Some(generator) = self.engine else {
            return match self.script {
                None => Ok(None),
                Some(_) => Err(Failure::words(
                    "--script",
                    "the built-in load generator runs no scripts",
                    "choose a load generator that does: --engine k6 or --engine wrk",
                )),
            };
        };
        if !self.at.is_empty() {
            return Err(Failure::words(
                "--at",
                "only the built-in load generator measures at shares of saturation",
                "omit --engine or --at",
            ));
        }
        let script = self.script.clone();
        Ok(Some(GeneratorChoice { generator, script }))
    }
}
