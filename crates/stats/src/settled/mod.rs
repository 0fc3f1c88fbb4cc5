//! Detects the end of a warm-up. The cost per response has settled when the last third of the bins
//! costs nearly the same as the third before it, and the cost has no trend that would matter.
//!
//! The thirds grow with the warm-up, so they reveal a slow decrease late in a long warm-up. The
//! trend reveals a decrease in a warm-up of only a second or two, whose adjacent thirds look alike.
//!
//! T. Kalibera and R. Jones (*Rigorous Benchmarking in Reasonable Time*, ISMM 2013) show why no
//! fixed time is enough.

/// The minimum number of bins: two for each third.
pub const BINS_MIN: usize = 6;

/// The maximum difference between the logarithms of the costs of the two thirds, about 5 %.
const CHANGE_MAX: f64 = 0.05;

/// The maximum share by which the cost may change per second, including the standard error of the
/// trend.
const TREND_PER_SECOND_MAX: f64 = 0.05;

/// The trend is computed over the last two thirds of the bins, but over at least this number if
/// there are enough.
const TREND_BINS_MIN: usize = 15;

/// The number of bins at the start that are left out of the trend, because connections are being
/// opened in them.
const OPENING_BINS: usize = 2;

/// A third with fewer responses has no usable cost, so the cost has not settled.
const RESPONSES_MIN: u64 = 30;

/// The totals of a load since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub responses: u64,
    pub cpu_ns: u64,
}

/// `totals` are taken at the edges of bins of `bin_seconds`, so there is one more total than there
/// are bins.
pub fn has_settled(totals: &[Total], bin_seconds: f64) -> bool {
    let bins = totals.len().saturating_sub(1);
    let third = bins / 3;
    if bins < BINS_MIN {
        return false;
    }
    let last = cost(totals, bins - third, third, RESPONSES_MIN);
    let before = cost(totals, bins - 2 * third, third, RESPONSES_MIN);
    let alike = |(last, before): (f64, f64)| (last / before).ln().abs() <= CHANGE_MAX;
    let level = |trend: f64| trend / bin_seconds <= TREND_PER_SECOND_MAX;
    last.zip(before).is_some_and(alike) && trend(totals).is_some_and(level)
}

/// Returns the cost per response of some bins, or `None` if they have fewer than `responses_min`
/// responses or no CPU time.
fn cost(totals: &[Total], from: usize, bins: usize, responses_min: u64) -> Option<f64> {
    let (from, to) = (totals[from], totals[from + bins]);
    let responses = to.responses.saturating_sub(from.responses);
    let cpu_ns = to.cpu_ns.saturating_sub(from.cpu_ns);
    (responses >= responses_min && cpu_ns > 0).then(|| cpu_ns as f64 / responses as f64)
}

/// Returns an upper estimate of the trend per bin over the last two thirds of the bins (see
/// [`TREND_BINS_MIN`]): the absolute least-squares slope of the logarithm of the cost, plus its
/// standard error. Returns `None` if one of these bins has no responses or no CPU time.
fn trend(totals: &[Total]) -> Option<f64> {
    let bins = totals.len() - 1;
    let taken = (2 * bins / 3).max(TREND_BINS_MIN).min(bins - OPENING_BINS);
    let log = |bin| cost(totals, bin, 1, 1).map(f64::ln);
    let logs = (bins - taken..bins)
        .map(log)
        .collect::<Option<Vec<f64>>>()?;
    let count = taken as f64;
    let (middle, mean) = ((count - 1.0) / 2.0, logs.iter().sum::<f64>() / count);
    let spread = count * (count * count - 1.0) / 12.0;
    let points = || logs.iter().enumerate();
    let product = |(at, log): (usize, &f64)| (at as f64 - middle) * log;
    let slope = points().map(product).sum::<f64>() / spread;
    let rest = |(at, log): (usize, &f64)| (log - mean - slope * (at as f64 - middle)).powi(2);
    let variance = points().map(rest).sum::<f64>() / (count - 2.0);
    Some(slope.abs() + (variance / spread).sqrt())
}
