//! The way of a message along its chain: steps in their order, and pauses where somebody else transforms.

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

/// How far a message has come.
#[derive(Debug)]
pub enum Progress {
    /// To the end of its chain.
    Done(Passed),
    /// To a transformation outside of this process, which somebody has to order; [`super::SoapPolicy`] goes on
    /// with what that makes.
    Waits(Paused, Order),
}

/// A chain that waits for a transformation. What travels along it is with the transformation.
#[derive(Debug)]
pub struct Paused {
    pub(super) place: Place,
    pub(super) client: Client,
}

/// How far a chain has come, and with what.
#[derive(Debug)]
pub(super) struct Place {
    pub definitions: Arc<Definitions>,
    /// Steps that were taken, the one that is waited for among them.
    pub taken: usize,
    pub is_gzip: bool,
}

/// What a run begins with.
pub(super) enum Start {
    /// The message.
    Message,
    /// What was waited for at a place.
    Made(Place, Made),
}

/// What a chain has come to.
pub(super) enum Ran {
    /// Its end: the changed body, what form the body has, and the target.
    Done(Option<Vec<u8>>, Form, Option<usize>),
    Waits(Paused, Order),
}

/// What the steps have led to.
enum Walked<'a> {
    /// A transformation that somebody else does.
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

/// A message, and where it goes along.
pub(super) struct Way<'a> {
    pub is_request: bool,
    pub content_type: Option<&'a str>,
    pub content_encoding: Option<&'a str>,
    pub soap_action: Option<&'a str>,
    pub body: &'a [u8],
}

impl Way<'_> {
    fn steps(&self) -> &'static [Step] {
        use Step::{Action, After, Before, Body, Envelope, Route};
        if self.is_request {
            &[Before, Envelope, Body, Action, After, Route]
        } else {
            &[Before, Envelope, Body, After]
        }
    }

    /// What is said where the transformation failed that is waited for.
    fn title(&self, taken: usize) -> &'static str {
        match self.steps().get(taken.saturating_sub(1)) {
            Some(Step::After) => XSLT_AFTER,
            _ => XSLT_BEFORE,
        }
    }

    /// Takes the steps that are left, up to one that somebody else does: its order. Else the target.
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
    /// Un-gzips, runs the steps, and gzips what they changed.
    pub(super) fn run(
        &self,
        way: &Way<'_>,
        start: Start,
        client: &mut Client,
    ) -> Result<Ran, Failure> {
        match start {
            Start::Message => self.enter(way, client),
            Start::Made(place, made) => self.enter_again(way, place, made, client),
        }
    }

    fn enter(&self, way: &Way<'_>, client: &mut Client) -> Result<Ran, Failure> {
        let limits = &self.options.limits;
        let place = Place {
            is_gzip: is_gzip(way.content_encoding)?,
            definitions: self.definitions(),
            taken: 0,
        };
        let unpacked;
        let plain = if place.is_gzip {
            unpacked = gzip::unpack(way.body, limits.body_bytes).map_err(|why| {
                let details = format!("Failed to inflate the gzipped SOAP/XML Body: {why}");
                Failure::new(GENERAL, Culprit::Client, details)
            })?;
            &unpacked
        } else {
            way.body
        };
        let removes = self.options.xslt_remove_empty_namespace;
        let content = Content::new(Cow::Borrowed(plain), limits, removes);
        self.walk(way, place, content, client)
    }

    fn enter_again(
        &self,
        way: &Way<'_>,
        place: Place,
        made: Made,
        client: &mut Client,
    ) -> Result<Ran, Failure> {
        let title = way.title(place.taken);
        let made = made.map_err(|why| {
            let culprit = match why {
                Unmade::Refused(_) => Culprit::Client,
                Unmade::Gone(_) => Culprit::Server,
            };
            Failure::new(title, culprit, why.to_string())
        })?;
        let removes = self.options.xslt_remove_empty_namespace;
        let content = Content::ordered(made, &self.options.limits, removes);
        self.walk(way, place, content, client)
    }

    fn walk(
        &self,
        way: &Way<'_>,
        mut place: Place,
        content: Content<'_>,
        client: &mut Client,
    ) -> Result<Ran, Failure> {
        let budget = Budget::begin(&self.options.limits);
        let taken = &mut place.taken;
        let walked = self.take_steps(way, &place.definitions, taken, content, client);
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
        way: &Way<'_>,
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
        let walked = way.walk(&mut chain, taken);
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

    /// Puts what ended the work in the place of what it looked like.
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
