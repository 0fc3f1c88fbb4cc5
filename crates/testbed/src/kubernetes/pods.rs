//! The pods of a run in progress, by place.

use std::collections::BTreeMap;

use gatebench_model::{Limits, Namespace};

use super::check::Node;
use super::kubectl::Kubectl;
use super::objects::{Demand, GatewayPod, Role};
use super::session::{Pod, Session};
use crate::error::{DriverError, RemoteError};
use crate::interrupt::Interrupt;

/// The pods of a run. Dropping this value deletes them, with everything else that the run has in
/// the cluster.
#[derive(Debug)]
pub struct Pods {
    all: Vec<Pod>,
    /// The places of gateways that are part of gatebench.
    whole: Vec<String>,
    /// The sizes of the gateways' pods that exist.
    sizes: Vec<Limits>,
    /// The sizes of the pods that were deleted because no node has room for them.
    omitted_sizes: Vec<Limits>,
    nodes: BTreeMap<String, Node>,
    session: Session,
}

impl Pods {
    /// Creates everything that a run needs, and waits until the pods run. If the demand allows it,
    /// gateway sizes for which no node has room are omitted.
    ///
    /// # Errors
    /// The cluster rejects a required object, a pod ends or does not start in time, kubectl fails,
    /// or the run is interrupted. After an error, the objects created so far are deleted.
    pub fn open(demand: &Demand<'_>, interrupt: &Interrupt) -> Result<Self, DriverError> {
        let (session, all) = Session::open(demand, interrupt)?;
        let whole = demand.gateways.iter().filter(|it| it.is_gatebench);
        let is_omitted = |it: &&GatewayPod| {
            let omitted = session.omitted.as_ref();
            omitted.is_some_and(|omitted| omitted.places.contains(&it.place()))
        };
        let (omitted, had): (Vec<_>, Vec<_>) = demand.gateways.iter().partition(is_omitted);
        let sizes = |pods: Vec<&GatewayPod>| pods.into_iter().map(|it| it.size).collect();
        Ok(Self {
            all,
            whole: whole.map(GatewayPod::place).collect(),
            sizes: sizes(had),
            omitted_sizes: sizes(omitted),
            nodes: nodes(&demand.cluster.namespace),
            session,
        })
    }

    /// Returns all pods, those of the gateways first.
    pub fn all(&self) -> &[Pod] {
        &self.all
    }

    /// Returns the node of a pod, if kubectl could list the nodes.
    pub fn node(&self, pod: &Pod) -> Option<&Node> {
        self.nodes.get(&pod.node)
    }

    /// Returns the errors for objects that the cluster rejected but the run does not need.
    pub fn warnings(&self) -> &[String] {
        &self.session.warnings
    }

    /// Reports whether the run has gateways of this size and all of them have pods.
    pub fn have_size(&self, size: Limits) -> bool {
        self.sizes.contains(&size) && !self.omitted_sizes.contains(&size)
    }

    /// Returns the scheduler's message about one of the pods whose sizes were omitted; none if no
    /// size was omitted.
    pub fn no_room(&self) -> Option<&str> {
        self.session.omitted.as_ref().map(|it| it.said.as_str())
    }

    pub(crate) fn namespace(&self) -> &Namespace {
        self.session.namespace()
    }

    pub(crate) fn gateways(&self) -> impl Iterator<Item = &Pod> {
        let is_gateway = |it: &&Pod| it.role == Role::Gateway.name();
        self.all.iter().filter(is_gateway)
    }

    pub(crate) fn at(&self, place: &str) -> Option<&Pod> {
        self.all.iter().find(|it| it.place == place)
    }

    /// Reports whether this place needs the whole program, because a gateway that is part of
    /// gatebench runs there.
    pub(crate) fn needs_whole(&self, place: &str) -> bool {
        self.whole.iter().any(|it| it == place)
    }
}

pub(crate) fn no_pod(place: &str) -> DriverError {
    RemoteError::environment(
        format!("the run has no pod {place}"),
        "start the run again, which creates new pods",
    )
    .into()
}

/// Returns the nodes by name; empty if kubectl cannot list them.
fn nodes(namespace: &Namespace) -> BTreeMap<String, Node> {
    let kubectl = Kubectl::new(namespace);
    let listed = kubectl.run("list nodes", ["get", "nodes", "--output=json"], None);
    let listed = listed.and_then(|it| kubectl.objects(&it));
    let nodes = listed.unwrap_or_default();
    let nodes = nodes.iter().map(Node::of);
    nodes.map(|node| (node.name.clone(), node)).collect()
}
