//! Raises the limit on open descriptors for the connections of a load.

use gatebench_model::Shape;
use gatebench_runner::{allow_descriptors, connections_max};

use crate::failure::Failure;

/// Descriptors in addition to those of the connections: event loops, files, standard streams.
const BESIDES: u64 = 64;

/// Raises the limit on descriptors as far as the connections of a load need it.
pub fn allow(shape: &Shape) -> Result<(), Failure> {
    let needed = u64::from(connections_max(shape)) + BESIDES;
    allow_descriptors(needed).map_err(|allowed| {
        Failure::environment(
            format!(
                "the load needs {needed} open descriptors, but a process may have {allowed} here"
            ),
            format!(
                "raise the limit (as root: ulimit -Hn {needed}), or use fewer connections with -c"
            ),
        )
    })
}
