//! The pods of a run by their place, for as long as the run goes on.

use std::collections::BTreeMap;

use gatebench_model::Namespace;

use super::check::Node;
use super::kubectl::Kubectl;
use super::objects::{Demand, GatewayPod, Role};
use super::session::{Pod, Session};
use crate::error::{DriverError, RemoteError};
use crate::interrupt::Interrupt;

/// The pods of a run. Dropping it deletes them, with everything else that the run has in the
/// cluster.
#[derive(Debug)]
pub struct Pods {
    all: Vec<Pod>,
    /// The places of the pods in which gateways run that are part of gatebench.
    whole: Vec<String>,
    nodes: BTreeMap<String, Node>,
    session: Session,
}

impl Pods {
    /// Creates everything that a run needs, and waits until all pods run.
    ///
    /// # Errors
    /// The cluster's own message, with a remedy. Nothing is left.
    pub fn open(demand: &Demand<'_>, interrupt: &Interrupt) -> Result<Self, DriverError> {
        let (session, all) = Session::open(demand, interrupt)?;
        let whole = demand.gateways.iter().filter(|it| it.is_gatebench);
        Ok(Self {
            all,
            whole: whole.map(GatewayPod::place).collect(),
            nodes: nodes(&demand.cluster.namespace),
            session,
        })
    }

    /// All pods, those of the gateways first.
    pub fn all(&self) -> &[Pod] {
        &self.all
    }

    /// The node of a pod, if the user may list nodes.
    pub fn node(&self, pod: &Pod) -> Option<&Node> {
        self.nodes.get(&pod.node)
    }

    /// Refusals of objects that the run does not need.
    pub fn warnings(&self) -> &[String] {
        &self.session.warnings
    }

    pub(crate) fn namespace(&self) -> &Namespace {
        self.session.namespace()
    }

    /// The pods of the gateways.
    pub(crate) fn gateways(&self) -> impl Iterator<Item = &Pod> {
        let is_gateway = |it: &&Pod| it.role == Role::Gateway.name();
        self.all.iter().filter(is_gateway)
    }

    /// The pod at a place; none if the run has no such pod.
    pub(crate) fn at(&self, place: &str) -> Option<&Pod> {
        self.all.iter().find(|it| it.place == place)
    }

    /// Reports whether a gateway that is part of gatebench runs at this place, so that it needs the
    /// whole program.
    pub(crate) fn needs_whole(&self, place: &str) -> bool {
        self.whole.iter().any(|it| it == place)
    }
}

/// The error for a place without a pod.
pub(crate) fn no_pod(place: &str) -> DriverError {
    RemoteError::environment(
        format!("the run has no pod {place}"),
        "start the run again; its pods belong to one run",
    )
    .into()
}

/// The nodes by name; empty if the user may not list them.
fn nodes(namespace: &Namespace) -> BTreeMap<String, Node> {
    let kubectl = Kubectl::new(namespace);
    let listed = kubectl.run("list nodes", ["get", "nodes", "--output=json"], None);
    let listed = listed.and_then(|it| kubectl.objects(&it));
    let nodes = listed.unwrap_or_default();
    let nodes = nodes.iter().map(Node::of);
    nodes.map(|node| (node.name.clone(), node)).collect()
}
