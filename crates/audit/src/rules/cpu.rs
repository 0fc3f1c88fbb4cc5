//! Finds CPU times that would require more cores than there are.

use super::{Judge, digits};
use crate::heading::Meaning;
use crate::quantity::Unit;

/// The relative tolerance for rounding in the rate and the CPU time.
const TOLERANCE: f64 = 0.02;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for row in &table.rows {
        let figure = |meaning| table.figure(row, meaning);
        let (Some((rate_at, rate)), Some((cpu_at, cpu)), Some((cores_at, cores))) = (
            figure(Meaning::Rate),
            figure(Meaning::CpuPerRequest),
            figure(Meaning::Cores),
        ) else {
            continue;
        };
        // A figure without a unit is taken to be in microseconds, because headings such as `µs/req`
        // yield no unit.
        let seconds = match cpu.unit {
            Unit::Seconds => cpu.value,
            _ => cpu.value * 1e-6,
        };
        let used = rate.value * seconds;
        if used > cores.value * (1.0 + TOLERANCE) {
            let says = format!(
                "{} requests/s with this CPU time would keep {} cores busy, more than the {} available",
                digits(rate.value),
                digits(used),
                digits(cores.value)
            );
            judge.impossible("cpu-bound", row, &[rate_at, cpu_at, cores_at], says);
        }
    }
}
