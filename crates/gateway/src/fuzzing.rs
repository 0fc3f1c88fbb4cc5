//! Parts of the gateway that need no connections, for fuzz targets.

use gatebench_net::http1::{Decoder, Event, Limits};

use crate::compiled::CompiledConfig;
use crate::config::{ConfigErrors, GatewayConfig, Paths};
use crate::message::Collected;
use crate::openapi::json;
use crate::path::Router;
use crate::policy::{Notes, Request, jwt};
use crate::redis::resp;

/// Parses Redis replies that arrive in these pieces. Returns them as text, and false if the input
/// contains anything that is not a supported reply. An incomplete reply at the end is ignored.
pub fn replies(pieces: &[&[u8]]) -> (Vec<String>, bool) {
    let (mut held, mut replies) = (Vec::new(), Vec::new());
    for piece in pieces {
        held.extend_from_slice(piece);
        let mut input = held.as_slice();
        loop {
            match resp::next(&mut input) {
                Ok(Some(reply)) => replies.push(format!("{reply:?}")),
                Ok(None) => break,
                Err(resp::NotResp) => return (replies, false),
            }
        }
        held = input.to_vec();
    }
    (replies, true)
}

/// Reports whether the text is JSON in which no object has a duplicate member.
pub fn is_json(text: &[u8]) -> bool {
    json::read(text).is_ok()
}

/// Selects the route of a request by its path.
#[derive(Debug)]
pub struct Routes(Router);

impl Routes {
    pub fn new(routes: &[(&str, Paths)]) -> Self {
        Self(Router::new(routes.iter().copied()))
    }

    /// Returns the number of a target's route, if there is one, and the path and query to forward,
    /// before a prefix is stripped. Returns `None` if the target is refused.
    pub fn find(&self, target: &str) -> Option<(Option<usize>, String)> {
        let mut memory = String::new();
        let found = self.0.find(target, &mut memory).ok()?;
        Some((found.route, found.rest.to_owned()))
    }
}

/// Routes with their policies.
#[derive(Debug)]
pub struct Policies {
    compiled: CompiledConfig,
    caches: Vec<jwt::Cache>,
}

/// The policies' decision on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The bytes do not begin with a complete, valid request head.
    None,
    /// The target is refused or matches no route, or a policy refuses the request or responds to
    /// it.
    Answered,
    /// The request is passed on with this body.
    Passed(Vec<u8>),
}

impl Policies {
    /// Compiles a configuration.
    ///
    /// # Errors
    /// See [`crate::Gateway::new`].
    pub fn new(config: &GatewayConfig) -> Result<Self, ConfigErrors> {
        config.validate()?;
        let compiled = CompiledConfig::new(config, None)?;
        let caches = compiled
            .caches
            .iter()
            .map(|_| jwt::Cache::default())
            .collect();
        Ok(Self { compiled, caches })
    }

    /// Applies the checks and the JSON edits of the policies to the first request in these bytes.
    pub fn pass(&mut self, bytes: &[u8]) -> Outcome {
        let mut decoder = Decoder::requests(Limits::default());
        let mut input = bytes;
        let mut notes = Notes::default();
        let Ok(Some(Event::Head(head))) = decoder.next(&mut input) else {
            return Outcome::None;
        };
        let mut memory = String::new();
        let target = self.compiled.router.find(head.target(), &mut memory);
        let Some((target, route)) = target.ok().and_then(|it| Some((it, it.route?))) else {
            return Outcome::Answered;
        };
        let chain = &self.compiled.routes[route].chain;
        let consumers = &self.compiled.consumers;
        let request = Request {
            head: &head,
            path: target.path,
            now_ns: 1 << 40,
        };
        let response = chain.judge(&request, consumers, &mut self.caches, &mut notes);
        if response.is_some() || chain.unreadable(&head).is_some() {
            return Outcome::Answered;
        }
        let edits = chain.collects(&head, &notes);
        let mut message = Collected::default();
        while let Ok(Some(event)) = decoder.next(&mut input) {
            match event {
                Event::Body(piece) => drop(message.add(piece, 1 << 20)),
                Event::End => break,
                Event::Head(_) | Event::Informational(_) => return Outcome::None,
            }
        }
        if let Some((operation, check)) = chain.operation(&notes)
            && operation.judge_body(check, &message.body).is_err()
        {
            return Outcome::Answered;
        }
        if edits && message.edit(&chain.request_json).is_err() {
            return Outcome::Answered;
        }
        Outcome::Passed(message.body)
    }
}
