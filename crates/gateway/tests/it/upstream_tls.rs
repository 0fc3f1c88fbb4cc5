//! Tests TLS to upstreams: certificate checks, kept connections, and complete bodies.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::{
    Certificates, Client, Server, backends, serve, upstream_with_tls, while_serving,
};
use gatebench_gateway::{GatewayConfig, Totals};
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

fn config(origin: SocketAddr, tls: &Value) -> Value {
    json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "origin", "keepalive": 4, "tls": tls,
                       "targets": [{"address": "127.0.0.1", "port": origin.port()}]}],
        "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
    })
}

fn before(backend: Backend, origin: SocketAddr, tls: &Value) -> Server<Totals> {
    serve(backend, &config(origin, tls))
}

#[test]
fn bodies_pass_whole_over_kept_connections() {
    let files = Certificates::new("upstream-tls");
    let (certificate, key) = files.make("good", "IP:127.0.0.1");
    for backend in backends() {
        let origin = upstream_with_tls(Kind::GoBench, backend, &certificate, &key);
        let gateway = before(backend, origin.address, &json!({"ca": certificate}));
        let mut client = gateway.client();
        for _ in 0..3 {
            assert_eq!(client.get("/size/1M").body.len(), 1 << 20);
            let body = "x".repeat(400_000);
            let posted = format!(
                "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let echoed = client.ask(&posted);
            assert_eq!((echoed.status, echoed.body.len()), (200, body.len()));
        }
        assert_eq!(client.get("/size/350B").body.len(), 350);
        drop(client);
        let totals = gateway.end();
        assert_eq!((totals.retries, totals.upstream_failures), (0, 0));
    }
}

#[test]
fn a_certificate_is_verified_as_configured() {
    let files = Certificates::new("upstream-judge");
    let (certificate, key) = files.make("good", "DNS:origin.test");
    let (stranger, _) = files.make("stranger", "DNS:origin.test");
    for backend in backends() {
        let origin = upstream_with_tls(Kind::Ping, backend, &certificate, &key);
        for (tls, status) in [
            (
                json!({"ca": certificate, "server_name": "origin.test"}),
                200,
            ),
            (json!({"skip_verify": true}), 200),
            (json!({"ca": certificate}), 502),
            (json!({"ca": certificate, "server_name": "other.test"}), 502),
            (json!({"ca": stranger, "server_name": "origin.test"}), 502),
            (json!({"server_name": "origin.test"}), 502),
        ] {
            let gateway = before(backend, origin.address, &tls);
            let response = gateway.client().get("/ping");
            assert_eq!(response.status, status, "{tls}");
            if status == 502 {
                assert!(
                    response
                        .body
                        .starts_with(b"gateway: the upstream's certificate")
                );
            }
        }
        let plain = crate::common::upstream(Kind::Ping, backend);
        let gateway = before(backend, plain.address, &json!({"skip_verify": true}));
        assert_eq!(gateway.client().get("/ping").status, 502);
    }
}

#[test]
fn a_reload_adopts_a_changed_ca_file() {
    let files = Certificates::new("upstream-ca");
    let (certificate, key) = files.make("good", "IP:127.0.0.1");
    let (stranger, _) = files.make("stranger", "IP:127.0.0.1");
    let ca = files.path("ca.pem");
    for backend in backends() {
        std::fs::copy(&certificate, &ca).unwrap();
        let origin = upstream_with_tls(Kind::Ping, backend, &certificate, &key);
        let config = config(origin.address, &json!({"ca": ca}));
        let config = GatewayConfig::parse(&config.to_string()).unwrap();
        while_serving(backend, &config, |gateway, address| {
            let mut client = Client::connect(address);
            assert_eq!(client.get("/ping").status, 200);
            for (changed, status) in [(&stranger, 502), (&certificate, 200)] {
                std::fs::copy(changed, &ca).unwrap();
                gateway.replace(&config).unwrap();
                // A worker adopts a configuration in its next round.
                let begun = Instant::now();
                while client.get("/ping").status != status {
                    assert!(begun.elapsed() < Duration::from_secs(10), "{changed}");
                }
            }
        });
    }
}

#[test]
fn invalid_settings_are_reported() {
    let config = |tls: Value| {
        json!({
            "listen": ["127.0.0.1:0"], "routes": [],
            "upstreams": [{"name": "o", "keepalive": 1, "tls": tls,
                           "targets": [{"address": "127.0.0.1", "port": 1}]}],
        })
    };
    for tls in [
        json!({"ca": "/nowhere/ca.pem"}),
        json!({"server_name": "a b"}),
    ] {
        let config = GatewayConfig::parse(&config(tls).to_string()).unwrap();
        let wrong = gatebench_gateway::Gateway::new(&config).err().unwrap();
        assert_eq!(wrong.0[0].at, "/upstreams/0/tls", "{wrong}");
    }
}
