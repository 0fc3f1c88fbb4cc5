//! Converts plug-ins to policies.

use std::collections::BTreeMap;

use gatebench_config::{Entry, HumanDuration, Node};
use gatebench_model::Policy;
use gatebench_model::policy::{
    ApiKeyPolicy, BasicAuthPolicy, HeaderEdits, MockPolicy, RateLimitKey, RateLimitPolicy,
    RequestSizeLimitPolicy,
};

use crate::keys::Keys;
use crate::log::Log;
use crate::regex_sample;

#[derive(Default)]
pub(super) struct Effects {
    pub(super) policies: Vec<Policy>,
    pub(super) strips_path: bool,
    pub(super) has_metrics: bool,
    pub(super) not_understood: Vec<String>,
}

/// The plug-ins that become policies, in the order that APISIX runs them in.
const ORDER: [&str; 7] = [
    "client-control",
    "mocking",
    "basic-auth",
    "key-auth",
    "proxy-rewrite",
    "limit-count",
    "response-rewrite",
];

impl Effects {
    pub(super) fn of(plugins: &BTreeMap<&str, &Entry>, path: &str, log: &mut Log<'_>) -> Self {
        let mut effects = Self::default();
        let place = |name: &str| ORDER.iter().position(|it| *it == name);
        let mut plugins: Vec<_> = plugins.values().collect();
        plugins.sort_by_key(|entry| place(&entry.key).unwrap_or(ORDER.len()));
        for entry in plugins {
            let is_off = entry.value.at(&["_meta", "disable"]).and_then(Node::flag);
            if is_off != Some(true) {
                effects.add(entry, path, log);
            }
        }
        effects
    }

    fn add(&mut self, entry: &Entry, path: &str, log: &mut Log<'_>) {
        let mut keys = Keys::of(&entry.value, format!("the plug-in {}", entry.key), log);
        keys.ignore(&["_meta"]);
        let policy = match entry.key.as_str() {
            "key-auth" => {
                keys.ignore(&["query"]);
                let header = keys.text("header", log).unwrap_or_else(|| "apikey".into());
                Some(Policy::ApiKey(ApiKeyPolicy { header }))
            }
            "basic-auth" => Some(Policy::BasicAuth(BasicAuthPolicy {
                realm: "basic".into(),
            })),
            "limit-count" => limit_count(&mut keys, log),
            "client-control" => keys.count("max_body_size", log).map(|max_bytes| {
                let max_bytes = max_bytes.max(1);
                Policy::RequestSizeLimit(RequestSizeLimitPolicy { max_bytes })
            }),
            "mocking" => mocking(&mut keys, log),
            "response-rewrite" => header_edits(&mut keys, log).map(Policy::ResponseHeaders),
            "proxy-rewrite" => {
                self.strips_path = strips(&mut keys, path, log);
                header_edits(&mut keys, log).map(Policy::RequestHeaders)
            }
            "prometheus" => {
                self.has_metrics = true;
                return;
            }
            _ => None,
        };
        let is_rewrite = entry.key == "proxy-rewrite";
        if policy.is_none() && !is_rewrite {
            let what = format!("the plug-in {}", entry.key);
            let words = log.not_understood(&entry.key_span, what);
            self.not_understood.push(words);
            return;
        }
        self.policies.extend(policy);
        let of = format!(" of the plug-in {}", entry.key);
        self.not_understood.extend(keys.not_understood(&of, log));
    }
}

fn limit_count(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<Policy> {
    let limit = keys.count("count", log)?;
    let seconds = keys.count("time_window", log)?;
    let span = keys.span.clone();
    if keys.text("policy", log).is_some_and(|it| it != "local") {
        let what = "a rate limit shared by several gateways: each gateway counts requests in its own memory";
        log.simplified(&span, what);
    }
    let (kind, key) = (keys.text("key_type", log), keys.text("key", log));
    let key = key.as_deref().unwrap_or("remote_addr");
    let header = key.strip_prefix("http_").map(header_name);
    let per = match (kind.as_deref().unwrap_or("var"), key) {
        ("var", "consumer_name") => RateLimitKey::Consumer,
        ("var", _) if header.is_some() => RateLimitKey::Header,
        ("constant", _) | ("var", "remote_addr" | "server_addr") => RateLimitKey::Route,
        _ => return None,
    };
    let headers = keys.flag("show_limit_quota_header", log).unwrap_or(true);
    keys.ignore(&["rejected_code", "rejected_msg", "allow_degradation"]);
    keys.ignore(&["nodelay", "redis_host", "redis_port", "redis_password"]);
    keys.ignore(&["redis_database", "redis_timeout"]);
    Some(Policy::RateLimit(RateLimitPolicy {
        limit: limit.clamp(1, 1_000_000_000),
        window: HumanDuration::from_millis(seconds.max(1) * 1_000),
        per,
        header: header.filter(|_| per == RateLimitKey::Header),
        headers,
    }))
}

/// Converts the part of an nginx variable's name after `http_`, such as `x_client`, to the name of
/// a header, `X-Client`.
fn header_name(variable: &str) -> String {
    let capital = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => word.to_owned(),
    };
    let words: Vec<String> = variable.split('_').map(capital).collect();
    words.join("-")
}

fn mocking(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<Policy> {
    let status = keys.count("response_status", log).unwrap_or(200);
    let body = keys.text("response_example", log)?;
    let content_type = keys.text("content_type", log);
    keys.ignore(&["with_mock_header"]);
    Some(Policy::Mock(MockPolicy {
        status: mock_status(status)?,
        content_type: content_type.unwrap_or_else(|| "application/json;charset=utf8".into()),
        body,
    }))
}

/// Returns the status if the `mock` policy permits it.
pub(crate) fn mock_status(status: u64) -> Option<u16> {
    let status = u16::try_from(status).ok();
    status.filter(|it| (200..=599).contains(it))
}

/// Reports whether a rewrite only removes the route's prefix from the path.
fn strips(keys: &mut Keys<'_>, path: &str, log: &mut Log<'_>) -> bool {
    let Some(entry) = keys.entry("regex_uri") else {
        return false;
    };
    let texts: Vec<&str> = entry.value.items().iter().filter_map(Node::text).collect();
    if let [expression, "/$1"] = texts[..]
        && expression.ends_with("(.*)$")
        && regex_sample::literal_prefix(expression).trim_end_matches('/') == path
    {
        return true;
    }
    let what =
        "a path that is rewritten by a regular expression: the upstream gets the original path";
    log.simplified(&entry.key_span, what);
    false
}

fn header_edits(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Option<HeaderEdits> {
    let mut headers = keys.keys("headers", log)?;
    let mut edits = HeaderEdits {
        remove: headers.texts("remove", log),
        set: headers.named_texts("set", log),
        ..HeaderEdits::default()
    };
    let Some(added) = headers.node("add") else {
        return Some(edits);
    };
    edits.add = log.texts_of(added.entries());
    let lines = added.items().iter().filter_map(Node::text);
    let pairs = lines.filter_map(|line| line.split_once(':'));
    let pairs = pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    edits.add.extend(pairs);
    Some(edits)
}
