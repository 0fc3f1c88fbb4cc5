//! `gatebench kubernetes check`.

use std::sync::Arc;

use clap::Args;
use gatebench_config::write_yaml;
use gatebench_model::{Cluster, Namespace, NodeChoice, PodSettings};
use gatebench_net::Backend;
use gatebench_testbed::Interrupt;
use gatebench_testbed::kubernetes::{MINOR_MIN, NamespaceState, Node, Right, Survey, role, survey};
use gatebench_testbed::remote::{InspectedPod, inspect_pod};
use serde_json::json;

use crate::commands::doctor::checks::{Check as Finding, State};
use crate::commands::doctor::{as_json, line};
use crate::commands::values::launcher;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{signals, terminal};

/// The maximum supported difference between the minor versions of kubectl and the cluster
/// (<https://kubernetes.io/releases/version-skew-policy/>).
const SKEW_MAX: u32 = 1;

/// The time that the pod may wait for a node, and the time after which it ends by itself if it has
/// lost its connection to gatebench.
const SCHEDULE_SECONDS: u32 = 20;

/// The number of nodes that a gateway, an upstream and one load generator need if each runs on a
/// separate node.
const NODES_MIN: usize = 3;

/// Check the rights, the nodes and the versions for runs in a namespace
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gatebench kubernetes check bench
  gatebench kubernetes check bench --image localhost/gatebench-agent:0.2.0 --node tier=k6-runner
  gatebench kubernetes check prod/bench --role > role.yaml    for your administrator

Without --image, the check creates nothing in the cluster. If a right is missing, the check prints
the Role that a run needs. Exit code: 3 if a run would fail, 0 otherwise.")]
pub struct Check {
    /// The namespace where runs would create their pods
    #[arg(value_name = "[CONTEXT/]NAMESPACE")]
    namespace: Namespace,
    /// Also start a short-lived pod with this image, to see what its node offers
    #[arg(long, value_name = "IMAGE", conflicts_with = "role")]
    image: Option<String>,
    /// Labels and taints of the node that the pod of --image runs on, as for `run --agent-node`
    #[arg(long, value_name = "LABEL|TAINT,...", requires = "image")]
    node: Option<NodeChoice>,
    /// Print only the Role with the rights that a run needs, as YAML
    #[arg(long, conflicts_with = "json")]
    role: bool,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(self) -> Result<Exit, Failure> {
        let role = role(&self.namespace);
        let role_yaml = write_yaml(&role);
        if self.role {
            terminal::say_data(role_yaml.trim_end())?;
            return Ok(Exit::Fine);
        }
        let survey = survey(&self.namespace)?;
        let mut findings = findings(&survey, &self.namespace.name);
        let is_able = |findings: &[Finding]| findings.iter().all(|it| it.state != State::Missing);
        if let Some(image) = self.image.as_ref().filter(|_| is_able(&findings)) {
            findings.extend(self.pod(image)?);
        }
        let is_able = is_able(&findings);
        let printed = if self.json {
            let entries: Vec<_> = findings.iter().map(as_json).collect();
            terminal::say_json(&json!({ "able": is_able, "checks": entries, "role": role }))
        } else {
            let mut lines: Vec<String> = findings.iter().map(line).collect();
            if survey.rights.iter().any(|right| !right.is_granted) {
                lines.push(format!("\nThe Role with all rights:\n\n{role_yaml}"));
                let namespace = &self.namespace.name;
                lines.push(format!(
                    "The RoleBinding: kubectl -n {namespace} create rolebinding gatebench \
                     --role=gatebench --user=NAME (or --serviceaccount=NAMESPACE:NAME)"
                ));
            }
            let can = if is_able { "can" } else { "cannot" };
            lines.push(format!("\nruns in {} {can} start", self.namespace));
            terminal::say(&lines.join("\n"))
        };
        terminal::unless_closed(printed)?;
        Ok(if is_able {
            Exit::Fine
        } else {
            Exit::Environment
        })
    }
}

impl Check {
    fn pod(&self, image: &str) -> Result<Vec<Finding>, Failure> {
        let cluster = Cluster {
            namespace: self.namespace.clone(),
            upstream: PodSettings {
                image: image.to_owned(),
                node: self.node.clone().unwrap_or_default(),
                ..PodSettings::default()
            },
            schedule_seconds: SCHEDULE_SECONDS,
            alone_seconds: SCHEDULE_SECONDS,
            ..Cluster::default()
        };
        let interrupt = Arc::new(Interrupt::new());
        let raised = Arc::clone(&interrupt);
        signals::on_signal(move || raised.raise())?;
        let pod = inspect_pod(&cluster, &launcher()?, &interrupt)?;
        let took = pod.took.as_secs_f64();
        let says = format!(
            "gatebench ran on {} {took:.1} s after the pod was requested",
            pod.node
        );
        let mut findings = vec![Finding::good("pod", says), event_loop(&pod)];
        let limits = &pod.found.facts.limits;
        let is_limit = |it: &&String| !it.starts_with("-1") && !it.starts_with("max");
        let quotas: Vec<String> = limits.cgroup_cpu.iter().filter(is_limit).cloned().collect();
        let quota = match quotas.is_empty() {
            true => "no CPU limit".into(),
            false => format!("CPU limit {}", quotas.join(", ")),
        };
        let allowed = pod.found.facts.cpu.allowed.as_deref().unwrap_or("unknown");
        findings.push(Finding::good("cores", format!("{allowed}, {quota}")));
        let refused = pod.warnings.iter();
        let remedy = "no action is needed: runs also work without the network policy";
        findings.extend(refused.map(|it| Finding::advice("objects", it, remedy)));
        Ok(findings)
    }
}

fn event_loop(pod: &InspectedPod) -> Finding {
    let (name, backend) = ("event loop", &pod.found.backend);
    if backend == Backend::Uring.as_str() {
        return Finding::good(name, backend);
    }
    Finding::advice(
        name,
        format!("{backend}: the node's seccomp profile or kernel forbids io_uring"),
        "all agents must use the same event loop; if the kernel allows io_uring, put a seccomp profile that allows it on the nodes, and name the profile with --seccomp-profile",
    )
}

fn findings(survey: &Survey, namespace: &str) -> Vec<Finding> {
    let mut findings = vec![versions(survey), state_of(&survey.namespace, namespace)];
    findings.extend(rights(&survey.rights));
    findings.extend(nodes(survey.nodes.as_deref()));
    findings
}

fn versions(survey: &Survey) -> Finding {
    let (client, server) = (&survey.client, &survey.server);
    let says = format!("{}, kubectl {}", server.name, client.name);
    if server.minor < MINOR_MIN {
        let remedy = format!("use a cluster with Kubernetes 1.{MINOR_MIN} or later");
        return Finding::missing("Kubernetes", says, remedy);
    }
    if client.minor.abs_diff(server.minor) > SKEW_MAX {
        let remedy = "use a kubectl whose minor version differs by at most one from the server's";
        return Finding::advice("Kubernetes", says, remedy);
    }
    Finding::good("Kubernetes", says)
}

fn state_of(state: &NamespaceState, namespace: &str) -> Finding {
    let says = match state {
        NamespaceState::Absent => {
            let remedy = format!("create it: kubectl create namespace {namespace}");
            return Finding::missing("namespace", "it does not exist", remedy);
        }
        NamespaceState::Unknown => {
            let says = "you are not allowed to read it, so it is unknown whether it exists";
            return Finding::advice("namespace", says, "make sure that its name is correct");
        }
        NamespaceState::Exists(None) => "it enforces no level of Pod Security".into(),
        NamespaceState::Exists(Some(level)) => {
            format!("it enforces '{level}'; pods of a run satisfy all levels")
        }
    };
    Finding::good("namespace", says)
}

/// Returns one finding if all rights are granted, otherwise one for each missing right.
fn rights(rights: &[Right]) -> Vec<Finding> {
    let missing: Vec<&Right> = rights.iter().filter(|right| !right.is_granted).collect();
    if missing.is_empty() {
        let says = format!("all {} rights are granted", rights.len());
        return vec![Finding::good("rights", says)];
    }
    let remedy = "ask an administrator for the Role below and a RoleBinding that grants it to you";
    let finding = |right: &&Right| {
        let says = format!("{} is not allowed", right.name);
        match right.without {
            "" => Finding::missing("rights", says, remedy),
            without => Finding::advice("rights", format!("{says}: {without}"), remedy),
        }
    };
    missing.iter().map(finding).collect()
}

fn nodes(nodes: Option<&[Node]>) -> Vec<Finding> {
    let Some(nodes) = nodes else {
        let says = "you are not allowed to list nodes, so reports lack their types and zones";
        return vec![Finding::good("nodes", says)];
    };
    let ready: Vec<&Node> = nodes.iter().filter(|node| node.is_ready).collect();
    let open = ready.iter().filter(|node| node.taints.is_empty()).count();
    let says = format!("{} ready, {open} without taints", ready.len());
    let summary = match open < NODES_MIN {
        true => Finding::advice(
            "nodes",
            says,
            "use at least 3 nodes (gateway, upstream, load generator), or name taints to tolerate: --gateway-node, --upstream-node, --agent-node",
        ),
        false => Finding::good("nodes", says),
    };
    let zones = zones(&ready);
    let each = ready
        .iter()
        .map(|node| Finding::good(&node.name, described(node)));
    std::iter::once(summary).chain(zones).chain(each).collect()
}

/// Recommends a single zone if the nodes are in several, because the distance between zones adds
/// latency.
fn zones(nodes: &[&Node]) -> Option<Finding> {
    let mut zones: Vec<&str> = nodes
        .iter()
        .filter_map(|node| node.zone.as_deref())
        .collect();
    zones.sort_unstable();
    zones.dedup();
    (zones.len() > 1).then(|| {
        Finding::advice(
            "zones",
            format!("the nodes are in {}", zones.join(", ")),
            "choose one zone: --gateway-node topology.kubernetes.io/zone=ZONE, and likewise for --upstream-node and --agent-node",
        )
    })
}

fn described(node: &Node) -> String {
    let kind = node.instance_type.iter().chain(&node.zone);
    let taints = node.taints.iter().map(|taint| format!("taint {taint}"));
    let size = format!("{} CPUs, {} MiB", node.cpu, node.memory_bytes >> 20);
    let mut words = vec![size, node.runtime.clone(), format!("Linux {}", node.kernel)];
    words.extend(kind.cloned().chain(taints));
    words.push(node.architecture.clone());
    words.join(", ")
}
