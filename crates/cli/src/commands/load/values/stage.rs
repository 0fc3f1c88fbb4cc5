//! `--stage` and `--think`.

use std::str::FromStr;

use gatebench_model::HumanDuration;
use gatebench_model::load::{Change, DrawnThink, ExponentialThink, Think, UniformThink};

use crate::commands::values::duration;

/// A target that the load reaches linearly or at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// Connections, or arrivals per second.
    pub target: f64,
    pub over: HumanDuration,
    pub how: Change,
}

impl FromStr for Stage {
    type Err = String;

    /// Parses `5000:10s` (a target reached linearly) or `5000:10s:step` (at once).
    fn from_str(text: &str) -> Result<Self, String> {
        let remedy = || {
            format!(
                "'{text}' is not a stage: write TARGET:TIME or TARGET:TIME:step, as in 5000:10s"
            )
        };
        let mut parts = text.split(':');
        let (Some(target), Some(over)) = (parts.next(), parts.next()) else {
            return Err(remedy());
        };
        let how = match (parts.next(), parts.next()) {
            (None, _) => Change::Linear,
            (Some("step"), None) => Change::Step,
            _ => return Err(remedy()),
        };
        let target: f64 = target.parse().map_err(|_| remedy())?;
        if !(0.0..=1e8).contains(&target) {
            return Err(remedy());
        }
        let over = duration(over)?;
        if over.0.is_zero() {
            return Err(format!(
                "the stage '{text}' takes no time: write at least 1ms"
            ));
        }
        Ok(Self { target, over, how })
    }
}

/// Parses `100ms`, `50ms-150ms` (uniform) or `exp:100ms` (exponential, with that mean).
pub(crate) fn think(text: &str) -> Result<Think, String> {
    if let Some(mean) = text.strip_prefix("exp:") {
        let mean = duration(mean)?;
        return Ok(Think::Drawn(DrawnThink::Exponential(ExponentialThink {
            mean,
        })));
    }
    let Some((min, max)) = text.split_once('-') else {
        return Ok(Think::Constant(duration(text)?));
    };
    let (min, max) = (duration(min)?, duration(max)?);
    if min > max {
        return Err(format!(
            "the first time in '{text}' is longer than the second: write the shorter time first"
        ));
    }
    Ok(Think::Drawn(DrawnThink::Uniform(UniformThink { min, max })))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: HumanDuration = HumanDuration::from_millis(1_000);

    #[test]
    fn stages_are_parsed() {
        let stage = |target, how| {
            Ok(Stage {
                target,
                over: SECOND,
                how,
            })
        };
        assert_eq!("5000:1s".parse(), stage(5000.0, Change::Linear));
        assert_eq!("0.5:1s:step".parse(), stage(0.5, Change::Step));
        for wrong in [
            "",
            "5000",
            "5000:",
            "x:1s",
            "-1:1s",
            "nan:1s",
            "5:1s:jump",
            "5:1s:step:x",
            "5:0s",
        ] {
            assert!(wrong.parse::<Stage>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn think_times_are_parsed() {
        assert_eq!(think("1s"), Ok(Think::Constant(SECOND)));
        let (min, max) = (HumanDuration::from_millis(50), SECOND);
        assert_eq!(
            think("50ms-1s"),
            Ok(Think::Drawn(DrawnThink::Uniform(UniformThink { min, max })))
        );
        let exponential = Think::Drawn(DrawnThink::Exponential(ExponentialThink { mean: SECOND }));
        assert_eq!(think("exp:1s"), Ok(exponential));
        for wrong in ["", "1", "1s-", "2s-1s", "exp:", "norm:1s"] {
            assert!(think(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,20}") {
            let _ = text.parse::<Stage>();
            let _ = think(&text);
        }
    }
}
