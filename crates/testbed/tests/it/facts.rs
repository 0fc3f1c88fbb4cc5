//! Checks rendered files against facts about the configuration of gateways that these tests do not
//! start. The facts are taken from the gateways' documentation and sources.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{folder, scenario, scenarios, wiring};
use gatebench_model::{Policy, Scenario};
use gatebench_testbed::gateway::{Folder, Wiring, input_for, render};
use serde_json::{Value as Json, json};

const KONG: &str = include_str!("../facts/kong.json");
const APISIX: &str = include_str!("../facts/apisix.json");
const KRAKEND: &str = include_str!("../facts/krakend.json");
const TYK: &str = include_str!("../facts/tyk.json");

/// The keys that Kong's properties file may set in addition to nginx directives. Kong silently
/// ignores unknown keys. An entry that ends with `_` is the prefix of several keys.
const KONG_PROPERTIES: [&str; 21] = [
    "prefix",
    "database",
    "declarative_config",
    "proxy_listen",
    "ssl_cert",
    "ssl_cert_key",
    "admin_listen",
    "admin_gui_listen",
    "status_listen",
    "anonymous_reports",
    "log_level",
    "proxy_error_log",
    "proxy_access_log",
    "admin_access_log",
    "headers",
    "headers_upstream",
    "plugins",
    "untrusted_lua",
    "lua_package_path",
    "nginx_daemon",
    "upstream_keepalive_",
];
const KONG_DIRECTIVES: [&str; 4] = [
    "nginx_main_",
    "nginx_events_",
    "nginx_http_",
    "nginx_proxy_",
];

/// A release of each minor version of Kong that the folder supports, with the settings that later
/// releases added.
const KONG_RELEASES: [(&str, &[&str]); 6] = [
    ("3.4.2", &["realm", "headers_upstream"]),
    ("3.5.0", &["realm"]),
    ("3.6.1", &[]),
    ("3.7.1", &[]),
    ("3.8.1", &[]),
    ("3.9.1", &[]),
];

/// Like [`each_rendered_for`], for files that do not depend on the gateway's version.
fn each_rendered(folder: &Folder, check: impl FnMut(&Scenario, &BTreeMap<String, String>)) {
    each_rendered_for(folder, "1.0", check);
}

/// For this version of the gateway, renders each scenario that a folder claims to support, once
/// with one target and once with two, and passes the files to `check`.
fn each_rendered_for(
    folder: &Folder,
    version: &str,
    mut check: impl FnMut(&Scenario, &BTreeMap<String, String>),
) {
    let targets = ["127.0.0.1:2", "127.0.0.1:3"].map(|target| target.parse().unwrap());
    let mut claimed = BTreeSet::new();
    for scenario in scenarios()
        .iter()
        .chain(&[everything_small(), keys_in_queries()])
    {
        if folder.claims(scenario).is_err() {
            continue;
        }
        let policies = scenario.all_routes().flat_map(|route| &route.policies);
        claimed.extend(policies.map(Policy::kind));
        let more = scenario.more_upstreams.keys();
        let more: Vec<_> = more.map(|name| (name.clone(), targets[1])).collect();
        for count in [1, 2] {
            let wiring = Wiring {
                version,
                more_upstreams: &more,
                access_log: scenario.access_log,
                metrics: scenario.metrics.is_some().then_some(targets[1]),
                ..wiring(&targets[..count])
            };
            let files = render(folder, &input_for(scenario, &wiring)).unwrap();
            let texts = files.into_iter();
            let texts = texts.map(|file| (file.path.display().to_string(), file.text));
            check(scenario, &texts.collect());
        }
    }
    for kind in Policy::KINDS.into_iter().filter(|it| folder.spec.has(it)) {
        assert!(claimed.contains(kind), "{kind} was never rendered");
    }
}

/// Returns a small scenario with several policies and with values that need quoting, for folders
/// that support few scenarios of the repository.
fn everything_small() -> Scenario {
    scenario(
        "scenario: small\ntitle: small\nupstream: httpbin\nconsumers: [{name: al-ice, keys: [k, 'a\"b'], password: p}, {name: bob}]\n\
         routes:\n\
         - {name: all, path: /}\n\
         - {name: a, path: /a, strip_path: true, policies: [{api_key: {header: X-Key}}, {request_size_limit: {max_bytes: 9}}]}\n\
         - {name: b, path: /b, strip_path: true, policies: [{request_headers: {set: {A: 'b: c'}, remove: [B]}}]}\n\
         - {name: c, path: /c, policies: [{response_headers: {set: {A: 'b: c'}, remove: [B]}}]}\n\
         - {name: d, path: /d, policies: [{mock: {status: 201, content_type: text/plain, body: '{#a}'}}]}\n\
         requests: [{path: /a}]\n",
    )
}

/// Returns a scenario with `api_key_query`, which no scenario of the repository uses.
fn keys_in_queries() -> Scenario {
    scenario(
        "scenario: query\ntitle: query\nupstream: httpbin\nconsumers: [{name: alice, keys: [k]}]\n\
         routes: [{name: all, path: /, policies: [{api_key_query: {name: api_key}}]}]\nrequests: [{path: /}]\n",
    )
}

fn facts(text: &str) -> jsonschema::Validator {
    let facts: Json = serde_json::from_str(text).unwrap();
    jsonschema::validator_for(&facts).unwrap()
}

#[track_caller]
fn must_fit(facts: &jsonschema::Validator, found: &Json, of: &Scenario) {
    let mistakes: Vec<String> = facts
        .iter_errors(found)
        .map(|mistake| format!("{}: {mistake}", mistake.instance_path()))
        .collect();
    assert!(mistakes.is_empty(), "{}: {mistakes:#?}", of.scenario);
}

#[test]
fn each_release_of_kong_gets_files_that_it_accepts() {
    for (version, later) in KONG_RELEASES {
        let mut facts: Json = serde_json::from_str(KONG).unwrap();
        let basic_auth = &mut facts["$defs"]["basic-auth"]["properties"];
        basic_auth
            .as_object_mut()
            .unwrap()
            .retain(|name, _| !later.contains(&name.as_str()));
        let facts = jsonschema::validator_for(&facts).unwrap();
        each_rendered_for(&folder("kong"), version, |scenario, files| {
            let found: Json = serde_json::from_str(&files["kong.json"]).unwrap();
            must_fit(&facts, &found, scenario);
            for property in kong_properties(&files["kong.conf"]) {
                assert!(!later.contains(&property), "{version}: {property}");
            }
        });
    }
}

/// Returns the properties that a file sets, and checks that Kong knows each of them.
fn kong_properties(file: &str) -> Vec<&str> {
    let lines = file.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let property = |line| {
        let (property, value): (&str, &str) =
            str::split_once(line, " = ").unwrap_or_else(|| panic!("{line}"));
        let is_known = KONG_PROPERTIES
            .iter()
            .any(|known| property == *known || known.ends_with('_') && property.starts_with(known));
        let is_directive = KONG_DIRECTIVES.iter().any(|it| property.starts_with(it));
        assert!(is_known || is_directive, "{line}");
        assert!(!value.is_empty(), "{line}");
        property
    };
    lines.map(property).collect()
}

#[test]
fn apisix_gets_files_that_it_accepts() {
    let facts = facts(APISIX);
    each_rendered(&folder("apisix"), |scenario, files| {
        let text = files["apisix.yaml"].trim_end();
        // APISIX recognizes a complete file by its last line.
        let found = serde_json::from_str(text.strip_suffix("#END").unwrap()).unwrap();
        must_fit(&facts, &found, scenario);
    });
}

#[test]
fn krakend_gets_files_that_it_accepts() {
    let facts = facts(KRAKEND);
    each_rendered(&folder("krakend"), |scenario, files| {
        let found = serde_json::from_str(&files["krakend.json"]).unwrap();
        must_fit(&facts, &found, scenario);
    });
}

#[test]
fn tyk_gets_files_that_it_accepts() {
    let facts = facts(TYK);
    each_rendered(&folder("tyk"), |scenario, files| {
        let apis = files["apis.jsonl"].lines();
        let apis: Vec<Json> = apis
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(apis.len(), scenario.routes.len());
        for api in apis {
            must_fit(&facts, &api, scenario);
        }
        let settings: Json = serde_json::from_str(&files["tyk.conf"]).unwrap();
        assert_eq!(settings["listen_address"], "127.0.0.1");
    });
}

#[test]
fn facts_and_gateways_refuse_the_same_files() {
    let kong = facts(KONG);
    let plugin = |name: &str, config: Json| {
        json!({ "_format_version": "3.0", "services": [{ "host": "h", "routes": [{
            "paths": ["/"], "plugins": [{ "name": name, "config": config }] }] }] })
    };
    assert!(kong.is_valid(&plugin(
        "rate-limiting",
        json!({ "hour": 1, "policy": "local" })
    )));
    for (name, config) in [
        ("rate-limiting", json!({ "quarter": 1 })),
        (
            "request-termination",
            json!({ "status_code": 200, "content_type": "text/plain" }),
        ),
        (
            "request-transformer",
            json!({ "add": { "headers": ["X-No-Value"] } }),
        ),
        ("key-auth", json!({ "key_names": ["X Key"] })),
        ("kee-auth", json!({})),
    ] {
        assert!(!kong.is_valid(&plugin(name, config)), "{name}");
    }
    let apisix = facts(APISIX);
    let route = |plugins: Json| {
        json!({ "upstreams": [{ "id": "u", "nodes": [] }],
            "routes": [{ "id": "r", "uris": ["/"], "upstream_id": "u", "plugins": plugins }] })
    };
    assert!(apisix.is_valid(&route(json!({}))));
    assert!(!apisix.is_valid(&route(json!({ "proxy-rewrite": {} }))));
    assert!(!apisix.is_valid(&route(
        json!({ "mocking": { "response_example": "", "content_type": "image/png" } })
    )));
    let krakend = facts(KRAKEND);
    let endpoint = |method: &str, path: &str| {
        json!({ "version": 3, "listen_ip": "127.0.0.1", "port": 1, "extra_config": {}, "endpoints": [{
            "endpoint": path, "method": method, "backend": [{ "url_pattern": "/", "host": ["http://h"] }] }] })
    };
    assert!(krakend.is_valid(&endpoint("GET", "/json/{p2}")));
    for (method, path) in [
        ("HEAD", "/json"),
        ("GET", "/json/*"),
        ("GET", "/json/{p 2}"),
    ] {
        assert!(
            !krakend.is_valid(&endpoint(method, path)),
            "{method} {path}"
        );
    }
    let tyk = facts(TYK);
    let api = |listen_path: &str, limit: Json| {
        json!({ "api_id": "a", "org_id": "o", "name": "n", "active": true, "use_keyless": true,
            "definition": { "location": "header", "key": "" }, "global_rate_limit": limit,
            "version_data": { "not_versioned": true,
                "versions": { "Default": { "name": "Default", "use_extended_paths": true } } },
            "proxy": { "listen_path": listen_path, "target_url": "http://h", "strip_listen_path": true } })
    };
    assert!(tyk.is_valid(&api("/a", json!({ "rate": 1, "per": 60 }))));
    assert!(!tyk.is_valid(&api("a", json!({ "rate": 1, "per": 60 }))));
    assert!(!tyk.is_valid(&api("/a", json!({ "rate": 1, "per": 0.5 }))));
}
