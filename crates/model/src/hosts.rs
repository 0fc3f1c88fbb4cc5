//! The hosts of a run, from an inventory or the outputs of Terraform or OpenTofu.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use gatebench_config::yaml_value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use thiserror::Error;

/// The output that contains an inventory.
const OWN_OUTPUT: &str = "gatebench";

/// The Terraform outputs of Kong's testing framework: the public and the internal address of the
/// gateway's machine, then those of the machine for everything else.
const KONG: [&str; 4] = [
    "kong-ip",
    "kong-internal-ip",
    "worker-ip",
    "worker-internal-ip",
];

/// The user that Kong's testing framework connects as, and the file of the user's private key.
const KONG_USER: &str = "root";
const KONG_KEY: &str = "id_rsa";

/// The hosts of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// The host of the gateways.
    pub gateway: Host,
    /// The host of the upstream [default: this machine].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Host>,
    /// The hosts that send the load [default: this machine].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<Host>,
}

/// A host that is reached over ssh.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The host as `ssh` accepts it: `USER@HOST`, or a name in the configuration of `ssh`.
    pub ssh: String,
    /// The address at which the other hosts reach this host [default: the address of the ssh
    /// connection].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The private key, relative to the file's folder [default: the keys that ssh uses].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PathBuf>,
}

impl Host {
    pub fn new(ssh: &str) -> Self {
        Self {
            ssh: ssh.to_owned(),
            address: None,
            identity: None,
        }
    }
}

/// The reason why no hosts can be read from a file or a set of outputs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostsError {
    #[error("this is neither YAML nor JSON: {0}")]
    NotRead(String),
    #[error("this is not an inventory: {0}")]
    NotAnInventory(String),
    #[error("the outputs {} are missing", .0.join(", "))]
    MissingOutputs(Vec<&'static str>),
    #[error("the output {name} is not an IP address")]
    NotAnAddress { name: &'static str },
}

impl HostsError {
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotRead(_) => {
                "give a file that contains an inventory, or the output of `terraform output -json`"
            }
            _ => {
                "write `gateway: {ssh: USER@HOST, address: ADDRESS}`, `upstream` in the same form, and \
                 `load` as a list of such hosts, in a file or in the Terraform output `gatebench`; Kong's outputs \
                 kong-ip, kong-internal-ip, worker-ip and worker-internal-ip are also accepted"
            }
        }
    }
}

impl Hosts {
    /// Parses an inventory, or outputs as `terraform output -json` prints them. Relative paths of
    /// keys are relative to `folder`. Outputs other than those that name the hosts are ignored.
    ///
    /// # Errors
    /// The text is neither an inventory nor a complete and valid set of outputs that name the
    /// hosts.
    pub fn read(text: &str, folder: &Path) -> Result<Self, HostsError> {
        let value = yaml_value(text).map_err(|error| HostsError::NotRead(error.to_string()))?;
        let mut hosts = match outputs(&value) {
            None => inventory(value)?,
            Some(outputs) => match outputs.get(OWN_OUTPUT) {
                Some(own) => inventory((*own).clone())?,
                None => of_kong(&outputs, folder)?,
            },
        };
        let all = hosts.upstream.iter_mut().chain(&mut hosts.load);
        for host in all.chain([&mut hosts.gateway]) {
            host.identity = host.identity.take().map(|path| folder.join(path));
        }
        Ok(hosts)
    }
}

/// Returns the values of outputs by name, or `None` if the value is not a set of outputs.
fn outputs(value: &Json) -> Option<BTreeMap<&str, &Json>> {
    let members = value.as_object().filter(|it| !it.is_empty())?;
    let is_output = |it: &Json| it.get("value").is_some() && it.get("sensitive").is_some();
    let values = members
        .iter()
        .map(|(name, output)| (name.as_str(), &output["value"]));
    members.values().all(is_output).then(|| values.collect())
}

fn inventory(value: Json) -> Result<Hosts, HostsError> {
    serde_json::from_value(value).map_err(|error| HostsError::NotAnInventory(error.to_string()))
}

fn of_kong(outputs: &BTreeMap<&str, &Json>, folder: &Path) -> Result<Hosts, HostsError> {
    let missing = KONG.into_iter().filter(|name| !outputs.contains_key(name));
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        return Err(HostsError::MissingOutputs(missing));
    }
    let address = |name: &'static str| -> Result<IpAddr, HostsError> {
        let text = outputs[name].as_str().and_then(|it| it.parse().ok());
        text.ok_or(HostsError::NotAnAddress { name })
    };
    let host = |public: &'static str, internal: &'static str| {
        let public = address(public)?;
        Ok::<Host, HostsError>(Host {
            ssh: format!("{KONG_USER}@{public}"),
            address: Some(address(internal)?),
            identity: folder.join(KONG_KEY).is_file().then(|| KONG_KEY.into()),
        })
    };
    let worker = host(KONG[2], KONG[3])?;
    Ok(Hosts {
        gateway: host(KONG[0], KONG[1])?,
        upstream: Some(worker.clone()),
        load: vec![worker],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KONGS: &str = r#"{
        "kong-ip": {"sensitive": false, "type": "string", "value": "203.0.113.7"},
        "kong-internal-ip": {"sensitive": false, "type": "string", "value": "10.0.0.7"},
        "worker-ip": {"sensitive": false, "type": "string", "value": "203.0.113.9"},
        "worker-internal-ip": {"sensitive": false, "type": "string", "value": "10.0.0.9"},
        "db-password": {"sensitive": true, "type": "string", "value": "a-secret"}
    }"#;

    #[test]
    fn the_outputs_of_kong_and_an_inventory_give_the_same_hosts() {
        let folder = Path::new("infra");
        let of_kong = Hosts::read(KONGS, folder).unwrap();
        let inventory = "gateway: {ssh: root@203.0.113.7, address: 10.0.0.7}\n\
                         upstream: {ssh: root@203.0.113.9, address: 10.0.0.9}\n\
                         load: [{ssh: root@203.0.113.9, address: 10.0.0.9}]\n";
        assert_eq!(Hosts::read(inventory, folder).unwrap(), of_kong);
        let kept = serde_json::to_string(&of_kong).unwrap();
        assert!(
            !kept.contains("secret") && !kept.contains("password"),
            "{kept}"
        );
    }

    #[test]
    fn the_output_named_gatebench_is_an_inventory() {
        let outputs = r#"{"gatebench": {"sensitive": false, "type": ["object", {}],
            "value": {"gateway": {"ssh": "me@gw", "identity": "keys/id"}}},
            "other": {"sensitive": false, "type": "string", "value": "x"}}"#;
        let hosts = Hosts::read(outputs, Path::new("infra")).unwrap();
        assert_eq!(hosts.gateway.identity.unwrap(), Path::new("infra/keys/id"));
        assert!(hosts.load.is_empty());
    }

    #[test]
    fn missing_outputs_are_named() {
        let error = |text| Hosts::read(text, Path::new("")).unwrap_err();
        let partial = r#"{"kong-ip": {"sensitive": false, "value": "1.2.3.4"}}"#;
        let message = error(partial).to_string();
        assert!(
            message.starts_with("the outputs kong-internal-ip, worker-ip"),
            "{message}"
        );
        assert!(
            error("gateway: 1")
                .to_string()
                .starts_with("this is not an inventory")
        );
        assert!(matches!(error("a: [").clone(), HostsError::NotRead(_)));
        let wrong = KONGS.replace("10.0.0.7", "here");
        assert_eq!(
            error(&wrong),
            HostsError::NotAnAddress {
                name: "kong-internal-ip"
            }
        );
    }
}
