//! The settings of a new container.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::engine::LABEL;
use crate::system::limit::Amount;

/// The limit on processes and threads, which is higher than a gateway needs. A higher limit of this
/// process is not passed on, because the engine's hard limit may be lower.
const NPROC: u64 = 32_768;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerSpec {
    pub(crate) socket: PathBuf,
    /// The image, by the digest of its configuration.
    pub(crate) image: String,
    /// The user and group inside the container, as numbers or names.
    pub(crate) user: String,
    pub(crate) environment: BTreeMap<String, String>,
    /// The working folder, which has the same path inside the container.
    pub(crate) work: PathBuf,
    pub(crate) amounts: Vec<Amount>,
    /// The file that the supervisor writes the container's [`ContainerState`] to.
    pub(crate) state: PathBuf,
}

/// The state of a container, as its supervisor writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerState {
    pub(crate) id: String,
    /// The process ID, on this machine, of the container's first process.
    pub(crate) pid: u32,
}

impl ContainerSpec {
    /// Reads the state that the container's supervisor wrote. Fails if there is none yet.
    pub(crate) fn made(&self) -> io::Result<ContainerState> {
        Ok(serde_json::from_slice(&fs::read(&self.state)?)?)
    }

    /// Returns the body of the request that creates the container. The container shares the
    /// machine's network: without address translation, connections to it cost no more than those to
    /// a process.
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
                    // `MemorySwap` limits the sum of memory and swap; equal limits leave no swap.
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

/// The limits on open file descriptors and processes. They are set explicitly because the defaults
/// of some engines exceed what these engines may set.
pub(crate) fn ulimits(nofile: u64) -> Json {
    json!([
        ulimit("nofile", Resource::Nofile, nofile),
        ulimit("nproc", Resource::Nproc, NPROC),
    ])
}

/// Returns a limit that does not exceed this process's hard limit, because an unprivileged engine
/// cannot raise its own hard limit.
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
    fn the_engine_gets_limits_and_the_working_folder() {
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
