//! Draws a worker's values from the data: for each request, one row or number from each source that
//! the request names.

use std::io::Write as _;
use std::sync::Arc;

use rand_distr::Distribution;

use crate::data::{Choice, DataSet, Slot, Values};
use crate::random::{Random, Use, generator};

/// A worker's position in the data. Rows drawn in turn are distributed among W workers: worker w
/// gets the rows `w`, `w+W`, `w+2·W` and so on. No two workers use the same row if there are at
/// least as many rows as workers. The numbers of a sequence are distributed in the same way, so
/// each is used once.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    data: Arc<DataSet>,
    random: Random,
    places: Vec<Place>,
    worker: usize,
    workers: usize,
    /// The buffer for a body before its length is known.
    pub(crate) scratch: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The number of values drawn from the source so far.
    drawn: u64,
    /// The value for the current request: the index of a row, or the number itself.
    current: i64,
}

impl Sampler {
    pub(crate) fn new(data: Arc<DataSet>, seed: u64, worker: usize, workers: usize) -> Self {
        Self {
            places: vec![Place::default(); data.sources.len()],
            data,
            random: generator(seed, Use::Data, worker),
            worker,
            workers: workers.max(1),
            scratch: Vec::new(),
        }
    }

    /// Draws the next value of each of these sources.
    pub(crate) fn advance(&mut self, sources: &[usize]) {
        for source in sources {
            let place = &mut self.places[*source];
            let turn = place.drawn;
            let drawn = match &self.data.sources[*source].values {
                Values::Rows(table) => {
                    let rows = table.rows.len();
                    match &table.choice {
                        Choice::InTurn => own_row(turn, rows, self.worker, self.workers) as i64,
                        Choice::Uniform(law) => law.sample(&mut self.random) as i64,
                        Choice::Normal(law) => inside(rows, || law.sample(&mut self.random)),
                        Choice::Zipf(law) => law.sample(&mut self.random) as i64 - 1,
                    }
                }
                Values::Sequence { from, step } => {
                    let index = turn.wrapping_mul(self.workers as u64) + self.worker as u64;
                    from.wrapping_add(step.wrapping_mul(index as i64))
                }
                Values::Uniform(law) => law.sample(&mut self.random),
                Values::Normal(law) => law.sample(&mut self.random).round() as i64,
                Values::Zipf(law) => law.sample(&mut self.random) as i64,
            };
            place.current = drawn;
            place.drawn += 1;
        }
    }

    /// Appends the last drawn value of a slot.
    pub(crate) fn write(&self, slot: Slot, out: &mut Vec<u8>) {
        let current = self.places[slot.source].current;
        match &self.data.sources[slot.source].values {
            Values::Rows(table) => {
                let value = table.rows.get(current as usize, slot.column);
                out.extend_from_slice(value.unwrap_or_default().as_bytes());
            }
            _ => drop(write!(out, "{current}")),
        }
    }
}

/// Returns the index of the row that a worker uses in turn number `turn`, counted from 0. If there
/// are more workers than rows, workers share rows.
fn own_row(turn: u64, rows: usize, worker: usize, workers: usize) -> usize {
    if worker >= rows {
        return worker % rows;
    }
    let own = (rows - worker).div_ceil(workers);
    worker + (turn % own as u64) as usize * workers
}

fn inside(rows: usize, mut draw: impl FnMut() -> f64) -> i64 {
    loop {
        let drawn = draw().round();
        if (0.0..rows as f64).contains(&drawn) {
            return drawn as i64;
        }
    }
}

#[cfg(test)]
mod tests;
