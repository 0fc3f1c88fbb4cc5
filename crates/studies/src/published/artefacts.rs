//! The effects of measurement methods on figures. Each effect is a pure function, so it can be
//! applied to a run that was measured in another way.

use gatebench_model::{HumanDuration, Shape};
use gatebench_store::Histogram;

/// Returns the `share` quantile (0 to 1) of values counted in buckets, with linear interpolation
/// within the bucket that contains it. The lowest bucket begins at 0. Returns the last bound if the
/// quantile lies beyond it.
///
/// `cumulative` contains the number of values up to each of `bounds`, and `total` is the number of
/// all values. `None` if there are no values. Source: the documentation of `histogram_quantile` in
/// Prometheus.
pub fn bucket_quantile(bounds: &[f64], cumulative: &[u64], total: u64, share: f64) -> Option<f64> {
    let wanted = share * total as f64;
    let place = cumulative.iter().position(|count| *count as f64 >= wanted);
    let last = *bounds.last().filter(|_| total > 0)?;
    let Some(place) = place else {
        return Some(last);
    };
    let (begin, below) = match place.checked_sub(1) {
        Some(before) => (bounds[before], cumulative[before]),
        None => (0.0, 0),
    };
    let inside = cumulative[place] - below;
    if inside == 0 {
        return Some(bounds[place]);
    }
    let part = (wanted - below as f64) / inside as f64;
    Some(begin + (bounds[place] - begin) * part)
}

/// Applies [`bucket_quantile`] to recorded times in nanoseconds, with bounds in milliseconds.
/// Returns nanoseconds.
pub fn as_bucketed(times_ns: &Histogram<u64>, bounds_ms: &[f64], share: f64) -> Option<f64> {
    let at_most = |bound_ms: &f64| times_ns.count_between(0, (bound_ms * 1e6) as u64);
    let cumulative: Vec<u64> = bounds_ms.iter().map(at_most).collect();
    let found_ms = bucket_quantile(bounds_ms, &cumulative, times_ns.len(), share)?;
    Some(found_ms * 1e6)
}

/// The mean response time, in nanoseconds, if this many users send again as soon as they have a
/// response. The formula assumes that the rate does not depend on the number of users. Source:
/// Little's law.
pub fn mean_of_users_ns(users: f64, rate_per_second: f64) -> f64 {
    users / rate_per_second * 1e9
}

/// A time as measured by a timer that ticks every `step_ns`, rounded to the nearest tick.
pub fn in_steps(time_ns: f64, step_ns: f64) -> f64 {
    (time_ns / step_ns).round() * step_ns
}

/// The mean that wrk prints for these times, in nanoseconds. wrk 4.0.0 to 4.2.0 assumes that
/// requests were due at a fixed pace, which is a connection's average time per request. For each
/// request that took more than twice the pace, it adds the requests that would have been due in
/// that time. Their times are shorter than that of the request by one pace, by two paces, and so
/// on, as long as they are longer than a pace. Source: `stats_correct` of wrk, and its call before
/// printing. `None` if there were fewer requests than connections, because wrk then adds nothing.
pub fn as_wrk_means(times_ns: &Histogram<u64>, connections: u64, length_ns: u64) -> Option<f64> {
    let each = times_ns.len().checked_div(connections)?;
    let pace = u128::from((length_ns / 1_000).checked_div(each)?.max(1));
    let (mut count, mut sum) = (0_u128, 0_u128);
    for value in times_ns.iter_recorded() {
        let time = u128::from(times_ns.median_equivalent(value.value_iterated_to()) / 1_000);
        let times = u128::from(value.count_at_value());
        let added = (time.max(1) - 1) / pace;
        let added = added.saturating_sub(1);
        count += times * (1 + added);
        sum += times * (time * (1 + added) - pace * added * (added + 1) / 2);
    }
    (count > 0).then(|| sum as f64 / count as f64 * 1e3)
}

/// The second of the measurement at which a load becomes constant; `None` if it keeps changing
/// until the end, or never changes.
pub fn steady_from(shape: &Shape, measure_ns: u64) -> Option<u32> {
    let (mut before, stages): (f64, Vec<(f64, HumanDuration)>) = match shape {
        Shape::Closed(closed) => {
            let stages = closed.stages.iter();
            let stages = stages.map(|it| (f64::from(it.connections), it.over));
            (f64::from(closed.connections), stages.collect())
        }
        Shape::Open(open) => {
            let stages = open.stages.iter().map(|it| (it.rate_per_second, it.over));
            (open.rate_per_second, stages.collect())
        }
    };
    let (mut at_ns, mut last_ns) = (0, None);
    for (level, over) in stages {
        at_ns += over.0.as_nanos();
        if (level - before).abs() > f64::EPSILON {
            last_ns = Some(at_ns);
        }
        before = level;
    }
    let last_ns = last_ns.filter(|at_ns| *at_ns < u128::from(measure_ns))?;
    Some(last_ns.div_ceil(1_000_000_000) as u32)
}

/// Finds the window of `seconds` (at least 1) consecutive seconds with the most responses. Returns
/// its first second and its responses per second. `None` if there are not enough seconds.
pub fn best_seconds(completed: &[u64], seconds: usize) -> Option<(usize, f64)> {
    let sums = completed.windows(seconds).map(|it| it.iter().sum::<u64>());
    // If several windows are equal, the first one counts.
    let best = |best: (usize, u64), it: (usize, u64)| if it.1 > best.1 { it } else { best };
    let (first, sum) = sums.enumerate().reduce(best)?;
    Some((first, sum as f64 / seconds as f64))
}

#[cfg(test)]
mod tests {
    use gatebench_stats::random::Random;

    use super::*;

    const BUCKETS_MS: [f64; 5] = [1.0, 2.0, 5.0, 7.0, 10.0];

    fn shape(text: &str) -> Shape {
        let text =
            format!("{{profile: l, title: t, phases: [{{name: a, {text}, measure: 990s}}]}}");
        let load: gatebench_model::LoadProfile = gatebench_config::parse("l.yaml", &text).unwrap();
        load.phases[0].shape.clone()
    }

    #[test]
    fn a_quantile_is_interpolated_within_its_bucket() {
        let bounds = [1.0, 2.0, 5.0];
        for (cumulative, total, share, expected) in [
            // All values are in the lowest bucket, which ends at 1, so the quantile equals the
            // share.
            ([100, 100, 100], 100, 0.95, 0.95),
            // 998 of 1,000 values are below 1 ms, as published.
            ([998, 999, 1_000], 1_000, 0.95, 0.95 / 0.998),
            // 50 values are below 1 and 40 between 1 and 2, so the 70th of 100 is halfway in the
            // second bucket.
            ([50, 90, 100], 100, 0.70, 1.5),
            ([50, 90, 95], 100, 0.99, 5.0),
        ] {
            let found = bucket_quantile(&bounds, &cumulative, total, share).unwrap();
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        assert_eq!(bucket_quantile(&bounds, &[0, 0, 0], 0, 0.5), None);
    }

    #[test]
    fn times_in_the_lowest_bucket_have_the_same_quantile() {
        for time_ns in [1_000, 40_000, 900_000] {
            let mut times = Histogram::<u64>::new(3).unwrap();
            times.record_n(time_ns, 1_000).unwrap();
            let found = as_bucketed(&times, &BUCKETS_MS, 0.95).unwrap();
            assert!((found - 950_000.0).abs() < 1e-6, "{time_ns}: {found}");
        }
    }

    #[test]
    fn a_mean_restates_users_and_rate() {
        // 20 users at 9,071 requests/s.
        assert!((mean_of_users_ns(20.0, 9_071.0) - 2_204_828.57).abs() < 0.01);
    }

    #[test]
    fn a_coarse_timer_hides_short_times() {
        assert_eq!(in_steps(420_000.0, 10e6), 0.0);
        assert_eq!(in_steps(17e6, 10e6), 20e6);
    }

    /// Simulates connections that send as soon as they have a response. Returns the rate and the
    /// response times.
    fn closed_loop(
        connections: u64,
        length_ns: u64,
        mut time_ns: impl FnMut() -> u64,
    ) -> (f64, Histogram<u64>) {
        let mut times = Histogram::<u64>::new(3).unwrap();
        for _ in 0..connections {
            let mut now_ns = 0;
            loop {
                let time_ns = time_ns();
                now_ns += time_ns;
                if now_ns > length_ns {
                    break;
                }
                times.record(time_ns).unwrap();
            }
        }
        (times.len() as f64 * 1e9 / length_ns as f64, times)
    }

    #[test]
    fn wrk_counts_more_requests_in_flight_than_connections() {
        let mut random = Random::seeded(7);
        let time_ns = || {
            let (from, to) = match random.uniform() < 0.01 {
                true => (32.5e6, 97e6),
                false => (2e6, 26.2e6),
            };
            (from + random.uniform() * (to - from)) as u64
        };
        let length_ns = 10_000_000_000;
        let (rate, times) = closed_loop(1_000, length_ns, time_ns);
        let in_flight = |mean_ns: f64| rate * mean_ns / 1e9;
        let raw = in_flight(times.mean());
        assert!((998.0..1_000.0).contains(&raw), "{raw}");
        let by_wrk = in_flight(as_wrk_means(&times, 1_000, length_ns).unwrap());
        assert!((1_040.0..1_060.0).contains(&by_wrk), "{by_wrk}");
    }

    #[test]
    fn wrk_adds_nothing_to_times_below_twice_the_pace() {
        // Ten requests in a second on one connection: a pace of 100 ms.
        let mean_ms = |long_ms: u64| {
            let mut times = Histogram::<u64>::new(3).unwrap();
            times.record_n(50_000_000, 9).unwrap();
            times.record(long_ms * 1_000_000).unwrap();
            as_wrk_means(&times, 1, 1_000_000_000).unwrap() / 1e6
        };
        assert!((mean_ms(199) - 64.9).abs() < 0.1, "{}", mean_ms(199));
        // For 350 ms, 250 and 150 are added; 50 is not longer than the pace.
        let expected = (450.0 + 350.0 + 250.0 + 150.0) / 12.0;
        assert!((mean_ms(350) - expected).abs() < 0.1, "{}", mean_ms(350));
        let none = Histogram::<u64>::new(3).unwrap();
        assert_eq!(as_wrk_means(&none, 0, 1_000_000_000), None);
        assert_eq!(as_wrk_means(&none, 10, 1_000_000_000), None);
    }

    #[test]
    fn a_ramp_ends_where_the_number_no_longer_changes() {
        let l20 = "closed: {connections: 1, stages: [{connections: 6, over: 30s}, {connections: 12, over: 30s}, \
                   {connections: 20, over: 30s}, {connections: 20, over: 900s}]}";
        let seconds = |seconds: u64| seconds * 1_000_000_000;
        assert_eq!(steady_from(&shape(l20), seconds(990)), Some(90));
        let l65 = "closed: {connections: 1, stages: [{connections: 25, over: 30s}, {connections: 65, over: 930s}]}";
        assert_eq!(steady_from(&shape(l65), seconds(960)), None, "never steady");
        assert_eq!(
            steady_from(&shape("closed: {connections: 64}"), seconds(3)),
            None
        );
        let ramp = "open: {rate_per_second: 200, stages: [{rate_per_second: 900, over: 2500ms}, \
                    {rate_per_second: 900, over: 10s}]}";
        assert_eq!(steady_from(&shape(ramp), seconds(60)), Some(3));
    }

    #[test]
    fn the_best_seconds_are_the_first_of_equal_ones() {
        assert_eq!(best_seconds(&[1, 5, 5, 2, 8], 2), Some((1, 5.0)));
        assert_eq!(best_seconds(&[1, 5, 5, 2, 8], 1), Some((4, 8.0)));
        assert_eq!(best_seconds(&[1], 2), None);
        assert_eq!(best_seconds(&[], 1), None);
    }
}
