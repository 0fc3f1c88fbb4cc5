//! A percentile is not below a lower one of the same times, nor outside of least and most.

use super::{Judge, time};
use crate::finding::Severity;
use crate::heading::Meaning;

pub(super) fn judge(judge: &mut Judge<'_>) {
    let table = judge.table;
    for family in table.families() {
        let mut columns: Vec<(f64, usize)> = table
            .columns_of(Meaning::is_time)
            .filter(|at| table.columns[*at].family == family)
            .filter_map(|at| Some((table.columns[at].meaning.rank()?, at)))
            .collect();
        columns.sort_by(|a, b| a.0.total_cmp(&b.0));
        for row in &table.rows {
            let told: Vec<_> = columns
                .iter()
                .filter_map(|(_, at)| Some((*at, row.figure(*at)?)))
                .collect();
            for pair in told.windows(2) {
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
                    judge.row(
                        "percentile-order",
                        Severity::Impossible,
                        row,
                        &[low_at, high_at],
                        says,
                    );
                }
            }
        }
    }
}
