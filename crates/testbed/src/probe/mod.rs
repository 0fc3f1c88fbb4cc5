//! Reads counters: CPU time, memory, descriptors and context switches of process trees; steal time
//! and throttling of the machine; and the facts about the machine.
//!
//! Everything but profiles is read from `/proc` and `/sys`. Counters only ever grow, also when
//! processes or threads of a tree end, so that the difference of two samples is what happened
//! between them.
//!
//! It must not know what a process is for, start one that is measured, or judge a figure.

mod accounting;
mod cgroup;
mod clock;
mod environment;
mod frequency;
mod ledger;
mod load_average;
mod machine;
mod profile;
mod sampler;
mod thread;
mod topology;
mod written;

pub use crate::system::processes;
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
