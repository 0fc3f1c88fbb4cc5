//! Converts plug-ins to policies.

use std::ops::Range;

use gatebench_config::{Data, HumanDuration, Node};
use gatebench_model::Policy;
use gatebench_model::policy::{
    ApiKeyPolicy, ApiKeyQueryPolicy, BasicAuthPolicy, HeaderEdits, JwtKey, JwtPolicy, JwtSecret,
    MockPolicy, OpenapiPolicy, RateLimitKey, RateLimitPolicy, RequestSizeLimitPolicy,
};
use gatebench_model::soap::SoapChain;
use serde_json::json;

use super::access::AccessList;
use super::{TokenSecrets, name_in, soap, transformers};
use crate::apisix::mock_status;
use crate::keys::Keys;
use crate::log::Log;

/// The minimum length in bytes of a token secret in the policy (RFC 7518 section 3.2).
const SECRET_BYTES_MIN: usize = 32;

/// A plug-in and the entity that it is bound to.
#[derive(Clone)]
pub(super) struct Plugin<'n> {
    pub(super) name: String,
    pub(super) span: Range<usize>,
    pub(super) is_enabled: bool,
    node: &'n Node,
}

impl<'n> Plugin<'n> {
    fn read(node: &'n Node, log: &mut Log<'_>) -> Option<Self> {
        let mut keys = Keys::of(node, "the plug-in", log);
        let name = keys.required("name", log)?;
        Some(Self {
            name,
            span: keys.span.clone(),
            is_enabled: node.get("enabled").and_then(Node::flag) != Some(false),
            node,
        })
    }

    pub(super) fn read_all(nodes: &'n [Node], log: &mut Log<'_>) -> Vec<Self> {
        let plugins = nodes.iter().filter_map(|node| Self::read(node, log));
        plugins.collect()
    }

    /// Returns the name or identifier of the entity of this kind that the plug-in is bound to.
    fn bound(&self, kind: &str) -> Option<&str> {
        self.node.get(kind).and_then(name_in)
    }

    pub(super) fn is_of(&self, kind: &str, names: &[String]) -> bool {
        let bound = self.bound(kind);
        bound.is_some_and(|bound| names.iter().any(|name| name == bound))
    }

    pub(super) fn is_of_consumer(&self) -> bool {
        self.bound("consumer")
            .or(self.bound("consumer_group"))
            .is_some()
    }

    pub(super) fn is_global(&self) -> bool {
        let bound = self.bound("service").or(self.bound("route"));
        !self.is_of_consumer() && bound.is_none()
    }

    /// Returns the priority by which Kong orders the plug-ins that become policies.
    fn priority(&self) -> u32 {
        match self.name.as_str() {
            "jwt" => 1_450,
            "key-auth" => 1_250,
            "basic-auth" => 1_100,
            "oas-validation" => 1_000,
            "request-size-limiting" => 951,
            "rate-limiting" => 910,
            "request-transformer" => 801,
            "response-transformer" => 800,
            "soap-xml-request-handling" => 75,
            "soap-xml-response-handling" => 70,
            "request-termination" => 2,
            _ => 0,
        }
    }
}

#[derive(Default)]
pub(super) struct Effects {
    pub(super) policies: Vec<Policy>,
    pub(super) has_metrics: bool,
    /// The groups that may send requests, or those that may not. No policy corresponds to this
    /// restriction.
    pub(super) access: Option<AccessList>,
    pub(super) not_understood: Vec<String>,
}

impl Effects {
    pub(super) fn of(plugins: &[Plugin<'_>], secrets: &TokenSecrets, log: &mut Log<'_>) -> Self {
        let mut plugins: Vec<&Plugin<'_>> = plugins.iter().collect();
        plugins.sort_by_key(|plugin| std::cmp::Reverse(plugin.priority()));
        let mut effects = Self::default();
        for plugin in plugins {
            effects.add(plugin, secrets, log);
        }
        effects.count_together_without_consumers();
        effects
    }

    /// Converts limits per consumer to limits per route if no plug-in identifies the consumer. Kong
    /// then counts per client address, and a load from one machine has only one address.
    fn count_together_without_consumers(&mut self) {
        let mut kinds = self.policies.iter().map(Policy::kind);
        if kinds.any(|it| matches!(it, "api_key" | "api_key_query" | "basic_auth" | "jwt")) {
            return;
        }
        for policy in &mut self.policies {
            if let Policy::RateLimit(limit) = policy
                && limit.per == RateLimitKey::Consumer
            {
                limit.per = RateLimitKey::Route;
            }
        }
    }

    fn add(&mut self, plugin: &Plugin<'_>, secrets: &TokenSecrets, log: &mut Log<'_>) {
        let empty = Node::new(&plugin.span, Data::Null);
        let config = plugin.node.get("config").unwrap_or(&empty);
        let mut keys = Keys::of(config, format!("the plug-in {}", plugin.name), log);
        let policies = match plugin.name.as_str() {
            "key-auth" => key_auth(&mut keys, log),
            "basic-auth" => basic_auth(&mut keys, log),
            "jwt" => jwt(&mut keys, secrets, log),
            "rate-limiting" => rate_limiting(&mut keys, log),
            "request-size-limiting" => size_limiting(&mut keys, log),
            "request-termination" => termination(&mut keys, log),
            "request-transformer" | "response-transformer" => {
                let is_request = plugin.name == "request-transformer";
                transformers::policies(&mut keys, is_request, log)
            }
            "oas-validation" => oas_validation(&mut keys, log),
            "soap-xml-request-handling" | "soap-xml-response-handling" => {
                let chain = Some(soap::chain(&mut keys, log));
                self.add_soap(plugin.name == "soap-xml-request-handling", chain);
                Some(Vec::new())
            }
            "acl" => {
                self.access = Some(AccessList::read(&mut keys, log));
                None
            }
            "prometheus" => {
                self.has_metrics = true;
                return;
            }
            _ => None,
        };
        let Some(policies) = policies else {
            let what = format!("the plug-in {}", plugin.name);
            let words = log.not_understood(&plugin.span, what);
            self.not_understood.push(words);
            return;
        };
        self.policies.extend(policies);
        let of = format!(" of the plug-in {}", plugin.name);
        self.not_understood.extend(keys.not_understood(&of, log));
    }

    /// Adds the steps of one direction to the SOAP policy, which covers both directions.
    fn add_soap(&mut self, is_request: bool, chain: Option<SoapChain>) {
        let is_soap = |it: &Policy| matches!(it, Policy::Soap(_));
        if !self.policies.iter().any(is_soap) {
            self.policies.push(Policy::Soap(Box::default()));
        }
        for policy in &mut self.policies {
            match policy {
                Policy::Soap(soap) if is_request => soap.request.clone_from(&chain),
                Policy::Soap(soap) => soap.response.clone_from(&chain),
                _ => {}
            }
        }
    }
}

fn key_auth(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<Vec<Policy>> {
    let name = keys.texts("key_names", log).into_iter().next();
    let name = name.unwrap_or_else(|| "apikey".into());
    let in_header = keys.flag("key_in_header", log).unwrap_or(true);
    keys.ignore(&["key_in_query", "key_in_body", "run_on_preflight", "realm"]);
    if !in_header {
        return Some(vec![Policy::ApiKeyQuery(ApiKeyQueryPolicy { name })]);
    }
    let hidden = hidden(keys, &name, log);
    let policy = Policy::ApiKey(ApiKeyPolicy { header: name });
    Some(std::iter::once(policy).chain(hidden).collect())
}

/// Returns the edit that hides the credential from the upstream, if the plug-in hides it.
fn hidden(keys: &mut Keys<'_>, header: &str, log: &mut Log<'_>) -> Option<Policy> {
    let is_hidden = keys.flag("hide_credentials", log) == Some(true);
    let edits = HeaderEdits {
        remove: vec![header.to_owned()],
        ..HeaderEdits::default()
    };
    is_hidden.then_some(Policy::RequestHeaders(edits))
}

fn basic_auth(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<Vec<Policy>> {
    let realm = keys.text("realm", log).unwrap_or_else(|| "service".into());
    let hidden = hidden(keys, "Authorization", log);
    let policy = Policy::BasicAuth(BasicAuthPolicy { realm });
    Some(std::iter::once(policy).chain(hidden).collect())
}

fn jwt(keys: &mut Keys<'_>, secrets: &TokenSecrets, log: &mut Log<'_>) -> Option<Vec<Policy>> {
    keys.ignore(&["uri_param_names", "header_names", "run_on_preflight"]);
    keys.ignore(&["claims_to_verify", "realm"]);
    keys.ignore_default("key_claim_name", "iss", log);
    keys.ignore_default("maximum_expiration", "0", log);
    let is_short = |(secret, _): &(String, _)| secret.len() < SECRET_BYTES_MIN;
    if secrets.is_empty() || secrets.iter().any(is_short) {
        return None;
    }
    let keys = secrets.iter().map(|(secret, _)| JwtSecret {
        secret: secret.clone(),
        id: None,
    });
    Some(vec![Policy::Jwt(JwtPolicy {
        keys: keys.map(JwtKey::Hs256).collect(),
        // Each secret has its own issuer, but the policy can require only one.
        issuer: match &secrets[..] {
            [(_, issuer)] => issuer.clone(),
            _ => None,
        },
        ..JwtPolicy::default()
    })])
}

fn rate_limiting(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<Vec<Policy>> {
    let mut policies = Vec::new();
    let header = keys.text("header_name", log);
    let per = match keys.text("limit_by", log).as_deref() {
        None | Some("consumer") => RateLimitKey::Consumer,
        Some("header") => RateLimitKey::Header,
        // A load from one machine has only one address.
        Some("ip" | "service" | "route" | "path") => RateLimitKey::Route,
        Some(_) => return None,
    };
    let hides = keys.flag("hide_client_headers", log).unwrap_or(false);
    let span = keys.span.clone();
    if keys.text("policy", log).is_some_and(|it| it != "local") {
        let what = "a rate limit shared by several gateways: each gateway counts requests in its own memory";
        log.simplified(&span, what);
    }
    keys.ignore(&["fault_tolerant", "sync_rate", "error_message", "path"]);
    keys.ignore(&["redis", "redis_host", "redis_port", "redis_timeout"]);
    keys.ignore(&["redis_database", "redis_password"]);
    keys.ignore_default("error_code", "429", log);
    let windows = [
        ("second", 1),
        ("minute", 60),
        ("hour", 3_600),
        ("day", 86_400),
    ];
    for (word, seconds) in windows {
        let Some(limit) = keys.count(word, log) else {
            continue;
        };
        policies.push(Policy::RateLimit(RateLimitPolicy {
            limit: limit.clamp(1, 1_000_000_000),
            window: HumanDuration::from_millis(seconds * 1_000),
            per,
            header: header.clone().filter(|_| per == RateLimitKey::Header),
            headers: !hides,
        }));
    }
    Some(policies)
}

fn size_limiting(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<Vec<Policy>> {
    let size = keys.count("allowed_payload_size", log).unwrap_or(128);
    let factor = match keys.text("size_unit", log).as_deref() {
        None | Some("megabytes") => 1 << 20,
        Some("kilobytes") => 1 << 10,
        Some("bytes") => 1,
        Some(_) => return None,
    };
    let max_bytes = size.saturating_mul(factor).clamp(1, 1_000_000_000_000);
    let limit = RequestSizeLimitPolicy { max_bytes };
    Some(vec![Policy::RequestSizeLimit(limit)])
}

fn termination(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<Vec<Policy>> {
    let status = keys.count("status_code", log).unwrap_or(503);
    let message = keys.text("message", log);
    let body = keys.text("body", log);
    let content_type = keys.text("content_type", log);
    let message = message.unwrap_or_else(|| "Service unavailable".into());
    Some(vec![Policy::Mock(MockPolicy {
        status: mock_status(status)?,
        content_type: content_type.unwrap_or_else(|| "application/json; charset=utf-8".into()),
        body: body.unwrap_or_else(|| json!({ "message": message }).to_string()),
    })])
}

fn oas_validation(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<Vec<Policy>> {
    let document = keys.text("api_spec", log)?;
    let requests = [
        "validate_request_body",
        "validate_request_query_params",
        "validate_request_uri_params",
    ];
    let requests = requests.map(|key| keys.flag(key, log).unwrap_or(true));
    let responses = keys.flag("validate_response_body", log).unwrap_or(false);
    keys.ignore(&[
        "allowed_header_parameters",
        "include_base_path",
        "validate_request_header_params",
        "verbose_response",
        "api_spec_encoded",
        "custom_base_path",
        "collect_all_errors",
        "query_parameter_check",
        "header_parameter_check",
        "notify_only_response_body_validation_failure",
        "notify_only_request_validation_failure",
    ]);
    Some(vec![Policy::Openapi(OpenapiPolicy {
        document,
        requests: requests.contains(&true),
        responses,
    })])
}
