//! An instance of the policy: the chain of one direction of one route.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::chain::{Failure, GENERAL};
use super::client::{Client, Form};
use super::definitions::Definitions;
use super::fault::{Culprit, Fault, Trouble};
use super::options::Options;
use super::traversal::{Paused, Progress};
use crate::imports::Files;
use crate::saxon::Made;
use crate::stylesheet::{NulCharacter, Parameters};

/// The parts of a request that a chain needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    pub content_type: Option<&'a str>,
    pub content_encoding: Option<&'a str>,
    pub soap_action: Option<&'a str>,
    /// The body as received.
    pub body: &'a [u8],
}

/// The parts of a response that a chain needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Response<'a> {
    pub status: u16,
    pub content_type: Option<&'a str>,
    pub content_encoding: Option<&'a str>,
    /// The body as received.
    pub body: &'a [u8],
    /// The client, as determined by the request's chain or, if there was none, by the request's
    /// Content-Type.
    pub client: Client,
}

/// The changes to a message that passed a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// The new body, in the encoding of the old one; `None` if the body stays unchanged.
    pub body: Option<Vec<u8>>,
    /// The new Content-Type; `None` if it stays unchanged.
    pub content_type: Option<&'static str>,
    /// The index of the request's target; `None` if no target applies.
    pub target: Option<usize>,
    /// The client, which determines the format of a fault. The response's chain needs it.
    pub client: Client,
}

/// The options of a policy are not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("xslt_params: {0}\n  → remove the character; XML cannot contain it")]
pub struct UnusableOptions(#[from] NulCharacter);

/// A chain with its compiled definitions, which all workers share.
pub struct SoapPolicy {
    pub(super) options: Options,
    pub(super) parameters: Parameters,
    files: Arc<dyn Files + Send + Sync>,
    /// Replaced as a whole. A message uses the definitions that were current when its chain began.
    current: RwLock<Current>,
}

/// The maximum time for which a recompilation waits for messages that still use the old
/// definitions.
const LAST_USE_MAX: Duration = Duration::from_secs(1);

struct Current {
    definitions: Arc<Definitions>,
    compiled_at: Instant,
}

impl Current {
    fn new(definitions: Definitions) -> Self {
        Self {
            definitions: Arc::new(definitions),
            compiled_at: Instant::now(),
        }
    }
}

impl SoapPolicy {
    /// Compiles a chain's definitions. Failures are kept, and messages get faults.
    ///
    /// # Errors
    /// Fails if the options themselves cannot be used.
    pub fn compile(
        options: Options,
        files: Arc<dyn Files + Send + Sync>,
    ) -> Result<Self, UnusableOptions> {
        let pairs = options.xslt_params.iter();
        let parameters = Parameters::new(pairs.map(|(name, value)| (&**name, &**value)))?;
        let current = Current::new(Definitions::compile(&options, &*files));
        Ok(Self {
            options,
            parameters,
            files,
            current: RwLock::new(current),
        })
    }

    /// Returns the mistakes in the definitions in use, each with the name of its option.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        self.definitions().problems()
    }

    /// Recompiles all definitions and then replaces the old ones, which messages use until then. A
    /// thread that serves messages must not call this.
    pub fn recompile(&self) {
        self.replace(Definitions::compile(&self.options, &*self.files));
    }

    /// Recompiles all definitions on this thread, which must have the stack that compilation needs.
    pub(super) fn recompile_on_this_thread(&self) {
        let fresh = Definitions::compile_on_this_thread(&self.options, &*self.files);
        self.replace(fresh);
    }

    fn replace(&self, definitions: Definitions) {
        let fresh = Current::new(definitions);
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *current, fresh).definitions;
        drop(current);
        // Free the old definitions on this thread, rather than on the thread of the message that
        // happens to use them last.
        let waited = Instant::now();
        while Arc::strong_count(&old) > 1 && waited.elapsed() < LAST_USE_MAX {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the time until the definitions must be recompiled, or zero if they are overdue.
    pub fn due_in(&self) -> Duration {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let age = current.compiled_at.elapsed();
        self.options.ttl.saturating_sub(age)
    }

    pub(super) fn definitions(&self) -> Arc<Definitions> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.definitions)
    }

    /// Runs the request's chain and waits for transformations in other processes.
    ///
    /// # Errors
    /// Returns the fault to send to the client.
    pub fn request(&self, request: &Request<'_>) -> Result<Passed, Fault> {
        finish(|waited| self.advance_request(request, waited))
    }

    /// Runs the request's chain to its end or up to a transformation in another process. The chain
    /// starts at the beginning, or continues with the result of the transformation that the request
    /// waited for.
    ///
    /// # Errors
    /// Returns the fault to send to the client.
    pub fn advance_request(
        &self,
        request: &Request<'_>,
        waited: Option<(Paused, Made)>,
    ) -> Result<Progress, Fault> {
        let mut client = match &waited {
            Some((paused, _)) => paused.client,
            None => Client::of(request.content_type),
        };
        let content_type = |client, form| match (client, form) {
            (Client::Json, Form::Xml) => Some(Client::Soap11.content_type()),
            (Client::Soap11 | Client::Soap12, Form::Json) => Some(Client::Json.content_type()),
            _ => None,
        };
        self.run(true, request, waited, &mut client, content_type)
            .map_err(|failure| self.fault("Request", client, &failure, failure.culprit, None))
    }

    /// Runs the response's chain and waits for transformations in other processes. An empty body
    /// passes unchanged, unless [`Options::ignore_if_upstream_error`] makes the response a fault.
    ///
    /// # Errors
    /// Returns the fault to send to the client.
    pub fn response(&self, response: &Response<'_>) -> Result<Passed, Fault> {
        finish(|waited| self.advance_response(response, waited))
    }

    /// Runs the response's chain to its end or up to a transformation in another process. The chain
    /// starts at the beginning, or continues with the result of the transformation that the
    /// response waited for. An empty body passes unchanged, unless
    /// [`Options::ignore_if_upstream_error`] makes the response a fault.
    ///
    /// # Errors
    /// Returns the fault to send to the client.
    pub fn advance_response(
        &self,
        response: &Response<'_>,
        waited: Option<(Paused, Made)>,
    ) -> Result<Progress, Fault> {
        let mut client = response.client;
        let fault = |failure: Failure| {
            let status = Some(response.status);
            self.fault(
                "Response",
                response.client,
                &failure,
                Culprit::Server,
                status,
            )
        };
        if response.status != 200 && self.options.ignore_if_upstream_error {
            let details = "Service Backend returned an HTTP error. The SOAP/XML process is ignored";
            return Err(fault(Failure::new(GENERAL, Culprit::Server, details)));
        }
        if response.body.is_empty() {
            return Ok(Progress::Done(Passed {
                client,
                ..Passed::default()
            }));
        }
        let message = Request {
            content_type: response.content_type,
            content_encoding: response.content_encoding,
            soap_action: None,
            body: response.body,
        };
        let was_json = Client::of(response.content_type) == Client::Json;
        let content_type = |client: Client, form| match (was_json, client == Client::Json, form) {
            (true, false, Form::Xml) | (false, true, Form::Json) => Some(client.content_type()),
            _ => None,
        };
        self.run(false, &message, waited, &mut client, content_type)
            .map_err(fault)
    }

    fn fault(
        &self,
        direction: &str,
        client: Client,
        failure: &Failure,
        culprit: Culprit,
        upstream_status: Option<u16>,
    ) -> Fault {
        let trouble = Trouble {
            title: &format!("{direction} - {}", failure.step),
            details: &failure.details,
            culprit,
            is_verbose: self.options.is_verbose,
            upstream_status,
        };
        Fault::new(client, &trouble)
    }
}

/// Waits for each transformation, and continues the chain with its result.
fn finish(
    advance: impl Fn(Option<(Paused, Made)>) -> Result<Progress, Fault>,
) -> Result<Passed, Fault> {
    let mut waited = None;
    loop {
        match advance(waited)? {
            Progress::Done(passed) => return Ok(passed),
            Progress::Waits(paused, order) => waited = Some((paused, order.apply())),
        }
    }
}

impl std::fmt::Debug for SoapPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoapPolicy")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
