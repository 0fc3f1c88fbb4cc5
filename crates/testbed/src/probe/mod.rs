//! Reads counters and facts: CPU time, memory, descriptors, context switches and throttling of
//! process trees; busy and steal time of the machine's cores; and the properties of the machine.
//!
//! Profiles come from perf or from a gateway's own profiler; nearly everything else is read from
//! `/proc` and `/sys`. The counters of a process tree never decrease, even when processes or
//! threads in it end.

mod accounting;
mod cgroup;
mod environment;
mod frequency;
mod machine;
mod profile;
mod sampler;
mod topology;

pub use crate::system::processes;
pub use accounting::{Accounting, PingPong, Round, Setting, SoftirqPayer, foreign_cpu_ns};
pub use cgroup::{Throttling, control_groups};
pub use environment::{
    CpuFacts, EnvironmentFacts, KernelFacts, LimitFacts, MemoryFacts, clock_identity, clock_source,
    clock_source_below, enclosing_container,
};
pub use frequency::FrequencySource;
pub use machine::{CoreTimes, MachineSample, load_average};
pub use profile::{OwnProfiler, Profile, ProfileError, Profiler};
pub(crate) use sampler::GroupChoice;
pub use sampler::{Outside, Sample, Sampler, Scope};
pub use topology::{allowed_cores, topology, topology_below, usable_cores};
