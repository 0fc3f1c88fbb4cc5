//! The cost of each route and each idle connection is recovered from stored runs with known values.

use gatebench_model::{Phase, Route, Shape};
use gatebench_store::{Counts, Manifest};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::Metric;
use gatebench_studies::marginal_cost::facts::MarginalUnit;
use serde_json::json;

use crate::common::{Made, analysed_run, every_cell, manifest};

/// Memory of nginx without routes in the first block. In block N, nginx takes N times this memory,
/// and each route adds [`ROUTE_BYTES`] and 10·N bytes.
const PLAIN_BYTES: u64 = 8 << 20;
const ROUTE_BYTES: u64 = 1_500;

fn planned(blocks: u32) -> Manifest {
    let mut manifest = manifest(blocks);
    let first = manifest.plan.scenarios[0].clone();
    let with_routes = |count: u32| {
        let mut scenario = first.clone();
        scenario.scenario = format!("routes-{count}");
        let route = |index| Route {
            name: format!("r-{index}"),
            path: format!("/{index}"),
            ..first.routes[0].clone()
        };
        scenario.routes = (1..count).map(route).chain(first.routes.clone()).collect();
        scenario
    };
    // The order in the plan differs from the order in the report.
    manifest.plan.scenarios = [100, 1, 3].map(with_routes).into();
    manifest.plan.scenarios.push(first);
    manifest.plan.trials = every_cell(&manifest.plan, blocks);
    manifest
}

fn found() -> Findings {
    let truth = |mut made: Made| {
        let name = made.record.trial.scenario.clone();
        let block = u64::from(made.record.trial.block);
        let routes: u64 = name.rsplit('-').next().unwrap().parse().unwrap_or(1);
        if made.is("nginx") {
            let bytes = PLAIN_BYTES * block + routes * (ROUTE_BYTES + 10 * block);
            made.used("steady", "gateway").rss_anon_bytes_max = bytes;
        }
        if let Some(gateway) = &mut made.record.gateway {
            gateway.started_in_ms = 10 + routes;
        }
        Some(made)
    };
    analysed_run(planned(3), truth).1
}

#[test]
fn the_cost_of_each_route_is_paired_by_block() {
    let findings = found();
    let [costs] = findings.marginal_costs.as_slice() else {
        panic!("{:?}", findings.marginal_costs)
    };
    assert_eq!(
        (costs.name.as_str(), costs.what),
        ("routes", MarginalUnit::Routes)
    );
    let nginx = costs
        .gateways
        .iter()
        .find(|it| it.variant == "nginx")
        .unwrap();
    let counts: Vec<u32> = nginx.points.iter().map(|point| point.count).collect();
    assert_eq!(counts, [1, 3, 100]);
    let index = |metric| {
        costs
            .measures
            .iter()
            .position(|it| it.metric == metric)
            .unwrap()
    };
    let memory = nginx.each[index(Metric::GatewayRssAnonMax)]
        .as_ref()
        .unwrap();
    // 1,510, 1,520 and 1,530 bytes in the three blocks, although the blocks differ by megabytes.
    assert!((memory.effect - 1_520.0).abs() < 1e-6, "{memory:?}");
    assert!((memory.min - 1_510.0).abs() < 1e-6 && (memory.max - 1_530.0).abs() < 1e-6);
    let start = nginx.each[index(Metric::GatewayStart)].as_ref().unwrap();
    assert!((start.effect - 1e6).abs() < 1e-3, "a millisecond each");
    let said: Vec<_> = findings
        .headlines
        .iter()
        .map(|it| it.text.as_str())
        .collect();
    let expected = "Each route takes 1.48 KiB of memory in nginx (1.47 KiB to 1.49 KiB over 3 blocks): \
                    16.0 MiB with 1, 16.0 MiB with 3 and 16.1 MiB with 100; nginx is ready after 11.0 ms with 1, \
                    13.0 ms with 3 and 110 ms with 100.";
    assert!(said.contains(&expected), "{said:#?}");
}

/// Memory of a gateway per idle connection. In block N, each connection takes 10·N bytes more.
const CONNECTION_BYTES: u64 = 700;

#[test]
fn loads_that_differ_in_idle_connections_give_their_cost() {
    let mut manifest = manifest(3);
    let idle = |connections: u32| {
        let phase = json!({
            "name": format!("idle-c{connections}"), "measure": "10s",
            "closed": { "connections": connections, "think": "10s" }
        });
        serde_json::from_value::<Phase>(phase).unwrap()
    };
    let phases = [10, 1_000, 10_000].map(idle);
    manifest.plan.load.phases = phases.to_vec();
    let truth = |mut made: Made| {
        let block = u64::from(made.record.trial.block);
        let template = made.record.phases[0].clone();
        let name = made.record.trial.variant.clone();
        let phase = |it: &Phase| {
            let Shape::Closed(closed) = &it.shape else {
                panic!("{it:?}")
            };
            let mut record = template.clone();
            record.name = it.name.clone();
            record.shape = it.shape.clone();
            // In this test, idle connections send no requests.
            record.counts = Counts::default();
            record.sums.clear();
            let usage = record.usage.entry("gateway".into()).or_default();
            usage.rss_anon_bytes_max = PLAIN_BYTES * block
                + u64::from(closed.connections) * (CONNECTION_BYTES + 10 * block);
            if name == "direct" {
                record.usage.clear();
            }
            record
        };
        made.record.phases = phases.iter().map(phase).collect();
        made.intervals.clear();
        made.rows.clear();
        Some(made)
    };
    let findings = analysed_run(manifest, truth).1;
    let [costs] = findings.marginal_costs.as_slice() else {
        panic!("{:?}", findings.marginal_costs)
    };
    assert_eq!(
        (costs.name.as_str(), costs.what),
        ("proxy-json", MarginalUnit::Connections)
    );
    let nginx = costs
        .gateways
        .iter()
        .find(|it| it.variant == "nginx")
        .unwrap();
    let points: Vec<_> = nginx
        .points
        .iter()
        .map(|it| (it.count, it.phase.as_deref().unwrap()))
        .collect();
    assert_eq!(
        points,
        [
            (10, "idle-c10"),
            (1_000, "idle-c1000"),
            (10_000, "idle-c10000")
        ]
    );
    let each = nginx.each[0].as_ref().unwrap();
    assert!((each.effect - 720.0).abs() < 1e-6, "{each:?}");
    let said: Vec<_> = findings
        .headlines
        .iter()
        .map(|it| it.text.as_str())
        .collect();
    let expected = "Each connection takes 720 B of memory in nginx (710 B to 730 B over 3 blocks): 16.0 MiB with 10, \
                    16.7 MiB with 1,000 and 22.9 MiB with 10,000.";
    assert!(said.contains(&expected), "{said:#?}");
    assert!(
        said.iter().all(|it| !it.contains("throughput")),
        "{said:#?}"
    );
}
