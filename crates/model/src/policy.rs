//! The policies of a route: what a gateway does to requests and answers on the way.

use std::collections::BTreeMap;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::soap::SoapPolicy;

/// A policy of a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The request must carry the key of a consumer in this header, else 401.
    ApiKey(ApiKeyPolicy),
    /// The request must carry the key of a consumer in this parameter of its query, else 401.
    ApiKeyQuery(ApiKeyQueryPolicy),
    /// The request must carry the name and the password of a consumer (RFC 7617), else 401.
    BasicAuth(BasicAuthPolicy),
    /// The request must carry a signed token (RFC 7519, RFC 6750), else 401.
    Jwt(JwtPolicy),
    /// Tells the upstream which consumer calls, as a policy before this one has found.
    ConsumerHeader(ConsumerHeaderPolicy),
    /// So many requests in a window of time; those beyond are answered with 429.
    RateLimit(RateLimitPolicy),
    /// The same, counted in Redis, so that several gateways share a limit.
    RedisRateLimit(Box<RedisRateLimitPolicy>),
    /// A request with a larger body is answered with 413.
    RequestSizeLimit(RequestSizeLimitPolicy),
    /// Holds requests, and answers where asked, against an OpenAPI document.
    Openapi(OpenapiPolicy),
    /// Changes the headers that the upstream sees.
    RequestHeaders(HeaderEdits),
    /// Changes the headers that the client sees of the upstream's answers.
    ResponseHeaders(HeaderEdits),
    /// Changes the JSON that the upstream sees; other bodies pass as they are.
    RequestJson(JsonEdits),
    /// Changes the JSON that the client sees; other bodies pass as they are.
    ResponseJson(JsonEdits),
    /// Makes another document of answers in XML, by a stylesheet.
    ResponseXslt(XsltPolicy),
    /// Validates, transforms and routes SOAP and XML.
    Soap(Box<SoapPolicy>),
    /// The gateway answers by itself.
    Mock(MockPolicy),
}

impl Policy {
    /// The words of all policies.
    pub const KINDS: [&str; 16] = [
        "api_key",
        "api_key_query",
        "basic_auth",
        "jwt",
        "consumer_header",
        "rate_limit",
        "redis_rate_limit",
        "request_size_limit",
        "openapi",
        "request_headers",
        "response_headers",
        "request_json",
        "response_json",
        "response_xslt",
        "soap",
        "mock",
    ];

    /// The word used in files and in the list of what a gateway supports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ApiKey(_) => "api_key",
            Self::ApiKeyQuery(_) => "api_key_query",
            Self::BasicAuth(_) => "basic_auth",
            Self::Jwt(_) => "jwt",
            Self::ConsumerHeader(_) => "consumer_header",
            Self::RateLimit(_) => "rate_limit",
            Self::RedisRateLimit(_) => "redis_rate_limit",
            Self::RequestSizeLimit(_) => "request_size_limit",
            Self::Openapi(_) => "openapi",
            Self::RequestHeaders(_) => "request_headers",
            Self::ResponseHeaders(_) => "response_headers",
            Self::RequestJson(_) => "request_json",
            Self::ResponseJson(_) => "response_json",
            Self::ResponseXslt(_) => "response_xslt",
            Self::Soap(_) => "soap",
            Self::Mock(_) => "mock",
        }
    }

    /// What its settings need beyond the policy itself, by the words of a gateway's list of extras.
    pub fn extra(&self) -> Option<&'static str> {
        match self {
            Self::Soap(soap) if soap.uses_saxon() => Some("saxon"),
            _ => None,
        }
    }
}

/// Settings of `api_key`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiKeyPolicy {
    /// The header that carries the key.
    #[schemars(schema_with = "schema_fragments::header_name")]
    pub header: String,
}

/// Settings of `api_key_query`. The query goes on as it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiKeyQueryPolicy {
    /// The parameter that carries the key.
    pub name: String,
}

/// Settings of `consumer_header`. What the client sent under that name does not go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumerHeaderPolicy {
    /// The header that gets the name of the consumer.
    #[schemars(schema_with = "schema_fragments::header_name")]
    pub header: String,
}

/// Settings of `basic_auth`. The user is the name of a consumer who has a password.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BasicAuthPolicy {
    /// What the challenge calls the place.
    #[serde(default = "realm")]
    pub realm: String,
}

fn realm() -> String {
    "gatebench".into()
}

/// Settings of `jwt`. The token stands in `Authorization: Bearer`. Its `exp` and `nbf` are checked
/// where it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtPolicy {
    /// The keys that may have signed it; one whose `id` the token names, else each of its algorithm.
    #[serde(default)]
    pub keys: Vec<JwtKey>,
    /// More keys, as a JSON Web Key Set (RFC 7517): `oct` and `RSA` keys.
    #[serde(default)]
    pub jwks: Option<BTreeMap<String, Value>>,
    /// What `iss` must be.
    #[serde(default)]
    pub issuer: Option<String>,
    /// What `aud` must be, or contain.
    #[serde(default)]
    pub audience: Option<String>,
    /// By how much the clocks of signer and gateway may differ.
    #[serde(default)]
    pub leeway: HumanDuration,
}

/// A key by its algorithm (RFC 7518 section 3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JwtKey {
    /// HMAC with SHA-256.
    Hs256(JwtSecret),
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256(JwtPublicKey),
}

/// A secret of signer and gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtSecret {
    /// Its bytes, as text; at least 32 (RFC 7518 section 3.2).
    pub secret: String,
    /// The `kid` of tokens that it has signed.
    #[serde(default)]
    pub id: Option<String>,
}

/// The public half of the signer's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtPublicKey {
    /// In PEM, from `-----BEGIN PUBLIC KEY-----` on; at least 2048 bits.
    pub public_key: String,
    /// The `kid` of tokens that it has signed.
    #[serde(default)]
    pub id: Option<String>,
}

/// Settings of `rate_limit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateLimitPolicy {
    /// Requests in a window.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub limit: u64,
    /// The window.
    pub window: HumanDuration,
    /// What is counted apart.
    #[serde(default)]
    pub per: RateLimitKey,
    /// The header whose values are counted apart, with `per: header`.
    #[serde(default)]
    #[schemars(schema_with = "schema_fragments::optional_header_name")]
    pub header: Option<String>,
    /// Whether answers carry RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset.
    #[serde(default)]
    pub headers: bool,
}

/// Settings of `redis_rate_limit`. The first request opens a window, which Redis ends (INCRBY, PEXPIRE).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedisRateLimitPolicy {
    /// Requests in a window.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub limit: u64,
    /// The window.
    pub window: HumanDuration,
    /// What is counted apart.
    #[serde(default)]
    pub per: RateLimitKey,
    /// The header whose values are counted apart, with `per: header`.
    #[serde(default)]
    #[schemars(schema_with = "schema_fragments::optional_header_name")]
    pub header: Option<String>,
    /// Whether answers carry RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset.
    #[serde(default)]
    pub headers: bool,
    /// Where Redis listens, as 127.0.0.1:6379; without, gatebench starts one for each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<String>,
    /// What it is told with AUTH.
    #[serde(default)]
    pub password: Option<String>,
    /// Whether a request waits for Redis.
    #[serde(default)]
    pub counting: RedisCounting,
    /// With `asynchronous`: how often counts are exchanged with Redis.
    #[serde(default = "hundred_ms")]
    pub interval: HumanDuration,
    /// How long Redis has for an answer.
    #[serde(default = "hundred_ms")]
    pub timeout: HumanDuration,
    /// What becomes of requests while Redis does not answer.
    #[serde(default)]
    pub without_redis: WithoutRedis,
}

fn hundred_ms() -> HumanDuration {
    HumanDuration::from_millis(100)
}

/// Whether a request waits for Redis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedisCounting {
    /// It does: the limit holds exactly.
    #[default]
    Synchronous,
    /// It does not: each worker lets through what it does not know to be too much, so beyond the limit passes
    /// at most what the other workers, of all gateways, let through within an interval.
    Asynchronous,
}

/// What becomes of requests while Redis does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WithoutRedis {
    /// They pass uncounted.
    #[default]
    Allow,
    /// They are answered with 503.
    Refuse,
}

/// What a rate limit counts apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateLimitKey {
    /// All requests of the route together.
    #[default]
    Route,
    /// Each consumer whom a policy before this one has found.
    Consumer,
    /// Each value of a header.
    Header,
}

/// Settings of `request_size_limit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSizeLimitPolicy {
    /// Bytes of the largest body that is let through.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub max_bytes: u64,
}

/// Settings of `openapi`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenapiPolicy {
    /// An OpenAPI 3.0 or 3.1 document, JSON or YAML: the text itself, or its file.
    pub document: String,
    /// Whether requests are held against it: 404 for a path that it does not name, 405 for a method, 415 for a
    /// Content-Type, 400 for the rest.
    #[serde(default = "yes")]
    pub requests: bool,
    /// Whether answers are: what it does not allow becomes 502.
    #[serde(default)]
    pub responses: bool,
}

fn yes() -> bool {
    true
}

/// Settings of `request_headers` and `response_headers`. They act in this order: `remove`, `rename`,
/// `set`, `add`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderEdits {
    /// Headers that are taken out.
    #[serde(default)]
    #[schemars(schema_with = "schema_fragments::header_names")]
    pub remove: Vec<String>,
    /// Headers that get another name.
    #[serde(default)]
    pub rename: BTreeMap<String, String>,
    /// Headers that have this value, whatever they had before.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Headers that are put beside those that are there.
    #[serde(default)]
    pub add: BTreeMap<String, String>,
}

/// Settings of `request_json` and `response_json`. Places are JSON Pointers (RFC 6901) into the document
/// as it came; where the parent of a place is missing, nothing is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEdits {
    /// Members and items that are taken out.
    #[serde(default)]
    #[schemars(schema_with = "schema_fragments::json_pointers")]
    pub remove: Vec<String>,
    /// Members that get another name; a member that has it already is replaced.
    #[serde(default)]
    pub rename: BTreeMap<String, String>,
    /// Values that are put in: a member is replaced, an item is put before the one that is there
    /// (RFC 6902 section 4.1).
    #[serde(default)]
    pub add: BTreeMap<String, Value>,
    /// Values that are put in where there is none.
    #[serde(default)]
    pub default: BTreeMap<String, Value>,
}

impl JsonEdits {
    /// Whether they reach into arrays, or put in a value that is an array or an object: members of objects and
    /// plain values are what every language of JSON edits has words for.
    pub fn has_items(&self) -> bool {
        let values = || self.add.iter().chain(&self.default);
        let places = self.remove.iter().chain(self.rename.keys());
        let is_item = |segment: &str| {
            segment == "-" || !segment.is_empty() && segment.bytes().all(|it| it.is_ascii_digit())
        };
        places
            .chain(values().map(|(place, _)| place))
            .any(|place| place.split('/').any(is_item))
            || values().any(|(_, value)| value.is_array() || value.is_object())
    }
}

/// Settings of `response_xslt`. It acts on answers of the types `text/xml` and `application/xml`; others pass
/// as they are. One that is not well-formed, or of which the stylesheet makes nothing, becomes 500. The result
/// has the `media-type` and the `encoding` of `xsl:output` for its Content-Type; without them HTML is
/// `text/html`, and all else stays what it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XsltPolicy {
    /// A stylesheet in XSLT 1.0: the text itself, or its file.
    pub stylesheet: String,
    /// Values of its parameters, as plain strings.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// Settings of `mock`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MockPolicy {
    /// Status of the answer.
    #[schemars(range(min = 200, max = 599))]
    pub status: u16,
    /// Its Content-Type.
    pub content_type: String,
    /// Its body.
    pub body: String,
}
