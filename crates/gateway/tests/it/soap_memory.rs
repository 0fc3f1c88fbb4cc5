//! Definitions that are compiled again in time take the place of those before them.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::common::{serve, upstream};
use gatebench_model::Scenario;
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

const ROUTES: usize = 40;

/// Set in the process that is measured: this program, started again to run the test below and nothing else.
const CHILD: &str = "GATEBENCH_SOAP_MEMORY_CHILD";

fn anonymous_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse().unwrap()
}

#[test]
fn recompiled_definitions_take_no_more_memory() {
    if std::env::var_os(CHILD).is_none() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("soap_memory::recompiled_definitions_take_no_more_memory")
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/soap-5-routes.yaml");
    let scenario: Scenario = gatebench_model::read(&path).unwrap();
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
