//! Documents with default values.

use gatebench_model::{Scenario, Suite, SuiteGateway, Transport, UpstreamKind};

use crate::options::Options;

pub(crate) fn scenario(name: &str, title: &str, upstream: UpstreamKind) -> Scenario {
    Scenario {
        scenario: name.to_owned(),
        title: title.to_owned(),
        family: None,
        upstream,
        transport: Transport::default(),
        access_log: false,
        routes: Vec::new(),
        global_policies: Vec::new(),
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
        control_plane: false,
        not_understood: Vec::new(),
        metrics: None,
    }
}

pub(crate) fn suite(
    options: &Options,
    title: &str,
    gateways: Vec<SuiteGateway>,
    scenarios: Vec<String>,
    load: &str,
) -> Suite {
    Suite {
        gateways,
        scenarios: scenarios.into_iter().map(Into::into).collect(),
        blocks: 3,
        ..Suite::new(&options.name, title, load)
    }
}

pub(crate) fn gateways(names: &[&str]) -> Vec<SuiteGateway> {
    names.iter().map(|name| (*name).to_owned().into()).collect()
}
