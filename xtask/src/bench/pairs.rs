//! Ratios of runs that directly follow each other.

/// The median with the range.
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// The spread of some values.
pub fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let median = match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    };
    let bound = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
    Spread {
        median,
        min: bound(values.first()),
        max: bound(values.last()),
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2}–{:.2})", self.median, self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let odd = spread(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.min, odd.median, odd.max), (1.0, 2.0, 3.0));
        assert_eq!(spread(vec![1.0, 2.0, 4.0, 3.0]).median, 2.5);
        assert_eq!(spread(vec![1.0, 2.0, 3.0]).to_string(), "2.00 (1.00–3.00)");
    }
}
