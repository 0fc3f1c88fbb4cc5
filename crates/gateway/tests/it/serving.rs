//! Tests TLS for clients, and metrics.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{backends, scripted, serve, upstream};
use gatebench_gateway::{Gateway, GatewayConfig};
use gatebench_upstream::Kind;
use serde_json::json;

#[test]
fn tls_can_be_required_of_clients() {
    let folder = std::env::temp_dir().join(format!("gatebench-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ])
        .args([
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ])
        .args(["-out", &certificate, "-keyout", &key])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"],
                "tls": {"certificate": certificate, "key": key},
                "upstreams": [{"name": "origin", "keepalive": 4,
                               "targets": [{"address": "127.0.0.1", "port": origin.address.port()}]}],
                "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
            }),
        );
        let url = format!("https://{}/size/300000", gateway.address);
        let response = Command::new("curl")
            .args(["-sS", "--cacert", &certificate, &url, &url])
            .output()
            .unwrap();
        assert!(response.status.success(), "{response:?}");
        assert_eq!(response.stdout.len(), 600_000);
        for (asked, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
            let done = Command::new("curl")
                .args(["-sS", asked, "-o", "/dev/null", "-w", "%{http_version}"])
                .args(["--cacert", &certificate, &url])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&done.stdout), version, "{done:?}");
        }
        let plain = Command::new("curl")
            .args(["-sS", &url.replace("https", "http")])
            .output()
            .unwrap();
        assert!(!plain.status.success());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_missing_certificate_is_named() {
    let config = json!({
        "listen": ["127.0.0.1:0"], "tls": {"certificate": "/nowhere/c.pem", "key": "/nowhere/k.pem"},
        "routes": [],
    });
    let config = GatewayConfig::parse(&config.to_string()).unwrap();
    let mistakes = Gateway::new(&config).err().unwrap().0;
    assert_eq!(mistakes[0].at, "/tls");
    assert!(mistakes[0].message.contains("/nowhere/"), "{}", mistakes[0]);
}

#[test]
fn metrics_report_the_requests_served() {
    for backend in backends() {
        let origin = upstream(Kind::Ping, backend);
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"], "workers": 2, "metrics": {"path": "/metrics"},
                "upstreams": [{"name": "origin", "keepalive": 4,
                               "targets": [{"address": "127.0.0.1", "port": origin.address.port()}]}],
                "routes": [{"name": "ping", "path": "/ping", "upstream": "origin"}],
            }),
        );
        for _ in 0..5 {
            assert_eq!(gateway.client().get("/ping").status, 200);
            assert_eq!(gateway.client().get("/nowhere").status, 404);
        }
        let response = gateway.client().get("/metrics");
        let text = String::from_utf8(response.body).unwrap();
        for line in [
            "gatebench_gateway_requests_total{route=\"ping\",code=\"2xx\"} 5",
            "gatebench_gateway_requests_total{route=\"\",code=\"4xx\"} 5",
            "gatebench_gateway_request_duration_seconds_count{route=\"ping\"} 5",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
        }
    }
}

/// The response has already begun when the request turns out to be broken, so the client gets no
/// error, but the request must still be counted.
#[test]
fn a_request_that_breaks_off_its_response_is_counted_once() {
    for backend in backends() {
        let origin = scripted(|_, mut peer| {
            peer.head();
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
            let _ = peer.rest();
        });
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"], "workers": 1, "metrics": {"path": "/metrics"},
                "upstreams": [{"name": "origin", "keepalive": 4,
                               "targets": [{"address": "127.0.0.1", "port": origin.port()}]}],
                "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
            }),
        );
        let mut client = gateway.client();
        client.send(b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert!(client.head().starts_with("HTTP/1.1 200"));
        client.send(b"no chunk\r\n");
        // The end of the connection must not count the request again.
        let _ = client.rest();
        drop(client);
        let counted = || {
            let response = gateway.client().get("/metrics");
            let text = String::from_utf8(response.body).unwrap();
            let line = "gatebench_gateway_requests_total{route=\"all\",code=\"aborted\"} ";
            let count = text.lines().find_map(|it| it.strip_prefix(line));
            count.unwrap().parse::<u64>().unwrap()
        };
        let begun = Instant::now();
        while counted() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(10));
        }
        assert_eq!(counted(), 1);
    }
}
