//! Checks which permissions a container grants. If a permission is missing, a feature of gatebench
//! does not work or is slower.

use std::fs;

use gatebench_report::format::{distinct, listed};

use super::checks::Check;

/// The bits of CAP_PERFMON and CAP_SYS_ADMIN (capabilities(7)). In a container with the default
/// seccomp profile, perf needs one of these capabilities.
const SAMPLING: u64 = (1 << 38) | (1 << 21);

/// Reports whether this process has a capability that allows perf to sample. `gatebench doctor`
/// uses this if perf is not installed and therefore cannot be tried.
pub(super) fn may_sample() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| has_capability(&status, SAMPLING))
}

fn has_capability(status: &str, bits: u64) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    effective.is_some_and(|effective| effective & bits != 0)
}

/// A permission that container engines refuse by default.
pub(super) struct Grant {
    /// The name and the purpose of the permission.
    pub(super) what: &'static str,
    pub(super) is_granted: bool,
    /// The options of docker and podman that grant the permission.
    pub(super) options: &'static [&'static str],
}

pub(super) fn check(engine: &str, grants: &[Grant]) -> Check {
    let name = "container";
    let (granted, refused): (Vec<_>, Vec<_>) = grants.iter().partition(|it| it.is_granted);
    let named = |grants: &[&Grant]| {
        let names: Vec<_> = grants.iter().map(|it| it.what.to_owned()).collect();
        listed(&names)
    };
    if refused.is_empty() {
        return Check::good(name, format!("{engine}, which grants {}", named(&granted)));
    }
    let options = refused
        .iter()
        .flat_map(|grant| grant.options.iter().copied());
    let options = distinct(options).join(" ");
    Check::advice(
        name,
        format!(
            "{engine}, which refuses {}; the tour does not need this",
            named(&refused)
        ),
        format!("start the container with {options}"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::checks::State;
    use super::*;

    fn checked(granted: [bool; 3]) -> Check {
        let grant = |what, is_granted, options| Grant {
            what,
            is_granted,
            options,
        };
        let [a, b, c] = granted;
        check(
            "Podman",
            &[
                grant("a", a, &["--open"][..]),
                grant("b", b, &["--volume v"]),
                grant("c", c, &["--open", "--cap-add C"]),
            ],
        )
    }

    #[test]
    fn either_capability_permits_sampling() {
        let with = |hex: &str| has_capability(&format!("Name:\tx\nCapEff:\t{hex}\n"), SAMPLING);
        assert!(with("0000004000000000") && with("0000000000200000"));
        assert!(!with("00000000a80425fb") && !has_capability("", SAMPLING));
    }

    #[test]
    fn each_option_for_a_refused_permission_is_stated_once() {
        let all = checked([true; 3]);
        assert_eq!(all.state, State::Good);
        assert_eq!(all.says, "Podman, which grants a, b and c");
        let some = checked([false, true, false]);
        assert_eq!(some.state, State::Advice);
        assert!(
            some.says.starts_with("Podman, which refuses a and c;"),
            "{}",
            some.says
        );
        let remedy = "start the container with --open --cap-add C";
        assert_eq!(some.remedy.as_deref(), Some(remedy));
    }
}
