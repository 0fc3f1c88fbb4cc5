//! The Kubernetes namespace that a run starts its pods in, and the nodes that the pods may use.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Limits;

/// The roles of pods. The name of a place in a cluster begins with a role, as in `engine-0`.
pub const GATEWAY: &str = "gateway";
pub const UPSTREAM: &str = "upstream";
pub const REDIS: &str = "redis";
pub const ENGINE: &str = "engine";

/// A Kubernetes namespace, and the kubectl context of its cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Namespace {
    /// The context of kubectl's configuration [default: the current one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    pub name: String,
}

/// The namespace and the pods of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    pub namespace: Namespace,
    /// The number of pods that send the load.
    pub agents: u32,
    /// The number of upstream pods, among which the targets of a scenario are distributed in turn;
    /// 0 in older runs, which had one pod.
    #[serde(default)]
    pub upstreams: u32,
    /// The pods of the gateways, one for each gateway and each set of limits.
    pub gateway: PodSettings,
    pub upstream: PodSettings,
    /// The pods that send the load.
    pub engine: PodSettings,
    pub redis: PodSettings,
    /// The seccomp profile of the upstream and the load generators, a file below the kubelet's
    /// folder `seccomp` on each node [default: the container runtime's profile].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seccomp_profile: Option<String>,
    /// The time that a pod may wait for a node, in seconds.
    pub schedule_seconds: u32,
    /// The time, in seconds, after which a pod terminates itself if nothing runs in it.
    pub alone_seconds: u32,
}

/// The image of a pod, the nodes that it may run on, and its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PodSettings {
    pub image: String,
    #[serde(default, skip_serializing_if = "NodeChoice::is_any")]
    pub node: NodeChoice,
    /// The limits of the pod. For a gateway's pod, the limits in the gateway's setup apply instead.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
}

/// The nodes that a pod may run on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct NodeChoice {
    /// Labels that the node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Taints that the node may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// A taint of a node, as `kubectl taint` accepts it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Taint {
    pub key: String,
    /// The value of the taint [default: any value].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// The pod of a running gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AttachedPod {
    /// The context of kubectl's configuration [default: the current one].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    pub namespace: String,
    /// A label selector that matches only this pod, such as `app=kong`.
    pub selector: String,
    /// The image of the container that is added to the pod.
    #[serde(default)]
    pub image: String,
}

impl AttachedPod {
    /// Describes the container that a run adds to the pod, as a clause without a final period.
    pub fn addition(&self) -> String {
        format!(
            "an ephemeral container (image {}) is added to the pod of namespace {} that matches {}",
            self.image, self.namespace, self.selector
        )
    }
}

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The maximum length of a DNS label (RFC 1123). The name of a namespace is such a label.
const NAME_CHARS_MAX: usize = 63;

impl Cluster {
    /// The places of the upstreams: `upstream`, or `upstream-0` and so on.
    pub fn upstream_places(&self) -> Vec<String> {
        match self.upstreams {
            0 | 1 => vec![UPSTREAM.to_owned()],
            count => Vec::from_iter((0..count).map(|it| format!("{UPSTREAM}-{it}"))),
        }
    }
}

/// A word that cannot be parsed as a namespace, a pod, a label or a taint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ClusterWordError(String);

impl FromStr for Namespace {
    type Err = ClusterWordError;

    /// Parses `[CONTEXT/]NAMESPACE`. The name of a context may contain a slash.
    fn from_str(word: &str) -> Result<Self, ClusterWordError> {
        let (context, name) = match word.rsplit_once('/') {
            Some((context, name)) => (Some(context), name),
            None => (None, word),
        };
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_valid = !name.is_empty()
            && name.len() <= NAME_CHARS_MAX
            && name.chars().all(is_name)
            && !name.starts_with('-')
            && !name.ends_with('-');
        if !is_valid || context.is_some_and(str::is_empty) {
            return Err(ClusterWordError(format!(
                "'{word}' is not a namespace: write NAMESPACE or CONTEXT/NAMESPACE"
            )));
        }
        Ok(Self {
            context: context.map(str::to_owned),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(context) = &self.context {
            write!(f, "{context}/")?;
        }
        f.write_str(&self.name)
    }
}

impl NodeChoice {
    /// Reports whether the choice requires no label and permits no taint.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a label, `KEY=VALUE`, or a taint, `KEY[=VALUE]:EFFECT`.
    ///
    /// # Errors
    /// The word is neither.
    pub fn add(&mut self, word: &str) -> Result<(), ClusterWordError> {
        let wrong = || {
            ClusterWordError(format!(
                "'{word}' is neither a node label (KEY=VALUE) nor a taint (KEY=VALUE:NoSchedule)"
            ))
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        let is_key = |key: &str| !key.is_empty() && key.chars().all(is_part);
        let (rest, effect) = match word.rsplit_once(':') {
            Some((rest, effect)) => (rest, Some(effect)),
            None => (word, None),
        };
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (rest, None),
        };
        let has_value = value.is_none_or(|it| it.chars().all(is_part));
        if !is_key(key) || !has_value {
            return Err(wrong());
        }
        let (key, value) = (key.to_owned(), value.map(str::to_owned));
        match (effect, value) {
            (None, Some(value)) => {
                self.labels.insert(key, value);
            }
            (Some(effect), value) if EFFECTS.contains(&effect) => self.taints.push(Taint {
                key,
                value,
                effect: effect.to_owned(),
            }),
            _ => return Err(wrong()),
        }
        Ok(())
    }
}

impl FromStr for AttachedPod {
    type Err = ClusterWordError;

    /// Parses `NAMESPACE/SELECTOR`. The keys of labels may contain a slash.
    fn from_str(word: &str) -> Result<Self, ClusterWordError> {
        let wrong = || {
            ClusterWordError(format!(
                "'{word}' names no pod: write NAMESPACE/SELECTOR, for example kong/app=kong"
            ))
        };
        let (namespace, selector) = word.split_once('/').ok_or_else(wrong)?;
        let namespace: Namespace = namespace.parse().map_err(|_| wrong())?;
        if !selector.contains('=') {
            return Err(wrong());
        }
        Ok(Self {
            context: None,
            namespace: namespace.name,
            selector: selector.to_owned(),
            image: String::new(),
        })
    }
}

impl FromStr for NodeChoice {
    type Err = ClusterWordError;

    /// Parses labels and taints, separated by commas.
    fn from_str(text: &str) -> Result<Self, ClusterWordError> {
        let mut choice = Self::default();
        text.split(',').try_for_each(|word| choice.add(word))?;
        Ok(choice)
    }
}

impl fmt::Display for NodeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        let taints = self.taints.iter().map(|taint| {
            let value = taint.value.as_ref().map(|value| format!("={value}"));
            format!(
                "{}{}:{}",
                taint.key,
                value.unwrap_or_default(),
                taint.effect
            )
        });
        f.write_str(&Vec::from_iter(labels.chain(taints)).join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_may_contain_slashes() {
        let read = |word: &str| word.parse::<Namespace>();
        let plain = read("gb").unwrap();
        assert_eq!((plain.context, plain.name.as_str()), (None, "gb"));
        let word = "arn:aws:eks:eu-west-1:1:cluster/prod/bench";
        let long = read(word).unwrap();
        assert_eq!(long.name, "bench");
        assert_eq!(long.to_string(), word);
        for wrong in ["", "/", "a/", "/a", "A", "a_b", "-a", "a-", &"a".repeat(64)] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("write NAMESPACE"), "{error}");
        }
    }

    #[test]
    fn a_selector_may_contain_slashes() {
        let pod: AttachedPod = "kong/app.kubernetes.io/name=kong".parse().unwrap();
        assert_eq!(
            (&*pod.namespace, &*pod.selector),
            ("kong", "app.kubernetes.io/name=kong")
        );
        for wrong in ["kong", "kong/", "kong/app", "/app=kong", "K/app=kong"] {
            assert!(wrong.parse::<AttachedPod>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn labels_and_taints_are_written_as_for_kubectl() {
        let text = "tier=gateway,dedicated=bench:NoSchedule,spot:NoExecute";
        let choice: NodeChoice = text.parse().unwrap();
        assert_eq!(choice.labels["tier"], "gateway");
        let taints = choice
            .taints
            .iter()
            .map(|it| (&*it.key, it.value.as_deref()));
        assert_eq!(
            Vec::from_iter(taints),
            [("dedicated", Some("bench")), ("spot", None)]
        );
        assert_eq!(choice.to_string(), text);
        for wrong in ["", "tier", "=x", "a=b:Never", "a b=c", "a=b,,c=d"] {
            assert!(wrong.parse::<NodeChoice>().is_err(), "{wrong}");
        }
    }
}
