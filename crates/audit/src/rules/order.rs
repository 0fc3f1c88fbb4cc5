//! Percentiles of the same times rise with their rank, and lie between the minimum and the maximum.

use super::{Judge, time};

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for family in table.families() {
        let columns = table.ranked_times(family);
        for row in &table.rows {
            let known: Vec<_> = columns
                .iter()
                .filter_map(|(_, at)| Some((*at, row.figure(*at)?)))
                .collect();
            for pair in known.windows(2) {
                let [(low_at, low), (high_at, high)] = [pair[0], pair[1]];
                if low.is_above(&high) {
                    let heading = |at: usize| table.columns[at].heading.as_str();
                    let says = format!(
                        "{} is {}, above {} with {}",
                        heading(low_at),
                        time(low.value),
                        heading(high_at),
                        time(high.value)
                    );
                    judge.impossible("percentile-order", row, &[low_at, high_at], says);
                }
            }
        }
    }
}
