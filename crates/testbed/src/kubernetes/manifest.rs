//! The metadata and the pod specifications of Kubernetes objects, with the fields that gatebench
//! sets. They serialize to the JSON that the API server accepts.

use std::collections::BTreeMap;

use gatebench_model::{Limits, NodeChoice, Taint};
use serde::Serialize;
use serde_json::{Value as Json, json};

type Strings = BTreeMap<String, String>;

/// Returns the limits as Kubernetes quantities, such as `500m` for half a CPU and `512Mi` for 512
/// MiB.
fn quantities(limits: Limits) -> Strings {
    let cpu = limits.cpu_millis.map(|millis| match millis % 1_000 {
        0 => (millis / 1_000).to_string(),
        _ => format!("{millis}m"),
    });
    let memory = limits.memory_bytes.map(|bytes| match bytes % (1 << 20) {
        0 => format!("{}Mi", bytes >> 20),
        _ => bytes.to_string(),
    });
    let named = [("cpu", cpu), ("memory", memory)].into_iter();
    named
        .filter_map(|(name, it)| Some((name.to_owned(), it?)))
        .collect()
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) labels: Strings,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: Strings,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) owner_references: Vec<Owner>,
}

/// The owner of an object. When the owner is deleted, so is the object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Owner {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) uid: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    restart_policy: &'static str,
    automount_service_account_token: bool,
    enable_service_links: bool,
    termination_grace_period_seconds: u32,
    active_deadline_seconds: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    node_selector: Strings,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tolerations: Vec<Toleration>,
    affinity: Affinity,
    security_context: PodSecurity,
    containers: Vec<Container>,
    volumes: Vec<Json>,
}

#[derive(Clone, Debug, Serialize)]
struct Toleration {
    key: String,
    operator: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    effect: String,
}

impl Toleration {
    fn of(taint: &Taint) -> Self {
        Self {
            key: taint.key.clone(),
            operator: if taint.value.is_some() {
                "Equal"
            } else {
                "Exists"
            },
            value: taint.value.clone(),
            effect: taint.effect.clone(),
        }
    }
}

/// Restricts a pod to the nodes of some pods, and keeps it off the nodes of others.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Affinity {
    #[serde(skip_serializing_if = "Terms::is_none")]
    pub(super) pod_affinity: Terms,
    #[serde(skip_serializing_if = "Terms::is_none")]
    pub(super) pod_anti_affinity: Terms,
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Terms {
    required_during_scheduling_ignored_during_execution: Vec<Json>,
}

impl Terms {
    /// Selects the nodes of the pods with this label and one of these roles.
    pub(super) fn nodes_of(label: (&str, &str), role: &str, roles: &[&str]) -> Self {
        let (key, value) = label;
        let role = json!({ "key": role, "operator": "In", "values": roles });
        Self {
            required_during_scheduling_ignored_during_execution: vec![json!({
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": { "matchLabels": { key: value }, "matchExpressions": [role] },
            })],
        }
    }

    fn is_none(&self) -> bool {
        self.required_during_scheduling_ignored_during_execution
            .is_empty()
    }
}

/// The settings that Pod Security `restricted` requires of a pod, and the pod's user and group.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PodSecurity {
    run_as_non_root: bool,
    run_as_user: u32,
    run_as_group: u32,
    seccomp_profile: SeccompProfile,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SeccompProfile {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    localhost_profile: Option<String>,
}

impl SeccompProfile {
    pub(super) fn of(file: Option<&str>) -> Self {
        Self {
            r#type: if file.is_some() {
                "Localhost"
            } else {
                "RuntimeDefault"
            },
            localhost_profile: file.map(str::to_owned),
        }
    }
}

/// The ID of the unprivileged user that the pods of a run use, and of that user's group.
pub(super) const USER: u32 = 65_532;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    name: &'static str,
    image: String,
    image_pull_policy: &'static str,
    command: Vec<String>,
    env: Vec<Json>,
    resources: Resources,
    security_context: Json,
    volume_mounts: Vec<Json>,
}

/// Returns the settings that Pod Security `restricted` requires of a container.
pub(super) fn restricted() -> Json {
    json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } })
}

#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Resources {
    requests: Strings,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    limits: Strings,
}

impl Resources {
    /// Returns the limits with requests equal to them, so that a node can reserve whole CPUs for
    /// the pod.
    pub(super) fn guaranteed(limits: Limits) -> Self {
        Self {
            requests: quantities(limits),
            limits: quantities(limits),
        }
    }

    /// Returns requests without a limit, because a process that reaches a CPU limit is stopped for
    /// the rest of the limit's period of 100 ms.
    pub(super) fn requested(requests: Limits) -> Self {
        Self {
            requests: quantities(requests),
            limits: Strings::new(),
        }
    }
}

/// The folder where gatebench keeps its program and its files in a pod.
pub(super) const FOLDER: &str = "/gatebench";

/// The name of a pod's only container.
pub(crate) const CONTAINER: &str = "gatebench";

/// The time that a pod may take to end.
const GRACE_SECONDS: u32 = 10;

/// The parts of a pod that differ between roles.
pub(super) struct PodParts<'a> {
    pub(super) image: &'a str,
    pub(super) node: &'a NodeChoice,
    pub(super) resources: Resources,
    pub(super) affinity: Affinity,
    pub(super) seccomp_file: Option<&'a str>,
    pub(super) command: Vec<String>,
    pub(super) deadline_seconds: u64,
}

impl PodSpec {
    pub(super) fn new(parts: PodParts<'_>) -> Self {
        let node = parts.node;
        let downward = |name: &str, path: &str| {
            let from = json!({ "fieldRef": { "fieldPath": path } });
            json!({ "name": name, "valueFrom": from })
        };
        let variable = |name: &str| json!({ "name": name, "value": FOLDER });
        Self {
            restart_policy: "Never",
            automount_service_account_token: false,
            enable_service_links: false,
            termination_grace_period_seconds: GRACE_SECONDS,
            active_deadline_seconds: parts.deadline_seconds,
            node_selector: node.labels.clone(),
            tolerations: node.taints.iter().map(Toleration::of).collect(),
            affinity: parts.affinity,
            security_context: PodSecurity {
                run_as_non_root: true,
                run_as_user: USER,
                run_as_group: USER,
                seccomp_profile: SeccompProfile::of(parts.seccomp_file),
            },
            containers: vec![Container {
                name: CONTAINER,
                image: parts.image.to_owned(),
                image_pull_policy: "IfNotPresent",
                command: parts.command,
                env: vec![
                    downward("POD_IP", "status.podIP"),
                    downward("NODE_NAME", "spec.nodeName"),
                    variable("XDG_CACHE_HOME"),
                    variable("TMPDIR"),
                    variable("HOME"),
                ],
                resources: parts.resources,
                security_context: restricted(),
                volume_mounts: vec![json!({ "name": "gatebench", "mountPath": FOLDER })],
            }],
            volumes: vec![json!({ "name": "gatebench", "emptyDir": {} })],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_quantities() {
        let of = |cpu_millis, memory_bytes| {
            let limits = Limits {
                cpu_millis,
                memory_bytes,
            };
            serde_json::to_string(&quantities(limits)).unwrap()
        };
        assert_eq!(
            of(Some(500), Some(512 << 20)),
            r#"{"cpu":"500m","memory":"512Mi"}"#
        );
        assert_eq!(
            of(Some(16_000), Some(1_000)),
            r#"{"cpu":"16","memory":"1000"}"#
        );
        assert_eq!(of(None, None), "{}");
    }
}
