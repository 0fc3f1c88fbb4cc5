//! Runs `gatebench upstream pathology` on a separate core and controls it over HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use gatebench_net::http1::ResponseReader;
use gatebench_upstream::fault_server::{ACCOUNT_PATH, Account, BEGIN_PATH};

use super::case::Job;
use crate::SERVER_CORE;
use crate::programs::Programs;
use crate::server::Server;

/// A running upstream. Dropping it ends the upstream.
pub struct Origin(Server);

impl Origin {
    pub fn start(programs: &Programs) -> Result<Self, String> {
        Server::upstream(programs, &["pathology", "--cores", SERVER_CORE]).map(Self)
    }

    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.0.address)
    }

    /// Resets the request numbers, the time and the ledger for this load, with a warm-up of
    /// `warm_up` requests.
    pub fn begin(&self, job: &Job, warm_up: u64) -> Result<(), String> {
        let rate_per_second = job.rate_per_second;
        self.ask(&format!(
            "POST {BEGIN_PATH}?rate={rate_per_second}&warm_up={warm_up}"
        ))?;
        Ok(())
    }

    pub fn account(&self) -> Result<Account, String> {
        let body = self.ask(&format!("GET {ACCOUNT_PATH}"))?;
        serde_json::from_str(&body)
            .map_err(|error| format!("cannot parse the upstream's ledger: {error}"))
    }

    fn ask(&self, line: &str) -> Result<String, String> {
        let (status, body) = self
            .exchange(line)
            .map_err(|error| format!("cannot query the upstream: {error}"))?;
        match status {
            200 => Ok(body),
            _ => Err(format!(
                "the upstream responded to '{line}' with {status}: {body}"
            )),
        }
    }

    fn exchange(&self, line: &str) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(self.0.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let request = format!(
            "{line} HTTP/1.1\r\nHost: upstream\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut response = ResponseReader::new(stream, false);
        let mut body = String::new();
        response.read_to_string(&mut body)?;
        Ok((response.status(), body))
    }
}
