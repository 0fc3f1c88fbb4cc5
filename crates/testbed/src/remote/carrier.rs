//! The commands that connect to another machine: `ssh` to a host, `kubectl exec` into a pod. Both
//! run a script there with lines in both directions.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use super::complaint;
use crate::error::{DriverError, RemoteError};
use crate::kubernetes::{self, Kubectl};

/// Options of `ssh` in addition to the user's configuration: never prompt, detect a dead host
/// within 15 s, and use the connection for nothing else.
const OPTIONS: [&str; 7] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ControlMaster=no",
    "RequestTTY=no",
];

/// A way to another machine.
#[derive(Clone, Debug)]
pub(crate) enum Carrier {
    /// A host, as `ssh` accepts it, with the private key to use.
    Ssh {
        host: String,
        identity: Option<PathBuf>,
    },
    /// A container of a pod.
    Pod {
        kubectl: Kubectl,
        pod: String,
        container: String,
    },
}

impl Carrier {
    /// The name of the machine in messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Ssh { host, .. } => host,
            Self::Pod { pod, .. } => pod,
        }
    }

    /// The command that runs a script on the machine. Ctrl-C at the terminal does not reach it.
    pub(super) fn command(&self, script: &str) -> Command {
        match self {
            Self::Ssh { host, identity } => {
                let mut command = Command::new("ssh");
                for option in OPTIONS {
                    command.args(["-o", option]);
                }
                if let Some(identity) = identity {
                    // The key belongs to machines that were just created.
                    command
                        .args(["-o", "StrictHostKeyChecking=accept-new", "-i"])
                        .arg(identity);
                }
                command.args(["-T", "--", host, script]).process_group(0);
                command
            }
            Self::Pod {
                kubectl,
                pod,
                container,
            } => {
                let mut command = kubectl.exec(pod, container);
                command.args(["sh", "-c", script]);
                command
            }
        }
    }

    /// The error for a command that cannot be started.
    pub(super) fn not_started(&self, error: io::Error) -> DriverError {
        match (self, error.kind()) {
            (Self::Pod { .. }, _) => kubernetes::not_found(error),
            (Self::Ssh { .. }, io::ErrorKind::NotFound) => {
                DriverError::Remote(RemoteError::environment(
                    "there is no program `ssh` on PATH",
                    "install it; on Debian: apt-get install openssh-client",
                ))
            }
            (Self::Ssh { .. }, _) => DriverError::io("start ssh")(error),
        }
    }

    /// The error for a machine that cannot be used, or can no longer be used. The exit code of
    /// `kubectl exec` says nothing: it is 0 if the pod was deleted.
    pub(super) fn complaint(&self, what: &str, stderr: &str) -> RemoteError {
        match self {
            Self::Ssh { host, .. } => complaint::of(host, what, stderr),
            Self::Pod { kubectl, pod, .. } => {
                let what = format!("{what} (in the pod {pod})");
                kubectl.explained(&what, stderr)
            }
        }
    }

    /// The remedy for a connection that broke.
    pub(super) fn broken_remedy(&self) -> String {
        let resume = "`gatebench run --resume DIR` measures the missing trials";
        match self {
            Self::Ssh { host, .. } => format!(
                "check that {host} and the network to it are up; its processes end by themselves, \
                 and {resume}"
            ),
            Self::Pod { kubectl, pod, .. } => format!(
                "look at `kubectl -n {} describe pod {pod}`; {resume}",
                kubectl.namespace().name
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(carrier: &Carrier) -> Vec<String> {
        let command = carrier.command("echo x");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|it| it.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn both_carriers_run_the_same_script() {
        let ssh = |identity: Option<&str>| Carrier::Ssh {
            host: "me@far".into(),
            identity: identity.map(Into::into),
        };
        let plain = words(&ssh(None));
        assert_eq!(plain[plain.len() - 4..], ["-T", "--", "me@far", "echo x"]);
        assert!(!plain.contains(&"-i".to_owned()));
        assert!(
            words(&ssh(Some("k")))
                .join(" ")
                .contains(" -i k -T -- me@far ")
        );
        let namespace = "prod/gb".parse().unwrap();
        let pod = Carrier::Pod {
            kubectl: Kubectl::new(&namespace),
            pod: "gb-1-upstream".into(),
            container: "gatebench".into(),
        };
        let expected = "kubectl --context prod --namespace gb exec --stdin --quiet gb-1-upstream \
                        --container gatebench -- sh -c";
        let expected: Vec<&str> = expected.split(' ').chain(["echo x"]).collect();
        assert_eq!(words(&pod), expected);
    }
}
