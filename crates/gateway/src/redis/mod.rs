//! Rate limits that are counted in Redis: a worker's counts, its connections, and the protocol.

mod limit;
mod link;
pub(crate) mod resp;

pub(crate) use limit::{Counts, RedisLimit};
pub(crate) use link::{Asker, Base, Link, Question, Said};
