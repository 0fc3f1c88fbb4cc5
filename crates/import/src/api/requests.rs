//! Creates the requests of the load, and the parity cases that prove that the policies work.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatebench_model::policy::{JwtKey, JwtPolicy};
use gatebench_model::request::HeaderCheck;
use gatebench_model::{Body, Check, Consumer, ParityCase, Policy, Request, UpstreamKind, When};

use super::{Api, ApiRoute, token};

/// The rate limit below which some requests of a load may be refused.
const LIMIT_LOW: u64 = 1_000_000;

/// The rate limit below which the parity cases before and after the loads may exhaust the limit.
const LIMIT_TINY: u64 = 50;

/// The maximum size in bytes of a body that proves a size limit.
const PROOF_BYTES_MAX: u64 = 8 << 20;

/// A SOAP 1.1 request for the sum of 5 and 7.
const SUM: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">
  <soap:Body>
    <Add xmlns="http://tempuri.org/">
      <intA>5</intA>
      <intB>7</intB>
    </Add>
  </soap:Body>
</soap:Envelope>"#;

/// Returns a request with the credentials that the route's policies require, and with a check of
/// the status of its response.
pub(super) fn good(route: &ApiRoute, api: &Api, upstream: UpstreamKind) -> Request {
    let mut request = anonymous(route, upstream);
    let is_accepted = |consumer: &&Consumer| {
        let clients = route.clients.as_ref();
        clients.is_none_or(|clients| clients.contains(&consumer.name))
    };
    let consumers = Vec::from_iter(api.consumers.iter().filter(is_accepted));
    for policy in &route.route.policies {
        add_credential(policy, &consumers, &mut request);
    }
    let mock = route.route.policies.iter().find_map(|policy| match policy {
        Policy::Mock(mock) => Some(mock.status),
        _ => None,
    });
    let status = mock.unwrap_or(200);
    let is_limited = limits(route).any(|limit| limit < LIMIT_LOW);
    request.checks = vec![match is_limited {
        true => Check::StatusIn(vec![status, 429]),
        false => Check::Status(status),
    }];
    request
}

/// Returns a request that matches the route but has no credentials.
fn anonymous(route: &ApiRoute, upstream: UpstreamKind) -> Request {
    let below = match upstream {
        UpstreamKind::Calculator => "/ws",
        UpstreamKind::Httpbin => "/anything",
        UpstreamKind::GoBench => "/json/valid",
        _ => "",
    };
    let mut path = match route.route.strip_path && !below.is_empty() {
        true => format!("{}{below}", route.sample.trim_end_matches('/')),
        false => route.sample.clone(),
    };
    if path.is_empty() {
        path.push('/');
    }
    let mut request = Request::new(&route.method, gatebench_model::template::escape(&path));
    request.headers.clone_from(&route.headers);
    if upstream == UpstreamKind::Calculator {
        request.method = "POST".into();
        let content_type = "text/xml; charset=utf-8".to_owned();
        request.headers.insert("Content-Type".into(), content_type);
        request.body = Some(Body::new(SUM));
    }
    request.name = Some(route.route.name.clone());
    request
}

fn limits(route: &ApiRoute) -> impl Iterator<Item = u64> {
    let policies = route.route.policies.iter();
    policies.filter_map(|policy| match policy {
        Policy::RateLimit(limit) => Some(limit.limit),
        Policy::RedisRateLimit(limit) => Some(limit.limit),
        _ => None,
    })
}

/// Adds the credential that a policy requires: the key or password of the first consumer that has
/// one, or a signed token.
fn add_credential(policy: &Policy, consumers: &[&Consumer], request: &mut Request) {
    let key = || consumers.iter().find_map(|consumer| consumer.keys.first());
    match policy {
        Policy::ApiKey(settings) => {
            if let Some(key) = key() {
                request.headers.insert(settings.header.clone(), key.clone());
            }
        }
        Policy::ApiKeyQuery(settings) => {
            if let Some(key) = key() {
                let separator = if request.path.contains('?') { '&' } else { '?' };
                request.path += &format!("{separator}{}={key}", settings.name);
            }
        }
        Policy::BasicAuth(_) => {
            let mut pairs = consumers.iter();
            let pair = pairs.find_map(|it| Some((&it.name, it.password.as_ref()?)));
            if let Some((name, password)) = pair {
                let pair = STANDARD.encode(format!("{name}:{password}"));
                authorize(request, format!("Basic {pair}"));
            }
        }
        Policy::Jwt(settings) => {
            if let Some(token) = token_of(settings) {
                authorize(request, format!("Bearer {token}"));
            }
        }
        _ => {}
    }
}

fn authorize(request: &mut Request, value: String) {
    request.headers.insert("Authorization".into(), value);
}

fn token_of(settings: &JwtPolicy) -> Option<String> {
    let secret = settings.keys.iter().find_map(|key| match key {
        JwtKey::Hs256(key) => Some(&key.secret),
        JwtKey::Rs256(_) => None,
    })?;
    let (issuer, audience) = (settings.issuer.as_deref(), settings.audience.as_deref());
    Some(token::hs256(secret, issuer, audience))
}

/// If several cases have the same name, only the first is kept.
pub(super) fn cases(routes: &[ApiRoute], api: &Api, upstream: UpstreamKind) -> Vec<ParityCase> {
    let mut cases = Vec::new();
    for route in routes {
        cases.push(passes(route, api, upstream));
        for policy in &route.route.policies {
            cases.extend(refuses(policy, route, api, upstream));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    cases.retain(|case| seen.insert(case.name.clone()));
    cases
}

fn case(end: &str, mut request: Request, reaches_upstream: bool, route: &ApiRoute) -> ParityCase {
    request.name = None;
    let name = format!("the route {} {end}", route.route.name);
    let mut case = ParityCase::new(name, request, reaches_upstream);
    if limits(route).any(|limit| limit < LIMIT_TINY) {
        case.when = When::Before;
    }
    case
}

fn passes(route: &ApiRoute, api: &Api, upstream: UpstreamKind) -> ParityCase {
    let mut request = good(route, api, upstream);
    for policy in &route.route.policies {
        match policy {
            Policy::ResponseHeaders(edits) => {
                let set = edits.set.iter().map(|(name, value)| {
                    let (name, equals) = (name.clone(), value.clone());
                    Check::Header(HeaderCheck { name, equals })
                });
                request.checks.extend(set);
            }
            Policy::Mock(mock) => request.checks.push(Check::BodyEquals(mock.body.clone())),
            _ => {}
        }
    }
    match route.route.responds_itself() {
        true => case("responds by itself", request, false, route),
        false => case("leads to the upstream", request, true, route),
    }
}

/// Returns the case that proves that a policy refuses a request without credentials or with a body
/// that is too large. Returns `None` for other policies, and for size limits of [`PROOF_BYTES_MAX`]
/// or more.
fn refuses(
    policy: &Policy,
    route: &ApiRoute,
    api: &Api,
    upstream: UpstreamKind,
) -> Option<ParityCase> {
    let (mut request, status, end) = match policy {
        Policy::ApiKey(_) | Policy::ApiKeyQuery(_) | Policy::BasicAuth(_) | Policy::Jwt(_) => {
            let end = "refuses a request without credentials";
            (anonymous(route, upstream), 401, end)
        }
        Policy::RequestSizeLimit(limit) if limit.max_bytes < PROOF_BYTES_MAX => {
            let mut request = good(route, api, upstream);
            request.method = "POST".into();
            let bytes = usize::try_from(limit.max_bytes + 1).ok()?;
            request.body = Some(Body::filler(bytes));
            (request, 413, "refuses a body that is too large")
        }
        _ => return None,
    };
    request.checks = vec![Check::Status(status)];
    Some(case(end, request, false, route))
}
