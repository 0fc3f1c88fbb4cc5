//! Starts what a scenario needs in addition to its own upstream: further upstreams, and a Redis.

use std::net::Ipv4Addr;
use std::path::Path;

use gatebench_model::Scenario;
use gatebench_testbed::{Launcher, RedisStart};

use super::targets::Starting;
use super::{Testbed, upstream_command};
use crate::abort::Abort;

impl Testbed {
    /// Starts the further upstreams of a scenario beside its own, which is up, and the Redis that its limits
    /// count in.
    pub(crate) fn bring_the_rest_up(
        &mut self,
        scenario: &Scenario,
        (cores, work): (&[usize], &Path),
        launcher: &Launcher,
    ) -> Result<(), Abort> {
        for (name, kind) in &scenario.more_upstreams {
            let starting = Starting {
                command: upstream_command(launcher, *kind, cores),
                work: work.with_file_name(format!("upstream-{name}")),
                cores: cores.to_vec(),
                launcher: launcher.clone(),
                listen: Ipv4Addr::LOCALHOST.into(),
            };
            self.start_upstream(Some(name), scenario.transport.upstream_tls, starting)?;
        }
        if scenario.needs_redis() {
            let work = &work.with_file_name("redis");
            let start = RedisStart {
                work,
                cores,
                launcher,
            };
            self.redis = Some(start.start()?);
        }
        Ok(())
    }

    /// The scenario with the address of what was started for it.
    pub(crate) fn as_started(&self, scenario: &Scenario) -> Scenario {
        let scenario = scenario.clone();
        match &self.redis {
            Some(redis) => scenario.with_redis(redis.addr),
            None => scenario,
        }
    }
}
