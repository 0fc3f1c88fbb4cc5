//! Stands in for the SOAP/XML policies in a build without the feature `soap`: a configuration with
//! one is refused, so none is ever made.

use std::io;

use gatebench_model::policy::XsltPolicy;
use gatebench_model::soap::SoapPolicy;
use gatebench_net::http1::Head;

use crate::config::Mistake;
use crate::message::Collected;

/// The mistake of a configuration with such a policy.
fn refused<T>() -> Result<T, Vec<Mistake>> {
    let words = "this gatebench was built without the feature `soap`, which SOAP and XML need; \
                 build it with its default features";
    Err(vec![(String::new(), words.into())])
}

#[derive(Debug)]
pub(crate) struct Soap;

impl Soap {
    pub(crate) fn new(
        _at: usize,
        _: &SoapPolicy,
        _: &Surroundings<'_>,
    ) -> Result<Self, Vec<Mistake>> {
        refused()
    }

    pub(crate) fn has_request(&self) -> bool {
        false
    }

    pub(crate) fn has_response(&self) -> bool {
        false
    }

    pub(crate) fn problems(&self) -> impl Iterator<Item = Mistake> {
        std::iter::empty()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BodyLimits {
    pub(crate) request: usize,
    pub(crate) response: usize,
}

pub(crate) struct Surroundings<'a> {
    pub(crate) upstreams: &'a [String],
    pub(crate) bodies: BodyLimits,
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

#[derive(Debug)]
pub(crate) struct NotTransformed;

#[derive(Debug, Default)]
pub(crate) struct Stylesheets {}

impl Stylesheets {
    pub(crate) fn add(&mut self, _: &XsltPolicy, _bytes: usize) -> Result<(), Vec<Mistake>> {
        refused()
    }

    pub(crate) fn is_empty(&self) -> bool {
        true
    }

    pub(crate) fn transform(&self, _: &mut Collected) -> Result<(), NotTransformed> {
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

/// None: there are no libraries.
pub fn library_versions() -> Vec<(&'static str, String)> {
    Vec::new()
}
