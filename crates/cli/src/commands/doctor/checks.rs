//! The checks of `gatebench doctor`.

use std::num::NonZero;
use std::thread;

use gatebench_gateway::library_versions;
use gatebench_model::Blame;
use gatebench_model::placement::{Placement, SHARED_CORE_REMEDY};
use gatebench_net::{Backend, choose};
use gatebench_runner::outputs::{Push, Target};
use gatebench_testbed::gateway::{Catalogue, NO_GROUPS, refusal_of_groups};
use gatebench_testbed::probe::{
    Accounting, EnvironmentFacts, PingPong, ProfileError, Profiler, Setting, SoftirqPayer,
    enclosing_container, topology,
};
use gatebench_testbed::services::FoundRedis;

use super::container::{self, Grant};
use crate::commands::values::{Cores, launcher};
use crate::failure::Failure;

/// The hard limit on open files that the tour needs. With a lower limit, HAProxy does not start.
const DESCRIPTORS_MIN: u64 = 2_100;

/// The severity of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Good,
    /// Nothing prevents a run, but something could be improved.
    Advice,
    /// Something prevents the tour, a run in a Kubernetes namespace, or an output.
    Missing,
}

/// The result of a check, with a remedy unless the state is [`State::Good`].
#[derive(Debug)]
pub struct Check {
    /// The subject of the check, such as `cores`.
    pub name: String,
    pub state: State,
    pub says: String,
    pub remedy: Option<String>,
}

impl Check {
    pub fn good(name: &str, says: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            state: State::Good,
            says: says.into(),
            remedy: None,
        }
    }

    pub fn advice(name: &str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            state: State::Advice,
            remedy: Some(remedy.into()),
            ..Self::good(name, says)
        }
    }

    pub fn missing(name: &str, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            state: State::Missing,
            ..Self::advice(name, says, remedy)
        }
    }
}

const IO_URING: &str = "io_uring";

pub fn all() -> Result<Vec<Check>, Failure> {
    let facts = EnvironmentFacts::read();
    let backend = choose(None);
    let groups = refusal_of_groups();
    let profiler = Profiler::find();
    let mut grants = grants(backend, groups.as_deref(), &profiler);
    if is_io_uring_disabled(&facts) {
        // No container option changes this kernel setting.
        grants.retain(|it| it.what != IO_URING);
    }
    let mut checks = vec![
        event_loop(backend, is_io_uring_disabled(&facts)),
        cores(&facts),
        descriptors(&facts),
        governor(&facts),
        accounting(),
        control_groups(groups),
        libraries(),
        redis(),
        perf(profiler),
    ];
    checks.extend(enclosing_container().map(|engine| container::check(engine, &grants)));
    checks.extend(gateways()?);
    Ok(checks)
}

pub fn output(target: &Target) -> Check {
    let name = "output";
    match Push::begin(target) {
        Ok(_) => Check::good(name, format!("{target} accepts data")),
        Err(refusal) => Check {
            state: State::Missing,
            ..Check::advice(name, format!("{target}: {}", refusal.what), refusal.remedy)
        },
    }
}

/// Returns the permissions that container engines refuse by default, each marked as granted or
/// refused.
fn grants(
    backend: Backend,
    groups: Option<&str>,
    profiler: &Result<(), ProfileError>,
) -> Vec<Grant> {
    vec![
        Grant {
            what: IO_URING,
            is_granted: backend == Backend::Uring,
            options: &["--security-opt seccomp=unconfined"],
        },
        Grant {
            what: "control groups (for --gateway-cpus and --gateway-memory)",
            is_granted: groups.is_none(),
            options: &["--cgroupns=host --volume /sys/fs/cgroup:/sys/fs/cgroup"],
        },
        Grant {
            what: "sampling by perf (for flame graphs)",
            is_granted: match profiler {
                Err(ProfileError::NotFound) => container::may_sample(),
                Err(ProfileError::NoSamples(_)) => false,
                Ok(()) | Err(ProfileError::Io(_) | ProfileError::NoOwnSamples(_)) => true,
            },
            options: &["--security-opt seccomp=unconfined", "--cap-add PERFMON"],
        },
    ]
}

/// Reports whether a kernel setting refuses io_uring to all processes (`io_uring_disabled` in
/// Linux's documentation of sysctl).
fn is_io_uring_disabled(facts: &EnvironmentFacts) -> bool {
    let setting = facts.sysctls.get("kernel.io_uring_disabled");
    setting.is_some_and(|it| it == "2")
}

fn event_loop(backend: Backend, is_disabled: bool) -> Check {
    let (why, remedy) = match (backend, is_disabled) {
        (Backend::Uring, _) => return Check::good("event loop", IO_URING),
        (Backend::Epoll, true) => (
            "the kernel setting kernel.io_uring_disabled disables io_uring",
            "on the host: sysctl -w kernel.io_uring_disabled=0",
        ),
        (Backend::Epoll, false) => (
            "the kernel or the container refuses io_uring",
            "in a container, add --security-opt seccomp=unconfined; on the host, check that the \
             kernel has io_uring and that kernel.io_uring_disabled is 0",
        ),
    };
    let says = format!("epoll, because {why}; everything works, but requests cost more");
    Check::advice("event loop", says, remedy)
}

fn cores(facts: &EnvironmentFacts) -> Check {
    let allowed = facts.cpu.allowed.as_deref();
    let allowed = allowed.and_then(|list| list.parse::<Cores>().ok());
    let allowed = allowed.unwrap_or_default().0;
    let placement = Placement::automatic(&topology(&allowed));
    let says = format!("{}. {}", allowed.len(), placement.note);
    // This number also reflects CPU time limits.
    let usable = thread::available_parallelism().map_or(allowed.len(), NonZero::get);
    if usable < allowed.len() {
        Check::advice(
            "cores",
            format!(
                "{}, but a control group limits the CPU time to the equivalent of about {usable} of them; \
                 this limit can pause the load generator during a measurement",
                allowed.len()
            ),
            "limit the cores instead of the time; in a container, use --cpuset-cpus instead of --cpus",
        )
    } else if placement.gateway_has_siblings() {
        Check::advice("cores", says, SHARED_CORE_REMEDY)
    } else if allowed.len() >= 2 {
        Check::good("cores", says)
    } else {
        Check::advice(
            "cores",
            says,
            "use a machine with at least 2 cores, or raise the limit of the container to 2 cores",
        )
    }
}

fn descriptors(facts: &EnvironmentFacts) -> Check {
    match facts.limits.nofile_hard {
        Some(limit) if limit < DESCRIPTORS_MIN => Check {
            state: State::Missing,
            ..Check::advice(
                "descriptors",
                format!("the limit is {limit}, but the tour needs {DESCRIPTORS_MIN}"),
                "ulimit -Hn 65536 (as root), or raise nofile in /etc/security/limits.conf",
            )
        },
        Some(limit) => Check::good("descriptors", limit.to_string()),
        None => Check::good("descriptors", "no limit"),
    }
}

fn governor(facts: &EnvironmentFacts) -> Check {
    match facts.cpu.governor.as_deref() {
        None => Check::good("governor", "not visible (usual in a virtual machine)"),
        Some("performance") => Check::good("governor", "performance"),
        Some(other) => Check::advice(
            "governor",
            format!("{other}: the clock frequency may change, and CPU time per request with it"),
            "cpupower frequency-set -g performance",
        ),
    }
}

/// Checks whether processes are charged for softirq time, using the kernel's configuration and a
/// test.
fn accounting() -> Check {
    let configured = Accounting::configured();
    let name = "CPU accounting";
    match PingPong::play() {
        Ok(played) => judged(name, &configured, &played),
        Err(error) => Check::advice(
            name,
            format!(
                "the loopback ping-pong failed: {error}; {}",
                options(&configured)
            ),
            "allow connections over 127.0.0.1",
        ),
    }
}

fn judged(name: &str, configured: &Accounting, played: &PingPong) -> Check {
    let ms = |ns: u64| ns / 1_000_000;
    let total = played.total();
    let seen = format!(
        "a loopback ping-pong took {} ms by its threads' clocks, while its core was busy for {} ms, {} ms of \
         it in softirq; {}",
        ms(total.threads_ns),
        ms(total.busy_ns),
        ms(total.interrupts_ns),
        options(configured)
    );
    let found = played.judge();
    let known = configured.softirq;
    match found {
        _ if found != known && found != SoftirqPayer::Unknown && known != SoftirqPayer::Unknown => {
            Check::advice(
                name,
                format!("the kernel's configuration and the test disagree: {seen}"),
                "boot without options that change the clock (tsc=), or compare only runs that were made on this machine",
            )
        }
        SoftirqPayer::Processes => {
            Check::good(name, format!("softirq is charged to processes: {seen}"))
        }
        SoftirqPayer::Nobody => Check::advice(
            name,
            format!("softirq is charged to no process: {seen}"),
            "read CPU per request together with the busy time of the gateway's cores, and compare only runs that were made on kernels with the same accounting",
        ),
        SoftirqPayer::Unknown => Check::advice(
            name,
            format!(
                "the test is inconclusive, because other programs used the core, softirq took too little time, or \
                 the rounds of the test disagree: {seen}"
            ),
            "stop other programs and run gatebench doctor again",
        ),
    }
}

fn options(configured: &Accounting) -> String {
    let word = |setting| match setting {
        Setting::On => "on",
        Setting::Off => "off",
        Setting::Unknown => "unknown",
    };
    format!(
        "IRQ_TIME_ACCOUNTING is {}, PARAVIRT_TIME_ACCOUNTING {}",
        word(configured.irq_time),
        word(configured.paravirt_time)
    )
}

fn libraries() -> Check {
    let versions = library_versions().into_iter();
    let versions: Vec<String> = versions
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    if versions.is_empty() {
        return Check::advice(
            "XML",
            "gatebench was built without the feature `soap`, so the reference gateway processes \
             neither SOAP nor XML",
            "build gatebench with its default features if you need SOAP or XML",
        );
    }
    Check::good("XML", versions.join(", "))
}

fn redis() -> Check {
    match FoundRedis::find() {
        Ok(found) => Check::good(
            "redis",
            format!("{} ({})", found.version, found.path.display()),
        ),
        Err(error) => Check::advice(
            "redis",
            format!(
                "{}; only rate limits in Redis need it",
                error.to_string().trim_end()
            ),
            "gatebench install redis",
        ),
    }
}

fn control_groups(refusal: Option<String>) -> Check {
    match refusal {
        None => Check::good(
            "control groups",
            "can limit the CPUs and the memory of gateways",
        ),
        Some(why) => Check::advice(
            "control groups",
            format!("{why}; only --gateway-cpus and --gateway-memory need them"),
            NO_GROUPS,
        ),
    }
}

fn perf(found: Result<(), ProfileError>) -> Check {
    match found {
        Ok(()) => Check::good("perf", "can sample stacks for flame graphs"),
        Err(error) => Check::advice(
            "perf",
            format!("{error}; only flame graphs need perf"),
            error.remedy(),
        ),
    }
}

/// The tour skips gateways that are not installed, but needs at least one.
fn gateways() -> Result<Vec<Check>, Failure> {
    let launcher = launcher()?;
    let folders = Catalogue::new(None).list()?;
    let mut checks: Vec<Check> = folders
        .iter()
        .map(|folder| match folder.find_binary(&launcher) {
            Ok(found) => Check::good(
                &folder.spec.gateway,
                format!("{} ({})", found.version, found.path.display()),
            ),
            Err(error) => Check::advice(&folder.spec.gateway, error.to_string(), error.remedy()),
        })
        .collect();
    if checks.iter().all(|check| check.state != State::Good) {
        for check in &mut checks {
            check.state = State::Missing;
        }
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use gatebench_testbed::probe::Round;

    use super::*;

    /// Returns three equal rounds. In each, the threads' clocks miss `missing_ms` of the core's
    /// busy time.
    fn played(missing_ms: u64) -> PingPong {
        let round = Round {
            threads_ns: (200 - missing_ms) * 1_000_000,
            busy_ns: 200_000_000,
            interrupts_ns: 60_000_000,
            others_ns: 0,
        };
        PingPong {
            rounds: vec![round; 3],
            tick_ns: 10_000_000,
        }
    }

    #[test]
    fn the_accounting_mode_is_stated_and_a_contradiction_is_reported() {
        let on = Accounting {
            irq_time: Setting::On,
            paravirt_time: Setting::Off,
            softirq: SoftirqPayer::Nobody,
        };
        let says = |configured: &Accounting, missing_ms| {
            let check = judged("CPU accounting", configured, &played(missing_ms));
            (check.state, check.says)
        };
        let (state, words) = says(&on, 58);
        assert_eq!(state, State::Advice);
        assert!(
            words.starts_with("softirq is charged to no process: a loopback ping-pong took 426 ms"),
            "{words}"
        );
        assert!(words.ends_with("IRQ_TIME_ACCOUNTING is on, PARAVIRT_TIME_ACCOUNTING off"));
        let (state, words) = says(&Accounting::default(), 2);
        assert_eq!(state, State::Good);
        assert!(
            words.starts_with("softirq is charged to processes"),
            "{words}"
        );
        let (state, words) = says(&on, 2);
        assert_eq!(state, State::Advice);
        assert!(words.contains("disagree"), "{words}");
    }

    #[test]
    fn the_remedy_for_epoll_depends_on_the_setting_of_the_kernel() {
        let remedy = |backend, is_disabled| event_loop(backend, is_disabled).remedy;
        assert_eq!(remedy(Backend::Uring, false), None);
        let set = remedy(Backend::Epoll, true).unwrap();
        assert!(
            set.contains("sysctl") && !set.contains("container"),
            "{set}"
        );
        let unset = remedy(Backend::Epoll, false).unwrap();
        assert!(
            unset.contains("container") && !unset.contains("sysctl"),
            "{unset}"
        );
    }
}
