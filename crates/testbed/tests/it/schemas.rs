//! Checks the files rendered for Gravitee, with policies that its folder claims to support,
//! against the vendor's schemas. This repository keeps no vendor's files: the schemas come from
//! Maven's registry.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::common::{folder, scenario, wiring};
use gatebench_model::Scenario;
use gatebench_testbed::gateway::{input_for, render};
use serde_json::Value as Json;

/// The subjects of Gravitee's schemas and their locations in Maven: the artifact and the file in
/// it. Policies have the names that an API uses for them.
const GRAVITEE: [(&str, &str, &str); 8] = [
    (
        "mock",
        "io.gravitee.policy:gravitee-policy-mock:1.15.0",
        "schemas/schema-form.json",
    ),
    (
        "api-key",
        "io.gravitee.policy:gravitee-policy-apikey:5.2.0",
        "schemas/schema-form.json",
    ),
    (
        "rate-limit",
        "io.gravitee.policy:gravitee-policy-ratelimit:4.3.0",
        "schemas/schema-form.json",
    ),
    (
        "json-to-json",
        "io.gravitee.policy:gravitee-policy-json-to-json:3.0.1",
        "schemas/schema-form.json",
    ),
    (
        "transform-headers",
        "io.gravitee.policy:gravitee-policy-transformheaders:5.2.0",
        "schemas/schema-form.json",
    ),
    (
        "request-content-limit",
        "io.gravitee.policy:gravitee-policy-request-content-limit:1.8.1",
        "schemas/schema-form.json",
    ),
    (
        ENDPOINT,
        "io.gravitee.apim.plugin.endpoint:gravitee-apim-plugin-endpoint-http-proxy:4.10.9",
        "schemas/schema-form.json",
    ),
    (
        ENDPOINTS,
        "io.gravitee.apim.plugin.endpoint:gravitee-apim-plugin-endpoint-http-proxy:4.10.9",
        "schemas/sharedConfiguration/schema-form.json",
    ),
];

/// The subject of the schema for the configuration of one endpoint.
const ENDPOINT: &str = "(endpoint)";
/// The subject of the schema for the configuration that the endpoints of a group share.
const ENDPOINTS: &str = "(endpoints of a group)";

/// Returns a scenario whose routes have, in turn, no policy, all seven policies below, and each of
/// these policies alone.
fn scenario_of(routes: usize) -> Scenario {
    let mut text = "scenario: many\ntitle: many\nupstream: httpbin\nrequests: [{path: /r0}]\n\
                    consumers: [{name: alice, keys: [alice-s]}]\nroutes:\n"
        .to_owned();
    let size = "{request_size_limit: {max_bytes: 1000}}";
    let request = "{request_headers: {set: {X-A: \"a {# b\"}, remove: [X-B]}}";
    let response = "{response_headers: {set: {X-C: c}}}";
    let key = "{api_key: {header: X-Api-Key}}";
    let limit = "{rate_limit: {limit: 5, window: 1m, per: header, header: X-Client}}";
    let json = "{response_json: {rename: {/a/b: c}, default: {/d: '{#e}'}}}";
    let mock =
        "{mock: {status: 201, content_type: application/json, body: '{\"a\": \"{#b} $c\"}'}}";
    let each = [key, limit, size, request, response, json, mock];
    let all = each.join(", ");
    let chains = ["", all.as_str()].into_iter().chain(each);
    for (number, chain) in (0..routes).zip(chains.cycle()) {
        writeln!(
            text,
            "- {{name: r{number}, path: /r{number}, policies: [{chain}]}}"
        )
        .unwrap();
    }
    scenario(&text)
}

fn rendered(gateway: &str, scenario: &Scenario) -> BTreeMap<String, String> {
    let folder = folder(gateway);
    folder.claims(scenario).unwrap();
    let targets = [SocketAddr::from(([127, 0, 0, 1], 48_002))];
    let files = render(&folder, &input_for(scenario, &wiring(&targets))).unwrap();
    let texts = files
        .into_iter()
        .map(|file| (file.path.display().to_string(), file.text));
    texts.collect()
}

/// Returns the name and the configuration of each policy, endpoint group and endpoint in a list of
/// APIs, one API per line.
fn gravitee_parts(list: &str) -> Vec<(String, Json)> {
    let mut parts = Vec::new();
    for line in list.lines().filter(|line| !line.trim().is_empty()) {
        let definition: Json = serde_json::from_str(line).unwrap();
        for plan in definition["plans"].as_array().unwrap() {
            let security = &plan["security"];
            if let Some(configuration) = security.get("configuration") {
                let policy = security["type"].as_str().unwrap();
                parts.push((policy.to_owned(), configuration.clone()));
            }
        }
        for group in definition["endpointGroups"].as_array().unwrap() {
            parts.push((ENDPOINTS.into(), group["sharedConfiguration"].clone()));
            for endpoint in group["endpoints"].as_array().unwrap() {
                parts.push((ENDPOINT.into(), endpoint["configuration"].clone()));
            }
        }
        for flow in definition["flows"].as_array().unwrap() {
            for phase in ["request", "response"] {
                for step in flow[phase].as_array().unwrap() {
                    let policy = step["policy"].as_str().unwrap();
                    parts.push((policy.to_owned(), step["configuration"].clone()));
                }
            }
        }
    }
    parts
}

/// Downloads a Maven artifact, and returns the schema in it. Fails if Maven is not installed.
fn gravitee_schema(artifact: &str, file: &str, into: &Path) -> io::Result<Json> {
    let check = |output: std::process::Output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            Ok(())
        } else {
            Err(io::Error::other(said))
        }
    };
    let maven = Command::new("mvn")
        .args(["-q", "-B", "dependency:copy"])
        .arg(format!("-Dartifact={artifact}"))
        .arg(format!("-DoutputDirectory={}", into.display()))
        .output()?;
    check(maven)?;
    let (_, name) = artifact.split_once(':').unwrap();
    let unpacked = into.join(name.replace(':', "-"));
    let archive = into.join(format!("{}.jar", name.replace(':', "-")));
    let unzip = Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .arg(&archive)
        .arg(&unpacked)
        .output()?;
    check(unzip)?;
    let text = fs::read_to_string(unpacked.join(file))?;
    Ok(serde_json::from_str(&text)?)
}

#[test]
#[ignore = "downloads Gravitee's schemas; run `make test-full`"]
fn gravitees_policies_and_endpoints_match_its_schemas() {
    let temporary = tempfile::tempdir().unwrap();
    let mut schemas = BTreeMap::new();
    for (policy, artifact, file) in GRAVITEE {
        let schema = match gravitee_schema(artifact, file, temporary.path()) {
            Ok(schema) => schema,
            Err(error) => {
                eprintln!("skipped: Maven cannot download {artifact}: {error}");
                return;
            }
        };
        schemas.insert(policy, jsonschema::validator_for(&schema).unwrap());
    }
    let files = rendered("gravitee", &scenario_of(100));
    let parts = gravitee_parts(&files["apis.jsonl"]);
    assert!(parts.len() > 100, "{}", parts.len());
    for (policy, configuration) in parts {
        let schema = schemas.get(policy.as_str());
        let schema = schema.unwrap_or_else(|| panic!("there is no schema for {policy}"));
        let mistakes: Vec<String> = schema
            .iter_errors(&configuration)
            .map(|mistake| format!("{}: {mistake}", mistake.instance_path()))
            .collect();
        assert!(
            mistakes.is_empty(),
            "{policy} {configuration}: {mistakes:?}"
        );
    }
}

#[test]
fn a_hundred_routes_of_gravitee_are_a_hundred_apis() {
    let files = rendered("gravitee", &scenario_of(100));
    let lines = files["apis.jsonl"].lines();
    assert_eq!(lines.filter(|line| !line.trim().is_empty()).count(), 100);
    // The routes have nine chains in turn: one without policies, one with all seven, and seven with
    // one policy each. Each API also has an endpoint group and an endpoint.
    let policies = 11 * 7 + 7 * 11;
    assert_eq!(gravitee_parts(&files["apis.jsonl"]).len(), policies + 200);
}
