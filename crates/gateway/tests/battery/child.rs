//! Runs the gateway in a separate process, by starting this program again with only the test that
//! serves requests.
//!
//! Parent and child share a connection. The child ends when the parent closes it, so no child
//! survives its parent.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gatebench_gateway::GatewayConfig;
use gatebench_net::Backend;
use serde_json::{Value, json};

/// The environment variable that contains the parent's address.
pub const PARENT: &str = "GATEBENCH_BATTERY_PARENT";

/// The time limit for starting a process, and for stopping it.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Gateway {
    child: Child,
    control: BufReader<TcpStream>,
    pub address: SocketAddr,
}

impl Gateway {
    /// Starts a gateway with this configuration in front of one upstream, named `origin`.
    pub fn start(backend: Backend, config: &Value, origin: SocketAddr) -> Self {
        let mut config = config.clone();
        let target = json!({"address": "127.0.0.1", "port": origin.port()});
        config["listen"] = json!(["127.0.0.1:0"]);
        config["upstreams"] = json!([{"name": "origin", "keepalive": 4, "targets": [target]}]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "in_the_child", "--nocapture"])
            .env(PARENT, listener.local_addr().unwrap().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let stream = accept(&listener, &mut child);
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let order = json!({"backend": backend.as_str(), "config": config});
        writeln!(&stream, "{order}").unwrap();
        let mut control = BufReader::new(stream);
        let mut line = String::new();
        control.read_line(&mut line).unwrap();
        let address = line.trim().parse().unwrap();
        Self {
            child,
            control,
            address,
        }
    }

    pub fn has_crashed(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends the process; reports whether it ended normally.
    pub fn end(mut self) -> bool {
        let closed = self.control.get_ref().shutdown(std::net::Shutdown::Both);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return closed.is_ok() && status.success();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }

    pub fn cpu(&self) -> Duration {
        // The kernel counts in units of 1/USER_HZ, which is 0.01 s on x86-64 and aarch64.
        const TICK: Duration = Duration::from_millis(10);
        let stat = self.proc("stat");
        let after_name = stat.rsplit(')').next().unwrap();
        let mut fields = after_name.split_whitespace().skip(11);
        let mut ticks = || fields.next().unwrap().parse::<u32>().unwrap();
        TICK * (ticks() + ticks())
    }

    /// Returns the memory in use and its peak, in bytes.
    pub fn memory(&self) -> (u64, u64) {
        let status = self.proc("status");
        let kib = |name: &str| -> u64 {
            let mut lines = status.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        (kib("VmRSS:") * 1024, kib("VmHWM:") * 1024)
    }

    fn proc(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Accepts the child's connection; panics if the child ends first or does not connect in time.
fn accept(listener: &TcpListener, child: &mut Child) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let begun = Instant::now();
    loop {
        if let Ok((stream, _)) = listener.accept() {
            return stream;
        }
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "the gateway's process ended: {ended:?}");
        assert!(
            begun.elapsed() < PATIENCE,
            "the gateway's process does not connect"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Serves with the configuration that the parent sends, until the parent closes the connection.
pub fn serve(parent: &str) {
    let stream = TcpStream::connect(parent).unwrap();
    let mut orders = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    orders.read_line(&mut line).unwrap();
    let order: Value = serde_json::from_str(&line).unwrap();
    let config = GatewayConfig::parse(&order["config"].to_string()).unwrap();
    let wanted = order["backend"].as_str();
    let mut all = [Backend::Epoll, Backend::Uring].into_iter();
    let backend = all.find(|it| Some(it.as_str()) == wanted);
    assert!(backend.is_some(), "there is no event loop {wanted:?}");
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let serving = std::thread::spawn(move || {
        gatebench_gateway::serve(&config, &[], backend, stopped, |bound| {
            writeln!(&stream, "{}", bound[0]).unwrap();
        })
    });
    line.clear();
    // The parent sends nothing more, so `read_line` returns when the parent closes the connection
    // or ends.
    let _ = orders.read_line(&mut line);
    stop.store(true, Ordering::Relaxed);
    serving.join().unwrap().unwrap();
}
