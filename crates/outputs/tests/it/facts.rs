//! The facts of a small load, for the tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatebench_outputs::{Class, Distribution, Fact, Load, Second, Trend, What};

pub const SECOND_NS: u64 = 1_000_000_000;
/// The start of the load, in nanoseconds since 1970.
pub const BEGIN_NS: u64 = 1_700_000_000 * SECOND_NS;

pub fn load() -> Arc<Load> {
    let label = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let labels = [
        ("testid", "run/nginx/proxy"),
        ("scenario", "proxy"),
        ("phase", "steady"),
    ];
    Arc::new(Load {
        id: 1,
        labels: labels.map(label).into(),
        request: BTreeMap::from([("method", "GET".into()), ("name", "/json, \"x\"".into())]),
        checks: vec!["status=200".into()],
        checks_apply_to_all: true,
        connections_max: 64,
    })
}

pub fn fact(load: &Arc<Load>, second: Second) -> Fact {
    let from_ns = BEGIN_NS + u64::from(second.number) * SECOND_NS;
    Fact {
        load: Arc::clone(load),
        from_ns,
        to_ns: from_ns + SECOND_NS,
        what: What::Second(second),
    }
}

/// A second with these numbers of responses and errors. In each trend, the times of a class are
/// 1 µs, 2 µs and so on.
pub fn second(number: u32, statuses: &[(u16, u64)], errors: &[(&str, u64)]) -> Second {
    let mut second = Second {
        number,
        statuses: statuses.iter().copied().collect(),
        errors: errors
            .iter()
            .map(|(kind, count)| ((*kind).to_owned(), *count))
            .collect(),
        checks_failed: [(0, 1)].into(),
        failing_checks: 1,
        bytes_sent: 100,
        bytes_received: 200,
        busy: 7,
        ..Second::default()
    };
    let mut counts: BTreeMap<Class, u64> = BTreeMap::new();
    for (status, count) in statuses {
        let class = Class::named(&format!("{}xx", status / 100)).unwrap();
        *counts.entry(class).or_default() += count;
    }
    for (_, count) in errors {
        *counts.entry(Class::Failed).or_default() += count;
    }
    for (class, count) in counts {
        for trend in [Trend::Response, Trend::Service, Trend::Lateness] {
            let times = Distribution::new((1..=count).map(|it| (it * 1_000, 1)));
            second.times.insert((trend, class), times);
        }
    }
    second
}

pub fn ending(load: &Arc<Load>, at_ns: u64, what: What) -> Fact {
    Fact {
        load: Arc::clone(load),
        from_ns: BEGIN_NS,
        to_ns: at_ns,
        what,
    }
}
