//! Tests that recompiled definitions replace the previous ones in memory.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::common::memory::{anonymous_kib, is_alone};
use crate::common::{serve, upstream};
use gatebench_model::Scenario;
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

const ROUTES: usize = 40;

#[test]
fn recompiled_definitions_take_no_more_memory() {
    if !is_alone("soap_memory::recompiled_definitions_take_no_more_memory") {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/published/soap/soap-5-routes.yaml");
    let scenario: Scenario = gatebench_config::read(&path).unwrap();
    let mut routes = serde_json::to_value(&scenario.routes[..ROUTES]).unwrap();
    for route in routes.as_array_mut().unwrap() {
        route["upstream"] = json!("origin");
        for direction in ["request", "response"] {
            route["policies"][0]["soap"][direction]["cache_ttl"] = Value::from("200ms");
        }
    }
    let origin = upstream(Kind::from_name("calculator").unwrap(), Backend::Epoll);
    let other = upstream(Kind::from_name("calculator-soap2").unwrap(), Backend::Epoll);
    let at = |name: &str, port: u16| json!({"name": name, "keepalive": 4, "targets": [{"address": "127.0.0.1", "port": port}]});
    let empty = anonymous_kib();
    let gateway = serve(
        Backend::Epoll,
        &json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [at("origin", origin.address.port()), at("soap2", other.address.port())],
            "routes": routes,
        }),
    );
    let compiled = anonymous_kib() - empty;
    for _ in 0..20 {
        gateway.client().get("/team-1/ws");
        sleep(Duration::from_millis(100));
    }
    let recompiled = anonymous_kib().saturating_sub(empty);
    assert!(
        recompiled < compiled * 3 / 2,
        "{ROUTES} routes took {compiled} KiB and take {recompiled} KiB"
    );
}
