//! The places where the parts of a trial run.

use std::convert::Infallible;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, ENGINE, REDIS};
use crate::hosts::Host;

/// The word for this machine on the command line and in files.
const HERE: &str = "here";
/// The prefix of a pod's name in files.
const POD: &str = "pod/";

/// A place where a part of a trial runs.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(from = "Written", into = "Written")]
#[schemars(with = "Written")]
pub enum Place {
    /// On this machine.
    #[default]
    Here,
    /// On a host that is reached over ssh.
    Ssh(Host),
    /// In a pod of the run's cluster. The pod's name is stored without the name of the run, as in
    /// `engine-0`.
    Pod(String),
}

/// A place as it is written in files.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    /// `here`, a host as `ssh` accepts it, or `pod/NAME`.
    Word(String),
    /// A host with an explicit address or key.
    Host(Host),
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(word: &str) -> Result<Self, Infallible> {
        Ok(word.into())
    }
}

impl From<&str> for Place {
    fn from(word: &str) -> Self {
        match word.strip_prefix(POD) {
            Some(name) => Self::Pod(name.to_owned()),
            None if word == HERE => Self::Here,
            None => Self::Ssh(Host::new(word)),
        }
    }
}

impl From<Written> for Place {
    fn from(written: Written) -> Self {
        match written {
            Written::Word(word) => word.as_str().into(),
            Written::Host(host) => Self::Ssh(host),
        }
    }
}

impl From<Place> for Written {
    fn from(place: Place) -> Self {
        match place {
            Place::Ssh(host) if host != Host::new(&host.ssh) => Self::Host(host),
            place => Self::Word(place.to_string()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str(HERE),
            Self::Ssh(host) => f.write_str(&host.ssh),
            Self::Pod(name) => write!(f, "{POD}{name}"),
        }
    }
}

/// The places of the parts of a run. The place of a gateway is in its setup instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Places {
    /// The places of the load generators; empty for this process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Place>,
    /// The places of the upstreams, used in turn; empty for this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream: Vec<Place>,
    /// The place of Redis [default: this machine].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<Place>,
    /// The address at which load generators on other machines reach this machine [default: the
    /// source address of the SSH connection to the first load generator].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The cluster, if everything runs in pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Box<Cluster>>,
}

impl Places {
    /// The places of a run in a cluster. `redis` is set even if no scenario needs Redis.
    pub fn in_cluster(cluster: &Cluster) -> Self {
        let engine = |number| Place::Pod(format!("{ENGINE}-{number}"));
        Self {
            agents: (0..cluster.agents).map(engine).collect(),
            upstream: Vec::from_iter(cluster.upstream_places().into_iter().map(Place::Pod)),
            redis: Some(Place::Pod(REDIS.to_owned())),
            address: None,
            cluster: Some(Box::new(cluster.clone())),
        }
    }

    /// Reports whether the upstreams and Redis are on this machine, and the load generator is in
    /// this process.
    pub fn are_here(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_this_machine_a_host_or_a_pod() {
        for (word, place) in [
            ("here", Place::Here),
            ("me@a", Place::Ssh(Host::new("me@a"))),
            ("pod/upstream", Place::Pod("upstream".to_owned())),
        ] {
            assert_eq!(word.parse(), Ok(place.clone()));
            assert_eq!(place.to_string(), word);
            assert_eq!(serde_json::to_value(&place).unwrap(), word);
        }
    }

    #[test]
    fn a_host_with_an_address_is_written_with_it() {
        let place = Place::Ssh(Host {
            address: Some([10, 0, 0, 7].into()),
            ..Host::new("me@a")
        });
        let written = serde_json::json!({"ssh": "me@a", "address": "10.0.0.7"});
        assert_eq!(serde_json::to_value(&place).unwrap(), written);
        assert_eq!(serde_json::from_value::<Place>(written).unwrap(), place);
    }
}
