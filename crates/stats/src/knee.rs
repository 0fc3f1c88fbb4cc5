//! Finds the knee of a curve of throughput and response time.
//!
//! Source: L. Kleinrock, *Power and Deterministic Rules of Thumb for Probabilistic Problems in
//! Computer Communications*, International Conference on Communications 1979. Power is throughput ÷
//! response time, and the knee is the point of greatest power, at which a straight line from the
//! origin touches the curve. The knee does not depend on the units.

/// Returns the index of the first point with the greatest power, given pairs of throughput and
/// response time. Returns `None` if no pair consists of two positive, finite figures.
pub fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let usable = |value: f64| value.is_finite() && value > 0.0;
    let power = |(throughput, time): (f64, f64)| {
        // Compare logarithms, because the ratio of a huge figure to a tiny one may be out of range.
        (usable(throughput) && usable(time)).then(|| throughput.ln() - time.ln())
    };
    let mut best: Option<(usize, f64)> = None;
    for (index, point) in points.iter().enumerate() {
        let Some(power) = power(*point) else { continue };
        if best.is_none_or(|(_, most)| power > most) {
            best = Some((index, power));
        }
    }
    best.map(|(index, _)| index)
}
