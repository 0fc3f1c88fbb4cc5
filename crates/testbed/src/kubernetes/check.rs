//! Checks a cluster before a run: the versions of kubectl and the server, the namespace, the user's
//! rights, and the nodes.

use gatebench_model::Namespace;
use serde_json::Value as Json;

use super::kubectl::Kubectl;
use super::rights::{self, Right};
use crate::error::DriverError;

/// The minor version of the oldest Kubernetes server that has everything that a run uses.
pub const MINOR_MIN: u32 = 28;

/// The namespace label that contains the enforced Pod Security level.
const ENFORCED: &str = "pod-security.kubernetes.io/enforce";

/// The result of checking a cluster.
#[derive(Clone, Debug)]
pub struct Survey {
    pub client: Version,
    pub server: Version,
    pub namespace: NamespaceState,
    pub rights: Vec<Right>,
    /// The nodes; none if kubectl cannot list them, usually because the user lacks the right.
    pub nodes: Option<Vec<Node>>,
}

/// The state of the namespace, as far as the user can see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamespaceState {
    /// The namespace exists. Contains the Pod Security level that it enforces, if any.
    Exists(Option<String>),
    Absent,
    /// The namespace cannot be read, usually because the user lacks the right.
    Unknown,
}

/// A version of kubectl or of a Kubernetes server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// The name, such as `v1.34.4`.
    pub name: String,
    pub minor: u32,
}

/// A node of the cluster, as the API server describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    /// Allocatable CPUs, as text.
    pub cpu: String,
    /// Allocatable memory in bytes.
    pub memory_bytes: u64,
    pub instance_type: Option<String>,
    pub zone: Option<String>,
    /// The container runtime with its version.
    pub runtime: String,
    pub kernel: String,
    pub architecture: String,
    /// All taints, in the form that `--ROLE-node` accepts.
    pub taints: Vec<String>,
    pub is_ready: bool,
}

/// Inspects the cluster, and stores nothing in it.
///
/// # Errors
/// kubectl is missing, or cannot reach the cluster.
pub fn survey(namespace: &Namespace) -> Result<Survey, DriverError> {
    let kubectl = Kubectl::new(namespace);
    let versions = kubectl.run("query the version", ["version", "--output=json"], None)?;
    let versions = kubectl.objects(&versions)?.pop().unwrap_or_default();
    let version = |key: &str| Version {
        name: text(&versions[key]["gitVersion"]),
        minor: minor(&text(&versions[key]["minor"])),
    };
    let rights = rights::of(&kubectl)?;
    let get = ["get", "namespace", &namespace.name, "--output=json"];
    let state = match kubectl.run("read the namespace", get, None) {
        Ok(output) => {
            let own = kubectl.objects(&output)?.pop().unwrap_or_default();
            NamespaceState::Exists(optional(&own["metadata"]["labels"][ENFORCED]))
        }
        Err(error) if error.to_string().contains("(NotFound)") => NamespaceState::Absent,
        Err(_) => NamespaceState::Unknown,
    };
    let nodes = kubectl.run("list nodes", ["get", "nodes", "--output=json"], None);
    let nodes = nodes.ok().and_then(|it| kubectl.objects(&it).ok());
    Ok(Survey {
        client: version("clientVersion"),
        server: version("serverVersion"),
        namespace: state,
        rights,
        nodes: nodes.map(|nodes| nodes.iter().map(Node::of).collect()),
    })
}

impl Node {
    pub(super) fn of(node: &Json) -> Self {
        let (labels, status) = (&node["metadata"]["labels"], &node["status"]);
        let (allocatable, info) = (&status["allocatable"], &status["nodeInfo"]);
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let mut ready = conditions.filter(|it| it["type"] == "Ready");
        let taints = node["spec"]["taints"].as_array().into_iter().flatten();
        Self {
            name: text(&node["metadata"]["name"]),
            cpu: text(&allocatable["cpu"]),
            memory_bytes: memory_bytes(&text(&allocatable["memory"])).unwrap_or(0),
            instance_type: optional(&labels["node.kubernetes.io/instance-type"]),
            zone: optional(&labels["topology.kubernetes.io/zone"]),
            runtime: text(&info["containerRuntimeVersion"]),
            kernel: text(&info["kernelVersion"]),
            architecture: text(&info["architecture"]),
            taints: taints.map(taint).collect(),
            is_ready: ready.any(|it| it["status"] == "True"),
        }
    }
}

fn taint(taint: &Json) -> String {
    let value = optional(&taint["value"]).map(|value| format!("={value}"));
    let (key, effect) = (text(&taint["key"]), text(&taint["effect"]));
    format!("{key}{}:{effect}", value.unwrap_or_default())
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn optional(value: &Json) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Parses a minor version. Some providers append `+`.
fn minor(text: &str) -> u32 {
    text.trim_end_matches('+').parse().unwrap_or(0)
}

/// Parses an amount of memory, which the kubelet reports in Ki.
fn memory_bytes(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    for (unit, bytes) in UNITS {
        if let Some(number) = text.strip_suffix(unit) {
            return number.parse::<u64>().ok()?.checked_mul(bytes);
        }
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_is_described_by_the_facts_that_affect_a_measurement() {
        let node = json!({
            "metadata": { "name": "n1", "labels": { "topology.kubernetes.io/zone": "a" } },
            "spec": { "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }] },
            "status": {
                "allocatable": { "cpu": "3920m", "memory": "4096Ki" },
                "conditions": [{ "type": "Ready", "status": "True" }],
                "nodeInfo": { "containerRuntimeVersion": "containerd://1.6.20" }
            }
        });
        let node = Node::of(&node);
        assert_eq!((node.cpu.as_str(), node.memory_bytes), ("3920m", 4 << 20));
        assert_eq!(
            (node.taints, node.is_ready),
            (vec!["k=v:NoSchedule".into()], true)
        );
        assert_eq!(
            (node.zone.as_deref(), node.instance_type),
            (Some("a"), None)
        );
    }

    #[test]
    fn quantities_of_memory_have_binary_or_decimal_units() {
        assert_eq!(memory_bytes("2Gi"), Some(2 << 30));
        assert_eq!(memory_bytes("5M"), Some(5_000_000));
        assert_eq!((memory_bytes("7"), memory_bytes("x")), (Some(7), None));
        assert_eq!((minor("34"), minor("29+"), minor("")), (34, 29, 0));
    }
}
