//! A pod that is started only to inspect its node.

use std::time::{Duration, Instant};

use gatebench_model::Cluster;

use super::carrier::Carrier;
use super::host::RemoteHost;
use super::protocol::{Ask, Inspected};
use crate::error::{DriverError, RemoteError};
use crate::interrupt::Interrupt;
use crate::kubernetes::{CONTAINER, Demand, Kubectl, Session, run_name};
use crate::process::Launcher;

/// The time after which the cluster ends the pod.
const DEADLINE_SECONDS: u64 = 300;

/// A node and its properties, as gatebench found them from inside a pod.
#[derive(Clone, Debug)]
pub struct InspectedPod {
    pub node: String,
    pub found: Inspected,
    /// The time from the request for the pod until gatebench ran in it.
    pub took: Duration,
    /// The errors for objects that the cluster rejected but the check does not need.
    pub warnings: Vec<String>,
}

/// Replaces the options of `run` in a remedy with the options of `kubernetes check`, whose pod is
/// configured like an upstream's.
fn with_options_of_check(error: DriverError) -> DriverError {
    match error {
        DriverError::Remote(error) => DriverError::Remote(RemoteError {
            remedy: error
                .remedy
                .replace("--agent-image", "--image")
                .replace("--upstream-node", "--node"),
            ..error
        }),
        error => error,
    }
}

/// Starts a pod like an upstream's, runs gatebench in it, and deletes the pod.
///
/// # Errors
/// The pod does not start, or gatebench cannot run in it.
pub fn inspect_pod(
    cluster: &Cluster,
    launcher: &Launcher,
    interrupt: &Interrupt,
) -> Result<InspectedPod, DriverError> {
    let begun = Instant::now();
    let run = run_name();
    let cluster = Cluster {
        agents: 0,
        ..cluster.clone()
    };
    let demand = Demand {
        cluster: &cluster,
        run: &run,
        title: "gatebench kubernetes check",
        gateways: &[],
        is_attached: false,
        needs_redis: false,
        may_omit_sizes: false,
        deadline_seconds: DEADLINE_SECONDS,
    };
    let opened = Session::open(&demand, interrupt);
    let (mut session, mut pods) = opened.map_err(with_options_of_check)?;
    let pod = pods.remove(0);
    let carrier = Carrier::Pod {
        name: pod.name.clone(),
        kubectl: Kubectl::new(&cluster.namespace),
        pod: pod.name.clone(),
        container: CONTAINER.to_owned(),
    };
    let host = RemoteHost::over(carrier, &launcher.small())?;
    let took = begun.elapsed();
    let found = host.ask(&Ask::Inspect)?;
    drop(host);
    Ok(InspectedPod {
        node: pod.node,
        found,
        took,
        warnings: std::mem::take(&mut session.warnings),
    })
}
