//! Limits that are counted in Redis: the counts of a worker, its connections, and the protocol. The
//! module knows neither the requests nor the worker whose loop serves the connections.

mod limit;
mod link;
pub(crate) mod resp;

pub(crate) use limit::{Counts, RedisLimit};
pub(crate) use link::{Asker, Base, Link, Question, Said};
