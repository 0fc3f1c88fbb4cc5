//! A policy instance: the chain of one direction of one route.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::action::Headers;
use super::chain::{Chain, Failure, GENERAL};
use super::client::{Client, Form};
use super::content::Content;
use super::definitions::Definitions;
use super::fault::{Culprit, Fault, Trouble};
use super::gzip;
use super::options::Options;
use crate::imports::Files;
use crate::process::{Budget, Spent};
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
    options: Options,
    parameters: Parameters,
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

    fn definitions(&self) -> Arc<Definitions> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.definitions)
    }

    /// Runs the request's chain.
    ///
    /// # Errors
    /// What the client is answered instead.
    pub fn request(&self, request: &Request<'_>) -> Result<Passed, Fault> {
        let mut client = Client::of(request.content_type);
        let budget = Budget::begin(self.options.limits.allocated_bytes);
        let run = self.run(
            request.content_encoding,
            request.body,
            &mut client,
            |chain| {
                chain.transform_before()?;
                chain.validate_envelope(true)?;
                chain.validate_body()?;
                chain.check_action(|| Headers::new(request.soap_action, request.content_type))?;
                chain.transform_after()?;
                chain.route()
            },
        );
        let (body, form, target) = self
            .within(budget, run)
            .map_err(|failure| self.fault("Request", client, &failure, failure.culprit, None))?;
        let content_type = match (client, form) {
            (Client::Json, Form::Xml) => Some(Client::Soap11.content_type()),
            (Client::Soap11 | Client::Soap12, Form::Json) => Some(Client::Json.content_type()),
            _ => None,
        };
        Ok(Passed {
            body,
            content_type,
            target,
            client,
        })
    }

    /// Runs the response's chain. An empty body goes on as it is.
    ///
    /// # Errors
    /// What the client is answered instead.
    pub fn response(&self, response: &Response<'_>) -> Result<Passed, Fault> {
        let mut client = response.client;
        if response.status != 200 && self.options.ignore_if_upstream_error {
            let details = "Service Backend returned an HTTP error. The SOAP/XML process is ignored";
            let failure = Failure::new(GENERAL, Culprit::Server, details);
            return Err(self.response_fault(response, &failure));
        }
        if response.body.is_empty() {
            return Ok(Passed {
                client,
                ..Passed::default()
            });
        }
        let budget = Budget::begin(self.options.limits.allocated_bytes);
        let encoding = response.content_encoding;
        let run = self.run(encoding, response.body, &mut client, |chain| {
            chain.transform_before()?;
            chain.validate_envelope(false)?;
            chain.validate_body()?;
            chain.transform_after()?;
            Ok(None)
        });
        let (body, form, target) = self
            .within(budget, run)
            .map_err(|failure| self.response_fault(response, &failure))?;
        let was_json = Client::of(response.content_type) == Client::Json;
        let content_type = match (was_json, client == Client::Json, form) {
            (true, false, Form::Xml) | (false, true, Form::Json) => Some(client.content_type()),
            _ => None,
        };
        Ok(Passed {
            body,
            content_type,
            target,
            client,
        })
    }

    /// Un-gzips, runs the steps, and gzips what they changed.
    fn run(
        &self,
        encoding: Option<&str>,
        body: &[u8],
        client: &mut Client,
        steps: impl FnOnce(&mut Chain<'_>) -> Result<Option<usize>, Failure>,
    ) -> Result<Ran, Failure> {
        let is_gzip = is_gzip(encoding)?;
        let limits = &self.options.limits;
        let unpacked;
        let plain = if is_gzip {
            unpacked = gzip::unpack(body, limits.document_bytes).map_err(|why| {
                let details = format!("Failed to inflate the gzipped SOAP/XML Body: {why}");
                Failure::new(GENERAL, Culprit::Client, details)
            })?;
            &unpacked
        } else {
            body
        };
        let definitions = self.definitions();
        let mut chain = Chain {
            options: &self.options,
            definitions: &definitions,
            parameters: &self.parameters,
            content: Content::new(
                Cow::Borrowed(plain),
                limits,
                self.options.xslt_remove_empty_namespace,
            ),
            client: *client,
        };
        let done = steps(&mut chain);
        *client = chain.client;
        let target = done?;
        let changed = chain
            .content
            .into_changed()
            .map_err(|why| Failure::new(GENERAL, Culprit::Client, why.to_string()))?;
        let form = Form::of(changed.as_deref().unwrap_or(plain));
        let changed = if is_gzip {
            changed.map(|body| gzip::pack(&body))
        } else {
            changed
        };
        Ok((changed, form, target))
    }

    /// Puts what ended the work in the place of what it looked like.
    fn within(&self, budget: Budget, run: Result<Ran, Failure>) -> Result<Ran, Failure> {
        let Some(spent) = budget.end() else {
            return run;
        };
        let details = match spent {
            Spent::Memory => format!(
                "The work on this message needs more than {} bytes of memory",
                self.options.limits.allocated_bytes
            ),
            Spent::Stack => "The work on this message is nested too deeply".to_owned(),
        };
        let step = run.err().map_or(GENERAL, |failure| failure.step);
        Err(Failure::new(step, Culprit::Client, details))
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

/// The changed body, what form the body has, and the target.
type Ran = (Option<Vec<u8>>, Form, Option<usize>);

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
