//! How a message passes through its chain: the steps in order, and pauses for transformations in
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
use super::policy::{Passed, SoapPolicy};
use crate::process::Budget;
use crate::saxon::{Made, Order, Unmade};

/// The progress of a message.
#[derive(Debug)]
pub enum Progress {
    /// It has passed through its chain.
    Done(Passed),
    /// It needs a transformation outside of this process, which the caller must order.
    /// [`super::SoapPolicy`] continues with the result.
    Waits(Paused, Order),
}

/// A chain that waits for a transformation. The order contains the message.
#[derive(Debug)]
pub struct Paused {
    pub(super) place: Place,
    pub(super) client: Client,
}

/// The state of a waiting chain.
#[derive(Debug)]
pub(super) struct Place {
    pub definitions: Arc<Definitions>,
    /// The number of steps taken, including the transformation for which the chain waits.
    pub taken: usize,
    pub is_gzip: bool,
}

/// The start of a run.
pub(super) enum Start {
    Message,
    /// The result for which the chain waited at a place.
    Made(Place, Made),
}

/// The result of a run.
pub(super) enum Ran {
    /// Its end: the changed body, the form of the body, and the target.
    Done(Option<Vec<u8>>, Form, Option<usize>),
    Waits(Paused, Order),
}

/// The results of the steps.
enum Walked<'a> {
    /// A transformation in another process.
    Waits(Order),
    /// The end: the text, and the target.
    Through(Cow<'a, [u8]>, Option<usize>),
}

/// A step of a chain.
#[derive(Clone, Copy)]
enum Step {
    Before,
    Envelope,
    Body,
    Action,
    After,
    Route,
}

/// A message and its direction.
pub(super) struct Traversal<'a> {
    pub is_request: bool,
    pub content_type: Option<&'a str>,
    pub content_encoding: Option<&'a str>,
    pub soap_action: Option<&'a str>,
    pub body: &'a [u8],
}

impl Traversal<'_> {
    fn steps(&self) -> &'static [Step] {
        use Step::{Action, After, Before, Body, Envelope, Route};
        if self.is_request {
            &[Before, Envelope, Body, Action, After, Route]
        } else {
            &[Before, Envelope, Body, After]
        }
    }

    /// The title of the failure of the transformation for which the chain waits.
    fn title(&self, taken: usize) -> &'static str {
        match self.steps().get(taken.saturating_sub(1)) {
            Some(Step::After) => XSLT_AFTER,
            _ => XSLT_BEFORE,
        }
    }

    /// Takes the remaining steps, up to a transformation in another process. Returns its order, or
    /// otherwise the target.
    fn walk(
        &self,
        chain: &mut Chain<'_>,
        taken: &mut usize,
    ) -> Result<(Option<Order>, Option<usize>), Failure> {
        let (mut order, mut target) = (None, None);
        for step in &self.steps()[*taken..] {
            *taken += 1;
            match step {
                Step::Before => order = chain.transform_before()?,
                Step::Envelope => chain.validate_envelope(self.is_request)?,
                Step::Body => chain.validate_body()?,
                Step::Action => {
                    chain.check_action(|| Headers::new(self.soap_action, self.content_type))?;
                }
                Step::After => order = chain.transform_after()?,
                Step::Route => target = chain.route()?,
            }
            if order.is_some() {
                break;
            }
        }
        Ok((order, target))
    }
}

impl SoapPolicy {
    /// Decompresses the body, runs the steps, and compresses a changed body.
    pub(super) fn run(
        &self,
        traversal: &Traversal<'_>,
        start: Start,
        client: &mut Client,
    ) -> Result<Ran, Failure> {
        match start {
            Start::Message => self.enter(traversal, client),
            Start::Made(place, made) => self.enter_again(traversal, place, made, client),
        }
    }

    fn enter(&self, traversal: &Traversal<'_>, client: &mut Client) -> Result<Ran, Failure> {
        let limits = &self.options.limits;
        let place = Place {
            is_gzip: is_gzip(traversal.content_encoding)?,
            definitions: self.definitions(),
            taken: 0,
        };
        let unpacked;
        let plain = if place.is_gzip {
            unpacked = gzip::unpack(traversal.body, limits.body_bytes).map_err(|why| {
                let details = format!("Failed to inflate the gzipped SOAP/XML Body: {why}");
                Failure::new(GENERAL, Culprit::Client, details)
            })?;
            &unpacked
        } else {
            traversal.body
        };
        let removes = self.options.xslt_remove_empty_namespace;
        let content = Content::new(Cow::Borrowed(plain), limits, removes);
        self.walk(traversal, place, content, client)
    }

    fn enter_again(
        &self,
        traversal: &Traversal<'_>,
        place: Place,
        made: Made,
        client: &mut Client,
    ) -> Result<Ran, Failure> {
        let title = traversal.title(place.taken);
        let made = made.map_err(|why| {
            let culprit = match why {
                Unmade::Refused(_) => Culprit::Client,
                Unmade::Gone(_) => Culprit::Server,
            };
            Failure::new(title, culprit, why.to_string())
        })?;
        let removes = self.options.xslt_remove_empty_namespace;
        let content = Content::ordered(made, &self.options.limits, removes);
        self.walk(traversal, place, content, client)
    }

    fn walk(
        &self,
        traversal: &Traversal<'_>,
        mut place: Place,
        content: Content<'_>,
        client: &mut Client,
    ) -> Result<Ran, Failure> {
        let budget = Budget::begin(&self.options.limits);
        let taken = &mut place.taken;
        let walked = self.take_steps(traversal, &place.definitions, taken, content, client);
        let (text, target) = match self.within(budget, walked)? {
            Walked::Waits(order) => {
                let client = *client;
                return Ok(Ran::Waits(Paused { place, client }, order));
            }
            Walked::Through(text, target) => (text, target),
        };
        let form = Form::of(&text);
        let changed = match text {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) if place.is_gzip => Some(gzip::pack(&text)),
            Cow::Owned(text) => Some(text),
        };
        Ok(Ran::Done(changed, form, target))
    }

    fn take_steps<'a>(
        &'a self,
        traversal: &Traversal<'_>,
        definitions: &'a Definitions,
        taken: &mut usize,
        content: Content<'a>,
        client: &mut Client,
    ) -> Result<Walked<'a>, Failure> {
        let mut chain = Chain {
            options: &self.options,
            definitions,
            parameters: &self.parameters,
            content,
            client: *client,
        };
        let walked = traversal.walk(&mut chain, taken);
        *client = chain.client;
        let (order, target) = walked?;
        if let Some(order) = order {
            return Ok(Walked::Waits(order));
        }
        let text = chain
            .content
            .into_text()
            .map_err(|why| Failure::new(GENERAL, Culprit::Client, why.to_string()))?;
        Ok(Walked::Through(text, target))
    }

    /// Replaces the result of the work by the limit that ended it, if one did.
    fn within<T>(&self, budget: Budget, walked: Result<T, Failure>) -> Result<T, Failure> {
        let Some(spent) = budget.end() else {
            return walked;
        };
        let details = spent.words(&self.options.limits);
        let step = walked.err().map_or(GENERAL, |failure| failure.step);
        Err(Failure::new(step, Culprit::Client, details))
    }
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
