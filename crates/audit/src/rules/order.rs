//! Checks that the percentiles of a set of times do not fall as their rank rises, and that they lie
//! between the minimum and the maximum. Only times in the same unit are compared.

use super::{Judge, time};

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for family in table.families() {
        let columns = table.ranked_times(family);
        for row in &table.rows {
            let known = columns.iter().map(|(_, at)| *at);
            let known: Vec<_> = known.filter_map(|at| Some((at, row.figure(at)?))).collect();
            for (place, (low_at, low)) in known.iter().copied().enumerate() {
                let mut higher = known.iter().skip(place + 1).copied();
                let next = higher.find(|(_, it)| it.unit == low.unit);
                if let Some((high_at, high)) = next.filter(|(_, it)| low.is_above(it)) {
                    let [low_name, high_name] =
                        [low_at, high_at].map(|at| &table.columns[at].heading);
                    let (low, high) = (time(low.value), time(high.value));
                    let says = format!("{low_name} is {low}, which is above {high_name}, {high}");
                    judge.impossible("percentile-order", row, &[low_at, high_at], says);
                }
            }
        }
    }
}
