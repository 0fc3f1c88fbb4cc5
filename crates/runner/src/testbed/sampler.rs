//! Samples of a gateway's processes, wherever they run.

use std::collections::BTreeMap;

use gatebench_store::GatewayWire;
use gatebench_testbed::probe::{FileSizes, Sample, Sampler, Scope, grown_bytes};

use super::remote::RemoteSampler;

/// A thread that did this part of the work is one of the workers.
const BUSY_PART: u64 = 20;

/// Samples a gateway again and again, wherever it runs.
#[derive(Debug)]
pub(crate) enum GatewaySampler {
    Here {
        sampler: Box<Sampler>,
        /// The root of an attached gateway, and of one in a container, is the gateway itself.
        supervisor: Option<u32>,
    },
    There(RemoteSampler),
}

impl GatewaySampler {
    /// Of processes of this machine.
    pub(crate) fn here(root: u32, scope: Scope) -> Self {
        Self::Here {
            sampler: Box::new(Sampler::new(root, scope)),
            supervisor: (scope == Scope::Below).then_some(root),
        }
    }

    /// What it has used so far, and what it holds now.
    pub(crate) fn sample(&mut self) -> Sample {
        match self {
            Self::Here { sampler, .. } => sampler.sample(),
            Self::There(sampler) => sampler.sample(),
        }
    }

    /// The CPU time of the processes sampled last; none for another host, which is too far to ask
    /// often.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        match self {
            Self::Here { sampler, .. } => Some(sampler.cpu_ns()),
            Self::There(_) => None,
        }
    }

    /// Reads what the kernel walks every page for: not during a measurement.
    pub(crate) fn pss_bytes(&self) -> Option<u64> {
        match self {
            Self::Here { sampler, .. } => sampler.pss_bytes(),
            Self::There(sampler) => sampler.pss_bytes(),
        }
    }

    /// Reads a file of each thread and descriptor: not during a measurement.
    pub(crate) fn outside(&self) -> Outside {
        match self {
            Self::Here { sampler, .. } => Outside::of(sampler),
            Self::There(sampler) => sampler.outside(),
        }
    }
}

/// The gateway's processes before a load.
pub(crate) struct Outside {
    threads: BTreeMap<(u32, u32), u64>,
    files: FileSizes,
}

impl Outside {
    /// Reads a file of each thread and descriptor: not during a measurement.
    pub(crate) fn of(gateway: &Sampler) -> Self {
        Self::new(gateway.thread_cpu_ns(), gateway.written_files())
    }

    /// CPU time of each thread, and the sizes of the files that are written.
    pub(crate) fn new(threads: BTreeMap<(u32, u32), u64>, files: FileSizes) -> Self {
        Self { threads, files }
    }

    /// What has become of them.
    pub(crate) fn until(&self, after: &Self) -> GatewayWire {
        let worked = |(thread, cpu_ns): (&(u32, u32), &u64)| {
            cpu_ns.saturating_sub(self.threads.get(thread).copied().unwrap_or(0))
        };
        let worked: Vec<u64> = after.threads.iter().map(worked).collect();
        let all: u64 = worked.iter().sum();
        let busy = worked
            .iter()
            .filter(|own| **own > 0 && **own * BUSY_PART >= all);
        GatewayWire {
            written_bytes: grown_bytes(&self.files, &after.files),
            threads: count(after.threads.len()),
            threads_busy: count(busy.count()),
        }
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(threads: &[((u32, u32), u64)], files: &[((u64, u64), u64)]) -> Outside {
        Outside {
            threads: threads.iter().copied().collect(),
            files: files.iter().copied().collect(),
        }
    }

    #[test]
    fn workers_are_the_threads_that_worked() {
        let before = outside(&[((1, 1), 900), ((1, 2), 100)], &[((0, 7), 10)]);
        let threads = [((1, 1), 900), ((1, 2), 1_090), ((1, 3), 50), ((1, 4), 9)];
        let after = outside(&threads, &[((0, 7), 40), ((0, 8), 5)]);
        let wire = before.until(&after);
        // 990, 50 (new) and 9 (new) of 1,049: a twentieth is 52.
        assert_eq!((wire.threads, wire.threads_busy), (4, 1));
        assert_eq!(wire.written_bytes, 35);
    }

    #[test]
    fn who_does_nothing_has_no_workers() {
        let idle = outside(&[((1, 1), 5)], &[]);
        assert_eq!(idle.until(&idle).threads_busy, 0);
    }
}
