//! Real metrics servers, on free ports.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gatebench_net::http1::ResponseReader;
use serde_json::Value;

use crate::bench::PATIENCE;
use crate::engines::installed;

const POLL: Duration = Duration::from_millis(20);

/// Reports whether a server is installed. If it is missing, the test fails in CI; elsewhere, a
/// message on standard error states that the test is skipped.
#[track_caller]
pub fn is_there(program: &str) -> bool {
    let is_there = installed(program);
    if !is_there {
        let missing = format!("{program} is not installed; `make test-full` installs all servers");
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        let test = thread::current();
        let name = test.name().unwrap_or_default();
        // If a test passes, its harness hides what `eprintln!` prints, but not this line.
        let _ = writeln!(io::stderr(), "skipped {name}: {missing}");
    }
    is_there
}

/// A server, which is killed on drop.
pub struct Server {
    child: Child,
    pub port: u16,
    _folder: tempfile::TempDir,
}

impl Server {
    pub fn prometheus(flags: &[&str]) -> Self {
        Self::start("/-/ready", |port, folder| {
            fs::write(folder.join("prometheus.yml"), "global: {}\n").unwrap();
            let mut command = Command::new("prometheus");
            command
                .arg(format!("--web.listen-address=127.0.0.1:{port}"))
                .arg("--config.file=prometheus.yml")
                .arg("--storage.tsdb.path=data")
                .args(flags);
            command
        })
    }

    pub fn receiver() -> Self {
        Self::prometheus(&[
            "--web.enable-remote-write-receiver",
            "--enable-feature=native-histograms",
        ])
    }

    pub fn influxdb() -> Self {
        Self::start("/ping", |port, folder| {
            let text = format!(
                "reporting-disabled = true\nbind-address = \"127.0.0.1:0\"\n[meta]\ndir = \"meta\"\n\
                 [data]\ndir = \"data\"\nwal-dir = \"wal\"\n[http]\nbind-address = \"127.0.0.1:{port}\"\n"
            );
            fs::write(folder.join("influxdb.conf"), text).unwrap();
            let mut command = Command::new("influxd");
            command.args(["-config", "influxdb.conf"]);
            command
        })
    }

    pub fn victoria_metrics() -> Self {
        Self::start("/health", |port, _| {
            let mut command = Command::new("victoria-metrics");
            command.arg(format!("-httpListenAddr=127.0.0.1:{port}"));
            command
        })
    }

    /// Starts a server on a free port, or on another one if a different process takes that port
    /// first.
    fn start(ready: &str, command: impl Fn(u16, &Path) -> Command) -> Self {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let folder = tempfile::tempdir().unwrap();
            let port = free_port();
            let log = File::create(folder.path().join("log")).unwrap();
            let child = command(port, folder.path())
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn()
                .unwrap();
            let mut server = Self {
                child,
                port,
                _folder: folder,
            };
            while server.child.try_wait().unwrap().is_none() {
                if matches!(server.get(ready), Some((200 | 204, _))) {
                    return server;
                }
                assert!(Instant::now() < deadline, "the server did not become ready");
                thread::sleep(POLL);
            }
            assert!(Instant::now() < deadline, "the server ended");
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Sends a GET and returns status and body; `None` if the server does not respond.
    fn get(&self, path: &str) -> Option<(u16, String)> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        let fields: [(&str, &[u8]); 2] = [("Host", b"localhost"), ("Connection", b"close")];
        let mut response = ResponseReader::send(stream, "GET", path, &fields, None).ok()?;
        response.read_head().ok()?;
        let mut body = String::new();
        response.read_to_string(&mut body).ok()?;
        Some((response.status(), body))
    }

    #[track_caller]
    pub fn json(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let pairs = parameters.iter();
        let pairs = pairs.map(|(name, value)| format!("{name}={}", encoded(value)));
        let target = format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"));
        let (status, body) = self.get(&target).unwrap();
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Returns the series of a PromQL query over the last 15 minutes, in steps of a second.
    #[track_caller]
    pub fn series(&self, query: &str) -> Vec<Value> {
        let now = jiff::Timestamp::now().as_second();
        let window = [(now - 900).to_string(), (now + 60).to_string()];
        let parameters = [
            ("query", query),
            ("start", &window[0]),
            ("end", &window[1]),
            ("step", "1"),
        ];
        let data = self.json("/api/v1/query_range", &parameters);
        data["data"]["result"].as_array().unwrap().clone()
    }

    /// Reports whether a PromQL query returns a number for any of the last 15 minutes.
    #[track_caller]
    pub fn has_data(&self, query: &str) -> bool {
        let series = self.series(query);
        let mut values = series
            .iter()
            .flat_map(|it| it["values"].as_array().unwrap());
        values.any(|it| it[1] != "NaN")
    }

    /// Returns the values of a label, like Grafana's function `label_values`: those of the series
    /// that match the selector, or of all series.
    #[track_caller]
    pub fn label_values(&self, label: &str, selector: Option<&str>) -> Vec<String> {
        let parameters: Vec<_> = selector.map(|it| ("match[]", it)).into_iter().collect();
        let data = self.json(&format!("/api/v1/label/{label}/values"), &parameters);
        let values = data["data"].as_array().into_iter().flatten();
        values.map(|it| it.as_str().unwrap().to_owned()).collect()
    }

    /// Returns the labels and the current value of each series of a PromQL query.
    #[track_caller]
    pub fn now(&self, query: &str) -> Vec<(Value, f64)> {
        let data = self.json("/api/v1/query", &[("query", query)]);
        let all = data["data"]["result"].as_array().unwrap();
        let value = |it: &Value| it["value"][1].as_str().unwrap().parse().unwrap();
        all.iter()
            .map(|it| (it["metric"].clone(), value(it)))
            .collect()
    }

    /// Returns the rows of an InfluxQL query in the database `k6`, all series together.
    #[track_caller]
    pub fn rows(&self, query: &str) -> Vec<Value> {
        let data = self.json("/query", &[("db", "k6"), ("q", query)]);
        let result = &data["results"][0];
        assert!(result["error"].is_null(), "{query}: {result}");
        let series = result["series"].as_array().into_iter().flatten();
        let rows = series.flat_map(|it| it["values"].as_array().unwrap().clone());
        rows.collect()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Killing fails if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns the queries of a dashboard, with its variables filled in.
pub fn queries(list: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let lines = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let fill = |line: &str| {
        let mut line = line.to_owned();
        for (name, value) in variables {
            line = line.replace(name, value);
        }
        line
    };
    lines.map(fill).collect()
}
