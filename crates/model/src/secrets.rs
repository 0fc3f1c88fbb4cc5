//! The secrets of a scenario, which reports must not contain: keys, passwords and tokens.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

use crate::policy::{JwtKey, JwtPolicy};
use crate::{Plan, Policy, Request, Scenario};

/// Headers whose names contain one of these words are assumed to carry credentials.
const CREDENTIALS: [&str; 9] = [
    "authorization",
    "cookie",
    "api-key",
    "apikey",
    "token",
    "secret",
    "password",
    "credential",
    "session",
];
/// The minimum length of a credential in a header that [`CREDENTIALS`] matches, except for the
/// password in `Basic`. Shorter values are usually ordinary words, such as `on`.
const GUESSED_CHARS_MIN: usize = 6;
/// The minimum length of a part of a secret. Each language quotes special characters in its own
/// way, so a secret is split at them, and its parts are recognized separately.
const PART_CHARS_MIN: usize = 6;
/// The characters other than letters and digits at which a secret is not split, because most
/// languages do not quote them.
const PLAIN: &str = "-._~+/=:@";
/// Members of a JSON Web Key that are secret (RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1).
const SECRET_MEMBERS: [&str; 7] = ["k", "d", "p", "q", "dp", "dq", "qi"];

impl Plan {
    pub fn secrets(&self) -> BTreeSet<String> {
        self.scenarios.iter().flat_map(Scenario::secrets).collect()
    }
}

impl Scenario {
    /// Returns the secrets in the forms that files and messages may contain: literal, escaped as in
    /// JSON, and split at characters that may be quoted. HS256 secrets, and passwords with their
    /// user names, are also returned in Base64. Values of templates are not included.
    pub fn secrets(&self) -> BTreeSet<String> {
        let mut found = Found::default();
        for consumer in &self.consumers {
            consumer.keys.iter().for_each(|key| found.add(key));
            if let Some(password) = &consumer.password {
                found.add(password);
                // The form of the password in `Authorization: Basic` (RFC 7617), without padding.
                let pair = format!("{}:{password}", consumer.name);
                found.0.insert(STANDARD_NO_PAD.encode(pair));
            }
        }
        self.all_policies()
            .for_each(|policy| found.add_policy(policy));
        let later = self.later.iter().flat_map(|later| &later.parity);
        let cases = self.parity.iter().chain(later).map(|case| &case.request);
        let carriers = Carriers::of(self.all_policies());
        for request in self.load_requests().chain(cases) {
            carriers.secrets_of(request, &mut found);
        }
        found.0
    }
}

/// The headers and query parameters where the scenario's policies expect API keys.
#[derive(Default)]
struct Carriers<'a> {
    headers: BTreeSet<String>,
    parameters: BTreeSet<&'a str>,
}

impl<'a> Carriers<'a> {
    fn of(policies: impl Iterator<Item = &'a Policy>) -> Self {
        let mut carriers = Self::default();
        for policy in policies {
            match policy {
                Policy::ApiKey(key) => {
                    carriers.headers.insert(key.header.to_ascii_lowercase());
                }
                Policy::ApiKeyQuery(key) => {
                    carriers.parameters.insert(&key.name);
                }
                _ => {}
            }
        }
        carriers
    }

    fn secrets_of(&self, request: &Request, found: &mut Found) {
        let direct = request.direct.iter().flat_map(|direct| &direct.headers);
        for (name, value) in request.headers.iter().chain(direct.flatten()) {
            match self.headers.contains(&name.to_ascii_lowercase()) {
                true => found.add(value),
                false => found.add_header(name, value),
            }
        }
        let query = request.path.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if self.parameters.contains(name) {
                found.add(value);
            }
        }
    }
}

#[derive(Default)]
struct Found(BTreeSet<String>);

impl Found {
    fn add(&mut self, secret: &str) {
        if secret.trim().is_empty() || secret.contains("{{") {
            return;
        }
        self.0.insert(secret.to_owned());
        let json = Value::from(secret).to_string();
        self.0.insert(json[1..json.len() - 1].to_owned());
        let parts = secret.split(|c: char| !c.is_alphanumeric() && !PLAIN.contains(c));
        let parts = parts.filter(|part| *part != secret && part.chars().count() >= PART_CHARS_MIN);
        self.0.extend(parts.map(str::to_owned));
    }

    /// Adds the value of a header whose name suggests a credential.
    fn add_header(&mut self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        if !CREDENTIALS.iter().any(|word| name.contains(word)) {
            return;
        }
        let (scheme, credential) = value.split_once(' ').unwrap_or(("", value));
        let credential = credential.trim();
        if scheme.eq_ignore_ascii_case("basic")
            && let Ok(pair) = STANDARD.decode(credential)
            && let Some((_, password)) = String::from_utf8_lossy(&pair).split_once(':')
        {
            self.add(password);
        }
        let values: Vec<&str> = match name.contains("cookie") {
            true => {
                let pairs = value.split(';').filter_map(|pair| pair.split_once('='));
                pairs.map(|(_, value)| value.trim()).collect()
            }
            false => vec![credential],
        };
        let long = |value: &&str| value.chars().count() >= GUESSED_CHARS_MIN;
        values.into_iter().filter(long).for_each(|it| self.add(it));
    }

    fn add_policy(&mut self, policy: &Policy) {
        match policy {
            Policy::Jwt(jwt) => self.add_jwt(jwt),
            Policy::RedisRateLimit(limit) => {
                limit.password.iter().for_each(|it| self.add(it));
            }
            Policy::RequestHeaders(edits) | Policy::ResponseHeaders(edits) => {
                for (name, value) in edits.set.iter().chain(&edits.add) {
                    self.add_header(name, value);
                }
            }
            _ => {}
        }
    }

    fn add_jwt(&mut self, jwt: &JwtPolicy) {
        for key in &jwt.keys {
            if let JwtKey::Hs256(key) = key {
                self.add(&key.secret);
                // Base64, and base64url as in a JSON Web Key (RFC 7518 section 6.4.1).
                self.0.insert(STANDARD_NO_PAD.encode(&key.secret));
                self.0.insert(URL_SAFE_NO_PAD.encode(&key.secret));
            }
        }
        let keys = jwt.jwks.as_ref().and_then(|set| set.get("keys"));
        for key in keys.and_then(Value::as_array).into_iter().flatten() {
            let members = SECRET_MEMBERS
                .iter()
                .filter_map(|name| key.get(name)?.as_str());
            members.for_each(|it| self.add(it));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scenario() -> Scenario {
        let secret = "0123456789abcdef0123456789abcdef";
        serde_json::from_value(json!({
            "scenario": "s", "title": "t", "upstream": "go-bench",
            "routes": [
                { "name": "a", "path": "/a", "policies": [
                    { "api_key": { "header": "X-Own" } },
                    { "jwt": {
                        "keys": [{ "hs256": { "secret": secret } }],
                        "jwks": { "keys": [{ "kty": "oct", "k": "S2V5T2ZTb21lYm9keQ" }] }
                    } },
                    { "request_headers": {
                        "set": { "X-Session-Of": "session-value", "X-Plain": "plain-value" }
                    } }
                ] },
                { "name": "b", "path": "/b", "policies": [
                    { "api_key_query": { "name": "own" } },
                    { "basic_auth": {} },
                    { "redis_rate_limit": { "limit": 1, "window": "1s", "password": "redis-word" } }
                ] }
            ],
            "consumers": [{ "name": "alice", "keys": ["k1", "key\"2"], "password": "pass$word12" }],
            "requests": [
                { "path": "/b?own=query-key&other=seen", "headers": {
                    "X-Own": "k", "Authorization": "Bearer a.token.here", "X-Other": "seen-too"
                } },
                { "path": "/a", "headers": {
                    "Cookie": "a=cookie-one; b=on", "X-Api-Key": "made-{{ x }}"
                } }
            ],
            "parity": [{
                "name": "wrong", "reaches_upstream": false,
                "request": { "path": "/a", "headers": {
                    "Authorization": "Basic Ym9iOm90aGVyLXdvcmQ="
                } }
            }]
        }))
        .unwrap()
    }

    #[test]
    fn keys_passwords_and_tokens_are_found_in_each_form() {
        let scenario = scenario();
        let found = scenario.secrets();
        for secret in [
            "k1",
            "key\"2",
            "key\\\"2",
            "pass$word12",
            "word12",
            "YWxpY2U6cGFzcyR3b3JkMTI",
            "0123456789abcdef0123456789abcdef",
            "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
            "S2V5T2ZTb21lYm9keQ",
            "session-value",
            "redis-word",
            "query-key",
            "k",
            "a.token.here",
            "cookie-one",
            "other-word",
            "Ym9iOm90aGVyLXdvcmQ=",
        ] {
            assert!(found.contains(secret), "{secret} is not in {found:?}");
        }
        for plain in [
            "plain-value",
            "seen",
            "seen-too",
            "on",
            "made-{{ x }}",
            "",
            "alice",
        ] {
            assert!(!found.contains(plain), "{plain}");
        }
    }
}
