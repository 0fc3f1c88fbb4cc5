//! Judges a gateway's own metrics: its count of requests, and the percentiles that a dashboard
//! draws from its buckets.

use gatebench_model::own_metrics::{Covers, LatencyKind};
use gatebench_store::{MeasuredTimes, OwnAuditRecord, OwnLatencyRecord};

/// A metric is late if, this long after the end of a load, it does not yet include every request of
/// the load.
const LATE_NS: u64 = 500_000_000;
/// A metric is judged *whole milliseconds* if its resolution is coarser than this share of the
/// measured median. If no percentiles were measured, the mean replaces the median.
const RESOLUTION_MAX: f64 = 0.1;
/// A mean agrees with the measured one if they differ by at most this factor. A gateway begins to
/// time a request after the client has sent it.
const MEAN_FACTOR: f64 = 2.0;
/// A percentile agrees if a dashboard draws it at most this many buckets away from the bucket of
/// the measured one. A time close to a bucket's bound may be counted on either side of this bound.
const BUCKETS_MAX: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    Miscounts,
    Differs,
    Half,
    WholeMilliseconds,
    TooCoarse,
    Late,
    Agrees,
}

impl Word {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Miscounts => "miscounts",
            Self::Differs => "differs",
            Self::Half => "half",
            Self::WholeMilliseconds => "whole milliseconds",
            Self::TooCoarse => "too coarse",
            Self::Late => "late",
            Self::Agrees => "agrees",
        }
    }
}

/// A gateway's count over all loads with the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) own: u64,
    /// Requests that got a complete response.
    pub(super) completed: u64,
    pub(super) sent: u64,
    /// Requests that the upstream received, but that got no complete response.
    pub(super) abandoned: u64,
    /// Requests that the upstream received again.
    pub(super) repeated: u64,
    /// Requests that got a complete response, but that the gateway did not count.
    pub(super) missing: u64,
    /// Abandoned requests that the gateway did not count.
    pub(super) forgotten: u64,
    /// Counted requests that nobody sent.
    pub(super) excess: u64,
    /// The longest time from the end of a load until the metrics included every request, or until
    /// the last fetch if they never did.
    pub(super) late_ns: u64,
}

impl Counted {
    pub(super) fn add(&mut self, audit: &OwnAuditRecord) {
        self.own += audit.requests;
        self.completed += audit.completed;
        self.sent += audit.sent;
        self.abandoned += audit.abandoned;
        self.repeated += audit.repeated;
        self.late_ns = self.late_ns.max(audit.late_ns.unwrap_or(audit.waited_ns));
        let missing = audit.completed.saturating_sub(audit.requests);
        let uncounted = (audit.completed + audit.abandoned).saturating_sub(audit.requests);
        self.missing += missing;
        self.forgotten += uncounted - missing;
        // Metrics that lag by more than the wait before the load may include requests that were
        // sent before the load.
        let is_settled = audit.late_ns.is_none_or(|late| late <= audit.settled_ns);
        if is_settled {
            self.excess += audit.requests.saturating_sub(audit.sent);
        }
    }

    pub(super) fn words(&self) -> Vec<Word> {
        let is_wrong = self.missing + self.forgotten + self.excess > 0;
        let is_late = !is_wrong && self.late_ns > LATE_NS;
        chosen([(is_wrong, Word::Miscounts), (is_late, Word::Late)])
    }
}

/// A metric of times over all loads with the same name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timed {
    pub(super) metric: String,
    pub(super) covers: Covers,
    pub(super) kind: LatencyKind,
    pub(super) count: u64,
    pub(super) mean_ns: Option<f64>,
    pub(super) resolution_ns: Option<u64>,
    pub(super) bounds_ns: Vec<u64>,
    pub(super) up_to: Vec<u64>,
    pub(super) measured: MeasuredTimes,
}

impl Timed {
    pub(super) fn new(of: &OwnLatencyRecord) -> Self {
        Self {
            metric: of.metric.clone(),
            covers: of.covers,
            kind: of.kind,
            count: of.count,
            mean_ns: of.mean_ns,
            resolution_ns: of.resolution_ns,
            bounds_ns: of.bounds_ns.clone(),
            up_to: of.up_to.clone(),
            measured: of.measured.clone(),
        }
    }

    /// Returns the percentile that a dashboard draws: linear within the bucket of its rank, and the
    /// last bound for a rank beyond it (`histogram_quantile`).
    pub(super) fn drawn_ns(&self, percentile: f64) -> Option<f64> {
        let (rank, bucket) = self.place(percentile)?;
        let Some(upper) = self.bounds_ns.get(bucket) else {
            return self.bounds_ns.last().map(|it| *it as f64);
        };
        let before = |values: &[u64]| bucket.checked_sub(1).map_or(0.0, |it| values[it] as f64);
        let (lower, below) = (before(&self.bounds_ns), before(&self.up_to));
        let inside = self.up_to[bucket] as f64 - below;
        Some(lower + (*upper as f64 - lower) * (rank - below) / inside)
    }

    /// The rank of a percentile, and its bucket; `None` if the metric has no buckets or no
    /// requests.
    fn place(&self, percentile: f64) -> Option<(f64, usize)> {
        let is_histogram = !self.bounds_ns.is_empty() && self.count > 0;
        let rank = self.count as f64 * percentile / 100.0;
        is_histogram.then(|| (rank, self.up_to.partition_point(|it| (*it as f64) < rank)))
    }

    fn bucket_of(&self, time_ns: u64) -> usize {
        self.bounds_ns.partition_point(|bound| *bound < time_ns)
    }

    pub(super) fn words(&self) -> Vec<Word> {
        let percentiles = &self.measured.percentiles;
        let median_ns = percentiles.first().map(|it| it.1 as f64);
        let middle_ns = median_ns.or(self.measured.mean_ns);
        let Some(middle_ns) = middle_ns.filter(|_| self.has_figures()) else {
            return Vec::new();
        };
        let is_hidden = |res: u64| res as f64 > RESOLUTION_MAX * middle_ns;
        let is_coarse = percentiles.last().is_some_and(|it| {
            let bucket = self.bucket_of(it.1);
            !self.bounds_ns.is_empty() && (bucket == 0 || bucket == self.bounds_ns.len())
        });
        chosen([
            (!self.agrees(), Word::Differs),
            (self.covers == Covers::RequestSide, Word::Half),
            (
                self.resolution_ns.is_some_and(is_hidden),
                Word::WholeMilliseconds,
            ),
            (is_coarse, Word::TooCoarse),
        ])
    }

    fn has_figures(&self) -> bool {
        self.count > 0 || (self.kind == LatencyKind::Mean && self.mean_ns.is_some())
    }

    /// Reports whether each percentile of a histogram agrees with the measured one, within the
    /// resolution and [`BUCKETS_MAX`]. For any other metric, and if no percentiles were measured,
    /// the means are compared; true if either mean is unknown.
    fn agrees(&self) -> bool {
        let resolution_ns = self.resolution_ns.unwrap_or(0);
        let mut percentiles = self.measured.percentiles.iter();
        let near = |(percentile, time_ns): &(f64, u64)| {
            let Some((_, drawn)) = self.place(*percentile) else {
                return true;
            };
            let lowest = self.bucket_of(time_ns.saturating_sub(resolution_ns));
            let highest = self.bucket_of(time_ns + resolution_ns);
            (lowest.saturating_sub(BUCKETS_MAX)..=highest + BUCKETS_MAX).contains(&drawn)
        };
        if self.kind == LatencyKind::Histogram && !self.measured.percentiles.is_empty() {
            return percentiles.all(near);
        }
        let means = self.mean_ns.zip(self.measured.mean_ns);
        means.is_none_or(|(own, measured)| {
            let slack = resolution_ns as f64;
            // The gateway's measurement of the upstream's time includes the network round trip.
            let is_short = own <= measured * MEAN_FACTOR + slack || self.covers == Covers::Upstream;
            is_short && own >= measured / MEAN_FACTOR - slack
        })
    }
}

fn chosen<const N: usize>(words: [(bool, Word); N]) -> Vec<Word> {
    let apply = words.into_iter().filter(|(applies, _)| *applies);
    let words: Vec<Word> = apply.map(|(_, word)| word).collect();
    if words.is_empty() {
        return vec![Word::Agrees];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(requests: u64, late_ns: Option<u64>) -> Counted {
        let mut counted = Counted::default();
        counted.add(&OwnAuditRecord {
            requests,
            completed: 10_000,
            sent: 10_020,
            abandoned: 15,
            late_ns,
            waited_ns: 2_000_000_000,
            settled_ns: 1_000_000_000,
            ..OwnAuditRecord::default()
        });
        counted
    }

    #[test]
    fn a_count_may_lie_between_what_the_gateway_must_have_read_and_what_was_sent() {
        for own in [10_015, 10_018, 10_020] {
            assert_eq!(counted(own, Some(0)).words(), [Word::Agrees], "{own}");
        }
        for own in [9_900, 10_000, 10_014] {
            assert_eq!(counted(own, None).words(), [Word::Miscounts], "{own}");
        }
        assert_eq!(counted(10_000, None).forgotten, 15);
        assert_eq!(counted(9_900, None).missing, 100);
        assert_eq!(counted(10_021, Some(0)).words(), [Word::Miscounts]);
    }

    /// Requests sent before the load may be counted during it.
    #[test]
    fn late_metrics_are_not_accused_of_an_excess() {
        assert_eq!(counted(10_025, Some(1_500_000_000)).words(), [Word::Late]);
        assert_eq!(counted(10_016, Some(900_000_000)).words(), [Word::Late]);
    }

    /// 100 requests, with buckets up to 1, 2, 5 and 10 ms.
    fn timed(up_to: [u64; 4], percentiles_us: [u64; 3]) -> Timed {
        let percentiles = [50.0, 95.0, 99.0].into_iter();
        let percentiles = percentiles.zip(percentiles_us.map(|it| it * 1_000));
        Timed {
            metric: "m".into(),
            covers: Covers::Request,
            kind: LatencyKind::Histogram,
            count: 100,
            mean_ns: None,
            resolution_ns: None,
            bounds_ns: [1, 2, 5, 10].map(|ms| ms * 1_000_000).into(),
            up_to: up_to.into(),
            measured: MeasuredTimes {
                count: 100,
                percentiles: percentiles.collect(),
                ..MeasuredTimes::default()
            },
        }
    }

    /// The values of PromQL's `histogram_quantile` for the same buckets.
    #[test]
    fn percentiles_are_drawn_as_a_dashboard_draws_them() {
        let of = timed([40, 80, 98, 99], [1_200, 4_000, 8_000]);
        let drawn = [50.0, 95.0, 99.0, 99.9].map(|it| of.drawn_ns(it).unwrap());
        assert_eq!(
            drawn,
            [1_250_000.0, 4_500_000.0, 10_000_000.0, 10_000_000.0]
        );
        assert_eq!(of.words(), [Word::Agrees]);
    }

    /// If every time is in the first bucket, a drawn percentile depends only on the bound: p95 is
    /// 95 % of it.
    #[test]
    fn a_first_bucket_with_every_time_is_too_coarse() {
        let of = timed([100, 100, 100, 100], [120, 300, 800]);
        assert_eq!(of.drawn_ns(95.0), Some(950_000.0));
        assert_eq!(of.words(), [Word::TooCoarse]);
    }

    #[test]
    fn the_request_side_is_half_and_a_resolution_can_hide_a_time() {
        let mut of = timed([100, 100, 100, 100], [120, 300, 800]);
        of.covers = Covers::RequestSide;
        of.resolution_ns = Some(1_000_000);
        let expected = [Word::Half, Word::WholeMilliseconds, Word::TooCoarse];
        assert_eq!(of.words(), expected);
        let mut slow = timed([0, 0, 0, 100], [9_000, 9_500, 9_900]);
        slow.resolution_ns = Some(500_000);
        assert_eq!(slow.words(), [Word::Agrees]);
    }

    #[test]
    fn times_that_the_gateway_does_not_see_differ() {
        let of = timed([100, 100, 100, 100], [120, 300, 9_000]);
        assert_eq!(of.words(), [Word::Differs]);
    }

    #[test]
    fn means_are_compared_within_a_factor() {
        let mut of = timed([0; 4], [0; 3]);
        of.kind = LatencyKind::Mean;
        of.measured.mean_ns = Some(300_000.0);
        of.measured.percentiles = Vec::new();
        of.mean_ns = Some(200_000.0);
        assert_eq!(of.words(), [Word::Agrees]);
        of.mean_ns = Some(900_000.0);
        assert_eq!(of.words(), [Word::Differs]);
        (of.mean_ns, of.resolution_ns) = (Some(1_000_000.0), Some(1_000_000));
        assert_eq!(of.words(), [Word::WholeMilliseconds]);
    }
}
