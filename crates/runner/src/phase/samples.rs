//! Samples the usage of each component at the start of the measurement, at each whole second of it,
//! and at its end.
//!
//! The start of the measurement is decided before it is reached, so the edges are known in advance.
//! Samples are taken at the edges instead of being interpolated. A sleeping thread wakes up about
//! 0.1 ms late, or a few milliseconds late on a busy core. A change to a gateway on another host
//! delays the samples until the change is made. Each usage covers the time between its own samples,
//! so the only error is a shift of the window by these delays.

use gatebench_net::clock;
use gatebench_store::{
    CoreFrequency, CoreUsage, FrequencyRange, MachineFacts, SeriesUsage, Throttling, Usage,
};
use gatebench_testbed::probe::{
    Accounting, FrequencySource, MachineSample, Outside, Sample, Sampler, Scope, SoftirqPayer,
    foreign_cpu_ns,
};
use gatebench_testbed::{GatewaySampler, Running};

use super::bins::Glance;
use crate::context::TrialCores;
use crate::numbers::count;

#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) gateway: Option<Sample>,
    pub(crate) upstream: Option<Sample>,
    /// This process: the built-in load generator, the displays and the samplers. The CPU time of an
    /// external load generator is added.
    pub(crate) own: Sample,
    pub(crate) gateway_is_elsewhere: bool,
    /// CPU time of the supervisors, which are children of this process.
    pub(crate) supervisors_cpu_ns: u64,
    pub(crate) machine: MachineSample,
    /// The frequencies of the gateway's cores, in the order of the cores; empty if they are not
    /// visible.
    pub(crate) frequencies_khz: Vec<u64>,
}

pub(crate) struct Samplers {
    gateway: Option<GatewaySampler>,
    upstream: Option<Sampler>,
    own: Sampler,
    supervisors: Vec<Sampler>,
    /// The gateway's cores on this machine.
    gateway_cores: Vec<usize>,
}

/// Proportional set sizes of the gateway, the upstream and this process, in bytes.
pub(crate) type Pss = [Option<u64>; 3];

/// The set sizes before and after a load.
pub(crate) type PssAround = [Pss; 2];

impl Samplers {
    pub(crate) fn new(running: &Running, gateway_cores: Vec<usize>) -> Self {
        let gateway = running.gateway_sampler();
        let upstream = running.upstream_root();
        let local = gateway.as_ref().and_then(GatewaySampler::local);
        let supervisor = local.and_then(Sampler::supervisor);
        let supervisors = supervisor.into_iter().chain(upstream);
        Self {
            gateway,
            upstream: upstream.map(|root| Sampler::new(root, Scope::Below)),
            supervisors: supervisors
                .map(|root| Sampler::new(root, Scope::Process))
                .collect(),
            own: Sampler::new(std::process::id(), Scope::Process),
            gateway_cores,
        }
    }

    pub(crate) fn sample(&mut self) -> Moment {
        Moment {
            gateway: self.gateway.as_mut().map(GatewaySampler::sample),
            gateway_is_elsewhere: self.gateway.as_ref().is_some_and(|it| it.local().is_none()),
            upstream: self.upstream.as_mut().map(Sampler::sample),
            own: self.own.sample(),
            supervisors_cpu_ns: self
                .supervisors
                .iter_mut()
                .map(|supervisor| supervisor.sample().cpu_ns)
                .sum(),
            machine: MachineSample::read(),
            frequencies_khz: FrequencySource::of_this_machine()
                .read_khz(&self.gateway_cores)
                .unwrap_or_default(),
        }
    }

    /// Takes a glance at the load, after this number of responses.
    pub(crate) fn glance(&self, responses: u64) -> Glance {
        Glance {
            at_ns: clock::now_ns(),
            responses,
            gateway_cpu_ns: self.local_gateway().map(Sampler::cpu_ns),
            upstream_cpu_ns: self.upstream.as_ref().map(Sampler::cpu_ns),
        }
    }

    /// Returns the gateway's processes, if they are on this machine.
    pub(crate) fn gateway_processes(&self) -> Option<Vec<u32>> {
        self.local_gateway().map(Sampler::pids)
    }

    fn local_gateway(&self) -> Option<&Sampler> {
        self.gateway.as_ref()?.local()
    }

    /// Observes the gateway before or after a load. This is too slow to do during a measurement.
    pub(crate) fn outside(&self) -> Option<Outside> {
        self.gateway.as_ref().map(GatewaySampler::outside)
    }

    /// Reads the proportional set sizes. The kernel walks every page to compute them, which is too
    /// slow during a measurement.
    pub(crate) fn pss(&self) -> Pss {
        let gateway = self.gateway.as_ref().and_then(GatewaySampler::pss_bytes);
        let upstream = self.upstream.as_ref().and_then(Sampler::pss_bytes);
        [gateway, upstream, self.own.pss_bytes()]
    }
}

/// Returns the usage of a component between its first and last sample; `None` if there are fewer
/// than two.
pub(crate) fn usage(samples: &[Sample], pss: [Option<u64>; 2]) -> Option<Usage> {
    let [pss_before_bytes, pss_after_bytes] = pss;
    let (first, last) = (samples.first()?, samples.last()?);
    let most = |of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap_or(0);
    (last.at_ns > first.at_ns).then(|| Usage {
        cpu_ns: last.cpu_ns - first.cpu_ns,
        window_ns: last.at_ns - first.at_ns,
        rss_anon_bytes_max: most(|sample| sample.rss_anon_bytes),
        pss_before_bytes,
        pss_after_bytes,
        descriptors_max: most(|sample| sample.descriptors),
        switches_voluntary: last.switches_voluntary - first.switches_voluntary,
        switches_involuntary: last.switches_involuntary - first.switches_involuntary,
        run_queue_wait_ns: last.run_queue_wait_ns - first.run_queue_wait_ns,
        processes: first.processes,
        processes_ended: last.processes_ended - first.processes_ended,
        throttling: throttling(first, last),
    })
}

/// Returns the effect of a CPU limit between two samples; `None` if no period of the limit elapsed.
fn throttling(first: &Sample, last: &Sample) -> Option<Throttling> {
    let (first, last) = (first.throttling?, last.throttling?);
    let periods = last.periods.saturating_sub(first.periods);
    (periods > 0).then(|| Throttling {
        periods,
        throttled_periods: last
            .throttled_periods
            .saturating_sub(first.throttled_periods),
        throttled_ns: last.throttled_ns.saturating_sub(first.throttled_ns),
    })
}

/// Returns the usage of a component between two samples, and its resources at the second one.
fn step(from: &Sample, to: &Sample) -> SeriesUsage {
    SeriesUsage {
        cpu_ns: to.cpu_ns - from.cpu_ns,
        rss_anon_bytes: to.rss_anon_bytes,
        descriptors: to.descriptors,
        switches_voluntary: to.switches_voluntary - from.switches_voluntary,
        switches_involuntary: to.switches_involuntary - from.switches_involuntary,
    }
}

/// Returns the usage of the gateway, the load generator and the upstream between two moments.
pub(crate) fn steps(from: &Moment, to: &Moment) -> [Option<SeriesUsage>; 3] {
    let part = |of: fn(&Moment) -> Option<Sample>| Some(step(&of(from)?, &of(to)?));
    [
        part(|it| it.gateway),
        part(|it| Some(it.own)),
        part(|it| it.upstream),
    ]
}

/// Returns the state of the machine between the first and the last moment.
pub(crate) fn machine(moments: &[Moment], cores: &TrialCores) -> MachineFacts {
    machine_where(moments, cores, Accounting::of_this_machine().softirq)
}

fn machine_where(moments: &[Moment], cores: &TrialCores, payer: SoftirqPayer) -> MachineFacts {
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else {
        return MachineFacts::default();
    };
    let cpu = |pick: fn(&Moment) -> Option<Sample>| {
        let between = pick(last).zip(pick(first));
        between.map_or(0, |(last, first)| last.cpu_ns - first.cpu_ns)
    };
    let supervisors_ns = last.supervisors_cpu_ns - first.supervisors_cpu_ns;
    // CPU time on another machine is not spent on these cores.
    let gateway = |it: &Moment| it.gateway.filter(|_| !it.gateway_is_elsewhere);
    let ours_ns = cpu(gateway) + cpu(|it| it.upstream) + cpu(|it| Some(it.own)) + supervisors_ns;
    let (before, after) = (&first.machine, &last.machine);
    let gateway_cores = cores.gateway_alone.as_deref();
    let gateway_frequency = frequency(moments, &cores.gateway);
    let cores = &cores.all[..];
    MachineFacts {
        window_ns: after.at_ns - before.at_ns,
        cores: count(cores.len()),
        steal_ns: after.steal_ns(cores).saturating_sub(before.steal_ns(cores)),
        throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
        foreign_cpu_ns: foreign_cpu_ns(cores, before, after, ours_ns, payer),
        gateway_cores: gateway_cores.map(|cores| core_times(cores, before, after)),
        gateway_frequency,
    }
}

/// Returns the mean frequency of these cores and the range of each, based on the samples that
/// contain their frequencies.
fn frequency(moments: &[Moment], cores: &[usize]) -> Option<CoreFrequency> {
    let seen = moments.iter().map(|it| &it.frequencies_khz);
    let seen: Vec<&Vec<u64>> = seen.filter(|it| it.len() == cores.len()).collect();
    let of_core = |(index, core): (usize, &usize)| {
        let values = seen.iter().map(|it| it[index]);
        Some(FrequencyRange {
            core: *core,
            min_khz: values.clone().min()?,
            max_khz: values.max()?,
        })
    };
    let ranges: Option<Vec<_>> = cores.iter().enumerate().map(of_core).collect();
    let sum_khz: u64 = seen.iter().flat_map(|it| it.iter()).sum();
    Some(CoreFrequency {
        mean_khz: sum_khz.checked_div((seen.len() * cores.len()) as u64)?,
        cores: ranges?,
    })
}

fn core_times(cores: &[usize], before: &MachineSample, after: &MachineSample) -> CoreUsage {
    let grown = |of: fn(&MachineSample, &[usize]) -> u64| {
        of(after, cores).saturating_sub(of(before, cores))
    };
    CoreUsage {
        busy_ns: grown(MachineSample::busy_ns),
        softirq_ns: grown(MachineSample::softirq_ns),
        irq_ns: grown(MachineSample::irq_ns),
        resolution_ns: MachineSample::tick_ns() * cores.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ns: u64, cpu_ns: u64, rss_anon_bytes: u64) -> Sample {
        Sample {
            at_ns,
            cpu_ns,
            rss_anon_bytes,
            processes: 2,
            ..Sample::default()
        }
    }

    #[test]
    fn usage_is_the_difference_and_the_highest_of_several_samples() {
        let samples = [sample(100, 10, 5), sample(200, 40, 9), sample(300, 60, 7)];
        assert_eq!(usage(&[sample(1, 1, 1)], [None; 2]), None);
        assert_eq!(usage(&[], [None; 2]), None);
        let usage = usage(&samples, [Some(1), None]).unwrap();
        assert_eq!(
            (usage.cpu_ns, usage.window_ns, usage.rss_anon_bytes_max),
            (50, 200, 9)
        );
        assert_eq!(
            (
                usage.pss_before_bytes,
                usage.pss_after_bytes,
                usage.processes
            ),
            (Some(1), None, 2)
        );
        assert_eq!(step(&samples[0], &samples[1]).cpu_ns, 30);
    }

    #[test]
    fn cpu_time_of_components_is_not_foreign() {
        let moment = |at_ns, cpu_ns, busy_ns| Moment {
            gateway: Some(sample(at_ns, cpu_ns, 0)),
            own: sample(at_ns, cpu_ns / 20, 0),
            supervisors_cpu_ns: cpu_ns / 60,
            machine: MachineSample {
                at_ns,
                cores: vec![gatebench_testbed::probe::CoreTimes {
                    core: 1,
                    busy_ns,
                    irq_ns: 0,
                    softirq_ns: busy_ns / 10,
                    steal_ns: 0,
                }],
                throttled_ns: 0,
            },
            ..Moment::default()
        };
        let moments = [moment(0, 0, 0), moment(1_000, 600, 700)];
        let mut cores = TrialCores {
            all: vec![1],
            ..TrialCores::default()
        };
        let facts = machine_where(&moments, &cores, SoftirqPayer::Processes);
        assert_eq!(
            (facts.window_ns, facts.foreign_cpu_ns, facts.cores),
            (1_000, 60, 1)
        );
        assert_eq!(facts.gateway_cores, None);
        // If no process is charged for softirq time, the 70 ns of softirq time do not count as
        // another process's time.
        cores.gateway_alone = Some(vec![1]);
        let facts = machine_where(&moments, &cores, SoftirqPayer::Nobody);
        assert_eq!(facts.foreign_cpu_ns, 0);
        let core = facts.gateway_cores.unwrap();
        assert_eq!((core.busy_ns, core.softirq_ns), (700, 70));
    }

    #[test]
    fn frequencies_are_those_of_the_gateways_cores() {
        let moment = |frequencies_khz: &[u64]| Moment {
            frequencies_khz: frequencies_khz.into(),
            ..Moment::default()
        };
        let cores = TrialCores {
            all: vec![0, 2, 3],
            gateway: vec![2, 3],
            gateway_alone: None,
        };
        let of = |moments: &[Moment]| {
            machine_where(moments, &cores, SoftirqPayer::Processes).gateway_frequency
        };
        let moments = [
            moment(&[3_000_000, 2_000_000]),
            moment(&[3_300_000, 2_000_000]),
            moment(&[2_700_000, 2_000_000]),
        ];
        let range = |core, min_khz, max_khz| FrequencyRange {
            core,
            min_khz,
            max_khz,
        };
        let expected = CoreFrequency {
            mean_khz: 2_500_000,
            cores: vec![
                range(2, 2_700_000, 3_300_000),
                range(3, 2_000_000, 2_000_000),
            ],
        };
        assert_eq!(of(&moments), Some(expected));
        let once = of(&[moments[1].clone(), moment(&[])]);
        assert_eq!(once.map(|it| it.mean_khz), Some(2_650_000));
        assert_eq!(of(&[moment(&[]), moment(&[])]), None);
    }
}
