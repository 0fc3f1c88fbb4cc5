//! The settings of a gateway variant that come from the user and not from the gateway's folder.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::GATEWAY;
use crate::{Limits, Place, Placement};

/// The user's settings in addition to the gateway's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The requested version, or a prefix of it, such as `1.22`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The absolute path of the user's configuration, which replaces the one that the folder
    /// renders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The gateway's resource limits.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// The number of cores that the gateway runs on, with one worker each [default: all of the
    /// placement's gateway cores].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
    /// The host that the gateway runs on [default: this machine].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
}

/// The place of a gateway that does not run on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Elsewhere {
    /// The host, or the pods of the gateways (one pod for each gateway and size).
    pub host: Place,
    /// The address at which the gateway's host reaches this machine, if it differs from the source
    /// of the SSH connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_address: Option<IpAddr>,
}

impl Elsewhere {
    pub fn in_pods() -> Self {
        Self::new(Place::Pod(GATEWAY.to_owned()))
    }

    pub fn new(host: Place) -> Self {
        Self {
            host,
            upstream_address: None,
        }
    }
}

impl Setup {
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the cores that the gateway runs on: the last ones of the placement's gateway cores.
    pub fn gateway_cores<'a>(&self, placement: &'a Placement) -> &'a [usize] {
        let all = &placement.gateway;
        let count = self.cores.unwrap_or(all.len()).min(all.len());
        &all[all.len() - count..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_gateway_runs_on_the_last_cores() {
        let placement = Placement::with_gateway_cores(&crate::Topology::flat(&[0, 1, 2, 3]), 2)
            .unwrap_or_else(|error| panic!("{error}"));
        let cores = |cores| {
            Setup {
                cores,
                ..Setup::default()
            }
            .gateway_cores(&placement)
            .to_vec()
        };
        assert_eq!(cores(None), [2, 3]);
        assert_eq!(cores(Some(1)), [3]);
        assert_eq!(cores(Some(9)), [2, 3]);
    }
}
