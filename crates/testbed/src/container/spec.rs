//! What a container is made with.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::engine::LABEL;
use crate::system::limit::Amount;

/// More processes and threads than a gateway has; an engine may be allowed fewer than we are.
const NPROC: u64 = 32_768;

/// A supervisor's orders for a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerSpec {
    /// The socket of the engine.
    pub(crate) socket: PathBuf,
    /// The image, by the digest of its configuration.
    pub(crate) image: String,
    /// User and group inside, as numbers or names.
    pub(crate) user: String,
    pub(crate) environment: BTreeMap<String, String>,
    /// Its working folder, which it sees under the same path.
    pub(crate) work: PathBuf,
    /// What it may use at most.
    pub(crate) amounts: Vec<Amount>,
    /// Where the supervisor tells what it made.
    pub(crate) state: PathBuf,
}

/// What a supervisor tells of its container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerState {
    pub(crate) id: String,
    /// Its first process, as this machine numbers it.
    pub(crate) pid: u32,
}

impl ContainerSpec {
    /// What its supervisor has made. An error where that is nothing yet.
    pub(crate) fn made(&self) -> io::Result<ContainerState> {
        Ok(serde_json::from_slice(&fs::read(&self.state)?)?)
    }

    /// The body of the request that makes it. It shares the machine's network, so that its port is as
    /// near as a process's and nothing translates addresses.
    pub(crate) fn create(
        &self,
        command: &[String],
        cores: &[usize],
        nofile: u64,
        label: &str,
    ) -> Json {
        let work = self.work.display().to_string();
        let environment: Vec<String> = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
        let mut host = json!({
            "NetworkMode": "host",
            "Binds": [format!("{work}:{work}")],
            "CpusetCpus": cores.join(","),
            "SecurityOpt": ["label=disable"],
            "Ulimits": ulimits(nofile),
        });
        for amount in &self.amounts {
            match *amount {
                Amount::CpuMillis(millis) => {
                    host["NanoCpus"] = json!(u64::from(millis) * 1_000_000);
                }
                Amount::MemoryBytes(bytes) => {
                    host["Memory"] = json!(bytes);
                    // Memory and swap together: no swap.
                    host["MemorySwap"] = json!(bytes);
                }
            }
        }
        json!({
            "Image": self.image,
            "Entrypoint": command,
            "Env": environment,
            "WorkingDir": work,
            "User": self.user,
            "Labels": { LABEL: label },
            "HostConfig": host,
        })
    }
}

/// Limits of open descriptors and processes. Some engines ask for more by themselves than they may give.
pub(crate) fn ulimits(nofile: u64) -> Json {
    json!([
        ulimit("nofile", Resource::Nofile, nofile),
        ulimit("nproc", Resource::Nproc, NPROC),
    ])
}

/// A limit no higher than ours: an engine without privileges could not set another.
fn ulimit(name: &str, resource: Resource, wanted: u64) -> Json {
    let hard = getrlimit(resource).maximum;
    let value = hard.map_or(wanted, |hard| wanted.min(hard));
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    json!({ "Name": name, "Soft": value, "Hard": value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_the_working_folder_are_told_to_the_engine() {
        let spec = ContainerSpec {
            socket: "/s".into(),
            image: "sha256:1".into(),
            user: "7:8".into(),
            environment: BTreeMap::from([("A".into(), "b c".into())]),
            work: "/w".into(),
            amounts: vec![Amount::CpuMillis(500), Amount::MemoryBytes(1 << 28)],
            state: "/w/state".into(),
        };
        let made = spec.create(&["kong".into(), "start".into()], &[1, 3], 1, "9:9");
        let host = &made["HostConfig"];
        assert_eq!(host["NanoCpus"], 500_000_000);
        assert_eq!(
            (&host["Memory"], &host["MemorySwap"]),
            (&json!(1 << 28), &json!(1 << 28))
        );
        assert_eq!(host["CpusetCpus"], "1,3");
        assert_eq!(host["NetworkMode"], "host");
        assert_eq!(host["Binds"], json!(["/w:/w"]));
        assert_eq!(
            host["Ulimits"][0],
            json!({"Name": "nofile", "Soft": 1, "Hard": 1})
        );
        assert_eq!(made["Entrypoint"], json!(["kong", "start"]));
        assert_eq!(made["Env"], json!(["A=b c"]));
        assert_eq!(made["Labels"], json!({ LABEL: "9:9" }));
    }
}
