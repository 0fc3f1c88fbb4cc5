//! Replaces the SOAP/XML policies in a build without the feature `soap`. A configuration that
//! contains such a policy is refused, so no [`Soap`] is ever created.

use std::io;

use gatebench_model::policy::XsltPolicy;
use gatebench_model::soap::SoapPolicy;
use gatebench_net::http1::Head;

use crate::config::ConfigError;
use crate::message::{Collected, Refusal};

fn refused<T>() -> Result<T, Vec<ConfigError>> {
    let message =
        "this gatebench was built without the feature `soap`, which SOAP and XML policies need";
    let remedy = "build it with its default features";
    Err(vec![ConfigError::new(message, remedy)])
}

#[derive(Debug)]
pub(crate) struct Soap;

impl Soap {
    pub(crate) fn new(
        _at: usize,
        _: &SoapPolicy,
        _: &Surroundings<'_>,
    ) -> Result<Self, Vec<ConfigError>> {
        refused()
    }

    pub(crate) fn has_request(&self) -> bool {
        false
    }

    pub(crate) fn has_response(&self) -> bool {
        false
    }

    pub(crate) fn problems(&self) -> impl Iterator<Item = ConfigError> {
        std::iter::empty()
    }
}

pub(crate) struct Surroundings<'a> {
    pub(crate) upstreams: &'a [String],
    pub(crate) request_bytes: usize,
    pub(crate) response_bytes: usize,
    pub(crate) is_check: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Passage {}

impl Passage {
    pub(crate) fn begin(&mut self, _: &Head<'_>) {}

    pub(crate) fn turn(&mut self, _: &Head<'_>) {}
}

#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct Stylesheets {}

impl Stylesheets {
    pub(crate) fn add(&mut self, _: &XsltPolicy, _bytes: usize) -> Result<(), Vec<ConfigError>> {
        refused()
    }

    pub(crate) fn is_empty(&self) -> bool {
        true
    }

    pub(crate) fn transform(&self, _: &mut Collected) -> Result<(), Box<Refusal>> {
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Parked;

#[derive(Debug)]
pub(crate) struct Line;

pub(crate) struct Refresher;

pub(crate) fn refresher<'s>(_: impl Iterator<Item = &'s Soap>) -> io::Result<Option<Refresher>> {
    Ok(None)
}

pub fn library_versions() -> Vec<(&'static str, String)> {
    Vec::new()
}
