//! Samples of a gateway's processes, wherever they run.

use crate::probe::{Outside, Sample, Sampler};
use crate::remote::RemoteSampler;

/// Samples a gateway on this machine or another host.
#[derive(Debug)]
pub struct GatewaySampler(Place);

#[derive(Debug)]
enum Place {
    Here(Box<Sampler>),
    There(RemoteSampler),
}

impl GatewaySampler {
    pub(super) fn here(sampler: Sampler) -> Self {
        Self(Place::Here(Box::new(sampler)))
    }

    pub(super) fn there(sampler: RemoteSampler) -> Self {
        Self(Place::There(sampler))
    }

    /// The sampler, if the gateway is on this machine.
    pub fn local(&self) -> Option<&Sampler> {
        match &self.0 {
            Place::Here(sampler) => Some(sampler),
            Place::There(_) => None,
        }
    }

    /// Returns its usage so far, and its current resources.
    pub fn sample(&mut self) -> Sample {
        match &mut self.0 {
            Place::Here(sampler) => sampler.sample(),
            Place::There(sampler) => sampler.sample(),
        }
    }

    /// Reads figures for which the kernel walks every page. This is too slow during a measurement.
    pub fn pss_bytes(&self) -> Option<u64> {
        match &self.0 {
            Place::Here(sampler) => sampler.pss_bytes(),
            Place::There(sampler) => sampler.pss_bytes(),
        }
    }

    /// Observes threads and files. This is too slow during a measurement.
    pub fn outside(&self) -> Outside {
        match &self.0 {
            Place::Here(sampler) => sampler.outside(),
            Place::There(sampler) => sampler.outside(),
        }
    }
}
