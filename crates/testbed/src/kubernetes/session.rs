//! Creates the objects of a run in order, waits for them, and deletes them at the end.
//!
//! ```text
//! gatebench ──stdin pipe──> sh ──(at its end)──> kubectl delete configmap gb-RUN
//! ```
//! The shell that deletes the anchor is started before the anchor is created, and in a separate
//! process group, so the anchor is deleted even if gatebench is killed. The cluster then deletes
//! everything that the anchor owns.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gatebench_model::plan::NULL;
use gatebench_model::{Limits, Namespace};
use serde_json::Value as Json;

use super::complaint;
use super::kubectl::{Kubectl, not_found};
use super::objects::{Anchor, Demand, MANAGED, PREFIX, ROLE, RUN, Role, gateway_name};
use crate::error::{DriverError, RemoteError};
use crate::interrupt::Interrupt;
use crate::system::command::wait_until;
use crate::system::digest::sha256_of;

/// The interval between queries of the state of pods that are starting or ending.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The maximum time of each wait for the pods of a role: first until they have nodes, and later
/// until they run. If the cluster's `schedule_seconds` is longer, it replaces this time.
const START_TIMEOUT: Duration = Duration::from_secs(300);

/// The maximum time that dropping a [`Session`] waits for the deletion of its objects.
const DELETE_TIMEOUT: Duration = Duration::from_secs(60);

/// The input that requests the deletion at the end of a run.
const DONE: &[u8] = b"done\n";

/// The script that waits for [`DONE`] or the end of its input, and then deletes the anchor. If its
/// input ends without [`DONE`], gatebench was killed, and the script first waits, because an object
/// that gatebench had just requested may appear a moment later.
const REMOVER: &str =
    "trap '' HUP INT TERM; read -r word; [ \"$word\" = done ] || sleep 2; exec \"$@\"";

/// The annotation that contains a pod's number in an Indexed Job.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

const NAME_CHARS: usize = 8;

/// Returns a name for a run, derived from the process ID and the time.
pub fn run_name() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let unique = format!("{} {}", std::process::id(), now.as_nanos());
    sha256_of(unique.as_bytes())[..NAME_CHARS].to_owned()
}

/// A pod of a run, with its node and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    pub name: String,
    /// The pod's name without the run's name, such as `upstream` or `engine-0`.
    pub place: String,
    pub role: String,
    pub node: String,
    /// The pod's address in the cluster's network.
    pub address: String,
}

/// The objects of a run. Dropping this value deletes them.
#[derive(Debug)]
pub struct Session {
    kubectl: Kubectl,
    run: String,
    anchor: Anchor,
    remover: Child,
    /// The errors for objects that the cluster rejected but the run does not need.
    pub warnings: Vec<String>,
    /// The pods of gateways that were deleted because no node has room for their size.
    pub omitted: Option<Omitted>,
}

/// Pods of gateways for which no node has room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    pub places: Vec<String>,
    /// The scheduler's message for one of the pods.
    pub said: String,
}

impl Session {
    /// Creates everything that a run needs, and waits until the pods run. The pods of the gateways
    /// are created first and must have nodes before other pods are created.
    ///
    /// # Errors
    /// The cluster rejects a required object, a pod ends or does not start in time, kubectl fails,
    /// or the run is interrupted. After an error, the objects created so far are deleted.
    pub fn open(
        demand: &Demand<'_>,
        interrupt: &Interrupt,
    ) -> Result<(Self, Vec<Pod>), DriverError> {
        let kubectl = Kubectl::new(&demand.cluster.namespace);
        let remover = remover(&kubectl, &demand.anchor_name())?;
        let mut session = Self {
            anchor: Anchor { uid: String::new() },
            run: demand.run.to_owned(),
            kubectl,
            remover,
            warnings: Vec::new(),
            omitted: None,
        };
        let anchor = session.kubectl.create(
            "the ConfigMap that owns all other objects",
            &[demand.anchor()],
        )?;
        let uid = anchor.first().and_then(|it| it["metadata"]["uid"].as_str());
        session.anchor.uid = uid.unwrap_or_default().to_owned();
        let policy = demand.network_policy(Some(&session.anchor));
        if let Err(error) = session.kubectl.create("the network policy", &[policy]) {
            session.warnings.push(error.to_string());
        }
        for role in Role::ALL {
            let objects = demand.of_role(role, Some(&session.anchor));
            if objects.is_empty() {
                continue;
            }
            let what = complaint::pods_of(role.name());
            session.kubectl.create(&what, &objects)?;
            session.wait_for(demand, role, interrupt, has_node)?;
        }
        let mut pods = Vec::new();
        for role in Role::ALL.into_iter().filter(|role| demand.count(*role) > 0) {
            pods.extend(session.wait_for(demand, role, interrupt, is_running)?);
        }
        Ok((session, pods))
    }

    /// Waits until `is_there` is true for all pods of a role, and returns the pods.
    fn wait_for(
        &mut self,
        demand: &Demand<'_>,
        role: Role,
        interrupt: &Interrupt,
        is_there: fn(&Json) -> bool,
    ) -> Result<Vec<Pod>, DriverError> {
        let begun = Instant::now();
        let patience = Duration::from_secs(demand.cluster.schedule_seconds.into());
        loop {
            let pods = self.pods(role)?;
            if let Some(error) = pods.iter().find_map(|pod| self.failure(pod, role)) {
                return Err(error.into());
            }
            if pods.len() >= self.wanted(demand, role) && pods.iter().all(is_there) {
                return Ok(pods.iter().map(|pod| Pod::of(pod, &self.run)).collect());
            }
            let refused = pods.iter().find_map(no_node);
            if let Some(said) = refused.filter(|_| begun.elapsed() > patience) {
                if demand.may_omit_sizes && role == Role::Gateway && self.omit(&pods, said)? {
                    continue;
                }
                let namespace = self.kubectl.namespace();
                return Err(complaint::of_no_node(namespace, role.name(), said).into());
            }
            let timeout = START_TIMEOUT.max(patience);
            if begun.elapsed() > timeout {
                return Err(self.too_late(role, &pods, timeout).into());
            }
            if interrupt.is_raised() {
                let what = format!(
                    "interrupted while {} were starting",
                    complaint::pods_of(role.name())
                );
                return Err(RemoteError::environment(what, "start the run again").into());
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn wanted(&self, demand: &Demand<'_>, role: Role) -> usize {
        let omitted = self.omitted.iter().filter(|_| role == Role::Gateway);
        let omitted: usize = omitted.map(|it| it.places.len()).sum();
        demand.count(role) - omitted
    }

    /// Deletes the gateway pods that have no node, if at least one gateway pod has a node; returns
    /// false otherwise. The null gateway, which has no size, does not count.
    fn omit(&mut self, pods: &[Json], said: &str) -> Result<bool, DriverError> {
        let null = gateway_name(NULL, None, Limits::default());
        let of = |pod: &Json| Pod::of(pod, &self.run);
        let (placed, others): (Vec<&Json>, Vec<&Json>) = pods.iter().partition(|it| has_node(it));
        if placed.iter().all(|pod| of(pod).place == null) {
            return Ok(false);
        }
        let others = Vec::from_iter(others.into_iter().map(of));
        let names = others.iter().map(|pod| pod.name.as_str());
        let words = ["delete", "pods", "--ignore-not-found"].into_iter();
        self.kubectl
            .run("delete pods without a node", words.chain(names), None)?;
        self.omitted = Some(Omitted {
            places: others.into_iter().map(|pod| pod.place).collect(),
            said: said.to_owned(),
        });
        Ok(true)
    }

    pub(super) fn namespace(&self) -> &Namespace {
        self.kubectl.namespace()
    }

    fn pods(&self, role: Role) -> Result<Vec<Json>, DriverError> {
        let label = format!("{RUN}={},{ROLE}={}", self.run, role.name());
        self.kubectl.list("pods", &label)
    }

    /// Returns the error for a pod that cannot run or no longer runs.
    fn failure(&self, pod: &Json, role: Role) -> Option<RemoteError> {
        let namespace = self.kubectl.namespace();
        let statuses = || {
            pod["status"]["containerStatuses"]
                .as_array()
                .into_iter()
                .flatten()
        };
        let waiting = statuses()
            .find_map(|it| complaint::of_waiting(namespace, role.name(), &it["state"]["waiting"]));
        waiting.or_else(|| self.end(pod, role))
    }

    fn end(&self, pod: &Json, role: Role) -> Option<RemoteError> {
        let said = ended(pod)?;
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let node = pod["spec"]["nodeName"].as_str().unwrap_or("no node");
        let what = format!("{} ended on {node}: {said}", complaint::pod_of(role.name()));
        let namespace = &self.kubectl.namespace().name;
        let remedy = format!(
            "`kubectl -n {namespace} get events --field-selector involvedObject.name={name}` shows more"
        );
        Some(RemoteError::environment(what, remedy))
    }

    fn too_late(&self, role: Role, pods: &[Json], timeout: Duration) -> RemoteError {
        let waits = |pod: &Json| {
            let mut statuses = pod["status"]["containerStatuses"].as_array()?.iter();
            statuses.find_map(|it| it["state"]["waiting"]["reason"].as_str().map(str::to_owned))
        };
        let reason = pods.iter().find_map(waits);
        let reason = reason.map_or_else(String::new, |it| format!(" ({it})"));
        let what = format!(
            "{} did not start within {timeout:?}{reason}",
            complaint::pods_of(role.name())
        );
        let namespace = &self.kubectl.namespace().name;
        let label = format!("{RUN}={}", self.run);
        let remedy = format!(
            "`kubectl -n {namespace} get events` shows more; the pods had the label {label}"
        );
        RemoteError::environment(what, remedy)
    }
}

impl Pod {
    fn of(pod: &Json, run: &str) -> Self {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let name = text(&pod["metadata"]["name"]);
        let role = text(&pod["metadata"]["labels"][ROLE]);
        let plain = name.strip_prefix(&format!("{PREFIX}{run}-"));
        Self {
            place: match pod["metadata"]["annotations"][INDEX].as_str() {
                Some(index) => format!("{role}-{index}"),
                None => plain.unwrap_or(&name).to_owned(),
            },
            name,
            role,
            node: text(&pod["spec"]["nodeName"]),
            address: text(&pod["status"]["podIP"]),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(mut stdin) = self.remover.stdin.take() {
            let _ = stdin.write_all(DONE);
        }
        let deadline = Instant::now() + DELETE_TIMEOUT;
        let remover = &mut self.remover;
        wait_until(deadline, || remover.try_wait().transpose());
        let label = format!("{RUN}={}", self.run);
        wait_until_gone(&self.kubectl, &label, deadline);
    }
}

fn has_node(pod: &Json) -> bool {
    pod["spec"]["nodeName"].is_string()
}

fn is_running(pod: &Json) -> bool {
    pod["status"]["phase"] == "Running" && pod["status"]["podIP"].is_string()
}

/// Returns the scheduler's message, if no node can run the pod at present.
fn no_node(pod: &Json) -> Option<&str> {
    let mut conditions = pod["status"]["conditions"].as_array()?.iter();
    let refused = conditions.find(|it| it["type"] == "PodScheduled" && it["status"] == "False")?;
    refused["message"].as_str()
}

/// Returns the reason why a pod has ended; none if it has not.
fn ended(pod: &Json) -> Option<String> {
    let status = &pod["status"];
    let mut statuses = status["containerStatuses"].as_array().into_iter().flatten();
    let terminated = statuses.find_map(|it| {
        let terminated = &it["state"]["terminated"];
        let reason = terminated["reason"].as_str()?;
        let code = &terminated["exitCode"];
        let said = terminated["message"].as_str().unwrap_or_default();
        Some(
            format!("{reason}, exit code {code} {said}")
                .trim_end()
                .to_owned(),
        )
    });
    let phase = status["phase"]
        .as_str()
        .filter(|it| matches!(*it, "Failed" | "Succeeded"));
    let reason = status["reason"].as_str().or(phase)?;
    let said = status["message"].as_str().unwrap_or_default();
    let words = [Some(format!("{reason} {said}")), terminated];
    let words = words
        .into_iter()
        .flatten()
        .map(|it| it.trim_end().to_owned());
    Some(Vec::from_iter(words).join("; "))
}

/// Returns the reason why a pod has ended or disappeared; none if it is running, or if the cluster
/// does not respond.
pub(crate) fn last_words(kubectl: &Kubectl, pod: &str) -> Option<String> {
    let field = format!("--field-selector=metadata.name={pod}");
    let words = ["get", "pods", &field, "--output=json"];
    let found = kubectl.run("read the state of the pod", words, None).ok()?;
    let found = kubectl.objects(&found).ok()?;
    let Some(pod) = found.first() else {
        return Some("the pod was deleted".into());
    };
    // The exit code of a container in a pod that is being deleted explains nothing, unless the
    // container ran out of memory earlier.
    let is_ending = pod["metadata"]["deletionTimestamp"].is_string();
    let words = ended(pod);
    let is_reason = |words: &String| !is_ending || words.contains("OOMKilled");
    let words = disruption(pod).or_else(|| words.filter(is_reason));
    words.or_else(|| is_ending.then(|| "the pod was deleted".into()))
}

/// Returns the cluster's reason for removing a pod, such as an eviction.
fn disruption(pod: &Json) -> Option<String> {
    let mut conditions = pod["status"]["conditions"].as_array()?.iter();
    let target =
        conditions.find(|it| it["type"] == "DisruptionTarget" && it["status"] == "True")?;
    let text = |key: &str| target[key].as_str().unwrap_or_default();
    Some(format!("{} {}", text("reason"), text("message")))
}

fn remover(kubectl: &Kubectl, anchor: &str) -> Result<Child, DriverError> {
    let delete = kubectl.command();
    let mut command = Command::new("sh");
    command
        .args(["-c", REMOVER, "sh"])
        .arg(delete.get_program());
    command.args(delete.get_args());
    command.args([
        "delete",
        "configmap",
        anchor,
        "--ignore-not-found",
        "--wait=false",
    ]);
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let started = streams.stderr(Stdio::null()).process_group(0).spawn();
    started.map_err(not_found)
}

fn wait_until_gone(kubectl: &Kubectl, label: &str, deadline: Instant) {
    while Instant::now() < deadline {
        match kubectl.list("pods", label) {
            Ok(pods) if pods.is_empty() => return,
            // Even if gatebench can no longer reach the cluster, the cluster deletes the objects
            // once the anchor is gone.
            Err(_) => return,
            Ok(_) => thread::sleep(LOOK_EVERY),
        }
    }
}

/// The kinds of objects that have the label of a run.
const KINDS: [&str; 4] = ["pods", "jobs", "networkpolicies", "configmaps"];

/// Deletes the objects of all runs in a namespace, even of runs in progress. Returns the deleted
/// objects, as `KIND/NAME`, and the kinds that the user may not list.
///
/// # Errors
/// kubectl fails.
pub fn clean(namespace: &Namespace) -> Result<(Vec<String>, Vec<String>), DriverError> {
    let kubectl = Kubectl::new(namespace);
    let (key, value) = MANAGED;
    let (mut left, mut unlisted, mut anchors) = (Vec::new(), Vec::new(), BTreeSet::new());
    for kind in KINDS {
        let listed = match kubectl.list(kind, &format!("{key}={value},{RUN}")) {
            Err(error) if error.to_string().contains("orbidden") => {
                unlisted.push(kind.to_owned());
                continue;
            }
            listed => listed?,
        };
        for object in listed {
            let metadata = &object["metadata"];
            let run = metadata["labels"][RUN].as_str().unwrap_or_default();
            anchors.insert(format!("{PREFIX}{run}"));
            left.push(format!(
                "{kind}/{}",
                metadata["name"].as_str().unwrap_or_default()
            ));
        }
    }
    if left.is_empty() {
        return Ok((left, unlisted));
    }
    let anchors = anchors.into_iter().map(|name| format!("configmaps/{name}"));
    let all = BTreeSet::from_iter(left.iter().cloned().chain(anchors));
    let mut words: Vec<String> = ["delete", "--ignore-not-found", "--wait=true"]
        .map(String::from)
        .into();
    words.push("--timeout=60s".into());
    words.extend(all);
    kubectl.run("delete the objects that runs left", words, None)?;
    Ok((left, unlisted))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_that_ran_out_of_memory_is_explained() {
        let pod = json!({ "status": {
            "phase": "Failed",
            "containerStatuses": [{ "state": { "terminated": { "reason": "OOMKilled", "exitCode": 137 } } }]
        }});
        assert_eq!(ended(&pod).unwrap(), "Failed; OOMKilled, exit code 137");
        let evicted = json!({ "status": {
            "phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."
        }});
        assert_eq!(
            ended(&evicted).unwrap(),
            "Evicted The node was low on resource: memory."
        );
        assert_eq!(ended(&json!({ "status": { "phase": "Running" } })), None);
    }

    #[test]
    fn the_scheduler_is_quoted() {
        let said = "0/3 nodes are available: 3 Insufficient cpu.";
        let pod = json!({ "status": { "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said }
        ]}});
        assert_eq!(no_node(&pod), Some(said));
        assert_eq!(no_node(&json!({ "status": {} })), None);
    }
}
