//! Samples of a gateway's processes, on this machine or another host.

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

    /// Returns the resources that the gateway has used so far, and those that it holds now.
    pub fn sample(&mut self) -> Sample {
        match &mut self.0 {
            Place::Here(sampler) => sampler.sample(),
            Place::There(sampler) => sampler.sample(),
        }
    }

    /// Returns the proportional set size. The kernel walks every page for it, so do not call this
    /// during a measurement.
    pub fn pss_bytes(&self) -> Option<u64> {
        match &self.0 {
            Place::Here(sampler) => sampler.pss_bytes(),
            Place::There(sampler) => sampler.pss_bytes(),
        }
    }

    /// Observes threads and files. Do not call this during a measurement, because it is slow.
    pub fn outside(&self) -> Outside {
        match &self.0 {
            Place::Here(sampler) => sampler.outside(),
            Place::There(sampler) => sampler.outside(),
        }
    }
}
