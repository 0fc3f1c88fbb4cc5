//! The permissions that gatebench's container must grant.

use gatebench_report::format::{distinct, listed};

use super::checks::Check;

/// A permission that container engines refuse by default.
pub(super) struct Grant {
    /// The name and the use of the permission.
    pub(super) what: &'static str,
    pub(super) is_granted: bool,
    /// The options of docker and podman that grant the permission.
    pub(super) options: &'static [&'static str],
}

/// Checks which permissions the container of this engine grants.
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
