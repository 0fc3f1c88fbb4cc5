//! Random noise with known distributions, for simulations.

use std::f64::consts::PI;

use crate::random::Random;

/// A source of noise.
#[derive(Clone, Debug)]
pub struct Noise {
    random: Random,
}

impl Noise {
    pub fn seeded(seed: u64) -> Self {
        Self {
            random: Random::seeded(seed),
        }
    }

    /// Draws a uniform value above 0 and at most 1.
    pub fn uniform(&mut self) -> f64 {
        self.random.uniform()
    }

    /// Source: G. E. P. Box, M. E. Muller, *A Note on the Generation of Random Normal Deviates*,
    /// Annals of Mathematical Statistics 29(2), 1958.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (2.0 * PI * self.uniform()).cos()
    }

    /// Draws an exponential value with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Draws a value of Student's t with three degrees of freedom, scaled to a standard deviation
    /// of 1. About 1.4 % of the values are more than 3 away from zero.
    pub fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt() / 3.0_f64.sqrt()
    }
}

/// A source of correlated values: an autoregressive process of order 1 with standard deviation 1.
#[derive(Clone, Debug)]
pub struct Drift {
    memory: f64,
    value: f64,
}

impl Drift {
    /// Creates a process in which `memory` is the correlation of a value with the previous one.
    pub fn new(memory: f64, noise: &mut Noise) -> Self {
        Self {
            memory,
            value: noise.normal(),
        }
    }

    pub fn next(&mut self, noise: &mut Noise) -> f64 {
        let shock = (1.0 - self.memory * self.memory).sqrt() * noise.normal();
        self.value = self.memory * self.value + shock;
        self.value
    }
}
