//! Documents with default values.

use gatebench_model::{Scenario, Suite, SuiteGateway, Transport, UpstreamKind};

use crate::options::Options;

/// A scenario without routes and requests.
pub(crate) fn scenario(name: &str, title: &str, upstream: UpstreamKind) -> Scenario {
    Scenario {
        scenario: name.to_owned(),
        title: title.to_owned(),
        family: None,
        upstream,
        transport: Transport::default(),
        access_log: false,
        routes: Vec::new(),
        consumers: Vec::new(),
        data: Default::default(),
        order: Default::default(),
        requests: Vec::new(),
        groups: Vec::new(),
        parity: Vec::new(),
        later: None,
        targets: 1,
        more_upstreams: Default::default(),
        weights: Vec::new(),
        upstreams: 1,
        failover: false,
        admin: None,
        not_understood: Vec::new(),
        metrics: None,
    }
}

/// The suite of scenarios with the load of the tour.
pub(crate) fn suite(
    options: &Options,
    title: &str,
    gateways: Vec<SuiteGateway>,
    scenarios: Vec<String>,
) -> Suite {
    Suite {
        suite: options.name.clone(),
        title: title.into(),
        gateways,
        scenarios: scenarios.into_iter().map(Into::into).collect(),
        load: "tour".into(),
        blocks: 3,
        retries: 0,
        settle: None,
        direct: true,
        null_gateway: false,
        network_ceiling: false,
        cpus: Vec::new(),
        as_published: None,
        study: None,
    }
}
