//! The objects of a run: an anchor that owns all others, the pods of the gateways, the upstreams
//! and Redis, the Job of the load generators, and the NetworkPolicy of all these pods.

use std::collections::BTreeMap;

use gatebench_model::cluster::{ENGINE, GATEWAY, REDIS, UPSTREAM};
use gatebench_model::plan::NULL;
use gatebench_model::{Cluster, Limits, PodSettings, Setup};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::manifest::{Affinity, Metadata, Owner, PodParts, PodSpec, Resources, Terms};

/// The label that contains the run's name, on all objects of a run.
pub(super) const RUN: &str = "gatebench/run";
/// The label that contains a pod's role.
pub(super) const ROLE: &str = "gatebench/role";
/// The label that marks an object as managed by gatebench.
pub(super) const MANAGED: (&str, &str) = ("app.kubernetes.io/managed-by", "gatebench");

/// The prefix of the names of a run's objects.
pub(super) const PREFIX: &str = "gb-";

/// The default size of a gateway.
const DEFAULT_SIZE: Limits = Limits {
    cpu_millis: Some(1_000),
    memory_bytes: Some(1 << 30),
};
/// The default resource requests of the Redis pod.
const REDIS_REQUESTS: Limits = Limits {
    cpu_millis: Some(250),
    memory_bytes: Some(256 << 20),
};
/// The default resource requests of upstream and load generator pods.
const REQUESTS: Limits = Limits {
    cpu_millis: Some(1_000),
    memory_bytes: Some(512 << 20),
};

/// The resource requests of the null gateway. They are small, because the null gateway shares a
/// node with the gateways but is never measured at the same time.
const NULL_REQUESTS: Limits = Limits {
    cpu_millis: Some(100),
    memory_bytes: Some(128 << 20),
};

/// The time that a finished Job is kept if nothing deletes it.
const JOB_TTL_SECONDS: u32 = 600;

/// Returns the command of a pod's first process, which waits until gatebench ends it. A pod in
/// which nothing else has run for `alone_seconds` ends by itself. A pod that is asked to end exits
/// with an error, because a Job would otherwise count it as a success.
fn waiting(alone_seconds: u32) -> Vec<String> {
    let script = format!(
        "trap 'exit 143' TERM INT; n=0; \
         while [ $n -lt {alone_seconds} ]; do \
         n=$((n + 1)); set -- /proc/[0-9]*; if [ $# -gt 1 ]; then n=0; fi; \
         sleep 1 & wait $!; done; exit 124"
    );
    vec!["sh".into(), "-c".into(), script]
}

/// A part of a run that has separate pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Gateway,
    Upstream,
    Redis,
    Engine,
}

impl Role {
    /// All roles, in the order in which their pods are created. The node of the gateways is chosen
    /// first, because the other pods must not use it.
    pub const ALL: [Self; 4] = [Self::Gateway, Self::Upstream, Self::Redis, Self::Engine];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gateway => GATEWAY,
            Self::Upstream => UPSTREAM,
            Self::Redis => REDIS,
            Self::Engine => ENGINE,
        }
    }

    fn settings(self, cluster: &Cluster) -> &PodSettings {
        match self {
            Self::Gateway => &cluster.gateway,
            Self::Upstream => &cluster.upstream,
            Self::Redis => &cluster.redis,
            Self::Engine => &cluster.engine,
        }
    }

    /// Returns the roles whose nodes a pod must not use. Each load generator and each upstream has
    /// a separate node; Redis may share an upstream's node.
    fn apart_from(self) -> &'static [&'static str] {
        match self {
            Self::Gateway => &[UPSTREAM, REDIS, ENGINE],
            Self::Upstream => &[GATEWAY, UPSTREAM, ENGINE],
            Self::Redis => &[GATEWAY, ENGINE],
            Self::Engine => &[GATEWAY, UPSTREAM, REDIS, ENGINE],
        }
    }

    fn affinity(self, run: &str) -> Affinity {
        let nodes_of = |roles: &[&str]| Terms::nodes_of((RUN, run), ROLE, roles);
        Affinity {
            // All gateways, in all sizes, run on the same node.
            pod_affinity: match self {
                Self::Gateway => nodes_of(&[self.name()]),
                _ => Terms::default(),
            },
            pod_anti_affinity: nodes_of(self.apart_from()),
        }
    }
}

/// The pod of a gateway, with one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayPod {
    pub gateway: String,
    /// The requested version, if there is one.
    pub version: Option<String>,
    pub image: String,
    /// The gateway's limits, which may be empty.
    pub size: Limits,
    pub is_gatebench: bool,
}

impl GatewayPod {
    /// Returns the pod's place, which is its name in the run.
    pub fn place(&self) -> String {
        gateway_name(&self.gateway, self.version.as_deref(), self.size)
    }

    pub(crate) fn place_of(gateway: &str, setup: &Setup) -> String {
        gateway_name(gateway, setup.version.as_deref(), setup.limits)
    }
}

/// The requirements of a run in a cluster.
#[derive(Clone, Debug)]
pub struct Demand<'a> {
    pub cluster: &'a Cluster,
    /// The name of the run, unique in its namespace.
    pub run: &'a str,
    /// A description of the run, which the anchor contains.
    pub title: &'a str,
    /// The gateways that gatebench starts.
    pub gateways: &'a [GatewayPod],
    /// True if the load goes to a gateway that the user started.
    pub is_attached: bool,
    pub needs_redis: bool,
    /// True if sizes that no node has room for are omitted, because the user did not ask for them.
    pub may_omit_sizes: bool,
    /// The time after which the cluster ends all pods.
    pub deadline_seconds: u64,
}

/// An anchor that exists in the cluster.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    pub(super) uid: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<T> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    #[serde(flatten)]
    rest: T,
}

impl<'a> Demand<'a> {
    pub(super) fn anchor_name(&self) -> String {
        format!("{PREFIX}{}", self.run)
    }

    /// Returns all objects of the run. They do not refer to the anchor, whose identifier is not
    /// known before the run starts.
    pub fn objects(&self) -> Vec<Json> {
        let mut all = vec![self.anchor(), self.network_policy(None)];
        all.extend(Role::ALL.iter().flat_map(|role| self.of_role(*role, None)));
        all
    }

    pub(super) fn anchor(&self) -> Json {
        let rest = json!({ "data": { "title": self.title } });
        self.object(
            "v1",
            "ConfigMap",
            self.metadata(self.anchor_name(), None, None),
            rest,
        )
    }

    /// Returns the policy that lets the run's pods connect only to each other. If the load goes to
    /// a gateway that the user started, they may connect to anything.
    pub(super) fn network_policy(&self, anchor: Option<&Anchor>) -> Json {
        let own = json!({ "podSelector": { "matchLabels": { RUN: self.run } } });
        let mut spec = json!({
            "podSelector": { "matchLabels": { RUN: self.run } },
            "policyTypes": ["Ingress", "Egress"],
            // gatebench connects to the pods from outside, to prove parity and read the upstream's
            // ledger.
            "ingress": [{}],
            "egress": [{ "to": [own] }],
        });
        if self.is_attached {
            spec["egress"] = json!([{}]);
        }
        let metadata = self.metadata(self.anchor_name(), None, anchor);
        let rest = json!({ "spec": spec });
        self.object("networking.k8s.io/v1", "NetworkPolicy", metadata, rest)
    }

    /// Returns the pods of a role, or the Job that creates them.
    pub(super) fn of_role(&self, role: Role, anchor: Option<&Anchor>) -> Vec<Json> {
        match role {
            Role::Gateway => {
                let gateways = self.gateways.iter();
                gateways
                    .map(|it| self.pod(role, &it.place(), Some(it), anchor))
                    .collect()
            }
            Role::Redis if !self.needs_redis => Vec::new(),
            Role::Redis => vec![self.pod(role, role.name(), None, anchor)],
            Role::Upstream => {
                let places = self.cluster.upstream_places().into_iter();
                places
                    .map(|place| self.pod(role, &place, None, anchor))
                    .collect()
            }
            Role::Engine if self.cluster.agents == 0 => Vec::new(),
            Role::Engine => vec![self.job(anchor)],
        }
    }

    pub(super) fn count(&self, role: Role) -> usize {
        match role {
            Role::Engine => self.cluster.agents as usize,
            role => self.of_role(role, None).len(),
        }
    }

    fn pod(
        &self,
        role: Role,
        name: &str,
        gateway: Option<&GatewayPod>,
        anchor: Option<&Anchor>,
    ) -> Json {
        let name = format!("{}-{name}", self.anchor_name());
        let metadata = self.metadata(name, Some(role), anchor);
        let rest = json!({ "spec": self.pod_spec(role, gateway) });
        self.object("v1", "Pod", metadata, rest)
    }

    fn pod_spec(&self, role: Role, gateway: Option<&GatewayPod>) -> PodSpec {
        let settings = role.settings(self.cluster);
        let is_null = gateway.is_some_and(|it| it.gateway == NULL);
        let size = gateway.filter(|_| !is_null).map(|it| it.size);
        let requests = match role {
            Role::Redis => REDIS_REQUESTS,
            _ if is_null => NULL_REQUESTS,
            _ => REQUESTS,
        };
        let resources = match (size, settings.limits) {
            (Some(size), _) => Resources::guaranteed(or_default(size, DEFAULT_SIZE)),
            (None, limits) if limits.is_none() => Resources::requested(requests),
            (None, limits) => Resources::guaranteed(or_default(limits, requests)),
        };
        let profile = self.cluster.seccomp_profile.as_deref();
        PodSpec::new(PodParts {
            image: gateway.map_or(&settings.image, |it| &it.image),
            node: &settings.node,
            resources,
            affinity: role.affinity(self.run),
            seccomp_file: profile.filter(|_| matches!(role, Role::Engine | Role::Upstream)),
            command: waiting(self.cluster.alone_seconds),
            deadline_seconds: self.deadline_seconds,
        })
    }

    /// Returns the Job of the load generators. A load generator that fails is not replaced, but
    /// ends the Job.
    fn job(&self, anchor: Option<&Anchor>) -> Json {
        let role = Role::Engine;
        let name = format!("{}-{}", self.anchor_name(), role.name());
        let metadata = self.metadata(name, Some(role), anchor);
        let disrupted = json!({
            "action": "FailJob",
            "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
        });
        let (labels, annotations) = (&metadata.labels, &metadata.annotations);
        let spec = json!({
            "completionMode": "Indexed",
            "completions": self.cluster.agents,
            "parallelism": self.cluster.agents,
            "backoffLimitPerIndex": 0,
            "maxFailedIndexes": 0,
            "podFailurePolicy": { "rules": [disrupted] },
            "activeDeadlineSeconds": self.deadline_seconds,
            "ttlSecondsAfterFinished": JOB_TTL_SECONDS,
            "template": {
                "metadata": { "labels": labels, "annotations": annotations },
                "spec": self.pod_spec(role, None),
            },
        });
        self.object("batch/v1", "Job", metadata, json!({ "spec": spec }))
    }

    fn metadata(&self, name: String, role: Option<Role>, anchor: Option<&Anchor>) -> Metadata {
        let (managed, by) = MANAGED;
        let mut labels = BTreeMap::from([
            (managed.to_owned(), by.to_owned()),
            (RUN.to_owned(), self.run.to_owned()),
        ]);
        labels.extend(role.map(|role| (ROLE.to_owned(), role.name().to_owned())));
        // These annotations keep autoscalers from moving a pod that is being measured.
        let kept = [
            ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
            ("karpenter.sh/do-not-disrupt", "true"),
        ];
        let kept = kept.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Metadata {
            namespace: self.cluster.namespace.name.clone(),
            annotations: role.map(|_| kept.into()).unwrap_or_default(),
            owner_references: anchor.map(|it| self.owner(it)).into_iter().collect(),
            name,
            labels,
        }
    }

    fn owner(&self, anchor: &Anchor) -> Owner {
        Owner {
            api_version: "v1",
            kind: "ConfigMap",
            name: self.anchor_name(),
            uid: anchor.uid.clone(),
        }
    }

    fn object(&self, api: &'static str, kind: &'static str, of: Metadata, rest: Json) -> Json {
        let object = Object {
            api_version: api,
            kind,
            metadata: of,
            rest,
        };
        serde_json::to_value(object).unwrap_or_default()
    }
}

/// Returns the place of a gateway's pod, such as `gateway-nginx` or
/// `gateway-nginx-0-5-cpu-512-mib`.
pub(super) fn gateway_name(gateway: &str, version: Option<&str>, size: Limits) -> String {
    let words = format!("{gateway} {} {size}", version.unwrap_or_default()).to_lowercase();
    let words = words.replace(" and ", " ");
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let parts = words.split(|c| !is_plain(c)).filter(|it| !it.is_empty());
    let parts = std::iter::once(GATEWAY).chain(parts);
    Vec::from_iter(parts).join("-")
}

fn or_default(limits: Limits, default: Limits) -> Limits {
    Limits {
        cpu_millis: limits.cpu_millis.or(default.cpu_millis),
        memory_bytes: limits.memory_bytes.or(default.memory_bytes),
    }
}

#[cfg(test)]
mod tests;
