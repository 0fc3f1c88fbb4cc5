//! The policies of a route: the checks and changes that a gateway applies to requests and
//! responses.

use std::collections::BTreeMap;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::soap::SoapPolicy;

/// The feature that a gateway needs to run stylesheets with Saxon.
pub(crate) const SAXON: &str = "saxon";

/// A policy of a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// A request without the key of a consumer in the given header is rejected with 401.
    ApiKey(ApiKeyPolicy),
    /// A request without the key of a consumer in the given query parameter is rejected with 401.
    ApiKeyQuery(ApiKeyQueryPolicy),
    /// A request without the name and the password of a consumer (RFC 7617) is rejected with 401.
    BasicAuth(BasicAuthPolicy),
    /// A request without a valid signed token (RFC 7519, RFC 6750) is rejected with 401.
    Jwt(JwtPolicy),
    /// Sends the upstream the name of the consumer that an earlier policy identified.
    ConsumerHeader(ConsumerHeaderPolicy),
    /// Limits the requests in a time window; further requests are rejected with 429.
    RateLimit(RateLimitPolicy),
    /// A rate limit counted in Redis, so that several gateways share it.
    RedisRateLimit(Box<RedisRateLimitPolicy>),
    /// A request whose body is larger than `max_bytes` is rejected with 413.
    RequestSizeLimit(RequestSizeLimitPolicy),
    /// Checks requests, and optionally responses, against an OpenAPI document.
    Openapi(OpenapiPolicy),
    /// Changes the request headers that the upstream receives.
    RequestHeaders(HeaderEdits),
    /// Changes the headers of the upstream's responses.
    ResponseHeaders(HeaderEdits),
    /// Changes the JSON that the upstream receives; other bodies pass through unchanged.
    RequestJson(JsonEdits),
    /// Changes the JSON that the client receives; other bodies pass through unchanged.
    ResponseJson(JsonEdits),
    /// Transforms XML responses with a stylesheet.
    ResponseXslt(XsltPolicy),
    /// Validates, transforms and routes SOAP and XML.
    Soap(Box<SoapPolicy>),
    /// The gateway itself responds to requests.
    Mock(MockPolicy),
}

impl Policy {
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

    /// The name used in files and in the features of a gateway.
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

    /// Returns the feature that the policy's settings need in addition to the policy itself.
    pub fn extra(&self) -> Option<&'static str> {
        match self {
            Self::Soap(soap) if soap.uses_saxon() => Some(SAXON),
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

/// Settings of `api_key_query`. The query is forwarded unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiKeyQueryPolicy {
    /// The parameter that carries the key.
    pub name: String,
}

/// Settings of `consumer_header`. A header with this name from the client is removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumerHeaderPolicy {
    /// The header that carries the name of the consumer.
    #[schemars(schema_with = "schema_fragments::header_name")]
    pub header: String,
}

/// Settings of `basic_auth`. The user is the name of a consumer that has a password.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BasicAuthPolicy {
    /// The realm that the challenge names.
    #[serde(default = "realm")]
    pub realm: String,
}

fn realm() -> String {
    "gatebench".into()
}

/// Settings of `jwt`. The token is in `Authorization: Bearer`. Its `exp` and `nbf` are checked if
/// present.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JwtPolicy {
    /// The keys that may sign tokens. A token is verified with the keys for its algorithm, except
    /// keys whose `id` differs from the token's `kid`.
    pub keys: Vec<JwtKey>,
    /// More keys, as a JSON Web Key Set (RFC 7517). Only its `oct` and `RSA` keys are used.
    pub jwks: Option<BTreeMap<String, Value>>,
    /// The required value of `iss`.
    pub issuer: Option<String>,
    /// The required value of `aud`, or of one of its items.
    pub audience: Option<String>,
    /// The permitted difference between the clocks of the signer and the gateway.
    pub leeway: HumanDuration,
}

/// A key that verifies tokens, by signature algorithm (RFC 7518 section 3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JwtKey {
    /// HMAC with SHA-256.
    Hs256(JwtSecret),
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256(JwtPublicKey),
}

/// A secret shared by the signer and the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtSecret {
    /// The secret as text, of at least 32 bytes (RFC 7518 section 3.2).
    pub secret: String,
    /// The `kid` of tokens that were signed with the secret.
    #[serde(default)]
    pub id: Option<String>,
}

/// The public part of the signer's key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtPublicKey {
    /// The key in PEM, beginning with `-----BEGIN PUBLIC KEY-----`; at least 2048 bits.
    pub public_key: String,
    /// The `kid` of tokens that were signed with the key.
    #[serde(default)]
    pub id: Option<String>,
}

/// Settings of `rate_limit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateLimitPolicy {
    /// The maximum number of requests in a window.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub limit: u64,
    pub window: HumanDuration,
    /// The key by which requests are counted.
    #[serde(default)]
    pub per: RateLimitKey,
    /// With `per: header`: the header whose values are counted separately.
    #[serde(default)]
    #[schemars(schema_with = "schema_fragments::optional_header_name")]
    pub header: Option<String>,
    /// True if responses carry RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset.
    #[serde(default)]
    pub headers: bool,
}

/// Settings of `redis_rate_limit`. The first request begins a window, and Redis ends it (INCRBY,
/// PEXPIRE).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedisRateLimitPolicy {
    /// The maximum number of requests in a window.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub limit: u64,
    pub window: HumanDuration,
    /// The key by which requests are counted.
    #[serde(default)]
    pub per: RateLimitKey,
    /// With `per: header`: the header whose values are counted separately.
    #[serde(default)]
    #[schemars(schema_with = "schema_fragments::optional_header_name")]
    pub header: Option<String>,
    /// True if responses carry RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset.
    #[serde(default)]
    pub headers: bool,
    /// The address of Redis, such as 127.0.0.1:6379 [default: gatebench starts one for each trial].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<String>,
    /// The password for AUTH.
    #[serde(default)]
    pub password: Option<String>,
    /// The point at which Redis counts a request.
    #[serde(default)]
    pub counting: RedisCounting,
    /// With `asynchronous`: the interval at which counts are exchanged with Redis.
    #[serde(default = "hundred_ms")]
    pub interval: HumanDuration,
    /// The timeout for a response from Redis.
    #[serde(default = "hundred_ms")]
    pub timeout: HumanDuration,
    /// The treatment of requests while Redis does not respond.
    #[serde(default)]
    pub without_redis: WithoutRedis,
}

fn hundred_ms() -> HumanDuration {
    HumanDuration::from_millis(100)
}

/// The point at which Redis counts a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedisCounting {
    /// Before the request is forwarded, so the limit is exact.
    #[default]
    Synchronous,
    /// After the request is forwarded. Each worker limits requests based on the counts from the
    /// last exchange. The limit is exceeded by at most the number of requests that the other
    /// workers of all gateways allow within an interval and one response time of Redis.
    Asynchronous,
}

/// The treatment of requests while Redis does not respond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WithoutRedis {
    /// Requests are forwarded without being counted.
    #[default]
    Allow,
    /// Requests are rejected with 503.
    Refuse,
}

/// The key by which a rate limit counts requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateLimitKey {
    /// All requests of the route together.
    #[default]
    Route,
    /// Each consumer that an earlier policy identified.
    Consumer,
    /// Each value of a header.
    Header,
}

/// Settings of `request_size_limit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSizeLimitPolicy {
    /// The maximum size of a body, in bytes.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub max_bytes: u64,
}

/// Settings of `openapi`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenapiPolicy {
    /// An OpenAPI 3.0 or 3.1 document in JSON or YAML: its text, or the path of its file.
    pub document: String,
    /// True if requests are checked: an unknown path gets 404, a wrong method 405, a wrong
    /// Content-Type 415, and anything else 400.
    #[serde(default = "yes")]
    pub requests: bool,
    /// True if responses are checked as well. A response that violates the document is replaced
    /// with 502.
    #[serde(default)]
    pub responses: bool,
}

fn yes() -> bool {
    true
}

/// Settings of `request_headers` and `response_headers`. The edits are applied in this order:
/// `remove`, `rename`, `set`, `add`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HeaderEdits {
    /// The names of headers to remove.
    #[schemars(schema_with = "schema_fragments::header_names")]
    pub remove: Vec<String>,
    /// The names of headers to rename, each with the new name.
    pub rename: BTreeMap<String, String>,
    /// Headers to set, each with its value. Existing headers with the same name are replaced.
    pub set: BTreeMap<String, String>,
    /// Headers to add, each with its value. Existing headers with the same name are kept.
    pub add: BTreeMap<String, String>,
}

/// Settings of `request_json` and `response_json`. Positions are JSON Pointers (RFC 6901) into the
/// original document. An edit has no effect if the parent of its position is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JsonEdits {
    /// The positions of members and items to remove.
    #[schemars(schema_with = "schema_fragments::json_pointers")]
    pub remove: Vec<String>,
    /// The positions of members to rename, each with the new name. An existing member with that
    /// name is replaced.
    pub rename: BTreeMap<String, String>,
    /// Values to add, by position. An existing member is replaced; an item is inserted before the
    /// existing one (RFC 6902 section 4.1).
    pub add: BTreeMap<String, Value>,
    /// Values to add at positions where no value exists.
    pub default: BTreeMap<String, Value>,
}

impl JsonEdits {
    /// Reports whether an edit may refer to an array item, or adds an array or an object. Some
    /// gateways can edit only scalar members of objects.
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

/// Settings of `response_xslt`. The stylesheet is applied to responses of types `text/xml` and
/// `application/xml`; others pass through unchanged. A response that is not well-formed, or for
/// which the stylesheet produces no output, is replaced with 500. The result's Content-Type has the
/// `media-type` and `encoding` of `xsl:output`. Without these attributes, the Content-Type is
/// `text/html` if the output is HTML, and otherwise unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XsltPolicy {
    /// An XSLT 1.0 stylesheet: its text, or the path of its file.
    pub stylesheet: String,
    /// Values of the stylesheet's parameters, as plain strings.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// Settings of `mock`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MockPolicy {
    /// The status of the response.
    #[schemars(range(min = 200, max = 599))]
    pub status: u16,
    pub content_type: String,
    pub body: String,
}
