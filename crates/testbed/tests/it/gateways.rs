//! Starts gateways of the repository: all must behave alike and leave no processes behind.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use crate::common::{
    ask, below, eventually, exists, folder, header, kill, listens, origin, plain, scenario, start,
    start_before, start_before_all,
};
use gatebench_model::{Route, Scenario};
use gatebench_testbed::Ended;
use gatebench_testbed::gateway::Attached;

/// A test module for each of these gateways, so that their tests run in parallel.
macro_rules! gateways {
    ($($module:ident: $name:literal,)*) => {$(
        mod $module {
            #[test]
            fn routes_and_policies_act_as_in_every_gateway() {
                super::routes_and_policies_act_alike($name);
            }

            #[test]
            fn calls_without_a_key_are_refused() {
                super::calls_without_a_key_are_refused($name);
            }

            #[test]
            fn sigkill_is_noticed_and_the_workers_are_ended() {
                super::sigkill_is_noticed($name);
            }
        }
    )*};
}

gateways! {
    nginx: "nginx",
    nginx_lua: "nginx-lua",
    nginx_njs: "nginx-njs",
    haproxy: "haproxy",
    caddy: "caddy",
    envoy: "envoy",
    httpd: "httpd",
    varnish: "varnish",
    traefik: "traefik",
}

/// A key that would change the configuration if it were not quoted.
const NASTY_KEY: &str = r##"K3y; return 200 "$host" #\'x"##;
const NASTY_BODY: &str = "{\"a\": \"$5 \\\\ 'x'; }\"}\n# no comment\n";

fn policies() -> Scenario {
    let mut scenario = scenario(
        "scenario: policies\ntitle: policies\nupstream: httpbin\n\
         consumers: [{name: alice, keys: [AliceKey, other]}, {name: bob, keys: [b]}]\n\
         routes:\n\
         - {name: all, path: /anything}\n\
         - {name: keyed, path: /anything/keyed, policies: [{api_key: {header: X-Api-Key}}]}\n\
         - {name: other-header, path: /other, policies: [{api_key: {header: My-Token}}]}\n\
         - {name: mocked, path: /mock, policies: [{api_key: {header: X-Api-Key}}, {mock: {status: 201, content_type: application/json, body: x}}]}\n\
         - {name: stripped, path: /strip.me, strip_path: true}\n\
         requests: [{path: /anything}]\n",
    );
    scenario.consumers[0].keys.push(NASTY_KEY.into());
    for policy in scenario
        .routes
        .iter_mut()
        .flat_map(|route| &mut route.policies)
    {
        if let gatebench_model::Policy::Mock(mock) = policy {
            mock.body = NASTY_BODY.into();
        }
    }
    scenario
}

/// Returns the scenario without the routes whose policies a gateway does not support.
fn claimed(scenario: &Scenario, name: &str) -> Scenario {
    let has = folder(name).spec;
    let mut scenario = scenario.clone();
    let all = |route: &Route| route.policies.iter().all(|it| has.has(it.kind()));
    scenario.routes.retain(all);
    scenario
}

fn request_line(body: &str) -> &str {
    body.lines().next().unwrap()
}

fn routes_and_policies_act_alike(name: &str) {
    let has = folder(name).spec;
    let work = tempfile::tempdir().unwrap();
    let (origin, accepted) = origin();
    let scenario = claimed(&policies(), name);
    let gateway = folder(name);
    let mut gateway = start_before(origin, &gateway, &scenario, work.path(), &[], false).unwrap();
    let processes = below(gateway.process.supervisor_pid());
    assert!(!processes.is_empty());

    routes_lead_to_their_upstreams(gateway.started.address);
    if has.has("api_key") {
        keys_are_required(gateway.started.address);
    }
    if has.has("mock") {
        mocks_respond_themselves(gateway.started.address);
    }
    // Gateways with a pool for each route open at most two connections for each of the five routes.
    let accepted = accepted.load(Ordering::Relaxed);
    assert!(accepted <= 10, "{accepted} connections to the origin");

    assert_eq!(gateway.process.stop(), Ended::Stopped);
    assert!(!gateway.process.is_alive());
    assert!(!processes.into_iter().any(exists));
    assert!(!listens(gateway.started.address));
}

fn routes_lead_to_their_upstreams(address: SocketAddr) {
    let response = ask(address, "/anything/x?y=%20z", &[("gatebench-nonce", "n1")]);
    let seen = (response.status, request_line(&response.body));
    assert_eq!(seen, (200, "GET /anything/x?y=%20z HTTP/1.1"));
    assert_eq!(header(&response.body, "gatebench-nonce"), Some("n1"));
    assert_eq!(header(&response.body, "host"), Some("bench"));
    assert_eq!(header(&response.head, "gatebench-times"), Some("12:34"));
    for _ in 0..20 {
        assert_eq!(ask(address, "/anything", &[]).status, 200);
    }
    let stripped = |path| ask(address, path, &[]).body;
    assert_eq!(
        request_line(&stripped("/strip.me/a?b")),
        "GET /a?b HTTP/1.1"
    );
    assert_eq!(request_line(&stripped("/strip.me")), "GET / HTTP/1.1");
    for path in [
        "/nowhere",
        "/stripXme",
        "/strip.mex",
        "/anythingx",
        "/",
        "/mock.html",
    ] {
        assert_eq!(ask(address, path, &[]).status, 404, "{path}");
    }
}

fn keys_are_required(address: SocketAddr) {
    let key = |value| [("X-Api-Key", value)];
    let status = |path: &str, headers: &[(&str, &str)]| ask(address, path, headers).status;
    assert_eq!(status("/anything/keyed", &[]), 401);
    for right in ["AliceKey", "other", "b", NASTY_KEY] {
        assert_eq!(status("/anything/keyed", &key(right)), 200, "'{right}'");
    }
    for wrong in [
        "alicekey",
        "AliceKe",
        "AliceKey2",
        "b, b",
        "",
        "~b",
        "default",
    ] {
        assert_eq!(status("/anything/keyed", &key(wrong)), 401, "'{wrong}'");
    }
    assert_eq!(status("/other", &key("b")), 401);
    assert_eq!(status("/other", &[("My-Token", "b")]), 200);
}

fn mocks_respond_themselves(address: SocketAddr) {
    assert_eq!(ask(address, "/mock", &[]).status, 401);
    let mocked = ask(address, "/mock", &[("X-Api-Key", "b")]);
    let seen = (mocked.status, mocked.body.as_str());
    assert_eq!(seen, (201, NASTY_BODY));
    let content_type = header(&mocked.head, "content-type");
    assert_eq!(content_type, Some("application/json"));
}

fn calls_without_a_key_are_refused(name: &str) {
    if !folder(name).spec.has("api_key") {
        return;
    }
    let mut keyless = claimed(&policies(), name);
    keyless
        .consumers
        .iter_mut()
        .for_each(|consumer| consumer.keys.clear());
    let work = tempfile::tempdir().unwrap();
    let gateway = start(&folder(name), &keyless, work.path(), &[]).unwrap();
    for headers in [
        &[][..],
        &[("X-Api-Key", "")],
        &[("X-Api-Key", " ")],
        &[("X-Api-Key", "b")],
    ] {
        let status = ask(gateway.started.address, "/anything/keyed", headers).status;
        assert_eq!(status, 401, "{headers:?}");
    }
    assert_eq!(ask(gateway.started.address, "/anything", &[]).status, 200);
}

fn sigkill_is_noticed(name: &str) {
    let work = tempfile::tempdir().unwrap();
    let mut gateway = start(&folder(name), &plain(), work.path(), &[]).unwrap();
    let processes = below(gateway.process.supervisor_pid());
    kill(processes[0]);
    eventually("the end of the gateway", || !gateway.process.is_alive());
    assert_eq!(
        gateway.process.exit_status().unwrap().to_string(),
        "signal KILL"
    );
    assert!(matches!(gateway.process.stop(), Ended::Crashed(_)));
    assert!(!processes.into_iter().any(exists));
}

#[test]
fn requests_are_logged_on_request() {
    for (name, log) in [("nginx", "access.log"), ("haproxy", "gateway.stdout.log")] {
        let work = tempfile::tempdir().unwrap();
        let gateway =
            start_before(origin().0, &folder(name), &plain(), work.path(), &[], true).unwrap();
        assert_eq!(ask(gateway.started.address, "/seen", &[]).status, 200);
        let log = work.path().join(log);
        eventually("a line of the log", || {
            std::fs::read_to_string(&log).unwrap().contains("/seen")
        });
    }
}

#[test]
fn a_dropped_gateway_is_ended() {
    let work = tempfile::tempdir().unwrap();
    let gateway = start(&folder("nginx"), &plain(), work.path(), &[]).unwrap();
    let processes = below(gateway.process.supervisor_pid());
    drop(gateway);
    assert!(!processes.into_iter().any(exists));
}

#[test]
fn a_reload_replaces_the_workers_and_not_the_gateway() {
    for name in ["nginx", "haproxy"] {
        let work = tempfile::tempdir().unwrap();
        let mut gateway = start(&folder(name), &plain(), work.path(), &[]).unwrap();
        let before = below(gateway.process.supervisor_pid());
        let supervisor = gateway.process.supervisor_pid();
        // The reload is sent at once, because a ready gateway must act on it.
        gateway.act("reload").unwrap();
        eventually("new workers", || {
            let now = below(supervisor);
            now.len() >= before.len() && now[0] == before[0] && !now[1..].contains(&before[1])
        });
        eventually("a response", || {
            listens(gateway.started.address)
                && ask(gateway.started.address, "/x", &[]).status == 200
        });
        assert!(gateway.process.is_alive());
        assert!(
            gateway
                .act("explode")
                .unwrap_err()
                .to_string()
                .contains("no such action")
        );
        assert_eq!(gateway.process.stop(), Ended::Stopped, "{name}");
    }
}

#[test]
fn weights_are_changed_without_a_reload() {
    let scenario = scenario(
        "scenario: weighed\ntitle: weighed\nupstream: httpbin\ntargets: 2\nweights: [[100, 1], [1, 100]]\n\
         routes: [{name: all, path: /}]\nrequests: [{path: /anything}]\n",
    );
    for name in ["haproxy", "envoy"] {
        let work = tempfile::tempdir().unwrap();
        let targets = [origin().0, origin().0];
        let folder = folder(name);
        let started = start_before_all(&targets, &folder, &scenario, work.path(), &[], false);
        let mut gateway = started.unwrap();
        let processes = below(gateway.process.supervisor_pid());
        let address = gateway.started.address;
        let is_of = |target: SocketAddr| {
            let response = ask(address, "/anything", &[]);
            header(&response.head, "origin-port") == Some(&target.port().to_string())
        };
        let has_most = |target| (0..50).filter(|_| is_of(target)).count() > 40;
        for target in [targets[0], targets[1], targets[0]] {
            eventually(name, || has_most(target));
            gateway.act("weights").unwrap();
        }
        assert_eq!(below(gateway.process.supervisor_pid()), processes, "{name}");
        assert_eq!(gateway.process.stop(), Ended::Stopped, "{name}");
    }
}

/// Tokens of two callers, signed with the same secret.
const ALICES_TOKEN: &str = "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwMH0.N9_9e0vh1wVSPJmUsoTytZLd-k7pwNOn4DkkVCQoZLs";
const BOBS_TOKEN: &str = "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJib2IiLCJleHAiOjQxMDI0NDQ4MDB9.vNwx6_btX-2ty2YQRsR-gccr7VRoUpqbXF-MT2v__qU";

#[test]
fn callers_with_tokens_are_counted_separately() {
    let scenario = scenario(
        "scenario: counted\ntitle: counted\nupstream: httpbin\nconsumers: [{name: alice}, {name: bob}]\nroutes:\n\
         - name: all\n  path: /\n  policies:\n\
         \x20 - jwt: {keys: [{hs256: {secret: 'the secret of a test, thirty-two bytes'}}]}\n\
         \x20 - rate_limit: {limit: 1, window: 1m, per: consumer}\n\
         requests: [{path: /anything}]\n",
    );
    for name in ["haproxy", "nginx-lua", "nginx-njs", "envoy"] {
        let work = tempfile::tempdir().unwrap();
        let gateway = start(&folder(name), &scenario, work.path(), &[]).unwrap();
        let status = |token: &str| {
            let headers = [("Authorization", token)];
            ask(gateway.started.address, "/anything", &headers).status
        };
        let statuses = [ALICES_TOKEN, ALICES_TOKEN, BOBS_TOKEN, "Bearer x"].map(status);
        assert_eq!(statuses, [200, 429, 200, 401], "{name}");
    }
}

#[test]
fn a_running_gateway_can_be_attached() {
    let work = tempfile::tempdir().unwrap();
    let gateway = start(&folder("nginx"), &plain(), work.path(), &[]).unwrap();
    let pid = below(gateway.process.supervisor_pid())[0];
    let attached =
        Attached::new(&format!("http://{}", gateway.started.address), Some(pid)).unwrap();
    assert_eq!(
        (attached.addr, attached.pid),
        (gateway.started.address, Some(pid))
    );
    let url = format!("http://{}", gateway.started.address);
    assert!(
        Attached::new(&url, Some(u32::MAX))
            .unwrap_err()
            .to_string()
            .contains("no process")
    );
}

#[test]
fn commands_and_files_are_recorded() {
    let work = tempfile::tempdir().unwrap();
    let gateway = start(&folder("nginx"), &plain(), work.path(), &[]).unwrap();
    assert_eq!(gateway.started.commands.len(), 2);
    assert!(gateway.started.commands[0].contains(&"-t".to_owned()));
    assert_eq!(gateway.started.rendered.len(), 2);
    assert_eq!(gateway.started.rendered[0].sha256.len(), 64);
    let written = std::fs::read_to_string(work.path().join("nginx.conf")).unwrap();
    assert_eq!(written, gateway.started.rendered[0].text);
}
