//! Parsers for rates, step lengths and numbers of cores.

use gatebench_model::HumanDuration;

use crate::commands::values::duration;

/// The highest rate at which the load generator can keep a schedule.
const RATE_MAX: f64 = 1e8;

/// A shorter step contains too few samples.
const STEP_MIN: HumanDuration = HumanDuration::from_millis(200);

/// Reads requests per second, `20000` or `20k`.
pub(super) fn rate(word: &str) -> Result<f64, String> {
    let (digits, factor) = match word.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => (word, 1.0),
    };
    let rate = digits.parse::<f64>().map(|rate| rate * factor).ok();
    rate.filter(|rate| (1.0..=RATE_MAX).contains(rate))
        .ok_or_else(|| "write requests per second, at least 1, for example 20000 or 20k".into())
}

/// Reads the length of a step.
pub(super) fn step(word: &str) -> Result<HumanDuration, String> {
    let span = duration(word)?;
    if span < STEP_MIN {
        return Err(format!(
            "a step takes at least {STEP_MIN}; the default is 4s"
        ));
    }
    Ok(span)
}

/// Reads a number of cores.
pub(super) fn cores(word: &str) -> Result<usize, String> {
    let cores = word.trim().parse::<usize>().ok();
    cores
        .filter(|cores| *cores > 0)
        .ok_or_else(|| "write whole numbers of cores, for example 1,2,4".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        assert_eq!(rate("20000"), Ok(20_000.0));
        assert_eq!(rate("2.5k"), Ok(2_500.0));
        for wrong in ["", "0", "-1", "k", "fast", "inf", "nan", "1e9", "20 k"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn steps_and_cores_have_a_least() {
        assert_eq!(step("10s"), Ok(HumanDuration::from_millis(10_000)));
        assert!(step("100ms").is_err_and(|said| said.contains("at least 200ms")));
        assert!(step("10").is_err());
        assert_eq!(cores("2"), Ok(2));
        assert!(cores("0").is_err() && cores("1.5").is_err());
    }
}
