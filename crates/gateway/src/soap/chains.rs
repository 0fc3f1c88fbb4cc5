//! Compiles the SOAP/XML chains of a route from their settings, and applies them to complete
//! messages.

use std::sync::Arc;

use gatebench_model::soap::{self as settings, SoapChain, XsltLibrary};
use gatebench_net::http1::Head;
use gatebench_xml::saxon::Made;
use gatebench_xml::soap::{
    Client, Fault, Options, Passed, Paused, Progress, Request, Response, SoapAction, SoapPolicy,
    Source, Target,
};
use gatebench_xml::{Files, Limits, Unreadable};

use super::helpers;
use crate::config::ConfigError;
use crate::message::Collected;

#[derive(Debug)]
pub(crate) struct Soap {
    /// The index of the policy among the route's policies.
    at: usize,
    request: Option<Arc<SoapPolicy>>,
    response: Option<Arc<SoapPolicy>>,
    /// The destinations that a request's content can select, indexed by target number.
    targets: Vec<Redirect>,
    /// True if faults for failures outside the chains contain details.
    is_verbose: bool,
}

/// A destination selected by the content of a request.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) path: String,
    /// The index of the upstream that the target names, if any.
    pub(crate) upstream: Option<usize>,
}

/// The fields in the heads of a request and its response that the chains use.
#[derive(Debug, Default)]
pub(crate) struct Passage {
    /// The format of faults for the client.
    client: Client,
    content_type: Option<String>,
    content_encoding: Option<String>,
    soap_action: Option<String>,
}

/// The inputs for compiling a policy, in addition to its settings.
pub(crate) struct Surroundings<'a> {
    pub(crate) upstreams: &'a [String],
    /// The maximum size of a request after decompression, in bytes.
    pub(crate) request_bytes: usize,
    /// The maximum size of a response after decompression, in bytes.
    pub(crate) response_bytes: usize,
    /// True if settings are only checked and no definition is compiled.
    pub(crate) is_check: bool,
}

impl Soap {
    pub(crate) fn new(
        at: usize,
        policy: &settings::SoapPolicy,
        around: &Surroundings<'_>,
    ) -> Result<Self, Vec<ConfigError>> {
        let mut mistakes = Vec::new();
        for (direction, chain) in policy.chains() {
            if chain.cache_ttl.as_nanos() == 0 {
                let message = "with a time of 0, definitions would be compiled continuously";
                let mistake = ConfigError::new(message, "write a duration such as \"1h\"");
                mistakes.push(mistake.below(format!("/{direction}/cache_ttl")));
            }
        }
        let targets = redirects(policy, around.upstreams, &mut mistakes);
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let mut compile = |direction: &str, chain: &Option<SoapChain>, body_bytes: usize| {
            let chain = chain.as_ref().filter(|_| !around.is_check)?;
            let compiled = compiled(chain, body_bytes);
            let compiled =
                compiled.map_err(|wrong| mistakes.push(wrong.below(format!("/{direction}"))));
            compiled.ok().map(Arc::new)
        };
        let made = Self {
            at,
            request: compile("request", &policy.request, around.request_bytes),
            response: compile("response", &policy.response, around.response_bytes),
            targets,
            is_verbose: policy.chains().any(|(_, chain)| chain.verbose),
        };
        ConfigError::unless(mistakes, made)
    }

    pub(crate) fn has_request(&self) -> bool {
        self.request.is_some()
    }

    pub(crate) fn has_response(&self) -> bool {
        self.response.is_some()
    }

    /// Returns the chains, whose definitions must be recompiled when they expire.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &Arc<SoapPolicy>> {
        self.request.iter().chain(&self.response)
    }

    /// Returns the mistakes in the definitions, with places relative to the list of policies.
    pub(crate) fn problems(&self) -> impl Iterator<Item = ConfigError> {
        let request = self.request.iter().map(|policy| ("request", policy));
        let both = request.chain(self.response.iter().map(|policy| ("response", policy)));
        both.flat_map(move |(direction, policy)| {
            let problems = policy.problems().into_iter();
            problems.map(move |(name, why)| {
                let place = format!("/{}/soap/{direction}/{name}", self.at);
                ConfigError::unusable(why).below(place)
            })
        })
    }

    /// Processes a request along its chain, from the beginning or from the step that waited.
    /// Without a chain, the request passes through unchanged.
    pub(crate) fn process_request(
        &self,
        request: &Collected,
        passage: &Passage,
        waited: Option<(Paused, Made)>,
    ) -> Result<Progress, Fault> {
        let Some(policy) = &self.request else {
            return Ok(passage.unchanged());
        };
        let request = Request {
            content_type: passage.content_type.as_deref(),
            content_encoding: passage.content_encoding.as_deref(),
            soap_action: passage.soap_action.as_deref(),
            body: &request.body,
        };
        policy.advance_request(&request, waited)
    }

    /// Applies the result of a chain to a request; returns the new target if the chain changes it.
    pub(crate) fn pass_request(
        &self,
        request: &mut Collected,
        passage: &mut Passage,
        passed: Passed,
    ) -> Option<&Redirect> {
        passage.client = passed.client;
        let target = passed.target.and_then(|number| self.targets.get(number));
        take_over(request, passed);
        target
    }

    pub(crate) fn process_response(
        &self,
        collected: &Collected,
        status: u16,
        passage: &Passage,
        waited: Option<(Paused, Made)>,
    ) -> Result<Progress, Fault> {
        let Some(policy) = &self.response else {
            return Ok(passage.unchanged());
        };
        let response = Response {
            status,
            content_type: passage.content_type.as_deref(),
            content_encoding: passage.content_encoding.as_deref(),
            body: &collected.body,
            client: passage.client,
        };
        policy.advance_response(&response, waited)
    }

    /// Returns the fault for a failure with this status outside the chains; `None` for a JSON
    /// client.
    pub(crate) fn fault_of_status(&self, status: u16, passage: &Passage) -> Option<Fault> {
        Fault::of_status(status, passage.client, self.is_verbose)
    }
}

impl Passage {
    /// Keeps the fields of a request's head that the chains use.
    pub(crate) fn begin(&mut self, head: &Head<'_>) {
        self.turn(head);
        self.soap_action = text(head, "SOAPAction");
        self.client = Client::of(self.content_type.as_deref());
    }

    fn unchanged(&self) -> Progress {
        Progress::Done(Passed {
            client: self.client,
            ..Passed::default()
        })
    }

    /// Keeps the fields that describe the body of the message to process next, which is the request
    /// or the response.
    pub(crate) fn turn(&mut self, head: &Head<'_>) {
        self.content_type = text(head, "Content-Type");
        self.content_encoding = text(head, "Content-Encoding");
    }
}

/// Returns the value of a field. Several lines are joined into one list (RFC 9110 5.3); otherwise,
/// a chain would use the first line, and the upstream might use another.
fn text(head: &Head<'_>, name: &str) -> Option<String> {
    let lines = head.fields();
    let mut lines = lines.filter(|field| field.name.eq_ignore_ascii_case(name));
    let first = lines.next()?;
    let mut text = String::from_utf8_lossy(first.value).into_owned();
    for more in lines {
        text.push_str(", ");
        text.push_str(&String::from_utf8_lossy(more.value));
    }
    Some(text)
}

pub(crate) fn take_over(message: &mut Collected, passed: Passed) {
    if let Some(body) = passed.body {
        message.body = body;
    }
    if let Some(content_type) = passed.content_type {
        message.set_field("Content-Type", content_type);
    }
}

fn redirects(
    policy: &settings::SoapPolicy,
    upstreams: &[String],
    mistakes: &mut Vec<ConfigError>,
) -> Vec<Redirect> {
    let mut redirects = Vec::new();
    let request = policy.request.iter();
    let targets = request.flat_map(|chain| &chain.route_xpath_targets);
    for (at, target) in targets.enumerate() {
        let named = target.upstream.as_ref();
        let upstream = named.and_then(|name| upstreams.iter().position(|one| one == name));
        if let Some(name) = named
            && upstream.is_none()
        {
            let place = format!("/request/route_xpath_targets/{at}/upstream");
            let message = format!("there is no upstream \"{name}\"");
            let remedy = format!("write one of: {}", upstreams.join(", "));
            mistakes.push(ConfigError::new(message, remedy).below(place));
        }
        redirects.push(Redirect {
            path: target.path.clone(),
            upstream,
        });
    }
    redirects
}

fn compiled(chain: &SoapChain, body_bytes: usize) -> Result<SoapPolicy, ConfigError> {
    let mut options = options(chain, body_bytes);
    if chain.xslt_library == XsltLibrary::Saxon {
        options.saxon = Some(helpers::helpers()?);
    }
    SoapPolicy::compile(options, Arc::new(OnDisk)).map_err(|why| ConfigError::from(why.to_string()))
}

fn options(chain: &SoapChain, body_bytes: usize) -> Options {
    let source = |text: &Option<String>| text.as_deref().map(Source::detect);
    let pair = |(name, value): (&String, &String)| (name.clone(), value.clone());
    let targets = chain.route_xpath_targets.iter().map(|target| Target {
        xpath: target.xpath.clone(),
        equals: target.condition.clone(),
    });
    let includes = chain.includes.iter();
    let defaults = Options::default();
    Options {
        xslt_before: source(&chain.xslt_transform_before),
        xslt_after: source(&chain.xslt_transform_after),
        xslt_params: chain.xslt_params.iter().map(pair).collect(),
        xslt_remove_empty_namespace: chain.xslt_remove_empty_name_space,
        soap_schema: source(&chain.xsd_soap_schema).or(defaults.soap_schema),
        soap12_schema: source(&chain.xsd_soap12_schema),
        api_schema: source(&chain.xsd_api_schema),
        includes: includes
            .map(|(location, text)| (location.clone(), Source::detect(text)))
            .collect(),
        ttl: chain.cache_ttl.0,
        is_verbose: chain.verbose,
        soap_action: match chain.soap_action {
            settings::SoapAction::No => SoapAction::No,
            settings::SoapAction::Yes => SoapAction::Yes,
            settings::SoapAction::YesNullAllowed => SoapAction::YesNullAllowed,
        },
        targets: targets.collect(),
        namespaces: chain.route_xpath_register_ns.iter().map(pair).collect(),
        ignore_if_upstream_error: chain.ignore_process_if_service_http_error,
        saxon: None,
        limits: Limits::for_bodies_of(body_bytes),
    }
}

/// Reads the local files that definitions name or import; refuses URLs, so nothing is fetched over
/// the network.
pub(super) struct OnDisk;

impl Files for OnDisk {
    fn read(&self, location: &str) -> Result<Vec<u8>, Unreadable> {
        let location = location.to_owned();
        if location.contains("://") {
            return Err(Unreadable::NotFetched(location));
        }
        std::fs::read(&location).map_err(|error| Unreadable::Io { location, error })
    }
}
