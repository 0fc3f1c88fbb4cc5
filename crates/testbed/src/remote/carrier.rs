//! The commands that connect to a remote end: `ssh` to a host, `kubectl exec` into a pod. Both run
//! a script there and forward its input and output. If the remote end is on this machine, the
//! script is run directly.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use gatebench_model::{Host, Place};

use super::complaint;
use crate::error::{DriverError, RemoteError};
use crate::kubernetes::{self, CONTAINER, Kubectl, Pods};

/// Options of `ssh` in addition to the user's configuration: never prompt, give up connecting after
/// 10 s, detect a dead host after about 15 s, allocate no terminal, and use the connection for
/// nothing else.
const OPTIONS: [&str; 7] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ControlMaster=no",
    "RequestTTY=no",
];

/// The variable that sshd sets to describe the connection: `CLIENT PORT SERVER PORT` (sshd(8),
/// ENVIRONMENT).
pub(super) const CONNECTION: &str = "SSH_CONNECTION";

/// The value of [`CONNECTION`] for a program on this machine.
const CONNECTION_HERE: &str = "127.0.0.1 0 127.0.0.1 0";

const HERE: &str = "here";

/// A way to reach a remote end.
#[derive(Clone, Debug)]
pub(crate) enum Carrier {
    /// No carrier is needed, because the program runs on this machine.
    Here,
    Ssh(Host),
    Pod {
        /// The name of the pod in messages.
        name: String,
        kubectl: Kubectl,
        pod: String,
        container: String,
    },
}

impl Carrier {
    pub(super) fn to(place: &Place, pods: Option<&Pods>) -> Result<Self, DriverError> {
        Ok(match place {
            Place::Here => Self::Here,
            Place::Ssh(host) => Self::Ssh(host.clone()),
            Place::Pod(name) => {
                let found = pods.and_then(|pods| Some((pods, pods.at(name)?)));
                let (pods, pod) = found.ok_or_else(|| kubernetes::no_pod(name))?;
                Self::Pod {
                    name: format!("{name} ({})", pod.node),
                    kubectl: Kubectl::new(pods.namespace()),
                    pod: pod.name.clone(),
                    container: CONTAINER.to_owned(),
                }
            }
        })
    }

    /// The name of the machine in messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Here => HERE,
            Self::Ssh(host) => &host.ssh,
            Self::Pod { name, .. } => name,
        }
    }

    /// Returns the command that runs a script on the machine. On this machine, the script's `$0` is
    /// the program. Ctrl-C at the terminal does not reach the command.
    pub(super) fn command(&self, program: &Path, script: &str) -> Command {
        match self {
            Self::Here => {
                let mut command = Command::new("sh");
                command.args(["-c", script]).arg(program);
                command.env(CONNECTION, CONNECTION_HERE).process_group(0);
                command
            }
            Self::Ssh(host) => {
                let mut command = Command::new("ssh");
                for option in OPTIONS {
                    command.args(["-o", option]);
                }
                if let Some(identity) = &host.identity {
                    // A host with an identity is often a machine that was just created, whose host
                    // key is not known yet.
                    command
                        .args(["-o", "StrictHostKeyChecking=accept-new", "-i"])
                        .arg(identity);
                }
                command
                    .args(["-T", "--", &host.ssh, script])
                    .process_group(0);
                command
            }
            Self::Pod {
                kubectl,
                pod,
                container,
                ..
            } => {
                let mut command = kubectl.exec(pod, container);
                command.args(["sh", "-c", script]);
                command
            }
        }
    }

    pub(super) fn not_started(&self, error: io::Error) -> DriverError {
        match (self, error.kind()) {
            (Self::Pod { .. }, _) => kubernetes::not_found(error),
            (Self::Ssh(_), io::ErrorKind::NotFound) => {
                DriverError::Remote(RemoteError::environment(
                    "there is no program `ssh` on PATH",
                    "install OpenSSH's client; on Debian: apt-get install openssh-client",
                ))
            }
            _ => DriverError::io("start the remote end")(error),
        }
    }

    /// Reports whether the command exits with the exit code of the program. The exit code of
    /// `kubectl exec` proves nothing, because it is 0 if the pod was deleted.
    pub(super) fn passes_on_exit_codes(&self) -> bool {
        !matches!(self, Self::Pod { .. })
    }

    /// Returns the error for a machine that cannot be used, or can no longer be used.
    pub(super) fn complaint(&self, what: &str, stderr: &str) -> RemoteError {
        match self {
            Self::Here => complaint::of_here(what, stderr),
            Self::Ssh(_) => complaint::of(self.name(), what, stderr),
            Self::Pod { kubectl, pod, .. } => {
                let what = format!("{what} (in the pod {pod})");
                kubectl.explained(&what, stderr)
            }
        }
    }

    /// Returns the reason why the pod has ended or disappeared; none if a new connection may
    /// succeed.
    pub(super) fn last_words(&self) -> Option<String> {
        match self {
            Self::Here | Self::Ssh(_) => None,
            Self::Pod { kubectl, pod, .. } => kubernetes::last_words(kubectl, pod),
        }
    }

    pub(super) fn broken_remedy(&self) -> String {
        let resume = "`gatebench run --resume DIR` continues an interrupted run";
        match self {
            Self::Here | Self::Ssh(_) => format!(
                "check that {} and the network to it are up; the processes on it end by themselves, \
                 and {resume}",
                self.name()
            ),
            Self::Pod { kubectl, pod, .. } => format!(
                "`kubectl -n {} describe pod {pod}` shows more, if the pod still exists; {resume}",
                kubectl.namespace().name
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(carrier: &Carrier) -> Vec<String> {
        let command = carrier.command(Path::new("p"), "echo x");
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|it| it.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn all_carriers_run_the_same_script() {
        assert_eq!(words(&Carrier::Here), ["sh", "-c", "echo x", "p"]);
        let ssh = |identity: Option<&str>| {
            Carrier::Ssh(Host {
                identity: identity.map(Into::into),
                ..Host::new("me@far")
            })
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
            name: "upstream (node1)".into(),
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
