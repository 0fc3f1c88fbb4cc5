//! The options of a run in Kubernetes.

use std::collections::BTreeSet;

use clap::Args;
use gatebench_config::write_yaml;
use gatebench_model::{
    AttachedPod, Cluster, HumanDuration, Limits, LoadProfile, Namespace, NodeChoice, PodSettings,
    Scenario,
};
use gatebench_runner::ClusterPlan;
use gatebench_testbed::kubernetes::{K6_IMAGE, K6Script, testrun};

use super::values;
use crate::commands::values::duration;
use crate::failure::Failure;
use crate::terminal;

/// The image that `kubernetes image agent` writes by default.
const AGENT_IMAGE: &str = concat!("localhost/gatebench-agent:", env!("CARGO_PKG_VERSION"));

const REDIS_IMAGE: &str = "redis:7";

/// The default time that a pod may wait for a node.
const SCHEDULE: HumanDuration = HumanDuration::from_millis(20_000);
/// The default time after which a pod without a connection ends by itself.
const ALONE: HumanDuration = HumanDuration::from_millis(600_000);

/// The name of the run in the objects that `--dry-run` prints.
const DRY_RUN: &str = "dry-run";

/// The options for running the parts of a run in pods.
#[derive(Debug, Args)]
#[command(next_help_heading = "Kubernetes (see `gatebench kubernetes --help`)")]
pub struct ClusterArgs {
    /// Start everything in pods of this namespace, through your kubectl; with --dry-run, print the
    /// objects
    #[arg(long, value_name = "[CONTEXT/]NAMESPACE", conflicts_with_all = ["gateway_on", "pid", "null", "keep_awake", "upstream_on", "redis_on"])]
    pub kubernetes: Option<Namespace>,
    /// Measure the CPU time and memory of the attached gateway from a container that is added to
    /// its pod (see docs/guide/KUBERNETES.md)
    #[arg(
        long,
        value_name = "NAMESPACE/SELECTOR",
        requires = "attach",
        conflicts_with = "pid"
    )]
    attach_pod: Option<AttachedPod>,
    /// Start N upstreams, each on its own node; the targets of a scenario are assigned to them in
    /// turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), requires = "kubernetes")]
    upstreams: u32,
    /// The image of the gateway [default: the one that its folder names]
    #[arg(long, value_name = "IMAGE", requires = "kubernetes")]
    image: Option<String>,
    /// The image of the upstream, the load generators, and the container of --attach-pod
    #[arg(long, value_name = "IMAGE", default_value = AGENT_IMAGE)]
    agent_image: String,
    /// The image of the Redis pod; the image must have `redis-server` on its PATH
    #[arg(long, value_name = "IMAGE", default_value = REDIS_IMAGE, requires = "kubernetes")]
    redis_image: String,
    /// Labels of the gateway's node (KEY=VALUE), and taints to tolerate (KEY=VALUE:NoSchedule)
    #[arg(long, value_name = "LABEL|TAINT,...", requires = "kubernetes")]
    gateway_node: Option<NodeChoice>,
    /// Labels and taints of the upstream's node; Redis runs on a node with the same ones
    #[arg(long, value_name = "LABEL|TAINT,...", requires = "kubernetes")]
    upstream_node: Option<NodeChoice>,
    /// Labels and taints of the nodes that send the load
    #[arg(long, value_name = "LABEL|TAINT,...", requires = "kubernetes")]
    agent_node: Option<NodeChoice>,
    /// Limit each pod that sends the load to this number of CPUs [default: no limit, but a
    /// request of 1 CPU]
    #[arg(long, value_name = "CPUS", value_parser = values::cpu_millis, requires = "kubernetes")]
    agent_cpus: Option<u32>,
    /// Limit each pod that sends the load to this amount of memory
    #[arg(long, value_name = "BYTES", value_parser = values::bytes, requires = "kubernetes")]
    agent_memory: Option<u64>,
    /// Run the upstream and the load generators with this seccomp profile, a file on the nodes;
    /// needed if the default profile of the nodes forbids io_uring
    #[arg(long, value_name = "FILE", requires = "kubernetes")]
    seccomp_profile: Option<String>,
    /// Print TestRuns for the k6 operator instead of sending the load; the TestRuns send it to the
    /// gateway at --attach; needs --engine k6
    #[arg(long, requires_all = ["kubernetes", "attach", "engine"])]
    pub testrun: bool,
    /// The image of k6 in TestRuns
    #[arg(long, value_name = "IMAGE", default_value = K6_IMAGE, requires = "testrun")]
    k6_image: String,
    /// Let each pod wait this long for a node; clusters that add nodes on demand need longer
    #[arg(long, value_name = "TIME", default_value_t = SCHEDULE, value_parser = duration, requires = "kubernetes")]
    schedule_within: HumanDuration,
    /// Let each pod end by itself this long after it has lost its connection to gatebench
    #[arg(long, value_name = "TIME", default_value_t = ALONE, value_parser = duration, requires = "kubernetes")]
    pods_alone: HumanDuration,
}

impl ClusterArgs {
    /// Returns the pod of the attached gateway, if one is named. kubectl looks for the pod in the
    /// context of `--kubernetes`.
    pub fn attached_pod(&self) -> Option<AttachedPod> {
        let context = self.kubernetes.as_ref().and_then(|it| it.context.clone());
        self.attach_pod.clone().map(|pod| AttachedPod {
            context,
            image: self.agent_image.clone(),
            ..pod
        })
    }

    pub fn cluster(&self, agents: u32) -> Option<Cluster> {
        let settings = |image: &str, node: &Option<NodeChoice>, limits| PodSettings {
            image: image.to_owned(),
            node: node.clone().unwrap_or_default(),
            limits,
        };
        let none = Limits::default();
        let agent_limits = Limits {
            cpu_millis: self.agent_cpus,
            memory_bytes: self.agent_memory,
        };
        let seconds = |span: HumanDuration| u32::try_from(span.0.as_secs()).unwrap_or(u32::MAX);
        Some(Cluster {
            namespace: self.kubernetes.clone()?,
            agents,
            upstreams: self.upstreams,
            gateway: settings(
                self.image.as_deref().unwrap_or(""),
                &self.gateway_node,
                none,
            ),
            upstream: settings(&self.agent_image, &self.upstream_node, none),
            engine: settings(&self.agent_image, &self.agent_node, agent_limits),
            redis: settings(&self.redis_image, &self.upstream_node, none),
            seccomp_profile: self.seccomp_profile.clone(),
            schedule_seconds: seconds(self.schedule_within).max(1),
            alone_seconds: seconds(self.pods_alone).max(5),
        })
    }
}

impl ClusterArgs {
    /// Prints a TestRun for each scenario as YAML, and the differences between the scripts and
    /// gatebench as warnings on standard error.
    ///
    /// # Errors
    /// Fails if k6 cannot send one of the loads, or if standard output cannot be written.
    pub fn print_testruns(
        &self,
        cluster: &Cluster,
        loads: &[(Scenario, LoadProfile)],
        url: &str,
    ) -> Result<(), Failure> {
        let mut documents = Vec::new();
        let mut differences = BTreeSet::new();
        for (scenario, load) in loads {
            let exported = gatebench_external::export(scenario, &load.phases, url);
            let (text, limits) = exported
                .map_err(|refusal| Failure::words("the load", refusal.message, refusal.remedy))?;
            differences.extend(limits.not_expressed);
            let script = K6Script {
                scenario: &scenario.scenario,
                text: &text,
                image: &self.k6_image,
            };
            documents.extend(testrun(cluster, &script).iter().map(write_yaml));
        }
        for what in differences {
            let words = format!("warning: the scripts differ from gatebench: {what}");
            terminal::complain(&words);
        }
        terminal::say_data(documents.join("---\n").trim_end())
    }
}

/// Prints the objects of a run as YAML that `kubectl create` accepts. A container that is added to
/// an existing pod appears only in a comment.
///
/// # Errors
/// Fails if standard output cannot be written.
pub fn print(plan: &ClusterPlan, attached: Option<&AttachedPod>) -> Result<(), Failure> {
    let objects = plan.demand(DRY_RUN).objects();
    let written = objects.iter().map(write_yaml);
    let yaml = Vec::from_iter(written).join("---\n");
    let mut head = format!(
        "# In a run, the ConfigMap owns all other objects, and the run's name replaces `{DRY_RUN}`.\n"
    );
    if let Some(attached) = attached {
        head += &format!("# In addition, {}.\n", attached.addition());
    }
    terminal::say_data(&(head + yaml.trim_end()))
}
