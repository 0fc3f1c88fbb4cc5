//! What a scenario needs of a gateway, in the words of gateway folders: policies, the parts of policies
//! that not every gateway has, and what is spoken on the connections.

use std::collections::BTreeSet;

use crate::gateway::GatewayFolder;
use crate::load::{CONFIGURE, WEIGHTS};
use crate::policy::{HeaderEdits, JwtKey, JwtPolicy, Policy, RateLimitKey, RateLimitPolicy};
use crate::scenario::Scenario;
use crate::soap::SoapChain;
use crate::transport::Transport;

/// The parts of policies that a gateway may lack though it has the policy, and the access log.
pub const PARTS: [&str; 17] = [
    "jwt.rs256",
    "jwt.jwks",
    "jwt.audience",
    "rate_limit.per_consumer",
    "rate_limit.per_header",
    "rate_limit.headers",
    "rate_limit.any_window",
    "rate_limit.any_rate",
    "request_headers.add",
    "request_headers.rename",
    "response_headers.add",
    "response_headers.rename",
    "request_json.items",
    "response_json.items",
    "soap.parameters",
    SOAP_GZIP,
    ACCESS_LOG,
];

/// Windows that everybody has who has windows of a fixed length: a second, a minute, an hour, a day.
const USUAL_WINDOWS_SECONDS: [u64; 4] = [1, 60, 3_600, 86_400];
/// From so many requests a minute on, a fraction of one more is no difference that anybody could see.
const MANY_PER_MINUTE: u128 = 1_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// What a folder may claim besides policies and what is spoken on the connections.
pub(crate) const OTHER_CLAIMS: [&str; 6] = [FAILOVER, "reload", CONFIGURE, WEIGHTS, METRICS, ADMIN];

/// The word of answers that are compressed and processed all the same.
const SOAP_GZIP: &str = "soap.gzip";
/// The word of the access log.
const ACCESS_LOG: &str = "access_log";
/// The word of trying another target.
const FAILOVER: &str = "failover";
/// The word of a gateway's own metrics.
const METRICS: &str = "metrics";
/// The word of an admin interface.
const ADMIN: &str = "admin";

impl Scenario {
    /// Everything that a gateway must have for this scenario.
    pub fn needs(&self) -> BTreeSet<&'static str> {
        let policies = || self.all_routes().flat_map(|route| &route.policies);
        policies()
            .map(Policy::kind)
            .chain(policies().flat_map(Policy::parts))
            .chain(self.transport.needs())
            .chain(self.processes_gzip().then_some(SOAP_GZIP))
            .chain(self.access_log.then_some(ACCESS_LOG))
            .chain(self.failover.then_some(FAILOVER))
            .chain(self.metrics.as_ref().map(|_| METRICS))
            .chain(self.admin.as_ref().map(|_| ADMIN))
            .collect()
    }
}

impl Scenario {
    /// Whether answers that clients want compressed go through a chain.
    fn processes_gzip(&self) -> bool {
        let asks_gzip = self.load_requests().any(|request| {
            let mut headers = request.headers.iter();
            headers.any(|(name, value)| {
                name.eq_ignore_ascii_case("Accept-Encoding") && value.contains("gzip")
            })
        });
        let mut policies = self.all_routes().flat_map(|route| &route.policies);
        asks_gzip
            && policies
                .any(|policy| matches!(policy, Policy::Soap(soap) if soap.response.is_some()))
    }
}

impl GatewayFolder {
    /// Whether the gateway has what is called by a word of [`Scenario::needs`].
    pub fn has(&self, need: &str) -> bool {
        match need {
            METRICS => return self.metrics.is_some(),
            ADMIN => return self.admin.is_some(),
            FAILOVER => return self.failover.is_some(),
            _ => {}
        }
        if Transport::KINDS.contains(&need) {
            return self.transport.iter().any(|word| word == need);
        }
        // A part of a policy that is missing altogether is not told beside it.
        PARTS.contains(&need) && !self.lacks.iter().any(|word| word == need)
            || self.policies.contains_key(need)
            || need
                .split_once('.')
                .is_some_and(|(kind, _)| !self.policies.contains_key(kind))
    }
}

impl Policy {
    /// The parts of it that not every gateway has.
    fn parts(&self) -> Vec<&'static str> {
        match self {
            Self::Jwt(jwt) => jwt_parts(jwt),
            Self::RateLimit(limit) => limit_parts(limit),
            Self::RequestHeaders(edits) => {
                edit_parts(edits, "request_headers.add", "request_headers.rename")
            }
            Self::ResponseHeaders(edits) => {
                edit_parts(edits, "response_headers.add", "response_headers.rename")
            }
            Self::RequestJson(edits) => where_so([(edits.has_items(), "request_json.items")]),
            Self::ResponseJson(edits) => where_so([(edits.has_items(), "response_json.items")]),
            Self::Soap(soap) => {
                let has_parameters = |chain: &SoapChain| !chain.xslt_params.is_empty();
                let mut chains = soap.chains().map(|(_, chain)| chain);
                where_so([(chains.any(has_parameters), "soap.parameters")])
            }
            _ => Vec::new(),
        }
    }
}

/// Of the conditions that hold, the words.
fn where_so<const N: usize>(words: [(bool, &'static str); N]) -> Vec<&'static str> {
    let held = words.into_iter().filter(|(holds, _)| *holds);
    held.map(|(_, word)| word).collect()
}

fn jwt_parts(jwt: &JwtPolicy) -> Vec<&'static str> {
    let has_rsa = |key: &JwtKey| matches!(key, JwtKey::Rs256(_));
    where_so([
        (jwt.keys.iter().any(has_rsa), "jwt.rs256"),
        (jwt.jwks.is_some(), "jwt.jwks"),
        (jwt.audience.is_some(), "jwt.audience"),
    ])
}

fn limit_parts(limit: &RateLimitPolicy) -> Vec<&'static str> {
    where_so([
        (
            limit.per == RateLimitKey::Consumer,
            "rate_limit.per_consumer",
        ),
        (limit.per == RateLimitKey::Header, "rate_limit.per_header"),
        (limit.headers, "rate_limit.headers"),
        (!has_usual_window(limit), "rate_limit.any_window"),
        (!is_whole_per_minute(limit), "rate_limit.any_rate"),
    ])
}

fn has_usual_window(limit: &RateLimitPolicy) -> bool {
    let window = limit.window.as_nanos();
    window.is_multiple_of(NANOS_PER_SECOND)
        && USUAL_WINDOWS_SECONDS.contains(&(window / NANOS_PER_SECOND))
}

/// Whether it can be told as requests a minute.
fn is_whole_per_minute(limit: &RateLimitPolicy) -> bool {
    // A window of nothing is a mistake that is reported elsewhere.
    let window = u128::from(limit.window.as_nanos()).max(1);
    let in_a_minute = u128::from(limit.limit) * 60 * u128::from(NANOS_PER_SECOND);
    in_a_minute.is_multiple_of(window) || in_a_minute / window >= MANY_PER_MINUTE
}

fn edit_parts(edits: &HeaderEdits, add: &'static str, rename: &'static str) -> Vec<&'static str> {
    where_so([
        (!edits.add.is_empty(), add),
        (!edits.rename.is_empty(), rename),
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_config::parse;

    use super::*;

    const SCENARIO: &str = "
scenario: s
title: t
upstream: go-bench
transport: {tls: true, http2_streams: 4}
access_log: true
routes:
  - name: r
    path: /json
    policies:
      - jwt: {jwks: {keys: []}, audience: me}
      - rate_limit: {limit: 1, window: 1s, per: consumer, headers: true}
      - request_headers: {add: {A: b}}
requests: [{path: /json/valid}]
";

    fn folder(more: &str) -> GatewayFolder {
        let text = format!(
            "gateway: g\ncontract: 1\ntitle: G\nbinary: {{names: [g], version_args: [v], version_pattern: '(x)'}}\n\
             start: [g]\n{more}"
        );
        parse("gateway.yaml", &text).unwrap()
    }

    #[test]
    fn a_scenario_needs_policies_their_parts_and_what_is_spoken() {
        let scenario: Scenario = parse("s.yaml", SCENARIO).unwrap();
        let needs: Vec<&str> = scenario.needs().into_iter().collect();
        let expected = [
            "access_log",
            "http2",
            "jwt",
            "jwt.audience",
            "jwt.jwks",
            "rate_limit",
            "rate_limit.headers",
            "rate_limit.per_consumer",
            "request_headers",
            "request_headers.add",
            "tls",
        ];
        assert_eq!(needs, expected);
    }

    #[test]
    fn windows_and_rates_that_not_every_gateway_has_are_needed_by_their_own_words() {
        let parts = |limit: u64, window: &str| {
            let limit = RateLimitPolicy {
                limit,
                window: window.parse().unwrap(),
                per: RateLimitKey::Route,
                header: None,
                headers: false,
            };
            limit_parts(&limit)
        };
        for (limit, window) in [(1, "1s"), (60, "1h"), (1_440, "24h"), (1_000_000_000, "1h")] {
            assert_eq!(parts(limit, window), [""; 0], "{limit} in {window}");
        }
        assert_eq!(parts(10, "10m"), ["rate_limit.any_window"]);
        assert_eq!(parts(10, "1h"), ["rate_limit.any_rate"]);
        let both = ["rate_limit.any_window", "rate_limit.any_rate"];
        assert_eq!(parts(1, "90s"), both);
        assert_eq!(parts(1, "1500ms"), ["rate_limit.any_window"]);
    }

    #[test]
    fn edits_of_json_within_arrays_are_a_part_of_their_own() {
        let needs = |edits: &str| {
            let text = format!(
                "scenario: s\ntitle: t\nupstream: go-bench\nrequests: [{{path: /json/valid}}]\n\
                 routes: [{{name: r, path: /json, policies: [{{response_json: {{{edits}}}}}]}}]\n"
            );
            let scenario: Scenario = parse("s.yaml", &text).unwrap();
            scenario.needs().contains("response_json.items")
        };
        assert!(needs("remove: [/items/0]"));
        assert!(needs("add: {/tags/-: new}"));
        assert!(needs("default: {/tags: []}"));
        assert!(!needs(
            "remove: [/a/b0], rename: {/c: d}, add: {/e: 1}, default: {/-f: g}"
        ));
    }

    #[test]
    fn a_folder_has_what_it_claims_without_what_it_lacks() {
        let scenario: Scenario = parse("s.yaml", SCENARIO).unwrap();
        let lacking = |folder: &GatewayFolder| -> Vec<&str> {
            let needs = scenario.needs().into_iter();
            needs.filter(|need| !folder.has(need)).collect()
        };
        let missing = ["http2", "jwt", "rate_limit", "request_headers", "tls"];
        assert_eq!(lacking(&folder("")), missing);
        let most = folder(
            "policies: {jwt: native, rate_limit: native, request_headers: script}\n\
             transport: [tls, http2]\nlacks: [rate_limit.headers, access_log]\n",
        );
        assert_eq!(lacking(&most), ["access_log", "rate_limit.headers"]);
    }
}
