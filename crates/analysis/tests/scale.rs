//! What each route takes is recovered from stored runs whose truth is known.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Made, analysed_run, every_cell, manifest};
use gatebench_analysis::findings::{Findings, Metric, Scaled};
use gatebench_model::Route;
use gatebench_store::Manifest;

/// Memory of nginx: so much, and for each route so much more, a little more in each block.
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
    // Written in another order than they are told in.
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
fn what_each_route_takes_is_paired_by_block() {
    let findings = found();
    let [scale] = findings.scale.as_slice() else {
        panic!("{:?}", findings.scale)
    };
    assert_eq!(
        (scale.name.as_str(), scale.what),
        ("routes", Scaled::Routes)
    );
    let nginx = scale
        .gateways
        .iter()
        .find(|it| it.variant == "nginx")
        .unwrap();
    let counts: Vec<u32> = nginx.points.iter().map(|point| point.count).collect();
    assert_eq!(counts, [1, 3, 100]);
    let index = |metric| {
        scale
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
    let expected = "Each route takes 1.48 KiB of memory at nginx (1.47 KiB to 1.49 KiB over 3 blocks); it is \
                    ready after 110 ms with 100, 13.0 ms with 3 and 11.0 ms with 1.";
    assert!(said.contains(&expected), "{said:#?}");
}
