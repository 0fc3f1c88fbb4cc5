//! Room for the connections among the open descriptors.

use gatebench_model::Shape;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::exit::Exit;
use crate::failure::Failure;

/// Descriptors besides those of the connections: event loops, files, standard streams.
const BESIDES: u64 = 64;

/// Raises the soft limit on descriptors as far as the connections of a load need it.
pub fn allow(shape: &Shape) -> Result<(), Failure> {
    let needed = u64::from(connections_max(shape)) + BESIDES;
    let mut limit = getrlimit(Resource::Nofile);
    let too_many = |what: String| Failure::Said {
        culprit: "environment".into(),
        what,
        remedy: format!("raise it (ulimit -Hn {needed}), or use fewer connections with -c"),
        exit: Exit::Environment,
    };
    if let Some(hard) = limit.maximum.filter(|hard| *hard < needed) {
        return Err(too_many(format!(
            "the load needs {needed} open descriptors, and the hard limit is {hard}"
        )));
    }
    if limit.current.is_some_and(|soft| soft < needed) {
        limit.current = Some(needed);
        setrlimit(Resource::Nofile, limit)
            .map_err(|error| too_many(format!("the limit on open descriptors stays: {error}")))?;
    }
    Ok(())
}

fn connections_max(shape: &Shape) -> u32 {
    match shape {
        Shape::Closed(closed) => {
            let stages = closed.stages.iter().map(|stage| stage.connections);
            stages.fold(closed.connections, u32::max)
        }
        Shape::Open(open) => open.connections_max,
    }
}
