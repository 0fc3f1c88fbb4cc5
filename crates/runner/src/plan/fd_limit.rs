//! Raises the limit on file descriptors for a load's connections. If that is impossible, reduces
//! sweeps and refuses other loads.
//!
//! Gateways inherit this process's limit. A proxy needs more descriptors than the load generator:
//! one for each side of a connection.

use gatebench_model::{LoadProfile, Phase, Scenario, Sweep};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::library::Listed;
use crate::error::RunnerError;
use crate::warning::Warning;
use crate::workload::connections;

/// Descriptors that a process needs in addition to its load's connections.
const BESIDES: u64 = 256;
/// Descriptors that a proxy needs for each connection of the load.
const PER_PROXIED: u64 = 2;
/// A reduced number of connections is rounded down to a multiple of this number. Smaller numbers
/// are not rounded.
const ROUND: u64 = 100;

/// Raises this process's file descriptor limit so that it suffices for this number of connections.
///
/// # Errors
/// The environment does not permit such a high limit.
pub(crate) fn raise_for(connections: u64) -> Result<(), RunnerError> {
    let needed = needed(connections);
    allow_descriptors(needed).map_err(|allowed| {
        RunnerError::environment(
            format!(
                "{connections} connections need {needed} file descriptors, but the limit is {allowed}"
            ),
            format!(
                "raise the limit (as root: ulimit -Hn {needed}; LimitNOFILE={needed} for a service), or choose a load \
                 with at most {} connections (--load)",
                fitting(allowed)
            ),
        )
    })
}

/// In the sweeps of loads, replaces the numbers of connections that exceed the limit with the
/// largest possible number, based on the scenario with the most connections.
pub(crate) fn fit<'a>(
    loads: impl Iterator<Item = &'a mut LoadProfile>,
    scenarios: &[Listed<Scenario>],
) -> Vec<Warning> {
    let scenarios: Vec<&Scenario> = scenarios.iter().map(|it| &it.document).collect();
    loads.filter_map(|load| fit_one(load, &scenarios)).collect()
}

fn fit_one(load: &mut LoadProfile, scenarios: &[&Scenario]) -> Option<Warning> {
    let (asked, most_of_all) = greatest(load, scenarios)?;
    let needed = needed(u64::from(most_of_all));
    let allowed = allow_descriptors(needed).err()?;
    // A scenario may need more connections than the sweep states, because of HTTP/2 streams and
    // groups with separate loads. The ratio of the two numbers is assumed to be constant.
    let each = f64::from(most_of_all) / f64::from(asked);
    let most = rounded((fitting(allowed) as f64 / each) as u64);
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let mut changed = false;
    for phase in &mut load.phases {
        if let Some(Sweep::Connections(numbers)) = &mut phase.sweep {
            changed |= cut(numbers, most);
        }
    }
    changed.then(|| Warning::ConnectionsFewer {
        load: load.profile.clone(),
        asked,
        most,
        needed,
        allowed,
    })
}

/// Returns the largest number of connections in a sweep of the load, and the resulting maximum over
/// the scenarios.
fn greatest(load: &LoadProfile, scenarios: &[&Scenario]) -> Option<(u32, u32)> {
    let swept = |phase: &Phase| match &phase.sweep {
        Some(Sweep::Connections(numbers)) => numbers.iter().copied().max(),
        Some(Sweep::RatePerSecond(_)) | None => None,
    };
    let sweeps = load.phases.iter();
    let sweeps = sweeps.filter_map(|phase| Some((swept(phase)?, phase)));
    let (asked, phase) = sweeps.max_by_key(|(asked, _)| *asked)?;
    let expanded = phase.expanded();
    let each = scenarios.iter().map(|it| connections(it, &expanded));
    Some((asked, each.max()?))
}

/// Replaces the numbers above `most` with a single `most`, or removes them if `most` is 0. Reports
/// whether any number was above `most`.
fn cut(numbers: &mut Vec<u32>, most: u32) -> bool {
    let before = numbers.len();
    let place = numbers.iter().position(|number| *number > most);
    numbers.retain(|number| *number <= most);
    let (Some(place), true) = (place, most > 0) else {
        return before != numbers.len();
    };
    if !numbers.contains(&most) {
        numbers.insert(place.min(numbers.len()), most);
    }
    true
}

fn needed(connections: u64) -> u64 {
    connections * PER_PROXIED + BESIDES
}

/// Returns the number of connections that this number of descriptors permits.
fn fitting(descriptors: u64) -> u64 {
    descriptors.saturating_sub(BESIDES) / PER_PROXIED
}

fn rounded(connections: u64) -> u64 {
    match connections / ROUND {
        0 => connections,
        hundreds => hundreds * ROUND,
    }
}

/// Raises this process's soft limit to at least this number of file descriptors, and the hard limit
/// if necessary and permitted.
///
/// # Errors
/// The limit cannot be raised that far; the error contains the number of descriptors that the
/// process may have.
pub fn allow_descriptors(needed: u64) -> Result<(), u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|soft| soft >= needed) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum.map(|hard| hard.max(needed)),
    };
    let allowed = limit.maximum.or(limit.current).unwrap_or(u64::MAX);
    setrlimit(Resource::Nofile, raised).map_err(|_| allowed)
}

#[cfg(test)]
mod tests {
    use gatebench_config::parse;

    use super::*;

    const SCENARIO: &str = "{scenario: s, title: t, upstream: go-bench, routes: [{name: r, path: /}], requests: [{path: /json}]}";

    fn load(sweep: &str) -> LoadProfile {
        let text = format!(
            "{{profile: l, title: t, phases: [{{name: p, closed: {{connections: 1}}, sweep: {{connections: {sweep}}}, measure: 1s}}]}}"
        );
        parse("l.yaml", &text).unwrap()
    }

    fn swept(load: &LoadProfile) -> Vec<u32> {
        match &load.phases[0].sweep {
            Some(Sweep::Connections(numbers)) => numbers.clone(),
            Some(Sweep::RatePerSecond(_)) | None => Vec::new(),
        }
    }

    #[test]
    fn a_connection_takes_two_descriptors() {
        assert_eq!(needed(10_000), 20_256);
        assert_eq!(fitting(20_000), 9_872);
        assert_eq!(fitting(20_256), 10_000);
        assert_eq!(fitting(200), 0);
        assert_eq!((rounded(9_872), rounded(99)), (9_800, 99));
    }

    #[test]
    fn numbers_above_the_limit_are_replaced_by_the_limit() {
        let cut = |numbers: &[u32], most| {
            let mut numbers = numbers.to_vec();
            let changed = cut(&mut numbers, most);
            (numbers, changed)
        };
        assert_eq!(
            cut(&[10, 1_000, 10_000], 9_800),
            (vec![10, 1_000, 9_800], true)
        );
        assert_eq!(
            cut(&[10_000, 10, 20_000, 20], 500),
            (vec![500, 10, 20], true)
        );
        assert_eq!(cut(&[10, 1_000, 10_000], 1_000), (vec![10, 1_000], true));
        assert_eq!(cut(&[10, 20], 20), (vec![10, 20], false));
    }

    #[test]
    fn an_impossible_sweep_is_reported_with_limit_and_remedy() {
        let scenario: Scenario = parse("s.yaml", SCENARIO).unwrap();
        // The default limit of the kernel (fs.nr_open) is 1,048,576 files, so a warning is expected
        // on most machines.
        let mut large = load("[1, 1000000]");
        let warning = fit_one(&mut large, &[&scenario]);
        if let Some(warning) = warning {
            let text = warning.to_string();
            assert!(
                text.contains("1000000 connections need 2000256 file descriptors"),
                "{text}"
            );
            assert!(text.contains("ulimit -Hn 2000256"), "{text}");
            assert_eq!(swept(&large).len(), 2);
            assert!(swept(&large)[1] < 1_000_000);
        }
        let mut small = load("[1, 2]");
        assert_eq!(fit_one(&mut small, &[&scenario]), None);
    }
}
