//! The processes of a trial next to its gateway: upstreams, a Redis, and external load generators.
//!
//! It must not know a gateway, or the meaning of a load generator's arguments and output.

mod generator;
mod redis;
mod upstream;

pub use generator::{GeneratorProcess, GeneratorStart, ask_generator};
pub use redis::{FoundRedis, RedisProcess, RedisStart};
pub use upstream::{UpstreamProcess, UpstreamStart};
