//! The last seconds as a line of bars.

use std::collections::VecDeque;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const SHOWN: usize = 24;

/// The last values of a series, scaled to the largest of them.
#[derive(Debug, Default)]
pub struct Sparkline(VecDeque<f64>);

impl Sparkline {
    pub fn push(&mut self, value: f64) {
        if self.0.len() == SHOWN {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    pub fn draw(&self) -> String {
        let greatest = self.0.iter().copied().fold(0.0, f64::max);
        let bar = |value: &f64| {
            let height = if greatest > 0.0 {
                value / greatest * 7.0
            } else {
                0.0
            };
            BARS[(height.round() as usize).min(7)]
        };
        self.0.iter().map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_has_full_height_and_old_values_are_dropped() {
        let mut line = Sparkline::default();
        assert_eq!(line.draw(), "");
        [0.0, 50.0, 100.0]
            .into_iter()
            .for_each(|value| line.push(value));
        assert_eq!(line.draw(), "▁▅█");
        (0..SHOWN).for_each(|_| line.push(1.0));
        assert_eq!(line.draw(), "█".repeat(SHOWN));
    }
}
