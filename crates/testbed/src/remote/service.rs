//! An upstream or Redis on another host.

use std::net::SocketAddr;
use std::sync::Arc;

use super::host::RemoteHost;
use super::protocol::{Ask, Ordered, ServiceOrder, StartedService};
use crate::error::DriverError;
use crate::system::exit::Exit;

/// A listening upstream or Redis on another host. Dropping it stops the process.
#[derive(Debug)]
pub(crate) struct RemoteService {
    host: Arc<RemoteHost>,
    number: usize,
    pub(crate) address: SocketAddr,
}

impl RemoteService {
    /// Starts the service at the host's address; port 0 chooses a free port.
    pub(crate) fn start(
        host: &Arc<RemoteHost>,
        service: &Ordered,
        port: u16,
    ) -> Result<Self, DriverError> {
        let order = ServiceOrder {
            service: service.clone(),
            listen: host.there,
            port,
        };
        let part = match service {
            Ordered::Upstream { .. } => "upstream",
            Ordered::Redis => "Redis server",
        };
        let started: StartedService = host.ask(&Ask::StartService(Box::new(order)))?;
        let service = Self {
            host: Arc::clone(host),
            number: started.number,
            address: started.address,
        };
        host.must_be_reached(part, service.address)?;
        Ok(service)
    }

    /// Returns how the service ended, with the last lines of its standard error; none while it
    /// runs.
    pub(crate) fn death(&self) -> Result<Option<(Exit, String)>, DriverError> {
        let number = self.number;
        self.host.ask(&Ask::ServiceDeath { number })
    }
}

impl Drop for RemoteService {
    fn drop(&mut self) {
        let number = self.number;
        // If the connection is lost, the remote end ends the process.
        let _ = self.host.ask::<()>(&Ask::StopService { number });
    }
}
