//! Rules for `soap`.

use gatebench_config::{Entry, Node, Problem};

/// The settings that are valid in one direction only, with that direction.
const ONLY: [(&str, &str); 4] = [
    ("soap_action", "request"),
    ("route_xpath_targets", "request"),
    ("route_xpath_register_ns", "request"),
    ("ignore_process_if_service_http_error", "response"),
];

/// Other policies that change bodies.
const EDITS: [&str; 3] = ["request_json", "response_json", "response_xslt"];

pub(super) fn check(entry: &Entry, problems: &mut Vec<Problem>) {
    let settings = &entry.value;
    if settings.get("request").is_none() && settings.get("response").is_none() {
        let help = "add `request: {}` or `response: {}` with its settings";
        problems.push(entry.problem("`soap` does nothing", help));
    }
    for direction in ["request", "response"] {
        if let Some(chain) = settings.get(direction) {
            check_chain(direction, chain, problems);
        }
    }
}

fn check_chain(direction: &str, chain: &Node, problems: &mut Vec<Problem>) {
    super::not_zero(chain, "cache_ttl", "1h", problems);
    for (setting, only) in ONLY {
        if only != direction
            && let Some(entry) = chain.entry(setting)
        {
            let message = format!("`{setting}` is not valid in a {direction}");
            let help = format!("put it under `{only}`, or remove it");
            problems.push(entry.problem(message, help));
        }
    }
}

/// The name of the scenario's main upstream in template input.
const ORIGIN: &str = "origin";

/// Checks that upstreams have names that every gateway accepts, and that named upstreams exist.
pub(super) fn upstreams(root: &Node, problems: &mut Vec<Problem>) {
    let more = root.mapping("more_upstreams");
    for entry in more {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if entry.key == ORIGIN || entry.key.is_empty() || !entry.key.bytes().all(is_plain) {
            let message = format!("an upstream cannot be called `{}`", entry.key);
            let help = "use only lowercase letters and digits, and a name other than `origin`";
            problems.push(entry.problem(message, help));
        }
    }
    let is_known = |name: &str| more.iter().any(|entry| entry.key == name);
    let later = root.get("later").map_or(&[][..], |it| it.list("routes"));
    let routes = root.list("routes").iter().chain(later);
    let policies = routes.flat_map(|route| route.list("policies"));
    let chains = policies.filter_map(|policy| policy.at(&["soap", "request"]));
    for target in chains.flat_map(|chain| chain.list("route_xpath_targets")) {
        if let Some(named) = target.get("upstream")
            && let Some(name) = named.text().filter(|name| !is_known(name))
        {
            let message = format!("no upstream of the scenario is called `{name}`");
            let help = format!("add `more_upstreams: {{{name}: KIND}}`, or remove `upstream`");
            problems.push(named.problem(message, help));
        }
    }
}

/// Checks that a route with `soap` has no other policy that edits bodies.
pub(super) fn together(policies: &[&Entry], problems: &mut Vec<Problem>) {
    if !policies.iter().any(|entry| entry.key == "soap") {
        return;
    }
    let is_edit = |entry: &&&Entry| EDITS.contains(&entry.key.as_str());
    for edit in policies.iter().filter(is_edit) {
        let message = format!("`{}` and `soap` edit the same bodies", edit.key);
        let help = "edit the bodies with a stylesheet of `soap`, or use another route";
        problems.push(edit.problem(message, help));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use gatebench_config::{Diagnostics, parse_with_files};

    use crate::{Policy, Scenario};

    fn read(policies: &str) -> Result<Scenario, Vec<String>> {
        let text = format!(
            "scenario: s\ntitle: t\nupstream: go-bench\nrequests: [{{path: /ws}}]\n\
             routes:\n  - name: r\n    path: /ws\n    policies:\n{policies}"
        );
        let read_file = |path: &Path| match path.to_str() {
            Some("a.xsd") => Ok(b"<xs:schema/>".to_vec()),
            Some("a.txt") => Ok(b"text".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let messages = |mistakes: Diagnostics| {
            let all = mistakes.all().iter();
            all.map(|one| one.message.clone()).collect()
        };
        parse_with_files("s.yaml", &text, &read_file).map_err(messages)
    }

    #[test]
    fn definitions_are_text_or_files_next_to_the_scenario() {
        let scenario = read(
            "      - soap:
          request:
            xsd_api_schema: a.xsd
            xslt_transform_before: ' <x/>'
            includes: {'http://t/i.xsd': a.xsd}
            soap_action: yes_null_allowed
            route_xpath_targets: [{xpath: //a, condition: b, path: /ws/soap2}]
          response: {cache_ttl: 1m}
",
        )
        .unwrap();
        let Policy::Soap(soap) = &scenario.routes[0].policies[0] else {
            panic!("no soap");
        };
        let request = soap.request.as_ref().unwrap();
        assert_eq!(request.xsd_api_schema.as_deref(), Some("<xs:schema/>"));
        assert_eq!(request.xslt_transform_before.as_deref(), Some(" <x/>"));
        assert_eq!(request.includes["http://t/i.xsd"], "<xs:schema/>");
        assert!(request.xslt_remove_empty_name_space);
        let json = serde_json::to_value(&scenario).unwrap();
        assert_eq!(serde_json::from_value::<Scenario>(json).unwrap(), scenario);
    }

    #[test]
    fn every_mistake_is_reported() {
        let found = read(
            "      - soap: {}
      - soap:
          request: {xsd_api_schema: b.xsd, cache_ttl: 0s, ignore_process_if_service_http_error: true}
          response:
            xsd_api_schema: a.txt
            soap_action: yes
            route_xpath_targets: [{xpath: //a, condition: b, path: /x}]
      - request_json: {remove: [/a]}
      - response_xslt: {stylesheet: a.txt}
",
        )
        .unwrap_err();
        for words in [
            "does nothing",
            "b.xsd cannot be read",
            "not XML, or is not UTF-8",
            "a second `soap`",
            "`request_json` and `soap` edit",
            "`response_xslt` and `soap` edit",
            "`ignore_process_if_service_http_error` is not valid in a request",
            "`soap_action` is not valid in a response",
            "`route_xpath_targets` is not valid in a response",
        ] {
            let is_there = found.iter().any(|one| one.contains(words));
            assert!(is_there, "{words}: {found:#?}");
        }
        assert_eq!(found.len(), 11, "{found:#?}");
    }

    #[test]
    fn the_upstream_of_a_target_must_exist() {
        let targets = "      - soap: {request: {route_xpath_targets: [{xpath: //a, condition: b, path: /x, upstream: o}]}}\n";
        let found = read(targets).unwrap_err();
        assert_eq!(found, ["no upstream of the scenario is called `o`"]);
        let more = |name: &str| format!("{targets}more_upstreams: {{{name}: ping}}\n");
        assert!(read(&more("o")).is_ok());
        let found = read(&more("origin")).unwrap_err();
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(found[1].contains("cannot be called `origin`"), "{found:#?}");
    }
}
