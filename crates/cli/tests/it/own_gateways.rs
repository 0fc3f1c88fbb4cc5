//! A user's own gateway: `gatebench check gateway`, and the faults that it must find.

use crate::bench::Bench;
use crate::gateways::HUNDRED;

/// The folder declares version 1 of the contract, as older folders do.
#[test]
fn a_gateway_outside_the_list_is_checked_and_measured() {
    let bench = Bench::new();
    bench.own_gateway();
    let proven = bench.gatebench("check gateway ./mine --dir checked");
    proven.assert_code(0).assert_prints(&[
        "My own gateway",
        "contract: 15 cases, 2 of them added by gatebench",
        "api-key: 7 cases",
        "mock: not supported: mock",
        "mine passes all",
    ]);
    assert!(bench.path("checked/api-key/gateway/mine.json").is_file());
    bench.load(HUNDRED);
    bench
        .gatebench("run suite.yaml --gateway ./mine --dir run")
        .assert_measured();
}

#[test]
fn wrong_responses_are_shown_side_by_side() {
    let bench = Bench::new();
    bench.own_gateway();
    // The proxy accepts every key, and opens a connection to the upstream for each request.
    let proxy = bench
        .read("mine/proxy.py")
        .replace("not in CONFIG[\"keys\"]", "is None")
        .replace("idle.put(upstream)", "upstream.close()");
    bench.write("mine/proxy.py", &proxy);
    let finished = bench
        .gatebench("check gateway ./mine --scenario contract --scenario api-key --scenario mock");
    finished.assert_code(1).assert_prints(&[
        "✗ connections to the upstream are kept alive and reused",
        "expected: at most 5 connections to the upstream are opened",
        "✗ a wrong key is refused",
        "X-Api-Key: mallory-0000000000000000",
        "│ HTTP/1.1 200",
        "expected: status is 401",
        "mine fails 2 of 2 scenarios; 1 not tested",
        "→ correct its folder",
        "gatebench-check/mine/contract/gateway",
    ]);
}

#[test]
fn a_mistake_may_be_in_the_users_own_scenario() {
    let bench = Bench::new();
    bench.own_gateway();
    bench.write(
        "wrong.yaml",
        "scenario: wrong\ntitle: A wrong status\nupstream: any\nroutes: [{name: all, path: /}]\n\
         requests: [{path: /}]\nparity:\n  - name: a long body\n    reaches_upstream: true\n    \
         request: {path: /, headers: {X-Response-Bytes: '5000'}, checks: [{status: 201}]}\n",
    );
    let checked = bench.gatebench("check gateway ./mine --scenario wrong.yaml");
    checked.assert_code(1).assert_prints(&[
        "✗ a long body",
        "│ … at least ",
        " characters left out\n      expected: status is 201",
        "mine fails 1 of 1 scenario",
        "→ correct wrong.yaml or the gateway's folder; the rendered files are in gatebench-check",
    ]);
}

#[test]
fn a_gateway_may_lack_connections_that_stay_open() {
    let bench = Bench::new();
    bench.own_gateway();
    let proxy = bench.read("mine/proxy.py");
    bench.write(
        "mine/proxy.py",
        &proxy.replace("idle.put(upstream)", "upstream.close()"),
    );
    let spec = bench.read("mine/gateway.yaml");
    let stated = format!("{spec}without: {{upstream_keepalive: it has no pool}}\n");
    bench.write("mine/gateway.yaml", &stated);
    bench
        .gatebench("check gateway ./mine --scenario contract")
        .assert_code(0)
        .assert_prints(&["contract: 14 cases"]);
}

#[test]
fn a_gateway_that_mixes_up_concurrent_requests_fails_the_check() {
    let bench = Bench::new();
    bench.own_gateway();
    // The proxy keeps the last response where all its threads see it.
    let shared = "idle.put(upstream)\n        global LAST\n        LAST = headers, content\n        \
                  time.sleep(0.001)\n        headers, content = LAST";
    let proxy = bench.read("mine/proxy.py");
    let proxy = proxy.replace("idle.put(upstream)", shared);
    bench.write("mine/proxy.py", &format!("import time\n{proxy}"));
    bench
        .gatebench("check gateway ./mine --scenario contract")
        .assert_code(1)
        .assert_prints(&[
            "✓ 14 cases",
            "✗ concurrent requests get the right responses",
            "responses that belonged to another",
            "that failed checks",
        ]);
}

#[test]
fn a_gateway_that_does_not_start_is_reported_with_the_reason() {
    let bench = Bench::new();
    bench.own_gateway();
    bench.write("mine/mine.json", "{ \"listen\": {{ listener }} }\n");
    bench
        .gatebench("check gateway ./mine --scenario contract")
        .assert_code(1)
        .assert_prints(&[
            "contract: ./mine/mine.json",
            "no `listener`",
            "did you mean `listeners`?",
        ]);
    bench.write("mine/mine.json", "{}\n");
    bench
        .gatebench("check gateway ./mine --scenario contract")
        .assert_code(1)
        .assert_prints(&[
            "gateway mine: ended while starting (exit code 1)",
            "KeyError: 'targets'",
        ]);
}
