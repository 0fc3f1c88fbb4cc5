//! Passes a message through its chain: takes the steps in order, and pauses for transformations in
//! other processes.

use std::borrow::Cow;
use std::sync::Arc;

use super::action::Headers;
use super::chain::{Chain, Failure, GENERAL, XSLT_AFTER, XSLT_BEFORE};
use super::client::{Client, Form};
use super::content::Content;
use super::definitions::Definitions;
use super::fault::Culprit;
use super::gzip;
use super::policy::{Passed, Request, SoapPolicy};
use crate::process::Budget;
use crate::saxon::{Made, Order, Unmade};

/// The progress of a message.
#[derive(Debug)]
pub enum Progress {
    Done(Passed),
    /// The message needs a transformation in another process, which the caller must order.
    /// [`super::SoapPolicy`] continues with the result.
    Waits(Paused, Order),
}

/// A chain that waits for a transformation. The order, not this value, contains the message.
#[derive(Debug)]
pub struct Paused {
    pub(super) client: Client,
    definitions: Arc<Definitions>,
    /// The number of steps taken, including the transformation that the chain waits for.
    taken: usize,
    is_gzip: bool,
}

enum Walked<'a> {
    Waits(Order),
    /// The chain has ended with this text and this target.
    Through(Cow<'a, [u8]>, Option<usize>),
}

#[derive(Clone, Copy)]
enum Step {
    Before,
    Envelope,
    Body,
    Action,
    After,
    Route,
}

fn steps(is_request: bool) -> &'static [Step] {
    use Step::{Action, After, Before, Body, Envelope, Route};
    if is_request {
        &[Before, Envelope, Body, Action, After, Route]
    } else {
        &[Before, Envelope, Body, After]
    }
}

impl SoapPolicy {
    /// Decompresses the body, takes the steps up to a transformation in another process, and
    /// compresses a changed body. `waited` is the transformation that the chain waited for, or
    /// `None` if the chain begins now. `content_type` returns the new Content-Type for a body of a
    /// given form.
    pub(super) fn run(
        &self,
        is_request: bool,
        message: &Request<'_>,
        waited: Option<(Paused, Made)>,
        client: &mut Client,
        content_type: impl FnOnce(Client, Form) -> Option<&'static str>,
    ) -> Result<Progress, Failure> {
        let limits = &self.options.limits;
        let removes = self.options.xslt_remove_empty_namespace;
        let unpacked;
        let (mut paused, content) = match waited {
            Some((paused, made)) => {
                let made = made.map_err(|why| failure_of(why, is_request, paused.taken))?;
                (paused, Content::ordered(made, limits, removes))
            }
            None => {
                let paused = Paused {
                    client: *client,
                    is_gzip: is_gzip(message.content_encoding)?,
                    definitions: self.definitions(),
                    taken: 0,
                };
                let plain = if paused.is_gzip {
                    unpacked = gzip::unpack(message.body, limits.body_bytes).map_err(|why| {
                        let details = format!("Failed to inflate the gzipped SOAP/XML Body: {why}");
                        Failure::new(GENERAL, Culprit::Client, details)
                    })?;
                    &unpacked
                } else {
                    message.body
                };
                (paused, Content::new(Cow::Borrowed(plain), limits, removes))
            }
        };
        let budget = Budget::begin(limits);
        let chain = Chain {
            options: &self.options,
            definitions: &paused.definitions,
            parameters: &self.parameters,
            content,
            client: &mut *client,
        };
        let walked = walk(is_request, message, chain, &mut paused.taken);
        let (text, target) = match self.within(budget, walked)? {
            Walked::Through(text, target) => (text, target),
            Walked::Waits(order) => {
                let client = *client;
                return Ok(Progress::Waits(Paused { client, ..paused }, order));
            }
        };
        let form = Form::of(&text);
        Ok(Progress::Done(Passed {
            body: match text {
                Cow::Borrowed(_) => None,
                Cow::Owned(text) if paused.is_gzip => Some(gzip::pack(&text)),
                Cow::Owned(text) => Some(text),
            },
            content_type: content_type(*client, form),
            target,
            client: *client,
        }))
    }

    /// Replaces the result with a failure if a limit ended the work.
    fn within<T>(&self, budget: Budget, walked: Result<T, Failure>) -> Result<T, Failure> {
        let Some(spent) = budget.end() else {
            return walked;
        };
        let details = spent.words(&self.options.limits);
        let step = walked.err().map_or(GENERAL, |failure| failure.step);
        Err(Failure::new(step, Culprit::Client, details))
    }
}

/// Takes the remaining steps up to a transformation in another process.
fn walk<'a>(
    is_request: bool,
    message: &Request<'_>,
    mut chain: Chain<'a, '_>,
    taken: &mut usize,
) -> Result<Walked<'a>, Failure> {
    let mut target = None;
    for step in &steps(is_request)[*taken..] {
        let mut order = None;
        *taken += 1;
        match step {
            Step::Before => order = chain.transform(&chain.definitions.before, XSLT_BEFORE)?,
            Step::Envelope => chain.validate_envelope(is_request)?,
            Step::Body => chain.validate_body()?,
            Step::Action => {
                chain.check_action(|| Headers::new(message.soap_action, message.content_type))?;
            }
            Step::After => order = chain.transform(&chain.definitions.after, XSLT_AFTER)?,
            Step::Route => target = chain.route()?,
        }
        if let Some(order) = order {
            return Ok(Walked::Waits(order));
        }
    }
    let text = chain.content.into_text();
    let text = text.map_err(|why| Failure::new(GENERAL, Culprit::Client, why.to_string()))?;
    Ok(Walked::Through(text, target))
}

/// Returns the failure of the transformation that a chain waited for.
fn failure_of(why: Unmade, is_request: bool, taken: usize) -> Failure {
    let step = match steps(is_request).get(taken.saturating_sub(1)) {
        Some(Step::After) => XSLT_AFTER,
        _ => XSLT_BEFORE,
    };
    let culprit = match why {
        Unmade::Refused(_) => Culprit::Client,
        Unmade::Gone(_) => Culprit::Server,
    };
    Failure::new(step, culprit, why.to_string())
}

fn is_gzip(encoding: Option<&str>) -> Result<bool, Failure> {
    match encoding.map(str::trim) {
        None | Some("") => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("identity") => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("gzip") || word.eq_ignore_ascii_case("x-gzip") => {
            Ok(true)
        }
        Some(word) => {
            let details = format!("Content-encoding of type '{word}' is not supported");
            Err(Failure::new(GENERAL, Culprit::Client, details))
        }
    }
}
