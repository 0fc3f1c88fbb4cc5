//! Sweeps, which turn a phase of a file into several phases of the plan.

use crate::load::{LoadProfile, Phase, Shape, Sweep};

impl LoadProfile {
    /// Returns the profile with a phase for each number of each sweep.
    pub fn expanded(&self) -> Self {
        Self {
            phases: self.phases.iter().flat_map(Phase::expanded).collect(),
            ..self.clone()
        }
    }
}

impl Phase {
    /// Returns a phase for each number of the sweep, with the number in its name: `load` becomes
    /// `load-c1` and `load-c2`, or `load-r0-5` and `load-r100`. A phase without a sweep is
    /// unchanged.
    pub fn expanded(&self) -> Vec<Self> {
        match &self.sweep {
            None => vec![self.clone()],
            Some(Sweep::Connections(numbers)) => {
                let numbers = numbers.iter().map(|number| f64::from(*number));
                numbers.map(|number| self.swept("c", number)).collect()
            }
            Some(Sweep::RatePerSecond(rates)) => {
                rates.iter().map(|rate| self.swept("r", *rate)).collect()
            }
        }
    }

    fn swept(&self, letter: &str, number: f64) -> Self {
        let mut phase = Self {
            name: swept_name(&self.name, letter, number),
            sweep: None,
            ..self.clone()
        };
        match &mut phase.shape {
            Shape::Closed(closed) => closed.connections = number as u32,
            Shape::Open(open) => open.rate_per_second = number,
        }
        phase
    }
}

/// Returns the name of the phase for one number of a sweep. Names contain no dots.
pub(crate) fn swept_name(name: &str, letter: &str, number: f64) -> String {
    format!("{name}-{letter}{number}").replace('.', "-")
}

#[cfg(test)]
mod tests {
    use gatebench_config::parse;

    use super::*;

    #[test]
    fn a_sweep_becomes_phases_with_its_numbers_in_their_names() {
        let text = "
profile: p
title: t
phases:
  - {name: c, closed: {connections: 9}, sweep: {connections: [1, 20]}, measure: 2s}
  - {name: between, closed: {connections: 3}, measure: 1s}
  - {name: r, open: {rate_per_second: 9}, sweep: {rate_per_second: [0.5, 1000]}, measure: 3s}
";
        let profile: LoadProfile = parse("p.yaml", text).unwrap();
        let expanded = profile.expanded();
        let number = |phase: &Phase| match &phase.shape {
            Shape::Closed(closed) => f64::from(closed.connections),
            Shape::Open(open) => open.rate_per_second,
        };
        let phases = expanded.phases.iter();
        let seen = phases.map(|it| (&*it.name, number(it), it.measure.as_secs_f64()));
        let seen: Vec<_> = seen.collect();
        let expected = [
            ("c-c1", 1.0, 2.0),
            ("c-c20", 20.0, 2.0),
            ("between", 3.0, 1.0),
            ("r-r0-5", 0.5, 3.0),
            ("r-r1000", 1000.0, 3.0),
        ];
        assert_eq!(seen, expected);
        assert_eq!(expanded.expanded(), expanded);
    }
}
