//! The request of a user, and the resolved plan with everything that it names.

use std::collections::BTreeMap;

use gatebench_model::{Elsewhere, Length, Limits, Plan, Scenario, Shape, Suite};

use super::library::Listed;
use super::study::StudyChoice;
use crate::external::{GeneratorChoice, PreparedGenerator};
use crate::testbed::resolve_gateway::PreparedGateway;
use crate::warning::Warning;

/// What a user asked for.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names or files of one suite or of scenarios; none is the tour.
    pub words: Vec<String>,
    /// Gateways by name, name and version (`nginx@1.22`) or folder, or `all`; none is what the suite says.
    pub gateways: Vec<String>,
    /// Scenarios by name or file, in place of the suite's.
    pub scenarios: Vec<String>,
    /// Leaves the direct variant out, whatever the suite says.
    pub no_direct: bool,
    /// Adds the null gateway, whatever the suite says.
    pub null: bool,
    /// Repeats open loads with threads that keep the gateway's cores from idling.
    pub keep_awake: bool,
    /// A gateway that already runs.
    pub attach: Option<Attach>,
    /// Load profile by name or file, in place of the suite's.
    pub load: Option<String>,
    /// Blocks, in place of the suite's.
    pub blocks: Option<u32>,
    /// Seed of the order.
    pub seed: Option<u64>,
    /// Cores of the gateway; one without.
    pub gateway_cores: Option<usize>,
    /// What each gateway may use at most, one variant for each.
    pub sizes: Vec<Limits>,
    /// Configurations of the user's for the one gateway named, one variant for each.
    pub configs: Vec<String>,
    /// The host that the gateways run on; this machine without.
    pub elsewhere: Option<Elsewhere>,
    /// How long the run is.
    pub length: Length,
    /// An external load generator in place of gatebench's own engine.
    pub engine: Option<GeneratorChoice>,
    /// The study that the run is made for.
    pub study: StudyChoice,
    /// Numbers of cores, one variant of each gateway for each.
    pub cores: Vec<usize>,
    /// The shape of every phase, in place of the load profile's.
    pub shape: Option<Shape>,
    /// What to call the gateways of these words, where their folders' names do not tell them apart.
    pub labels: BTreeMap<String, String>,
}

impl Selection {
    /// Reports whether the null gateway is loaded: it must be requested, and comparable in a
    /// scenario.
    pub(super) fn loads_null(&self, suite: &Suite, scenarios: &[Listed<Scenario>]) -> bool {
        let is_wanted = self.null || suite.null_gateway && self.allows_null();
        let mut documents = scenarios.iter().map(|listed| &listed.document);
        is_wanted && documents.any(|it| it.incomparable_with_null().is_none())
    }

    /// Reports whether a suite's null gateway takes part: only if gatebench's own engine measures
    /// gateways of this machine, for no other study.
    fn allows_null(&self) -> bool {
        let is_elsewhere = self.elsewhere.is_some() || self.attach.is_some();
        let is_varied = !self.sizes.is_empty() || !self.cores.is_empty();
        let is_own_load =
            self.engine.is_none() && matches!(self.length, Length::Full | Length::Quick);
        self.study.only_measures() && !is_elsewhere && !is_varied && is_own_load && !self.no_direct
    }
}

/// A gateway that already runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Its URL, `http://HOST:PORT`.
    pub url: String,
    /// Root of its process tree, where CPU and memory can be read.
    pub pid: Option<u32>,
}

/// A plan, and everything resolved that it names.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What will be done.
    pub plan: Plan,
    /// The gateways by label of their variant.
    pub gateways: BTreeMap<String, PreparedGateway>,
    /// An external load generator in place of gatebench's own engine.
    pub engine: Option<PreparedGenerator>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
}
