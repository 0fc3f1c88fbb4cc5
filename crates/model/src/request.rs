//! A request and the conditions on its responses.

use std::collections::BTreeMap;
use std::fmt;

use gatebench_config::schema_fragments;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::body::{Body, FILLER};
use crate::{basic_auth, repeat};

/// One request of the load, or of a parity case.
///
/// In a load, the path, the values of headers other than Host, and a text body are templates
/// ([`Template`](crate::template::Template)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = repeat::describe, transform = basic_auth::describe)]
pub struct Request {
    /// The name in reports [default: the method and the path as written].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The frequency of the request, relative to the other requests of its group.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 0.001, max = 1_000_000.0))]
    pub weight: f64,
    /// The method [default: GET].
    #[serde(default = "get")]
    #[schemars(schema_with = "schema_fragments::method")]
    pub method: String,
    /// Path and query, beginning with `/`.
    #[schemars(schema_with = "schema_fragments::path")]
    pub path: String,
    /// Headers in addition to Host, Content-Length, Connection and gatebench-nonce, which gatebench
    /// adds where needed. A Host header given here replaces gatebench's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// A file whose contents become `body`; its path is relative to the scenario's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_file: Option<String>,
    /// The conditions on each response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// The request and checks of the direct variant, if the gateway changes the request or the
    /// response: what the gateway would send to the upstream. It has no effect in a parity case,
    /// which the direct variant does not send.
    #[serde(alias = "floor", default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("aliases" = ["floor"]))]
    pub direct: Option<DirectRequest>,
}

/// The parts of a request that differ in the direct variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// The conditions on each response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
}

fn get() -> String {
    "GET".into()
}

pub(crate) fn one() -> f64 {
    1.0
}

fn is_one(weight: &f64) -> bool {
    *weight == 1.0
}

impl Request {
    /// A request without headers, body or checks, whose `path` may be a template.
    pub fn new(method: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            weight: 1.0,
            method: method.into(),
            path: path.into(),
            ..Self::default()
        }
    }

    pub fn to_direct(&self) -> Self {
        let mut request = Self {
            direct: None,
            ..self.clone()
        };
        if let Some(direct) = self.direct.clone() {
            request.headers = direct.headers.unwrap_or(request.headers);
            request.body = direct.body.or(request.body);
            request.checks = direct.checks.unwrap_or(request.checks);
        }
        request
    }

    /// Returns the value of the request's own Host header, which replaces the server's address, or
    /// `None` if the request has no such header.
    pub fn host(&self) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(name, _)| is_host(name))?;
        Some(value)
    }

    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.headers.iter().filter(|(name, _)| !is_host(name));
        all.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("{} {}", self.method, self.path),
        }
    }

    /// Reports whether both requests consist of the same bytes. Their checks may differ.
    pub(crate) fn asks_the_same(&self, other: &Self) -> bool {
        (&self.method, &self.path) == (&other.method, &other.path)
            && (&self.headers, &self.body) == (&other.headers, &other.body)
    }

    /// Reports whether a check requires or permits a refusal, which is a status from 400 to 499.
    pub(crate) fn wants_refusal(&self) -> bool {
        let is_refusal = |status: &u16| (400..=499).contains(status);
        let refusal = |check: &Check| match check {
            Check::Status(status) => is_refusal(status),
            Check::StatusIn(statuses) => statuses.iter().any(is_refusal),
            _ => false,
        };
        self.checks.iter().any(refusal)
    }
}

fn is_host(name: &str) -> bool {
    name.eq_ignore_ascii_case("host")
}

/// One condition on a response. All conditions of a request must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The status has this value.
    Status(#[schemars(range(min = 100, max = 599))] u16),
    /// The status is one of these. This is for requests that a gateway may forward or refuse.
    StatusIn(#[schemars(schema_with = "schema_fragments::statuses")] Vec<u16>),
    /// A header is present and has exactly this value.
    Header(HeaderCheck),
    /// There is no header with this name.
    HeaderAbsent(#[schemars(schema_with = "schema_fragments::header_name")] String),
    /// The whole body is exactly this text.
    BodyEquals(String),
    /// The body has this many bytes as received, before gzip is decoded. This check alone does not
    /// make the load generator store the body.
    BodyBytes(u64),
    /// The body contains this text.
    BodyContains(String),
    /// The body is JSON, and the value at a path equals the given one.
    Json(JsonCheck),
    /// The body is JSON, and there is no value at this path (a JSON Pointer, RFC 6901).
    JsonAbsent(#[schemars(schema_with = "schema_fragments::json_pointer")] String),
}

/// The number of characters after which the expected text of a body is cut off in reports.
const SHOWN_CHARS: usize = 40;

/// The form shown in reports: `status is 200`.
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status is {status}"),
            Self::StatusIn(statuses) => {
                let words: Vec<String> = statuses.iter().map(u16::to_string).collect();
                write!(f, "status is {}", words.join(" or "))
            }
            Self::HeaderAbsent(name) => write!(f, "there is no header {name}"),
            Self::JsonAbsent(path) => write!(f, "there is no JSON at '{path}'"),
            Self::Header(header) => write!(f, "header {} is '{}'", header.name, header.equals),
            Self::BodyEquals(text) => write!(f, "body is '{}'", shortened(text)),
            Self::BodyBytes(1) => f.write_str("body has 1 byte"),
            Self::BodyBytes(bytes) => write!(f, "body has {bytes} bytes"),
            Self::BodyContains(text) => write!(f, "body contains '{}'", shortened(text)),
            Self::Json(json) => write!(f, "JSON at '{}' is {}", json.path, json.equals),
        }
    }
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// A header, and the value that it must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderCheck {
    /// The name; case is ignored.
    #[schemars(schema_with = "schema_fragments::header_name")]
    pub name: String,
    /// The exact value.
    pub equals: String,
}

/// A position in a JSON document, and the required value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonCheck {
    /// JSON Pointer (RFC 6901): `/result`, `/items/0/name`; the empty string is the whole document.
    #[schemars(schema_with = "schema_fragments::json_pointer")]
    pub path: String,
    /// The value, compared as JSON.
    pub equals: serde_json::Value,
}
