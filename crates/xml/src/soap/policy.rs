//! A policy instance: the chain of one direction of one route.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::chain::{Failure, GENERAL};
use super::client::{Client, Form};
use super::definitions::Definitions;
use super::fault::{Culprit, Fault, Trouble};
use super::options::Options;
use super::way::{Paused, Progress, Ran, Start, Way};
use crate::imports::Files;
use crate::saxon::Made;
use crate::stylesheet::Parameters;

/// What a chain needs of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Content-Type.
    pub content_type: Option<&'a str>,
    /// Content-Encoding.
    pub content_encoding: Option<&'a str>,
    /// SOAPAction.
    pub soap_action: Option<&'a str>,
    /// The body as it came.
    pub body: &'a [u8],
}

/// What a chain needs of a response.
#[derive(Clone, Copy, Debug, Default)]
pub struct Response<'a> {
    /// HTTP status.
    pub status: u16,
    /// Content-Type.
    pub content_type: Option<&'a str>,
    /// Content-Encoding.
    pub content_encoding: Option<&'a str>,
    /// The body as it came.
    pub body: &'a [u8],
    /// Who asked, as the request's chain found; by the request's Content-Type where there was none.
    pub client: Client,
}

/// A message that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// The new body, in the encoding of the old one; none where it stays byte for byte.
    pub body: Option<Vec<u8>>,
    /// The new Content-Type; none where it stays.
    pub content_type: Option<&'static str>,
    /// Index of the target that the request is to be sent to; none where it goes its usual way.
    pub target: Option<usize>,
    /// In whose language a fault would be; to be handed to the response's chain.
    pub client: Client,
}

/// One chain with its compiled definitions. Shared by all workers.
pub struct SoapPolicy {
    pub(super) options: Options,
    pub(super) parameters: Parameters,
    files: Arc<dyn Files + Send + Sync>,
    /// Replaced as a whole; a message works with what was there when it came.
    current: RwLock<Current>,
}

/// How long the old definitions are held for messages that still use them.
const LAST_USE_MAX: Duration = Duration::from_secs(1);

struct Current {
    definitions: Arc<Definitions>,
    compiled_at: Instant,
}

impl SoapPolicy {
    /// Compiles a chain's definitions; those that fail are kept as failures and answered as faults.
    ///
    /// # Errors
    /// The options themselves cannot be used.
    pub fn compile(options: Options, files: Arc<dyn Files + Send + Sync>) -> Result<Self, String> {
        let pairs = options
            .xslt_params
            .iter()
            .map(|(name, value)| (&**name, &**value));
        let parameters = Parameters::new(pairs).map_err(|why| {
            format!("xslt_params: {why}\n  → leave the character out; XML cannot hold it")
        })?;
        let definitions = Arc::new(Definitions::compile(&options, &*files));
        let current = Current {
            definitions,
            compiled_at: Instant::now(),
        };
        Ok(Self {
            options,
            parameters,
            files,
            current: RwLock::new(current),
        })
    }

    /// What is wrong with the definitions in use, each with the name of its option.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        self.definitions().problems()
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Compiles all definitions anew and puts them, or their failures, in the place of the old ones.
    /// Messages go on with the old ones meanwhile; not to be called by a thread that serves messages.
    pub fn recompile(&self) {
        self.replace(Definitions::compile(&self.options, &*self.files));
    }

    /// The same for a thread with the stack that compiling wants.
    pub(super) fn recompile_on_this_thread(&self) {
        let fresh = Definitions::compile_on_this_thread(&self.options, &*self.files);
        self.replace(fresh);
    }

    fn replace(&self, definitions: Definitions) {
        let fresh = Current {
            definitions: Arc::new(definitions),
            compiled_at: Instant::now(),
        };
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *current, fresh).definitions;
        drop(current);
        // Freed here and not by the message that happens to be the last one to use them.
        let waited = Instant::now();
        while Arc::strong_count(&old) > 1 && waited.elapsed() < LAST_USE_MAX {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Time until the definitions are to be compiled anew; zero where it is up.
    pub fn due_in(&self) -> Duration {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let age = current.compiled_at.elapsed();
        self.options.ttl.saturating_sub(age)
    }

    pub(super) fn definitions(&self) -> Arc<Definitions> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.definitions)
    }

    /// Runs the request's chain, and waits for what others transform.
    ///
    /// # Errors
    /// What the client is answered instead.
    pub fn request(&self, request: &Request<'_>) -> Result<Passed, Fault> {
        let mut progress = self.begin_request(request)?;
        loop {
            match progress {
                Progress::Done(passed) => return Ok(passed),
                Progress::Waits(paused, order) => {
                    progress = self.resume_request(request, paused, order.apply())?;
                }
            }
        }
    }

    /// Runs the request's chain, up to a transformation that somebody else does.
    ///
    /// # Errors
    /// What the client is answered instead.
    pub fn begin_request(&self, request: &Request<'_>) -> Result<Progress, Fault> {
        let client = Client::of(request.content_type);
        self.run_request(request, client, Start::Message)
    }

    /// Goes on with what the transformation has made that a request waited for.
    ///
    /// # Errors
    /// As [`begin_request`](Self::begin_request).
    pub fn resume_request(
        &self,
        request: &Request<'_>,
        paused: Paused,
        made: Made,
    ) -> Result<Progress, Fault> {
        self.run_request(request, paused.client, Start::Made(paused.place, made))
    }

    fn run_request(
        &self,
        request: &Request<'_>,
        mut client: Client,
        start: Start,
    ) -> Result<Progress, Fault> {
        let way = Way {
            is_request: true,
            content_type: request.content_type,
            content_encoding: request.content_encoding,
            soap_action: request.soap_action,
            body: request.body,
        };
        let ran = self
            .run(&way, start, &mut client)
            .map_err(|failure| self.fault("Request", client, &failure, failure.culprit, None))?;
        let (body, form, target) = match ran {
            Ran::Done(body, form, target) => (body, form, target),
            Ran::Waits(paused, order) => return Ok(Progress::Waits(paused, order)),
        };
        let content_type = match (client, form) {
            (Client::Json, Form::Xml) => Some(Client::Soap11.content_type()),
            (Client::Soap11 | Client::Soap12, Form::Json) => Some(Client::Json.content_type()),
            _ => None,
        };
        Ok(Progress::Done(Passed {
            body,
            content_type,
            target,
            client,
        }))
    }

    /// Runs the response's chain, and waits for what others transform. An empty body goes on as it is.
    ///
    /// # Errors
    /// What the client is answered instead.
    pub fn response(&self, response: &Response<'_>) -> Result<Passed, Fault> {
        let mut progress = self.begin_response(response)?;
        loop {
            match progress {
                Progress::Done(passed) => return Ok(passed),
                Progress::Waits(paused, order) => {
                    progress = self.resume_response(response, paused, order.apply())?;
                }
            }
        }
    }

    /// Runs the response's chain, up to a transformation that somebody else does. An empty body goes on as
    /// it is.
    ///
    /// # Errors
    /// What the client is answered instead.
    pub fn begin_response(&self, response: &Response<'_>) -> Result<Progress, Fault> {
        if response.status != 200 && self.options.ignore_if_upstream_error {
            let details = "Service Backend returned an HTTP error. The SOAP/XML process is ignored";
            let failure = Failure::new(GENERAL, Culprit::Server, details);
            return Err(self.response_fault(response, &failure));
        }
        if response.body.is_empty() {
            return Ok(Progress::Done(Passed {
                client: response.client,
                ..Passed::default()
            }));
        }
        self.run_response(response, Start::Message)
    }

    /// Goes on with what the transformation has made that a response waited for.
    ///
    /// # Errors
    /// As [`begin_response`](Self::begin_response).
    pub fn resume_response(
        &self,
        response: &Response<'_>,
        paused: Paused,
        made: Made,
    ) -> Result<Progress, Fault> {
        self.run_response(response, Start::Made(paused.place, made))
    }

    fn run_response(&self, response: &Response<'_>, start: Start) -> Result<Progress, Fault> {
        let mut client = response.client;
        let way = Way {
            is_request: false,
            content_type: response.content_type,
            content_encoding: response.content_encoding,
            soap_action: None,
            body: response.body,
        };
        let ran = self
            .run(&way, start, &mut client)
            .map_err(|failure| self.response_fault(response, &failure))?;
        let (body, form, target) = match ran {
            Ran::Done(body, form, target) => (body, form, target),
            Ran::Waits(paused, order) => return Ok(Progress::Waits(paused, order)),
        };
        let was_json = Client::of(response.content_type) == Client::Json;
        let content_type = match (was_json, client == Client::Json, form) {
            (true, false, Form::Xml) | (false, true, Form::Json) => Some(client.content_type()),
            _ => None,
        };
        Ok(Progress::Done(Passed {
            body,
            content_type,
            target,
            client,
        }))
    }

    /// All faults of a response are the server's.
    fn response_fault(&self, response: &Response<'_>, failure: &Failure) -> Fault {
        let status = Some(response.status);
        self.fault(
            "Response",
            response.client,
            failure,
            Culprit::Server,
            status,
        )
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

impl std::fmt::Debug for SoapPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoapPolicy")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
