//! What the machine and each component did meanwhile: CPU time, memory, descriptors, context
//! switches of process trees; steal time and throttling of the machine; and what the machine is.
//!
//! Everything but profiles is read from `/proc` and `/sys`. Counters only ever grow, also when processes or threads
//! of a tree end, so that the difference of two samples is what happened between them.

mod accounting;
mod cgroup;
mod clock;
mod environment;
mod frequency;
mod ledger;
mod load_average;
mod machine;
mod proc;
pub mod processes;
mod profile;
mod sampler;
mod thread;
mod topology;
mod written;

pub use accounting::{Accounting, PingPong, Round, Setting, SoftirqPayer, foreign_cpu_ns};
pub use cgroup::{ControlGroup, GroupVersion, Throttling, control_groups};
pub use clock::{clock_source, clock_source_below, monotonic_ns};
pub use environment::{CpuFacts, EnvironmentFacts, KernelFacts, LimitFacts, MemoryFacts};
pub use frequency::FrequencySource;
pub use load_average::LoadAverage;
pub use machine::{CoreTimes, MachineSample};
pub use profile::{Profile, ProfileError, Profiler};
pub use sampler::{Sample, Sampler, Scope};
pub use thread::{Component, ProbeSample, ProbeSeries, ProbeThread};
pub use topology::{topology, topology_below};
pub use written::{FileSizes, grown_bytes};
