//! The trial's certificate, and the wait for a gateway that listens with TLS.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::{Culprit, Request};
use gatebench_net::tls::self_signed;
use gatebench_testbed::{CERTIFICATE_FILE, KEY_FILE, write_private};

use super::{GatewaySpec, Testbed};
use crate::abort::{Abort, Failure};
use crate::http_probe::wire::{SERVER_NAME, Wire};
use crate::http_probe::{exchange, render};

/// How often a gateway that is not ready yet is asked.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Testbed {
    pub(super) fn wire(&self, address: SocketAddr, has_tls: bool) -> Wire {
        match &self.identity {
            Some(identity) if has_tls => Wire::over_tls(address, identity.chain.clone()),
            _ => Wire::plain(address),
        }
    }

    /// Puts the trial's certificate and its key into a working folder; makes them where there are none.
    pub(super) fn put_certificate(&mut self, work: &Path) -> Result<(), Abort> {
        if self.identity.is_none() {
            let made = self_signed(&[SERVER_NAME, "127.0.0.1"])
                .map_err(|error| Failure::of_certificate(&error))?;
            self.identity = Some(made);
        }
        let Some(identity) = &self.identity else {
            return Ok(());
        };
        let written = fs::create_dir_all(work)
            .and_then(|()| fs::write(work.join(CERTIFICATE_FILE), &identity.chain.bytes))
            .and_then(|()| write_private(&work.join(KEY_FILE), &identity.key.bytes));
        written.map_err(|error| Failure::of_folder(work, &error).into())
    }

    /// Waits until a gateway that listens with TLS answers as its folder says.
    pub(super) fn await_answer(&mut self, spec: &GatewaySpec<'_>) -> Result<(), Abort> {
        let ready = &spec.gateway.folder.spec.ready;
        let deadline = Instant::now() + ready.timeout.0;
        let path = ready.path.as_deref().unwrap_or("/");
        let Some(wire) = self.target() else {
            return Err(Abort::Interrupted);
        };
        let ask = render(&Request::new("GET", path), &wire.address.to_string(), None);
        loop {
            let seen = match exchange(&wire, &ask, false, spec.interrupt) {
                Ok(answer) if ready.accepts(answer.status) => return Ok(()),
                Ok(answer) => format!("it answers {} to GET {path}", answer.status),
                Err(_) if spec.interrupt.is_raised() => return Err(Abort::Interrupted),
                Err(error) => format!("no answer over TLS: {error}"),
            };
            let name = &spec.gateway.folder.spec.gateway;
            if let Some(death) = self.gateway_death(name) {
                return Err(death.into());
            }
            if Instant::now() >= deadline {
                let reason = format!("was not ready in time: {seen}");
                let remedy = "correct its templates, or raise ready.timeout in its gateway.yaml";
                return Err(Failure::new(Culprit::Gateway(name.clone()), reason, remedy).into());
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}
