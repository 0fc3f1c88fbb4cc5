//! Tests scenarios that name other files, whose contents become part of the scenarios.

use std::io;
use std::path::Path;

use gatebench_config::{Diagnostics, parse_with_files};
use gatebench_model::data::Pick;
use gatebench_model::{Scenario, Source, schema};

fn files(path: &Path) -> io::Result<Vec<u8>> {
    match path.to_str().unwrap() {
        "users.csv" => Ok(b"mail,name\na@x,\"Ada, L\"\nb@x,Bob\n".to_vec()),
        "cities.jsonl" => Ok(b"{\"city\": \"Rome\", \"size\": 2.8}\n".to_vec()),
        "broken.csv" => Ok(b"a,b\n1,2\n3\n".to_vec()),
        "order.json" => Ok(b"{\"by\": {\"name\": \"{{ users.name }}\"}}".to_vec()),
        "image.png" => Ok(vec![0x89, 0x50, 0xff, 0x00]),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn scenario(data: &str, requests: &str) -> Result<Scenario, Diagnostics> {
    let text = format!(
        "scenario: s\ntitle: t\nupstream: httpbin\nroutes: [{{name: all, path: /anything}}]\ndata: {data}\nrequests: {requests}\n"
    );
    parse_with_files("s.yaml", &text, &files)
}

const USERS: &str = "{users: {csv: {file: users.csv, pick: zipf, exponent: 1.5}}}";

#[test]
fn rows_of_files_become_lists() {
    let data = "{users: {csv: {file: users.csv}}, cities: {json_lines: {file: cities.jsonl, pick: uniform}}}";
    let request = "[{path: '/anything?q={{ users.mail }}', body: '{{ cities.size }}'}]";
    let scenario = scenario(data, request).unwrap();
    let Source::List(users) = &scenario.data["users"] else {
        panic!("{:?}", scenario.data)
    };
    assert_eq!(users.columns, ["mail", "name"]);
    assert_eq!(
        (users.values.len(), users.values.get(0, 1)),
        (2, Some("Ada, L"))
    );
    let Source::List(cities) = &scenario.data["cities"] else {
        panic!("{:?}", scenario.data)
    };
    assert_eq!(
        (cities.values.get(0, 1), cities.pick),
        (Some("2.8"), Pick::Uniform)
    );
    let json = serde_json::to_value(&scenario).unwrap();
    assert!(jsonschema::is_valid(
        &schema(gatebench_model::FileKind::Scenario),
        &json
    ));
    assert_eq!(serde_json::from_value::<Scenario>(json).unwrap(), scenario);
}

#[test]
fn bodies_of_files_are_text_with_templates_or_any_bytes() {
    let requests =
        "[{path: /anything, body_file: order.json}, {path: /anything, body_file: image.png}]";
    let scenario = scenario(USERS, requests).unwrap();
    let body = |index: usize| scenario.requests[index].body.as_ref().unwrap();
    assert_eq!(
        body(0).text(),
        Some("{\"by\": {\"name\": \"{{ users.name }}\"}}")
    );
    assert_eq!(body(1).bytes(), [0x89, 0x50, 0xff, 0x00]);
    let json = serde_json::to_value(&scenario).unwrap();
    assert_eq!(serde_json::from_value::<Scenario>(json).unwrap(), scenario);
}

#[test]
fn a_mistake_in_a_file_is_reported_where_the_file_is_named() {
    let mistakes = |data: &str, requests: &str| {
        let mistakes = scenario(data, requests).unwrap_err();
        let first = &mistakes.all()[0];
        (first.line, first.message.clone())
    };
    let plain = "[{path: /anything}]";
    let broken = "{x: {csv: {file: broken.csv}}}";
    let (line, message) = mistakes(broken, plain);
    assert_eq!(
        (line, message.contains("line 3 of broken.csv")),
        (5, true),
        "{message}"
    );
    let (line, message) = mistakes(USERS, "[{path: '/anything/{{ users.email }}'}]");
    assert_eq!(
        (line, message.as_str()),
        (6, "`users` has no column `email`")
    );
    let (line, message) = mistakes(USERS, "[{path: '/anything/{{ users.name }}'}]");
    assert_eq!(line, 6);
    assert_eq!(
        message,
        "\"Ada, L\" in row 1 of `users` cannot be used in a path"
    );
    let (_, message) = mistakes(
        "{users: {csv: {file: users.csv}}}",
        "[{path: /anything, body_file: none}]",
    );
    assert!(message.contains("none cannot be read"), "{message}");
}

#[test]
fn parity_cases_are_sent_as_they_are_written() {
    let text = "scenario: s
title: t
upstream: httpbin
routes: [{name: all, path: /anything}]
requests: [{path: '/anything/{{ \"{{\" }}'}]
parity:
  - name: two braces
    request: {path: '/anything/{{ \"{{\" }}', headers: {X-A: '{{ \"{{\" }}'}, body: 'a{{ \"{{\" }}b'}
    reaches_upstream: true
";
    let scenario = parse_with_files::<Scenario>("s.yaml", text, &files).unwrap();
    let request = &scenario.parity[0].request;
    assert_eq!(
        (request.path.as_str(), request.headers["X-A"].as_str()),
        ("/anything/{{", "{{")
    );
    assert_eq!(request.body.as_ref().unwrap().text(), Some("a{{b"));
    assert_eq!(scenario.requests[0].path, "/anything/{{ \"{{\" }}");
}
