//! One operation with its parameters, body and responses.

use gatebench_net::http1::{Framing, Head};

use super::document::{Direction, Document};
use super::media::Media;
use super::of_response;
use super::parameter::Parameter;
use crate::config::ConfigError;
use crate::message::{Body as MessageBody, Refusal, is_empty};

/// Selects the operation that the rest of a request and its response are checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// The index of the operation in the contract.
    pub(super) operation: usize,
    /// The number of the request's Content-Type among those that the operation defines. `None` if
    /// there is no body or no rule for it, or if only responses are checked.
    pub(super) media: Option<u32>,
}

/// Selects the schema that a response's body is checked against, by the numbers of the response and
/// of its Content-Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseCheck {
    response: u32,
    media: Option<u32>,
}

impl ResponseCheck {
    pub(crate) fn wants_body(self) -> bool {
        self.media.is_some()
    }
}

#[derive(Debug)]
pub(crate) struct Operation {
    parameters: Vec<Parameter>,
    body: Option<Body>,
    responses: Vec<Response>,
}

#[derive(Debug)]
struct Body {
    is_required: bool,
    media: Media,
}

#[derive(Debug)]
struct Response {
    statuses: Statuses,
    headers: Vec<Parameter>,
    media: Media,
}

/// The statuses that a response definition applies to, ordered from the most specific to the least
/// specific.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Statuses {
    One(u16),
    /// All statuses with this first digit.
    Class(u16),
    Others,
}

impl Operation {
    pub(super) fn compile(
        document: &Document,
        template: &str,
        item: &str,
        method: &str,
    ) -> Result<Self, Vec<ConfigError>> {
        let pointer = format!("{item}/{method}");
        let mut mistakes = Vec::new();
        let own = parameters(document, &format!("{pointer}/parameters"), &mut mistakes);
        let mut all = parameters(document, &format!("{item}/parameters"), &mut mistakes);
        all.retain(|common| !own.iter().any(|one| one.overrides(common)));
        all.extend(own);
        let place = format!("{pointer}/requestBody");
        let body = document.at(&place);
        let body = body.map(|_| Body::compile(document, &place));
        let body = ConfigError::gather(body, &mut mistakes).pop();
        let responses = document.entries(&format!("{pointer}/responses"));
        let responses = responses
            .into_iter()
            .map(|(word, place)| Response::compile(document, &word, &place));
        let mut responses = ConfigError::gather(responses, &mut mistakes);
        responses.sort_by_key(|response| response.statuses);
        let name = format!("{} {template}", method.to_ascii_uppercase());
        for mistake in &mut mistakes {
            mistake.message.insert_str(0, &format!("{name}: "));
        }
        let operation = Self {
            parameters: all,
            body,
            responses,
        };
        ConfigError::unless(mistakes, operation)
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().filter_map(Parameter::header)
    }

    pub(super) fn judge_parameters(
        &self,
        head: &Head<'_>,
        in_path: &[(&str, &str)],
    ) -> Result<(), Box<Refusal>> {
        let mut parameters = self.parameters.iter();
        parameters.try_for_each(|parameter| parameter.judge(head, in_path))
    }

    /// Checks that a required body exists, that a body's Content-Type is defined, and that a body
    /// to be parsed is not compressed. Returns the number of the Content-Type; `None` if there is
    /// no body or no rule for it.
    pub(super) fn judge_body_type(&self, head: &Head<'_>) -> Result<Option<u32>, Box<Refusal>> {
        let Some(body) = &self.body else {
            return Ok(None);
        };
        if is_empty(head) {
            if body.is_required {
                return Err(Refusal::new(400, "the body is missing"));
            }
            return Ok(None);
        }
        let stated = MessageBody::of_request(head).map_err(|words| Refusal::new(400, words))?;
        let found = stated.content_type.and_then(|kind| body.media.find(kind));
        let Some(number) = found else {
            let words = "the OpenAPI document does not define the Content-Type";
            return Err(Refusal::new(415, words));
        };
        if body.media.is_read(number) && stated.is_coded {
            return Err(Refusal::new(415, COMPRESSED));
        }
        Ok(Some(number))
    }

    pub(crate) fn reads_body(&self, check: Check) -> bool {
        let body = self.body.as_ref().zip(check.media);
        body.is_some_and(|(body, number)| body.media.is_read(number))
    }

    pub(crate) fn judge_body(&self, check: Check, bytes: &[u8]) -> Result<(), Box<Refusal>> {
        let Some((body, number)) = self.body.as_ref().zip(check.media) else {
            return Ok(());
        };
        if bytes.is_empty() && !body.is_required {
            return Ok(());
        }
        let judged = body.media.judge(number, bytes);
        judged.map_err(|words| Refusal::new(400, words))
    }

    /// Checks the head of a response. Returns the schema that its body is checked against.
    pub(crate) fn judge_response(&self, head: &Head<'_>) -> Result<ResponseCheck, Box<Refusal>> {
        let status = head.status();
        let fits = |response: &Response| match response.statuses {
            Statuses::One(one) => one == status,
            Statuses::Class(class) => class == status / 100,
            Statuses::Others => true,
        };
        let Some(at) = self.responses.iter().position(fits) else {
            return Err(of_response(format!(
                "it does not define the status {status}"
            )));
        };
        let response = &self.responses[at];
        for header in &response.headers {
            header
                .judge_words(head, &[])
                .map_err(|words| of_response(format!("the header `{}`: {words}", header.name)))?;
        }
        let has_no_body = head.framing() == Framing::None;
        let mut check = ResponseCheck {
            response: at as u32,
            media: None,
        };
        if response.media.is_empty() || has_no_body {
            return Ok(check);
        }
        let stated = MessageBody::of(head).map_err(of_response)?;
        let found = stated.content_type;
        let Some(number) = found.and_then(|kind| response.media.find(kind)) else {
            return Err(of_response("it does not define the Content-Type"));
        };
        if response.media.is_read(number) {
            if stated.is_coded {
                return Err(of_response(COMPRESSED));
            }
            check.media = Some(number);
        }
        Ok(check)
    }

    pub(crate) fn judge_response_body(
        &self,
        check: ResponseCheck,
        body: &[u8],
    ) -> Result<(), Box<Refusal>> {
        let response = self.responses.get(check.response as usize);
        let Some((response, number)) = response.zip(check.media) else {
            return Ok(());
        };
        response.media.judge(number, body).map_err(of_response)
    }
}

const COMPRESSED: &str = "the body is compressed and cannot be inspected";

impl Body {
    fn compile(document: &Document, place: &str) -> Result<Self, Vec<ConfigError>> {
        let pointer = document.resolve(place)?;
        let content = format!("{pointer}/content");
        Ok(Self {
            is_required: document.flag(&pointer, "required").unwrap_or(false),
            media: Media::compile(document, &content, Direction::Request)?,
        })
    }
}

impl Response {
    fn compile(document: &Document, word: &str, place: &str) -> Result<Self, Vec<ConfigError>> {
        let statuses = match (word, word.as_bytes()) {
            ("default", _) => Statuses::Others,
            (_, [class @ b'1'..=b'5', b'X' | b'x', b'X' | b'x']) => {
                Statuses::Class(u16::from(class - b'0'))
            }
            _ => {
                let remedy = "write a status such as 200, 2XX or default";
                let wrong = |_| ConfigError::new("this is not a status", remedy).below(place);
                Statuses::One(word.parse::<u16>().map_err(wrong)?)
            }
        };
        let pointer = document.resolve(place)?;
        let mut headers = Vec::new();
        for (name, place) in document.entries(&format!("{pointer}/headers")) {
            if !name.eq_ignore_ascii_case("content-type") {
                let place = document.resolve(&place)?;
                headers.push(Parameter::of_response(document, &place, &name)?);
            }
        }
        Ok(Self {
            statuses,
            headers,
            media: Media::compile(document, &format!("{pointer}/content"), Direction::Response)?,
        })
    }
}

fn parameters(
    document: &Document,
    pointer: &str,
    mistakes: &mut Vec<ConfigError>,
) -> Vec<Parameter> {
    let places = document.items(pointer);
    let found = places.filter_map(|place| {
        let pointer = document.resolve(&place);
        let found = pointer.and_then(|pointer| Parameter::compile(document, &pointer));
        found.transpose()
    });
    ConfigError::gather(found, mistakes)
}
