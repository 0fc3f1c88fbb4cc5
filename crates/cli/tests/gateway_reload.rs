//! `gatebench gateway FILE` and SIGHUP.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::json;

/// Killed when dropped.
struct Gateway(Child);

impl Drop for Gateway {
    fn drop(&mut self) {
        // Fails where it has ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

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
    let mut answer = [0; 4096];
    let length = client.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[test]
fn a_hangup_makes_the_gateway_read_its_file_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.json");
    std::fs::write(&file, configuration("first")).unwrap();
    let mut gateway = Gateway(
        Command::new(env!("CARGO_BIN_EXE_gatebench"))
            .arg("gateway")
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut said = BufReader::new(gateway.0.stdout.take().unwrap()).lines();
    let complained = BufReader::new(gateway.0.stderr.take().unwrap()).lines();
    let line = said.next().unwrap().unwrap();
    let address = line
        .split(['/', ' '])
        .find(|word| word.starts_with("127.0.0.1:"))
        .unwrap();
    let pid = gateway.0.id().to_string();
    let hang_up = || {
        assert!(
            Command::new("kill")
                .args(["-HUP", &pid])
                .status()
                .unwrap()
                .success()
        )
    };

    let mut client = TcpStream::connect(address).unwrap();
    assert!(ask(&mut client).ends_with("first"));
    std::fs::write(&file, configuration("second")).unwrap();
    hang_up();
    assert_eq!(
        said.next().unwrap().unwrap(),
        "gateway goes by its file as it is now"
    );
    // A worker takes it up when it comes round to it; the connection stays.
    while !ask(&mut client).ends_with("second") {}

    std::fs::write(&file, configuration("third").replace("upstream", "upsteam")).unwrap();
    hang_up();
    let mut told = complained.map_while(Result::ok).take(20);
    assert!(told.any(|line| line.contains("upsteam")));
    assert!(
        ask(&mut client).ends_with("second"),
        "a file with mistakes changes nothing"
    );
}
