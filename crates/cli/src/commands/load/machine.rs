//! Whether this machine has what the flags name: cores and local addresses.

use std::net::{IpAddr, UdpSocket};
use std::thread;

use gatebench_net::workers::{WorkersError, pin_to_core};

use crate::exit::Exit;
use crate::failure::Failure;

/// Refuses cores that no worker can be pinned to. It is tried, because only the kernel knows.
pub fn refuse_unusable_cores(cores: &[usize]) -> Result<(), Failure> {
    let cores = cores.to_vec();
    // A thread of its own, because this one must stay where it may run.
    let tried = thread::spawn(move || {
        cores.into_iter().try_for_each(|core| {
            pin_to_core(core).map_err(|source| WorkersError::Core { core, source })
        })
    });
    let tried = tried
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    tried.map_err(|error| Failure::sentence(&error.to_string(), Exit::Environment))
}

/// Refuses source addresses that are not this machine's.
pub fn refuse_foreign_sources(sources: &[IpAddr]) -> Result<(), Failure> {
    for source in sources {
        // Nothing is sent: the kernel only says whether the address is its own.
        UdpSocket::bind((*source, 0)).map_err(|error| Failure::Said {
            culprit: "--source".into(),
            what: format!("no connection can be made from {source}: {error}"),
            remedy: "give an address of this machine (see `ip address`), or add it: `ip address add ADDRESS/32 dev lo`"
                .into(),
            exit: Exit::Environment,
        })?;
    }
    Ok(())
}
