//! Tests that the program behaves as its arguments specify. This test also makes `cargo test
//! --workspace` build the program, which tests of other crates start.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gatebench-faulty");

const CONFIGURATION: &str = r#"{
    "listen": ["127.0.0.1:0"],
    "routes": [{"name": "good", "path": "/good",
                "policies": [{"mock": {"status": 200, "content_type": "text/plain", "body": "good"}}]}]
}"#;

struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.json");
        fs::write(&file, CONFIGURATION).unwrap();
        let mut child = Command::new(PROGRAM)
            .arg("gateway")
            .arg(&file)
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let said = child.stdout.take().unwrap();
        BufReader::new(said).read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').next().unwrap().to_owned();
        Self { child, address }
    }

    fn status(&self, path: &str) -> String {
        let mut client = TcpStream::connect(&self.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).unwrap();
        response["HTTP/1.1 ".len()..][..3].to_owned()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(words: &[&str]) -> Output {
    Command::new(PROGRAM).args(words).output().unwrap()
}

#[test]
fn every_error_strays_into_the_next_response() {
    let gateway = Serving::start(&["--leak-errors", "100%"]);
    let statuses = ["/good", "/none", "/good", "/good"].map(|path| gateway.status(path));
    assert_eq!(statuses, ["200", "404", "500", "200"]);
}

#[test]
fn without_faults_it_is_the_reference_gateway() {
    let gateway = Serving::start(&[]);
    let statuses = ["/good", "/none", "/good", "/good"].map(|path| gateway.status(path));
    assert_eq!(statuses, ["200", "404", "200", "200"]);
}

#[test]
fn it_is_called_gatebench_and_runs_a_handicap_alone() {
    let version = said(&["--version"]);
    assert!(version.stdout.starts_with(b"gatebench "), "{version:?}");
    assert!(said(&["alone", "300,0.5", "1000"]).status.success());
    assert_eq!(said(&["alone", "3%", "1000"]).status.code(), Some(2));
    assert_eq!(
        said(&["gateway", "x", "--leak", "1"]).status.code(),
        Some(2)
    );
}
