//! A server under load: gatebench's upstream or nginx.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gatebench_testbed::probe::{Sample, Sampler, Scope};

use super::SERVER_CORE;
use super::folder::Folder;
use super::programs::Programs;

/// A running server. Dropping it ends the server.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    /// The temporary folder of nginx, which is removed when this value is dropped.
    _folder: Option<Folder>,
}

impl Server {
    /// Starts `gatebench upstream` on [`SERVER_CORE`] with these arguments, of which the first is
    /// the kind.
    pub fn upstream(programs: &Programs, words: &[&str]) -> Result<Self, String> {
        Self::upstream_on(SERVER_CORE, programs, words)
    }

    pub fn upstream_on(core: &str, programs: &Programs, words: &[&str]) -> Result<Self, String> {
        let mut child = Command::new("taskset")
            .args(["-c", core])
            .arg(&programs.gatebench)
            .arg("upstream")
            .args(words)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the upstream cannot be started: {error}"))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            let _ = BufReader::new(out).read_line(&mut line);
        }
        let parsed: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let address = parsed["listening"].as_str().and_then(|it| it.parse().ok());
        match address {
            Some(address) => Ok(Self {
                child,
                address,
                _folder: None,
            }),
            None => {
                let _ = child.kill();
                Err(format!(
                    "the upstream printed '{line}' instead of its address"
                ))
            }
        }
    }

    /// Starts nginx with one worker, which responds to every request with 200 and `ok`.
    pub fn nginx() -> Result<Self, String> {
        let address = free_address()?;
        let folder = Folder::new()?;
        let at = folder.at().display();
        let text = format!(
            "daemon off; worker_processes 1; pid {at}/pid; error_log stderr;\n\
             events {{ worker_connections 16384; }}\n\
             http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;\n\
             client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fastcgi;\n\
             uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;\n\
             server {{ listen {address} backlog=4096; location / {{ return 200 \"ok\"; }} }} }}\n"
        );
        let config = folder.write("nginx.conf", &text)?;
        let child = Command::new("taskset")
            .args(["-c", SERVER_CORE, "nginx", "-e", "stderr", "-c"])
            .arg(&config)
            .spawn()
            .map_err(|error| {
                format!("nginx cannot be started (apt-get install nginx-light): {error}")
            })?;
        Self::listening(child, address, folder)
    }

    /// Waits until a server listens, for at most 30 s.
    fn listening(child: Child, address: SocketAddr, folder: Folder) -> Result<Self, String> {
        let server = Self {
            child,
            address,
            _folder: Some(folder),
        };
        let limit = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > limit {
                return Err(format!("nothing listens on {address} after 30 s"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    pub fn cpu_us(&self) -> f64 {
        sample(self.child.id()).cpu_ns as f64 / 1e3
    }
}

pub fn sample(pid: u32) -> Sample {
    Sampler::new(pid, Scope::Tree).sample()
}

impl Drop for Server {
    fn drop(&mut self) {
        // nginx's worker ends if its master is asked to stop, but not if the master is killed.
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    listener.local_addr().map_err(|error| error.to_string())
}
