//! Checks requests and responses against a compiled document in OpenAPI 3.0 or 3.1.
//!
//! The checks of a request cover the path and its parameters, the query, header and cookie
//! parameters, the Content-Type, and JSON, form and text bodies. The checks of a response cover the
//! status, the headers, the Content-Type, and bodies of the same kinds. Of other bodies, only the
//! Content-Type is checked. The document's paths are compared with the paths that the upstream
//! gets; the prefix in `servers` is ignored. Security requirements are left to other policies. A
//! discriminator is ignored, because `oneOf` and `anyOf` express the same constraints. References
//! to other documents are mistakes, so nothing is fetched.
//!
//! A message is refused if a check depends on a value that occurs twice: two Content-Types or
//! Content-Encodings, a repeated parameter that is not a list, or a repeated member in JSON. The
//! next reader of the message could use the other value.

mod document;
pub(crate) mod json;
mod media;
mod operation;
mod parameter;
mod paths;
mod schema;
mod shape;

use std::fmt::Display;

use gatebench_model::policy::OpenapiPolicy;
use gatebench_net::http1::Head;

use crate::config::{ConfigError, Paths as Spellings};
use crate::message::Refusal;
use crate::path::{encoded, normalized, strip, without_parameters};
use document::Document;
use paths::Paths;

pub(crate) use operation::{Check, Operation, ResponseCheck};

#[derive(Debug)]
pub(crate) struct Contract {
    paths: Paths,
    operations: Vec<Operation>,
    /// The prefix that the route removes from the path.
    prefix: Option<String>,
    are_requests: bool,
    pub(crate) are_responses: bool,
}

impl Contract {
    /// Compiles a policy's document. The policy contains either its text, in JSON or YAML, or the
    /// path of its file: a single line that does not begin with `{`. `spellings` are those of the
    /// route, because the paths of strict routes arrive in normal form.
    pub(crate) fn new(
        policy: &OpenapiPolicy,
        prefix: Option<String>,
        spellings: Spellings,
    ) -> Result<Self, Vec<ConfigError>> {
        let written = policy.document.trim();
        let document = if written.starts_with('{') || written.contains('\n') {
            Document::read(&policy.document)?
        } else {
            let text = std::fs::read_to_string(written).map_err(|error| {
                let message = format!("the file {written} cannot be read: {error}");
                ConfigError::new(message, "check the path")
            })?;
            Document::read(&text)?
        };
        let mut paths = Paths::new(match spellings {
            Spellings::Strict => normalized,
            Spellings::Verbatim => encoded,
        });
        let mut operations = Vec::new();
        let mut mistakes = Vec::new();
        for (template, pointer) in ConfigError::gather(document.path_items(), &mut mistakes) {
            let methods = document.methods(&pointer);
            let mut named = Vec::new();
            for method in methods {
                match Operation::compile(&document, &template, &pointer, method) {
                    Ok(operation) => {
                        named.push((method.to_ascii_uppercase(), operations.len()));
                        operations.push(operation);
                    }
                    Err(wrong) => mistakes.extend(wrong),
                }
            }
            if let Err(wrong) = paths.add(&template, named) {
                mistakes.push(wrong.below(pointer));
            }
        }
        if operations.is_empty() && mistakes.is_empty() {
            let mistake = ConfigError::new("the document has no operation", "add one");
            mistakes.push(mistake.below("/paths"));
        }
        let contract = Self {
            paths,
            operations,
            prefix,
            are_requests: policy.requests,
            are_responses: policy.responses,
        };
        ConfigError::unless(mistakes, contract)
    }

    /// Returns the names of the header parameters of all operations.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &str> {
        self.operations.iter().flat_map(Operation::headers)
    }

    /// Checks the head of a request for this path. Returns the operation and the entry for the
    /// body's Content-Type; `None` if only responses are checked and the operation is not in the
    /// document.
    pub(crate) fn judge(&self, head: &Head<'_>, path: &str) -> Result<Option<Check>, Box<Refusal>> {
        let path = match &self.prefix {
            Some(prefix) => strip(path, prefix),
            None => path,
        };
        let path = if path.is_empty() { "/" } else { path };
        if self.are_requests && path.contains(';') {
            self.judge_parameters_of_path(path)?;
        }
        let found = self.paths.find(path);
        let number = found.as_ref().and_then(|it| it.operation(head.method()));
        let (found, number) = match (found, number) {
            (Some(found), Some(number)) => (found, number),
            _ if !self.are_requests => return Ok(None),
            (None, _) => {
                let words = "the OpenAPI document does not define the path";
                return Err(Refusal::new(404, words));
            }
            (Some(found), None) => {
                let words = "the OpenAPI document does not define the method";
                let mut refusal = Refusal::new(405, words);
                refusal.allow = Some(found.allow());
                return Err(refusal);
            }
        };
        let operation = &self.operations[number];
        let mut check = Check {
            operation: number,
            media: None,
        };
        if self.are_requests {
            operation.judge_parameters(head, &found.values)?;
            check.media = operation.judge_body_type(head)?;
        }
        Ok(Some(check))
    }

    /// Refuses a path whose path item would change if the text after `;` were dropped from its
    /// segments, because some upstreams drop that text.
    fn judge_parameters_of_path(&self, path: &str) -> Result<(), Box<Refusal>> {
        let bare = without_parameters(path);
        let (with, without) = (self.paths.find(path), self.paths.find(&bare));
        let are_same = match (&with, &without) {
            (Some(with), Some(without)) => with.is_of_item(without),
            (with, without) => with.is_none() && without.is_none(),
        };
        if are_same {
            return Ok(());
        }
        let words = "some upstreams ignore the text after `;`, so the path may belong to another operation; leave that text out";
        Err(Refusal::new(400, words))
    }

    pub(crate) fn operation(&self, check: Check) -> &Operation {
        &self.operations[check.operation]
    }
}

fn of_response(words: impl Display) -> Box<Refusal> {
    let words = format!("the OpenAPI document does not allow the upstream's response: {words}");
    Refusal::new(502, words)
}
