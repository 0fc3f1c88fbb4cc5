//! Adds a container to a running gateway's pod, so that the gateway's processes are visible.
//!
//! An ephemeral container that targets the gateway's container shares its process namespace, so the
//! CPU time and memory of the gateway's processes can be read without access to the node. If the
//! pod names the gateway's user, the ephemeral container runs as that user, who may also read the
//! memory maps. Kubernetes cannot remove an ephemeral container, so gatebench only ends the
//! container's first process.

use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::{AttachedPod, Namespace};
use serde_json::{Value as Json, json};

use super::complaint;
use super::kubectl::Kubectl;
use super::manifest::restricted;
use super::session::run_name;
use crate::error::{DriverError, RemoteError};
use crate::interrupt::Interrupt;

/// The maximum time for pulling the image and starting the container.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The interval between queries of the container's state.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// The container's first process ends after this number of consecutive pauses, a day in total, in
/// which gatebench did not run in the container.
const PAUSES_ALONE: u32 = 24 * 60;
const PAUSE_SECONDS: u32 = 60;

/// The folder for all files of gatebench in the container.
const FOLDER: &str = "/tmp";
/// The file with the process ID of the container's first process.
const PID_FILE: &str = "gatebench-pid";

/// The annotation that names a pod's main container.
const MAIN: &str = "kubectl.kubernetes.io/default-container";

/// An ephemeral container in a gateway's pod. Dropping this value ends the container's first
/// process.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) kubectl: Kubectl,
    pub(crate) pod: String,
    pub(crate) container: String,
}

impl Watcher {
    /// Adds a container to the only running pod that the selector matches, and waits until the
    /// container runs. While gatebench runs in the container, a file there that matches `locks`, a
    /// shell pattern, contains its process ID.
    ///
    /// # Errors
    /// kubectl fails, there is no such pod or more than one, the cluster rejects the container, the
    /// container cannot start or does not start in time, or the run is interrupted.
    pub(crate) fn start(
        attached: &AttachedPod,
        locks: &str,
        interrupt: &Interrupt,
    ) -> Result<Self, DriverError> {
        let namespace = Namespace {
            context: attached.context.clone(),
            name: attached.namespace.clone(),
        };
        let kubectl = Kubectl::new(&namespace);
        let pods = kubectl.list("pods", &attached.selector)?;
        let pod = only_running(&pods, attached)?;
        let name = pod["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let watcher = Self {
            container: format!("gatebench-{}", run_name()),
            pod: name,
            kubectl,
        };
        let wait = waiting(FOLDER, locks, PAUSES_ALONE, PAUSE_SECONDS);
        watcher.add(pod, &attached.image, &wait)?;
        watcher.wait(interrupt)?;
        Ok(watcher)
    }

    fn add(&self, pod: &Json, image: &str, wait: &str) -> Result<(), DriverError> {
        let failed = DriverError::io("write the settings of the container");
        let custom = settings(pod).to_string();
        let mut file = tempfile::NamedTempFile::new().map_err(DriverError::io("create a file"))?;
        file.write_all(custom.as_bytes()).map_err(failed)?;
        let options = [
            ("--image", image),
            ("--target", target(pod)),
            ("--container", &self.container),
            ("--profile", "restricted"),
            ("--custom", &file.path().display().to_string()),
        ];
        let options = options.map(|(key, value)| format!("{key}={value}"));
        let words = ["debug".to_owned(), self.pod.clone()]
            .into_iter()
            .chain(options);
        let command = ["--", "sh", "-c", wait].map(str::to_owned);
        let what = format!("add a container to the pod {}", self.pod);
        self.kubectl.run(&what, words.chain(command), None)?;
        Ok(())
    }

    fn wait(&self, interrupt: &Interrupt) -> Result<(), DriverError> {
        let begun = Instant::now();
        while begun.elapsed() < START_TIMEOUT && !interrupt.is_raised() {
            let words = ["get", "pod", &self.pod, "--output=json"];
            let pod = self.kubectl.run("read the state of the pod", words, None)?;
            let pod = self.kubectl.objects(&pod)?.pop().unwrap_or_default();
            let statuses = pod["status"]["ephemeralContainerStatuses"].as_array();
            let mut statuses = statuses.into_iter().flatten();
            let state = statuses.find(|it| it["name"] == self.container.as_str());
            let state = state.map(|it| &it["state"]);
            if state.is_some_and(|it| it["running"].is_object()) {
                return Ok(());
            }
            let waiting = state.and_then(|it| {
                complaint::of_waiting(self.kubectl.namespace(), "container", &it["waiting"])
            });
            if let Some(error) = waiting {
                return Err(error.into());
            }
            thread::sleep(LOOK_EVERY);
        }
        let what = format!("the container in the pod {} did not start", self.pod);
        let namespace = &self.kubectl.namespace().name;
        let remedy = format!(
            "`kubectl -n {namespace} describe pod {}` shows more",
            self.pod
        );
        Err(RemoteError::environment(what, remedy).into())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut command = self.kubectl.exec(&self.pod, &self.container);
        // The shell reads the file itself, because the image may have no `cat`.
        let end = format!("read pid < {FOLDER}/{PID_FILE} && kill $pid");
        command.args(["sh", "-c", &end]);
        // A failure is ignored, because the process also ends after a day.
        let _ = command.stdin(std::process::Stdio::null()).output();
    }
}

/// Returns the script of the container's first process, which waits until gatebench ends it. The
/// process ends by itself after this number of consecutive pauses in which no file in `folder` that
/// matches `locks` contained the ID of a running process.
fn waiting(folder: &str, locks: &str, pauses: u32, pause_seconds: u32) -> String {
    // Kubernetes replaces `$$` with `$` in a container's command. The trap also ends `sleep`, which
    // would otherwise become a child of the gateway.
    format!(
        "trap 'kill $!; wait; exit 143' TERM; echo $$$$ > {folder}/{PID_FILE}; n=0; \
         while [ $n -lt {pauses} ]; do \
         n=$((n + 1)); \
         for lock in {folder}/{locks}; do \
         {{ read pid < $lock && kill -0 $pid; }} 2> /dev/null && n=0; done; \
         sleep {pause_seconds} & wait $!; done"
    )
}

fn only_running<'p>(pods: &'p [Json], attached: &AttachedPod) -> Result<&'p Json, RemoteError> {
    let running = pods.iter().filter(|it| it["status"]["phase"] == "Running");
    let running: Vec<&Json> = running.collect();
    if let [only] = running[..] {
        return Ok(only);
    }
    let (namespace, selector) = (&attached.namespace, &attached.selector);
    let names = running
        .iter()
        .filter_map(|it| it["metadata"]["name"].as_str());
    let names = match running.is_empty() {
        true => "none".to_owned(),
        false => Vec::from_iter(names).join(", "),
    };
    let what = format!(
        "the selector {selector} must match one running pod of {namespace}, but matches {names}"
    );
    let remedy = format!(
        "choose a selector that matches exactly one running pod, because the CPU time of several pods \
         cannot be attributed to the load; `kubectl -n {namespace} get pods --show-labels` lists the labels"
    );
    Err(RemoteError::environment(what, remedy))
}

/// Returns the name of the main container, whose processes are measured.
fn target(pod: &Json) -> &str {
    let main = pod["metadata"]["annotations"][MAIN].as_str();
    let first = pod["spec"]["containers"][0]["name"].as_str();
    main.or(first).unwrap_or_default()
}

/// Returns the settings of the new container, which runs as the gateway's user, if the pod names
/// one, and keeps its files in /tmp.
fn settings(pod: &Json) -> Json {
    let name = target(pod);
    let mut containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let container = containers.find(|it| it["name"] == name);
    let of = |security: &Json| security["runAsUser"].as_u64();
    let user = container.and_then(|it| of(&it["securityContext"]));
    let user = user.or_else(|| of(&pod["spec"]["securityContext"]));
    let mut security = restricted();
    security["runAsNonRoot"] = json!(user != Some(0));
    security["seccompProfile"] = json!({ "type": "RuntimeDefault" });
    if let Some(user) = user {
        security["runAsUser"] = json!(user);
    }
    let address = json!({ "fieldRef": { "fieldPath": "status.podIP" } });
    let folder = |name: &str| json!({ "name": name, "value": FOLDER });
    json!({
        "securityContext": security,
        "env": [
            { "name": "POD_IP", "valueFrom": address },
            folder("XDG_CACHE_HOME"),
            folder("TMPDIR"),
            folder("HOME"),
        ],
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn pod(name: &str, phase: &str) -> Json {
        json!({
            "metadata": { "name": name, "annotations": { MAIN: "proxy" } },
            "spec": {
                "securityContext": { "runAsUser": 1 },
                "containers": [
                    { "name": "sidecar" },
                    { "name": "proxy", "securityContext": { "runAsUser": 10_001 } },
                ],
            },
            "status": { "phase": phase },
        })
    }

    #[test]
    fn the_first_process_waits_while_gatebench_runs_in_the_container() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let start = || {
            let script = waiting(&folder.path().display().to_string(), "work-*/lock", 20, 0);
            let script = script.replace("$$", "$");
            let mut command = Command::new("sh");
            command.args(["-c", &script]).spawn().unwrap()
        };
        let lock_of = |name: &str, pid: u32| {
            std::fs::create_dir(at(name)).unwrap();
            std::fs::write(at(name).join("lock"), format!("{pid}\n")).unwrap();
        };
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        lock_of("work-1", ended.id());
        lock_of("work-2", std::process::id());
        let mut waits = start();
        while !at(PID_FILE).exists() {
            thread::sleep(Duration::from_millis(10));
        }
        // The script would end in less time if it did not find the lock of the running process.
        thread::sleep(Duration::from_secs(1));
        let kill = format!("kill {}", waits.id());
        Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert_eq!(waits.wait().unwrap().code(), Some(143));
        // The remaining folder belongs to a process that has ended.
        std::fs::remove_dir_all(at("work-2")).unwrap();
        assert_eq!(start().wait().unwrap().code(), Some(0));
    }

    #[test]
    fn the_new_container_has_the_user_of_the_gateway() {
        let pod = pod("a", "Running");
        assert_eq!(target(&pod), "proxy");
        let security = &settings(&pod)["securityContext"];
        assert_eq!(security["runAsUser"], 10_001);
        assert_eq!(security["runAsNonRoot"], true);
        assert_eq!(security["capabilities"]["drop"], json!(["ALL"]));
    }

    #[test]
    fn the_selector_must_match_one_running_pod() {
        let attached: AttachedPod = "kong/app=kong".parse().unwrap();
        let pods = [pod("a", "Running"), pod("b", "Pending")];
        assert_eq!(
            only_running(&pods, &attached).unwrap()["metadata"]["name"],
            "a"
        );
        let pods = [pod("a", "Running"), pod("b", "Running")];
        let error = only_running(&pods, &attached).unwrap_err();
        assert!(
            error
                .message
                .ends_with("one running pod of kong, but matches a, b"),
            "{error}"
        );
        let error = only_running(&[], &attached).unwrap_err();
        assert!(error.message.ends_with("but matches none"), "{error}");
    }
}
