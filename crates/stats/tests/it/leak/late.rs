//! Tests leaks that begin late or come in steps.
use super::*;

const HOURS: f64 = 24.0;
const BOUND_PER_HOUR: f64 = 4.0;
/// The step of anonymous memory in MiB, as in a soak.
const HUGE_PAGE: f64 = 2.0;

/// A function that returns the growth in MiB up to a time in hours.
type Grown<'a> = &'a dyn Fn(f64) -> f64;

/// Counts the verdicts on simulated days with growing memory: leak, no leak, growing lately, and
/// undetermined for another reason.
fn verdicts(memory: Memory, runs: u64, grown: Grown<'_>) -> [u64; 4] {
    verdicts_of((8_640, 10.0), memory, runs, grown)
}

/// Like [`verdicts`], for series with this number of samples, this many seconds apart.
fn verdicts_of(
    (count, step): (usize, f64),
    memory: Memory,
    runs: u64,
    grown: Grown<'_>,
) -> [u64; 4] {
    let (mut noise, mut found) = (Noise::seeded(22), [0; 4]);
    for seed in 0..runs {
        let mut values = memory(&mut noise, count, step);
        for (i, value) in values.iter_mut().enumerate() {
            *value += grown(i as f64 * step / 3_600.0);
        }
        let rule = Rule {
            bound_per_hour: BOUND_PER_HOUR,
            step: HUGE_PAGE,
            seed,
        };
        found[match growth(&samples(&values, step), rule).unwrap().verdict {
            LeakVerdict::Leak => 0,
            LeakVerdict::NoLeak => 1,
            LeakVerdict::Undetermined {
                because: Because::GrowingLately,
                ..
            } => 2,
            LeakVerdict::Undetermined { .. } => 3,
        }] += 1;
    }
    found
}

/// Returns the growth of a leak that begins after this share of the series, at this many MiB per
/// hour.
fn from(share: f64, per_hour: f64) -> impl Fn(f64) -> f64 {
    move |hour| per_hour * (hour - share * HOURS).max(0.0)
}

/// Returns the growth in steps of this many MiB, each after a period of this many hours.
fn each(hours: f64, grows_by: f64) -> impl Fn(f64) -> f64 {
    move |hour| grows_by * (hour / hours).floor()
}

/// Returns the growth in steps of this many MiB, one at each reload. Reloads occur at these shares
/// of the time.
fn reloads(shares: &[f64], grows_by: f64) -> impl Fn(f64) -> f64 {
    move |hour| {
        let past = shares.iter().filter(|share| **share * HOURS <= hour);
        grows_by * past.count() as f64
    }
}

#[test]
fn late_growth_by_hundreds_of_mebibytes_is_never_no_leak() {
    // In the four cases, memory grows only in the last 1.2 or 1.9 hours, by 38, 190, 760 and 480
    // MiB in total.
    for (last, per_hour) in [(1.9, 20.0), (1.9, 100.0), (1.9, 400.0), (1.2, 400.0)] {
        let runs = 100;
        let found = verdicts(sawtooth, runs, &from(1.0 - last / HOURS, per_hour));
        assert_eq!(found[1], 0, "{per_hour} MiB/h for {last} h: {found:?}");
        assert_eq!(
            found[0] + found[2],
            runs,
            "the growth is reported: {found:?}"
        );
    }
}

#[test]
fn a_leak_that_begins_late_or_comes_in_steps_is_never_no_leak() {
    let cases: [(&str, Grown<'_>); 7] = [
        ("from 50 %", &from(0.5, 40.0)),
        ("from 75 %", &from(0.75, 40.0)),
        ("from 90 %", &from(0.9, 40.0)),
        ("from 95 %", &from(0.95, 80.0)),
        ("a step every 6 h", &each(6.0, 60.0)),
        ("with each hour's recompilation", &each(1.0, 8.0)),
        ("with two reloads", &reloads(&[0.55, 0.9], 60.0)),
    ];
    for (case, grown) in cases {
        for (kind, memory) in KINDS {
            let found = verdicts(memory, 1, grown);
            assert_eq!(found[1], 0, "{case}, {kind}: {found:?}");
        }
    }
}

#[test]
fn memory_without_a_leak_rarely_grows_at_its_end() {
    for (kind, memory) in KINDS {
        assert_eq!(verdicts(memory, 3, &|_| 0.0), [0, 3, 0, 0], "{kind}");
    }
}

#[test]
fn a_narrow_range_does_not_excuse_growth_at_the_end() {
    // The bound allows growth of 1.7 MiB in the seventeen minutes.
    let grown = |from_second: f64, per_hour: f64| {
        let mut found = settling(17.0);
        for sample in &mut found {
            sample.value += per_hour / 3_600.0 * (sample.at_seconds - from_second).max(0.0);
        }
        let rule = Rule {
            bound_per_hour: 6.0,
            ..RULE
        };
        growth(&found, rule).unwrap().verdict
    };
    assert_eq!(grown(600.0, 1.2), LeakVerdict::NoLeak);
    for (from_second, per_hour) in [(680.0, 6.5), (800.0, 10.0)] {
        let LeakVerdict::Undetermined { because, .. } = grown(from_second, per_hour) else {
            panic!("{per_hour}/h from {from_second} s");
        };
        assert_eq!(because, Because::GrowingLately);
    }
}

#[test]
#[ignore = "takes two minutes; `make test-full` runs it"]
fn late_leaks_are_found_as_documented() {
    let cases: [(&str, Grown<'_>); 12] = [
        ("none", &|_| 0.0),
        ("from 50 %, 10 MiB/h", &from(0.5, 10.0)),
        ("from 75 %, 10 MiB/h", &from(0.75, 10.0)),
        ("from 90 %, 10 MiB/h", &from(0.9, 10.0)),
        ("from 95 %, 10 MiB/h", &from(0.95, 10.0)),
        ("from 95 %, 40 MiB/h", &from(0.95, 40.0)),
        ("the last 1.9 h, 400 MiB/h", &from(1.0 - 1.9 / HOURS, 400.0)),
        ("a step of 60 MiB every 6 h", &each(6.0, 60.0)),
        ("a step of 8 MiB every hour", &each(1.0, 8.0)),
        (
            "reloads at 30, 60, 90 %: 60 MiB",
            &reloads(&[0.3, 0.6, 0.9], 60.0),
        ),
        ("reloads at 55, 90 %: 60 MiB", &reloads(&[0.55, 0.9], 60.0)),
        ("a reload at 90 %: 30 MiB", &reloads(&[0.9], 30.0)),
    ];
    for (case, grown) in cases {
        for (kind, memory) in KINDS {
            let found = verdicts(memory, 100, grown);
            println!("{case}, {kind}: leak, no leak, growing lately, other {found:?}");
            assert!(
                case != "none" || found[0] <= 5 && found[2] <= 5,
                "{found:?}"
            );
        }
    }
}

#[test]
#[ignore = "a simulation; `make test-full` runs it"]
fn late_leaks_are_suspected_as_documented_in_shorter_runs() {
    for (hours, lately_max) in [(1, 30), (4, 5)] {
        for (kind, memory) in KINDS {
            let found = verdicts_of((hours * 3_600, 1.0), memory, 100, &|_| 0.0);
            println!("{hours} h, {kind}: leak, no leak, growing lately, other {found:?}");
            assert!(found[0] == 0 && found[2] <= lately_max, "{found:?}");
        }
    }
}
