//! A user's request, and the resulting plan with its gateways and load generator.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatebench_agent::Agents;
use gatebench_model::{
    AttachedPod, Cluster, Elsewhere, Length, Limits, Places, Plan, Scenario, Shape, Specification,
    Suite,
};
use gatebench_studies::StudyChoice;
use gatebench_testbed::Testbed;
use gatebench_testbed::gateway::FoundGateway;

use super::library::Listed;
use crate::external::{GeneratorChoice, PreparedGenerator};
use crate::warning::Warning;

/// A user's request.
#[derive(Debug, Default)]
pub struct Selection {
    /// Names or files of one suite or of scenarios. If the list is empty, the suite comes from
    /// `specification`, `scenarios` or `scenario`, or is the tour.
    pub words: Vec<String>,
    /// Gateways by name, name and version (`nginx@1.22`) or folder, or `all`. If the list is empty,
    /// the suite's gateways are measured or, if there is an attached gateway, only that one.
    pub gateways: Vec<String>,
    /// Scenarios by name or file, which replace the suite's.
    pub scenarios: Vec<String>,
    /// Omits the direct variant, regardless of the suite.
    pub no_direct: bool,
    /// Adds the null gateway, regardless of the suite.
    pub null: bool,
    /// Repeats open loads while threads keep the gateway's cores from idling.
    pub keep_awake: bool,
    pub attach: Option<Attach>,
    /// The load profile by name or file, which replaces the suite's.
    pub load: Option<String>,
    /// The number of blocks, which replaces the suite's.
    pub blocks: Option<u32>,
    pub seed: Option<u64>,
    /// The number of cores for the gateway [default: the largest of `cores`, otherwise as many as
    /// the largest size can use, otherwise 1].
    pub gateway_cores: Option<usize>,
    /// The limits of gateways; each gateway has a variant for each size.
    pub sizes: Vec<Limits>,
    /// The user's configurations for the only named gateway. The gateway has a variant for each
    /// configuration.
    pub configs: Vec<String>,
    /// A scenario that replaces the suite's. It has no file, because it is made from the routes of
    /// a configuration.
    pub scenario: Option<Scenario>,
    /// The host that the gateways run on; `None` for this machine.
    pub elsewhere: Option<Elsewhere>,
    /// The places of the load generators, the upstreams and Redis.
    pub places: Places,
    /// The cluster that all parts run in; `None` if they run on this machine and other hosts.
    pub cluster: Option<Cluster>,
    pub length: Length,
    /// An external load generator that replaces the built-in one.
    pub engine: Option<GeneratorChoice>,
    /// The study of the run, unless a specification determines it.
    pub study: Box<dyn StudyChoice>,
    pub specification: Option<Listed<Specification>>,
    /// The numbers of cores; each gateway has a variant for each number.
    pub cores: Vec<usize>,
    /// The shape of every phase, which replaces the shapes in the load profile.
    pub shape: Option<Shape>,
    /// The labels of gateways, by argument. Other gateways are labeled by their folder's name and
    /// their settings.
    pub labels: BTreeMap<String, String>,
}

impl Selection {
    /// Reports whether the user chose scenarios, other than by a configuration. The suite of a
    /// study such as an A/B test does not count, because it is only the study's default.
    pub(super) fn has_scenarios(&self) -> bool {
        let has_words = !self.words.is_empty() && self.study().only_measures();
        has_words || !self.scenarios.is_empty() || self.specification.is_some()
    }

    pub(super) fn study(&self) -> &dyn StudyChoice {
        match &self.specification {
            Some(listed) => &listed.document,
            None => &*self.study,
        }
    }

    /// Reports whether the null gateway is measured. The user, the suite or the placement of the
    /// run must call for it, and gateways must be comparable with it in at least one scenario.
    pub(super) fn loads_null(&self, suite: &Suite, scenarios: &[Listed<Scenario>]) -> bool {
        let is_wanted = self.null || self.needs_relay() || suite.null_gateway && self.allows_null();
        let mut documents = scenarios.iter().map(|listed| &listed.document);
        is_wanted && documents.any(|it| it.incomparable_with_null().is_none())
    }

    /// Reports whether requests may cross the network a second time, because the gateways run on
    /// one host, and the load generators or the upstreams on others. The null gateway then runs on
    /// the gateways' host, and shows the cost of the second crossing, which the gateways do not
    /// cause. Runs that do more than measure, and runs without the direct variant, do not need it.
    fn needs_relay(&self) -> bool {
        let is_apart = self.elsewhere.is_some() && !self.places.are_here();
        is_apart && self.study().only_measures() && !self.no_direct
    }

    /// Reports whether the run permits a suite's null gateway: it must be a full or quick run that
    /// only measures, with the direct variant, the built-in load generator, and gateways that
    /// gatebench starts on this machine, without limits or a list of core counts.
    fn allows_null(&self) -> bool {
        let is_elsewhere = self.elsewhere.is_some() || self.attach.is_some();
        let is_varied = !self.sizes.is_empty() || !self.cores.is_empty();
        let is_own_load =
            self.engine.is_none() && matches!(self.length, Length::Full | Length::Quick);
        self.study().only_measures()
            && !is_elsewhere
            && !is_varied
            && is_own_load
            && !self.no_direct
    }
}

/// A gateway that is already running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The gateway's URL, `http://HOST:PORT`.
    pub url: String,
    /// The process ID of the root of the gateway's process tree, if CPU and memory can be read.
    pub pid: Option<u32>,
    /// The pod that the gateway runs in, if CPU and memory can be read there.
    pub pod: Option<AttachedPod>,
}

/// A plan with its resolved gateways and load generator.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub plan: Plan,
    /// The gateways by the label of their variant.
    pub gateways: BTreeMap<String, FoundGateway>,
    /// An external load generator that replaces the built-in one.
    pub engine: Option<PreparedGenerator>,
    pub warnings: Vec<Warning>,
    pub testbed: Testbed,
    /// The agents (load generators outside this process), if they send the loads.
    pub agents: Option<Arc<Agents>>,
}
