//! The features that a scenario needs, by the names that gateway folders use: policies, the parts
//! of policies that some gateways lack, protocols, and other capabilities such as an access log.

use std::collections::{BTreeMap, BTreeSet};

use crate::gateway::{Action, ControlPlane, Extra, Feature, GatewayFolder, Support};
use crate::load::{CONFIGURE, WEIGHTS};
use crate::policy::{JwtKey, Policy, RateLimitKey, RateLimitPolicy, SAXON};
use crate::scenario::Scenario;

/// The parts of policies that a gateway may lack even if it has the policy.
pub const PARTS: [&str; 17] = [
    "jwt.rs256",
    "jwt.jwks",
    "jwt.audience",
    "rate_limit.per_consumer",
    "rate_limit.per_header",
    "rate_limit.headers",
    "rate_limit.any_window",
    "rate_limit.any_rate",
    SEVERAL_LIMITS,
    "request_headers.add",
    "request_headers.rename",
    "response_headers.add",
    "response_headers.rename",
    "request_json.items",
    "response_json.items",
    "soap.parameters",
    SOAP_GZIP,
];

/// The windows that a gateway supports even if it lacks `rate_limit.any_window`: a second, a
/// minute, an hour, a day.
const USUAL_WINDOWS_SECONDS: [u64; 4] = [1, 60, 3_600, 86_400];
/// At or above this number of requests per minute, a fraction of a request makes no measurable
/// difference.
const MANY_PER_MINUTE: u128 = 1_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The features other than policies and transports that a folder can state.
pub(crate) const OTHER_FEATURES: [&str; 10] = [
    FAILOVER,
    RELOAD,
    CONFIGURE,
    WEIGHTS,
    METRICS,
    ADMIN,
    ACCESS_LOG,
    CONTROL_PLANE,
    SAXON,
    UPSTREAM_KEEPALIVE,
];
/// The members of [`OTHER_FEATURES`] that a gateway has if a separate section of `gateway.yaml`
/// describes them. They need no statement under `features`.
pub(crate) const SECTIONS: [&str; 6] = [RELOAD, CONFIGURE, WEIGHTS, METRICS, ADMIN, ACCESS_LOG];

/// The part of `rate_limit` that permits several limits on a route.
const SEVERAL_LIMITS: &str = "rate_limit.several";
/// The part of `soap` that processes compressed responses.
const SOAP_GZIP: &str = "soap.gzip";
pub(crate) const ACCESS_LOG: &str = "access_log";
/// When a target fails, the gateway sends the target's requests to another target.
const FAILOVER: &str = "failover";
const METRICS: &str = "metrics";
const ADMIN: &str = "admin";
/// The gateway keeps connections to the upstream open between requests. A gateway is assumed to
/// have this feature unless its folder states otherwise.
pub const UPSTREAM_KEEPALIVE: &str = "upstream_keepalive";
/// The gateway gets its configuration from a separate process.
pub(crate) const CONTROL_PLANE: &str = "control_plane";
/// The action that makes a gateway read its files again.
pub const RELOAD: &str = "reload";

impl Scenario {
    pub fn needs(&self) -> BTreeSet<&'static str> {
        self.all_policies()
            .map(Policy::kind)
            .chain(self.all_policies().flat_map(Policy::parts))
            .chain(self.transport.needs())
            .chain(self.processes_gzip().then_some(SOAP_GZIP))
            .chain(self.has_several_limits().then_some(SEVERAL_LIMITS))
            .chain(self.access_log.then_some(ACCESS_LOG))
            .chain(self.failover.then_some(FAILOVER))
            .chain(self.metrics.as_ref().map(|_| METRICS))
            .chain(self.admin.as_ref().map(|_| ADMIN))
            .chain(self.control_plane.then_some(CONTROL_PLANE))
            .collect()
    }

    fn has_several_limits(&self) -> bool {
        self.all_routes().any(|route| {
            let policies = route.policies.iter();
            let limits = policies.filter(|it| matches!(it, Policy::RateLimit(_)));
            limits.count() > 1
        })
    }

    /// Reports whether a request accepts gzip and a `soap` policy processes responses.
    fn processes_gzip(&self) -> bool {
        let requests_gzip = self.load_requests().any(|request| {
            let mut headers = request.headers.iter();
            headers.any(|(name, value)| {
                name.eq_ignore_ascii_case("Accept-Encoding") && value.contains("gzip")
            })
        });
        let processes = |it: &Policy| matches!(it, Policy::Soap(soap) if soap.response.is_some());
        requests_gzip && self.all_policies().any(processes)
    }
}

impl GatewayFolder {
    /// Returns the features that the folder declares as `native` or `script`.
    pub fn claimed(&self) -> impl Iterator<Item = (&str, &Feature)> {
        let stated = self.features.iter();
        stated
            .filter(|(_, feature)| matches!(feature.support(), Support::Native | Support::Script))
            .map(|(word, feature)| (word.as_str(), feature))
    }

    pub fn claim(&self, word: &str) -> Option<&Feature> {
        let mut claimed = self.claimed();
        claimed.find(|(known, _)| *known == word).map(|it| it.1)
    }

    /// Reports whether the folder states that the gateway lacks a feature, or that the folder does
    /// not use it.
    pub fn states_missing(&self, word: &str) -> bool {
        self.features.contains_key(word) && self.claim(word).is_none()
    }

    /// Reports whether the gateway meets a need of [`Scenario::needs`](crate::Scenario::needs), or
    /// supports the action with this name. If the gateway lacks a whole policy, its parts count as
    /// met, so that they are not reported separately.
    pub fn has(&self, need: &str) -> bool {
        match (need, need.split_once('.')) {
            (_, Some((policy, part))) => {
                let lacks = |it: &Feature| it.without().iter().any(|lacked| lacked == part);
                !self.claim(policy).is_some_and(lacks)
            }
            (METRICS, _) => self.metrics.is_some(),
            (ADMIN, _) => self.admin.is_some(),
            (ACCESS_LOG, _) if self.access_log.is_some() => true,
            _ => self.claim(need).is_some() || self.action(need).is_some(),
        }
    }

    /// The parts of the gateway that features need in addition to the program, by feature.
    pub fn extras(&self) -> BTreeMap<&str, &Extra> {
        let claimed = self.claimed();
        claimed
            .filter_map(|(word, feature)| Some((word, feature.needs()?)))
            .collect()
    }

    pub fn control_plane_in(&self, scenario: &Scenario) -> Option<&ControlPlane> {
        let control_plane = self.control_plane.as_ref();
        control_plane.filter(|_| scenario.control_plane)
    }

    pub fn needs_postgres(&self, scenario: &Scenario) -> bool {
        let actions = [
            scenario.later.as_ref().map(|_| CONFIGURE),
            (!scenario.weights.is_empty()).then_some(WEIGHTS),
        ];
        let mut used = scenario.needs();
        used.extend(actions.into_iter().flatten());
        let named = self.database.iter().flat_map(|it| &it.postgres);
        named.into_iter().any(|it| used.contains(it.as_str()))
    }

    /// Returns the actions that change the running gateway in a scenario, by name. If the scenario
    /// uses the control plane, the control plane's actions replace the gateway's actions of the
    /// same name.
    pub fn all_actions(&self, scenario: &Scenario) -> BTreeMap<&str, &Action> {
        let names = self.actions.keys().map(String::as_str);
        let names = names.chain([CONFIGURE, WEIGHTS]);
        let own = names.filter_map(|name| Some((name, self.action(name)?)));
        let of_control_plane = self.control_plane_in(scenario).map(|it| &it.actions);
        let of_control_plane = of_control_plane.into_iter().flatten();
        own.chain(of_control_plane.map(|(name, action)| (name.as_str(), action)))
            .collect()
    }

    /// Returns the action with this name. If `configure` or `weights` is missing, returns `reload`
    /// instead, unless `features` contains a statement about the missing action.
    pub fn action(&self, name: &str) -> Option<&Action> {
        let is_by_reload =
            [CONFIGURE, WEIGHTS].contains(&name) && !self.features.contains_key(name);
        let reload = || self.actions.get(RELOAD).filter(|_| is_by_reload);
        self.actions.get(name).or_else(reload)
    }

    /// The versions that the templates and their policies have been tested with: those in
    /// `proven_with`, and the version of the Python package or the Maven project under `install`.
    pub fn proven(&self) -> Vec<&str> {
        let install = &self.install;
        let pypi = install.pypi.as_ref().map(|it| it.version.as_str());
        let maven = install.maven.as_ref().map(|it| it.version.as_str());
        let named = self.proven_with.iter().map(String::as_str);
        named.chain(pypi).chain(maven).collect()
    }
}

impl Policy {
    /// Returns those of [`PARTS`] that this policy uses, except the parts that depend on the rest
    /// of the scenario.
    fn parts(&self) -> impl Iterator<Item = &'static str> {
        PARTS.into_iter().filter(|name| {
            let parts = name.split_once('.');
            parts.is_some_and(|(kind, part)| kind == self.kind() && self.uses(part))
        })
    }

    fn uses(&self, part: &str) -> bool {
        match (self, part) {
            (Self::Jwt(jwt), "rs256") => {
                let is_rsa = |key: &JwtKey| matches!(key, JwtKey::Rs256(_));
                jwt.keys.iter().any(is_rsa)
            }
            (Self::Jwt(jwt), "jwks") => jwt.jwks.is_some(),
            (Self::Jwt(jwt), "audience") => jwt.audience.is_some(),
            (Self::RateLimit(limit), "per_consumer") => limit.per == RateLimitKey::Consumer,
            (Self::RateLimit(limit), "per_header") => limit.per == RateLimitKey::Header,
            (Self::RateLimit(limit), "headers") => limit.headers,
            (Self::RateLimit(limit), "any_window") => !has_usual_window(limit),
            (Self::RateLimit(limit), "any_rate") => !is_whole_per_minute(limit),
            (Self::RequestHeaders(edits) | Self::ResponseHeaders(edits), "add") => {
                !edits.add.is_empty()
            }
            (Self::RequestHeaders(edits) | Self::ResponseHeaders(edits), "rename") => {
                !edits.rename.is_empty()
            }
            (Self::RequestJson(edits) | Self::ResponseJson(edits), "items") => edits.has_items(),
            (Self::Soap(soap), "parameters") => {
                let mut chains = soap.chains();
                chains.any(|(_, chain)| !chain.xslt_params.is_empty())
            }
            _ => false,
        }
    }
}

fn has_usual_window(limit: &RateLimitPolicy) -> bool {
    let window = limit.window.as_nanos();
    window.is_multiple_of(NANOS_PER_SECOND)
        && USUAL_WINDOWS_SECONDS.contains(&(window / NANOS_PER_SECOND))
}

/// Reports whether the rate is a whole number of requests per minute, or so high that a fraction of
/// a request makes no difference.
fn is_whole_per_minute(limit: &RateLimitPolicy) -> bool {
    // A window of zero is reported as an error elsewhere.
    let window = u128::from(limit.window.as_nanos()).max(1);
    let in_a_minute = u128::from(limit.limit) * 60 * u128::from(NANOS_PER_SECOND);
    in_a_minute.is_multiple_of(window) || in_a_minute / window >= MANY_PER_MINUTE
}

#[cfg(test)]
mod tests {
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
            "gateway: g\ncontract: {}\ntitle: G\nbinary: {{names: [g], version_args: [v], version_pattern: '(x)'}}\n\
             start: [g]\n{more}",
            if more.contains("policies:") { 1 } else { 2 },
        );
        parse("gateway.yaml", &text).unwrap()
    }

    #[test]
    fn a_scenario_needs_policies_their_parts_and_protocols() {
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
    fn unusual_windows_and_rates_are_separate_needs() {
        let parts = |limit: u64, window: &str| {
            let limit = RateLimitPolicy {
                limit,
                window: window.parse().unwrap(),
                per: RateLimitKey::Route,
                header: None,
                headers: false,
            };
            Vec::from_iter(Policy::RateLimit(limit).parts())
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
    fn edits_of_json_in_arrays_are_a_separate_need() {
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

    fn lacking(folder: &GatewayFolder) -> Vec<&'static str> {
        let scenario: Scenario = parse("s.yaml", SCENARIO).unwrap();
        let needs = scenario.needs().into_iter();
        needs.filter(|need| !folder.has(need)).collect()
    }

    #[test]
    fn a_folder_lacks_the_features_and_parts_that_it_does_not_claim() {
        let missing = [
            "access_log",
            "http2",
            "jwt",
            "rate_limit",
            "request_headers",
            "tls",
        ];
        assert_eq!(lacking(&folder("")), missing);
        let most = folder(
            "features:\n  jwt: native\n  rate_limit: {native: buckets, without: [headers]}\n  \
             request_headers: script\n  tls: native\n  http2: native\n",
        );
        assert_eq!(lacking(&most), ["access_log", "rate_limit.headers"]);
        let logs = folder("access_log: stdout\nfeatures: {jwt: unused, tls: {unsupported: why}}\n");
        assert_eq!(lacking(&logs), missing[1..]);
    }

    #[test]
    fn a_folder_of_contract_1_is_read_as_one_of_contract_2() {
        let first = folder(
            "policies: {jwt: native, rate_limit: native, soap: script}\n\
             transport: [tls]\nfailover: native\nlacks: [rate_limit.headers, rate_limit.any_rate]\n\
             unused: [http2]\nwithout: {mock: only errors}\nactions: {reload: {signal: HUP}}\n\
             extras: {soap: {path: /x, install: make x}, saxon: {path: y, install: make y}}\n",
        );
        let expected = folder(
            "features:\n  jwt: native\n  rate_limit: {native: '', without: [headers, any_rate]}\n  \
             soap: {script: '', needs: {path: /x, install: make x}}\n  tls: native\n  \
             failover: native\n  http2: unused\n  mock: {unsupported: only errors}\n  \
             saxon: {native: '', needs: {path: y, install: make y}}\n  access_log: native\n  \
             configure: unused\n  weights: unused\nactions: {reload: {signal: HUP}}\n",
        );
        assert_eq!(first, expected);
    }

    #[test]
    fn reload_also_applies_routes_and_weights_unless_stated() {
        let has = |more: &str| {
            let folder = folder(&format!("actions: {{reload: {{signal: HUP}}}}\n{more}"));
            [RELOAD, CONFIGURE, WEIGHTS].map(|action| folder.has(action))
        };
        assert_eq!(has(""), [true; 3]);
        assert_eq!(has("features: {weights: unused}"), [true, true, false]);
    }
}
