//! Limits that are counted in Redis: what a worker counts by itself, its connections, and the
//! protocol. It knows neither the requests that are counted nor the worker whose loop it is spoken
//! on.

mod limit;
mod link;
pub(crate) mod resp;

pub(crate) use limit::{Counts, RedisLimit};
pub(crate) use link::{Asker, Base, Link, Question, Said};
