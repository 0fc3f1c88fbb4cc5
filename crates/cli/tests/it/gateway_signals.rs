//! `gatebench gateway FILE`: `--check`, and the signals SIGHUP and SIGTERM.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::gateway_process::Gateway;
use serde_json::json;

fn configuration(body: &str) -> String {
    json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "none", "keepalive": 0, "targets": [{"address": "127.0.0.1", "port": 1}]}],
        "routes": [{"name": "mock", "path": "/", "upstream": "none",
                    "policies": [{"mock": {"status": 200, "content_type": "text/plain", "body": body}}]}],
    })
    .to_string()
}

fn ask(client: &mut TcpStream) -> String {
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        .unwrap();
    let mut response = [0; 4096];
    let length = client.read(&mut response).unwrap();
    String::from_utf8_lossy(&response[..length]).into_owned()
}

#[test]
fn the_gateway_reloads_its_file_on_sighup() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.json");
    std::fs::write(&file, configuration("first")).unwrap();
    let mut gateway = Gateway::start(&file);
    let complained = gateway.complaints();

    let mut client = TcpStream::connect(&gateway.address).unwrap();
    assert!(ask(&mut client).ends_with("first"));
    std::fs::write(&file, configuration("second")).unwrap();
    gateway.signal("-HUP");
    assert_eq!(
        gateway.said.next().unwrap().unwrap(),
        "gateway has reloaded its file"
    );
    // A worker uses the new file in its next loop iteration; the connection stays open.
    while !ask(&mut client).ends_with("second") {}

    std::fs::write(&file, configuration("third").replace("upstream", "upsteam")).unwrap();
    gateway.signal("-HUP");
    let mut shown = complained.take(20);
    assert!(shown.any(|line| line.contains("upsteam")));
    assert!(
        ask(&mut client).ends_with("second"),
        "a file with mistakes changes nothing"
    );
}

/// Returns a gateway, the client's connection and the origin's connection. The origin has received
/// the client's request, but has not responded.
fn with_a_request_under_way(folder: &Path) -> (Gateway, TcpStream, TcpStream) {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let file = folder.join("gateway.json");
    let target = json!({"address": "127.0.0.1", "port": origin.local_addr().unwrap().port()});
    let configuration = json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "origin", "keepalive": 1, "targets": [target]}],
        "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
        "access_log": true,
    });
    std::fs::write(&file, configuration.to_string()).unwrap();
    let gateway = Gateway::start(&file);
    let mut client = TcpStream::connect(&gateway.address).unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        .unwrap();
    let (mut peer, _) = origin.accept().unwrap();
    assert!(peer.read(&mut [0; 4096]).unwrap() > 0);
    (gateway, client, peer)
}

#[test]
fn after_the_first_signal_open_requests_are_finished() {
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, mut client, mut peer) = with_a_request_under_way(folder.path());
    gateway.signal("-TERM");
    let shown = gateway.complaints().next().unwrap();
    assert!(shown.starts_with("gateway is finishing requests in flight"));
    // Once the port is closed, the gateway announces that the response is the last one on its
    // connection.
    while TcpStream::connect(&gateway.address).is_ok() {}
    peer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        .unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).unwrap();
    assert!(response.contains("Connection: close") && response.ends_with("ok"));
    drop(client);
    assert!(gateway.child.wait().unwrap().success());
}

#[test]
fn a_request_that_the_client_abandons_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, client, _peer) = with_a_request_under_way(folder.path());
    drop(client);
    let line = gateway.said.next().unwrap().unwrap();
    let is_right = line.starts_with("all 499 ") && line.ends_with("\"GET /\"");
    assert!(is_right, "{line}");
}

#[test]
fn the_second_signal_ends_the_gateway_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, mut client, _peer) = with_a_request_under_way(folder.path());
    gateway.signal("-TERM");
    gateway.complaints().next().unwrap();
    gateway.signal("-TERM");
    assert!(gateway.child.wait().unwrap().success());
    assert_eq!(client.read(&mut [0; 16]).unwrap_or(0), 0);
}

/// The CPU time of a process in user mode, in seconds.
fn cpu_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, behind_name) = stat.rsplit_once(')').unwrap();
    let user: f64 = behind_name
        .split_whitespace()
        .nth(11)
        .unwrap()
        .parse()
        .unwrap();
    user / rustix::param::clock_ticks_per_second() as f64
}

#[test]
fn the_second_signal_ends_the_gateway_while_a_worker_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.json");
    // Each policy reads the whole body. Together, they occupy the worker for seconds, during which
    // it handles no other event.
    let policies = vec![json!({"request_json": {"remove": ["/none"]}}); 2_000];
    let configuration = json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "none", "keepalive": 0, "targets": [{"address": "127.0.0.1", "port": 1}]}],
        "routes": [{"name": "slow", "path": "/", "upstream": "none", "policies": policies}],
    });
    std::fs::write(&file, configuration.to_string()).unwrap();
    let mut gateway = Gateway::start(&file);
    let mut client = TcpStream::connect(&gateway.address).unwrap();
    let body = format!("{{\"a\": [1{}]}}", ",1".repeat(500_000));
    let head = format!(
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes()).unwrap();
    let before = cpu_s(gateway.child.id());
    while cpu_s(gateway.child.id()) < before + 0.1 {
        std::thread::sleep(Duration::from_millis(5));
    }
    gateway.signal("-TERM");
    gateway.complaints().next().unwrap();
    gateway.signal("-TERM");
    let signaled = Instant::now();
    assert!(gateway.child.wait().unwrap().success());
    let waited = signaled.elapsed();
    assert!(waited < Duration::from_secs(2), "{waited:?}");
}

#[test]
fn signals_end_the_gateway_while_it_reloads_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.json");
    std::fs::write(&file, configuration("first")).unwrap();
    let mut gateway = Gateway::start(&file);
    std::fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    gateway.signal("-HUP");
    // Opening the pipe blocks until the gateway has opened the other end. The gateway then waits
    // for text that never comes.
    let pipe = std::fs::File::options().write(true).open(&file).unwrap();
    let mut client = TcpStream::connect(&gateway.address).unwrap();
    assert!(ask(&mut client).ends_with("first"));
    let mut complained = gateway.complaints();
    gateway.signal("-TERM");
    assert!(
        complained
            .next()
            .unwrap()
            .starts_with("gateway is finishing")
    );
    let signaled = Instant::now();
    gateway.signal("-TERM");
    assert!(gateway.child.wait().unwrap().success());
    let waited = signaled.elapsed();
    assert!(waited < Duration::from_secs(2), "{waited:?}");
    drop(pipe);
}

#[test]
fn a_check_reports_all_mistakes_and_serves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.json");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatebench"));
        let output = command.arg("gateway").arg(&file).arg("--check").output();
        let output = output.unwrap();
        let shown = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(shown).unwrap())
    };
    let (code, shown) = check(&configuration("a"));
    assert_eq!(code, Some(0));
    assert!(shown.contains("gateway.json is valid"), "{shown}");
    let wrong = configuration("a")
        .replace("\"upstream\":", "\"upsteam\":")
        .replace(
            "\"address\":\"127.0.0.1\"",
            "\"address\":\"no-such-host.invalid\"",
        )
        .replace(":200", ":99");
    let (code, shown) = check(&wrong);
    assert_eq!(code, Some(2), "{shown}");
    for words in ["upsteam", "no-such-host.invalid", "99"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
}

#[test]
fn without_saxon_the_error_states_how_to_install_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.json");
    let mut configuration: serde_json::Value = serde_json::from_str(&configuration("a")).unwrap();
    let sheet = "<xsl:stylesheet version='3.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'/>";
    configuration["routes"][0]["policies"] =
        json!([{"soap": {"request": {"xslt_library": "saxon", "xslt_transform_before": sheet}}}]);
    std::fs::write(&file, configuration.to_string()).unwrap();
    for words in [&["--check"][..], &[]] {
        let output = Command::new(env!("CARGO_BIN_EXE_gatebench"))
            .arg("gateway")
            .arg(&file)
            .args(words)
            .env("XDG_DATA_HOME", folder.path())
            .output()
            .unwrap();
        let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(2), "{shown}");
        assert!(
            shown.contains("SaxonC-HE is not installed") && shown.contains("make saxon"),
            "{shown}"
        );
    }
}
