//! Tests that a configuration can be replaced while requests are in flight.

use std::io::BufRead;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::common::{Certificates, Client, backends, scripted, upstream, while_serving};
use gatebench_gateway::GatewayConfig;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

fn config(listen: &str, targets: &[(SocketAddr, u32)], policies: &Value) -> GatewayConfig {
    let targets: Vec<_> = targets
        .iter()
        .map(|(target, weight)| json!({"address": "127.0.0.1", "port": target.port(), "weight": weight}))
        .collect();
    let config = json!({
        "listen": [listen],
        "upstreams": [{"name": "origin", "keepalive": 4, "targets": targets}],
        "routes": [{"name": "all", "path": "/", "upstream": "origin", "policies": policies}],
    });
    GatewayConfig::parse(&config.to_string()).unwrap()
}

/// An origin that responds with its name and keeps connections open.
fn named(name: &'static str) -> SocketAddr {
    scripted(move |_, mut client| {
        while !client.head().is_empty() {
            client.send(
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}",
                    name.len()
                )
                .as_bytes(),
            );
        }
    })
}

fn who(client: &mut Client) -> String {
    let response = client.get("/");
    assert_eq!(response.status, 200);
    String::from_utf8(response.body).unwrap()
}

/// Sends requests until this response arrives, because a worker adopts a configuration in its next
/// round.
fn until(client: &mut Client, expected: &str) {
    while who(client) != expected {}
}

#[test]
fn weights_change_without_losing_a_request() {
    for backend in backends() {
        let (a, b) = (named("a"), named("b"));
        let with = |weights: [u32; 2]| {
            config(
                "127.0.0.1:0",
                &[(a, weights[0]), (b, weights[1])],
                &json!([]),
            )
        };
        while_serving(backend, &with([1, 0]), |gateway, address| {
            let mut client = Client::connect(address);
            assert_eq!(who(&mut client), "a");
            gateway.replace(&with([0, 1])).unwrap();
            until(&mut client, "b");
            for _ in 0..20 {
                assert_eq!(who(&mut client), "b");
            }
            gateway.replace(&with([1, 3])).unwrap();
            until(&mut client, "a");
            let responses: Vec<_> = (0..40).map(|_| who(&mut client)).collect();
            assert_eq!(responses.iter().filter(|name| *name == "a").count(), 10);
        });
    }
}

#[test]
fn under_load_every_request_gets_a_response() {
    for backend in backends() {
        let (a, b) = (named("a"), named("b"));
        let with = |target| config("127.0.0.1:0", &[(target, 1)], &json!([]));
        while_serving(backend, &with(a), |gateway, address| {
            let ended = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let mut client = Client::connect(address);
                        while !ended.load(Ordering::Relaxed) {
                            assert!(["a", "b"].contains(&who(&mut client).as_str()));
                        }
                    });
                }
                let mut client = Client::connect(address);
                for turn in 0..20 {
                    let (target, name) = if turn % 2 == 0 { (b, "b") } else { (a, "a") };
                    gateway.replace(&with(target)).unwrap();
                    until(&mut client, name);
                }
                ended.store(true, Ordering::Relaxed);
            });
        });
    }
}

#[test]
fn a_pending_request_keeps_the_configuration_it_began_with() {
    for backend in backends() {
        let origin = upstream(Kind::Httpbin, backend);
        let with = |value: &str| {
            let policies = json!([
                {"request_json": {"add": {"/by": value}}},
                {"response_headers": {"set": {"X-By": value}}},
            ]);
            config("127.0.0.1:0", &[(origin.address, 1)], &policies)
        };
        while_serving(backend, &with("old"), |gateway, address| {
            let mut slow = Client::connect(address);
            slow.send(b"POST /anything HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
            assert!(slow.head().starts_with("HTTP/1.1 100"));
            gateway.replace(&with("new")).unwrap();
            let mut other = Client::connect(address);
            while other.get("/anything").field("X-By") != Some("new") {}
            slow.send(b"{}");
            let response = slow.response(false);
            assert_eq!(response.field("X-By"), Some("old"));
            let echoed: Value = serde_json::from_slice(&response.body).unwrap();
            assert_eq!(echoed["json"], json!({"by": "old"}));
            assert_eq!(slow.get("/anything").field("X-By"), Some("new"));
        });
    }
}

#[test]
fn unchangeable_settings_are_named_and_the_old_configuration_stays() {
    for backend in backends() {
        let a = named("a");
        let good = config("127.0.0.1:0", &[(a, 1)], &json!([]));
        while_serving(backend, &good, |gateway, address| {
            let mut other = config("127.0.0.1:1", &[(named("b"), 1)], &json!([]));
            other.workers = 2;
            let mistakes = gateway.replace(&other).unwrap_err().0;
            let places: Vec<_> = mistakes.iter().map(|one| one.at.as_str()).collect();
            assert_eq!(places, ["/listen", "/workers"]);
            assert_eq!(who(&mut Client::connect(address)), "a");
        });
    }
}

#[test]
fn unchanged_limits_keep_their_counts_and_changed_ones_restart() {
    for backend in backends() {
        let origin = upstream(Kind::Ping, backend);
        let with = |limit: u32, per: &str, names: &[&str]| {
            let consumers: Vec<_> = names
                .iter()
                .map(|name| json!({"name": name, "keys": [format!("{name}-key")]}))
                .collect();
            let mut config = config(
                "127.0.0.1:0",
                &[(origin.address, 1)],
                &json!([
                    {"api_key": {"header": "X-Api-Key"}},
                    {"rate_limit": {"limit": limit, "window": "1h", "per": per, "headers": true,
                                    "header": (per == "header").then_some("X-Api-Key")}},
                    {"response_headers": {"set": {"X-Of": names.join(" ")}}},
                ]),
            );
            config.consumers = serde_json::from_value(json!(consumers)).unwrap();
            config
        };
        for per in ["route", "consumer", "header"] {
            while_serving(backend, &with(5, per, &["alice"]), |gateway, address| {
                let mut client = Client::connect(address);
                let mut left = |key: &str, names: &[&str]| loop {
                    let asked =
                        format!("GET /ping HTTP/1.1\r\nHost: h\r\nX-Api-Key: {key}\r\n\r\n");
                    let response = client.ask(&asked);
                    // A worker adopts a configuration in its next round.
                    if response.field("X-Of") == Some(names.join(" ").as_str()) {
                        break response.field("RateLimit-Remaining").unwrap().to_owned();
                    }
                };
                assert_eq!(left("alice-key", &["alice"]), "4");
                gateway.replace(&with(5, per, &["bob", "alice"])).unwrap();
                let expected = if per == "route" { "3" } else { "4" };
                // Requests sent before the worker noticed the change are counted too.
                let bobs: u32 = left("bob-key", &["bob", "alice"]).parse().unwrap();
                assert!(bobs <= expected.parse().unwrap(), "{per}: {bobs}");
                let alices: u32 = left("alice-key", &["bob", "alice"]).parse().unwrap();
                assert!(alices <= 3, "{per}: {alices}");
                gateway.replace(&with(50, per, &["alice"])).unwrap();
                assert_eq!(left("alice-key", &["alice"]), "49");
            });
        }
    }
}

#[test]
fn a_connection_to_redis_that_no_limit_uses_any_longer_is_closed() {
    for backend in backends() {
        let (sender, ended) = mpsc::channel();
        let redis = scripted(move |_, mut peer| {
            let mut line = String::new();
            while peer
                .stream
                .read_line(&mut line)
                .is_ok_and(|bytes| bytes > 0)
            {
                // PTTL is the last of the three commands about a request.
                if line == "PTTL\r\n" {
                    peer.send(b":1\r\n:1\r\n:60000\r\n");
                }
                line.clear();
            }
            let _ = sender.send(());
        });
        let origin = named("a");
        let with = |timeout: &str, by: &str| {
            let limit = json!({"limit": 5, "window": "1h", "redis": redis.to_string(),
                               "timeout": timeout, "without_redis": "refuse"});
            let headers = json!({"set": {"X-By": by}});
            let policies = json!([{"redis_rate_limit": limit}, {"response_headers": headers}]);
            config("127.0.0.1:0", &[(origin, 1)], &policies)
        };
        while_serving(backend, &with("4s", "first"), |gateway, address| {
            let mut client = Client::connect(address);
            assert_eq!(client.get("/").field("X-By"), Some("first"));
            gateway.replace(&with("4s", "second")).unwrap();
            while client.get("/").field("X-By") != Some("second") {}
            assert!(ended.try_recv().is_err(), "the limit still uses it");
            gateway.replace(&with("5s", "third")).unwrap();
            while client.get("/").field("X-By") != Some("third") {}
            let waited = ended.recv_timeout(Duration::from_secs(5));
            assert!(waited.is_ok(), "the connection is still open");
        });
    }
}

/// Sends requests with h2load, which counts missing responses, over HTTP/1.1 and HTTP/2, each in
/// plaintext and over TLS.
#[test]
fn h2load_finds_no_request_lost_while_configurations_change() {
    let certificates = Certificates::new("reload");
    let (certificate, key) = certificates.make("gateway", "IP:127.0.0.1");
    for backend in backends() {
        let origin = upstream(Kind::Ping, backend);
        for (scheme, arguments) in [
            ("http", &["--h1", "-m1"][..]),
            ("http", &["-m10"]),
            ("https", &["--h1", "-m1"]),
            ("https", &["-m10"]),
        ] {
            let with = |word: &str| {
                let policies = json!([{"response_headers": {"set": {"X-By": word}}}]);
                let mut config = config("127.0.0.1:0", &[(origin.address, 1)], &policies);
                let tls = json!({"certificate": certificate, "key": key});
                if scheme == "https" {
                    config.tls = serde_json::from_value(tls).unwrap();
                }
                config
            };
            while_serving(backend, &with("a"), |gateway, address| {
                let mut load = Command::new("h2load")
                    .args(["-n3000", "-c4"])
                    .args(arguments)
                    .arg(format!("{scheme}://{address}/ping"))
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap();
                let mut turns = 0;
                while load.try_wait().unwrap().is_none() {
                    turns += 1;
                    gateway
                        .replace(&with(if turns % 2 == 0 { "a" } else { "b" }))
                        .unwrap();
                    std::thread::sleep(Duration::from_millis(1));
                }
                let output = load.wait_with_output().unwrap();
                let report = String::from_utf8(output.stdout).unwrap();
                let expected = "3000 done, 3000 succeeded, 0 failed, 0 errored, 0 timeout";
                assert!(report.contains(expected), "{scheme} {arguments:?} {report}");
            });
        }
    }
}

#[test]
fn a_renewed_certificate_is_used() {
    let certificates = Certificates::new("renewed");
    let (certificate, key) = certificates.make("gateway", "IP:127.0.0.1");
    for backend in backends() {
        let mut config = config("127.0.0.1:0", &[(named("a"), 1)], &json!([]));
        let tls = json!({"certificate": certificate, "key": key});
        config.tls = serde_json::from_value(tls).unwrap();
        while_serving(backend, &config, |gateway, address| {
            let shown = || {
                let url = format!("https://{address}/");
                let arguments = ["-s", "--cacert", &certificate, &url];
                Command::new("curl").args(arguments).output().unwrap()
            };
            assert_eq!(shown().stdout, b"a");
            certificates.make("gateway", "IP:127.0.0.1");
            assert!(
                !shown().status.success(),
                "curl still accepts the old certificate"
            );
            gateway.replace(&config).unwrap();
            assert_eq!(shown().stdout, b"a");
        });
    }
}
