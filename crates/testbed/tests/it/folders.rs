//! Tests the contents of gateway folders and of the files that they render.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use crate::common::{folder, scenario, script_folder, wiring};
use gatebench_model::gateway::Support;
use gatebench_model::{Blame, Policy, Scenario};
use gatebench_testbed::DriverError;
use gatebench_testbed::gateway::{
    Catalogue, Folder, Origin, Wiring, changed_input_for, input_for, render,
};
use serde_json::json;

#[test]
fn every_embedded_folder_is_complete() {
    let names: Vec<String> = Catalogue::default()
        .list()
        .unwrap()
        .into_iter()
        .map(|folder| folder.spec.gateway)
        .collect();
    for name in [
        "caddy",
        "envoy",
        "haproxy",
        "nginx",
        "nginx-lua",
        "reference",
    ] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    // The files of `_shared` are parts of other folders.
    assert!(!names.contains(&"_shared".to_owned()), "{names:?}");
}

#[test]
fn every_embedded_folder_states_every_policy_and_why_it_lacks_one() {
    let mut wrong = Vec::new();
    for folder in Catalogue::default().list().unwrap() {
        for policy in Policy::KINDS.into_iter().chain(["saxon"]) {
            let stated = folder.spec.features.get(policy);
            let is_explained = stated.is_some_and(|feature| {
                feature.support() != Support::Unsupported || feature.explanation().is_some()
            });
            if !is_explained {
                wrong.push(format!("{}: {policy}", folder.spec.gateway));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_embedded_folder_was_tested_with_the_version_that_a_vendors_steps_install() {
    let mut checked = 0;
    for folder in Catalogue::default().list().unwrap() {
        if let Some(vendor) = &folder.spec.install.vendor {
            assert_eq!(folder.unproven(&vendor.version), None);
            checked += 1;
        }
    }
    assert!(checked > 0);
}

#[test]
fn the_libraries_of_every_embedded_java_program_are_pinned() {
    let mut pinned = 0;
    for folder in Catalogue::default().list().unwrap() {
        let Some(project) = &folder.spec.install.maven else {
            continue;
        };
        let name = &folder.spec.gateway;
        assert!(!project.libraries.is_empty(), "{name}");
        assert!(project.libraries_sha256.is_some(), "{name}");
        pinned += 1;
    }
    assert!(pinned > 0);
}

/// Some gateways cannot run here, so each folder is at least rendered for each scenario that it
/// claims to support. Every rendered document that begins with `{` must be valid JSON.
#[test]
fn every_folder_renders_every_scenario_that_it_claims() {
    let scenarios = crate::common::scenarios();
    let targets = [
        "127.0.0.1:2".parse().unwrap(),
        "127.0.0.1:3".parse().unwrap(),
    ];
    let mut rendered = 0;
    for folder in Catalogue::default().list().unwrap() {
        for scenario in scenarios.iter().filter(|it| folder.claims(it).is_ok()) {
            for count in [1, 2] {
                let more = scenario.more_upstreams.keys();
                let more: Vec<_> = more.map(|name| (name.clone(), targets[1])).collect();
                let wiring = Wiring {
                    more_upstreams: &more,
                    ..wiring(&targets[..count])
                };
                let files = render(&folder, &input_for(scenario, &wiring));
                let files = files.unwrap_or_else(|it| panic!("{}: {it}", scenario.scenario));
                for file in files {
                    let text = file.text.trim_end().trim_end_matches("#END");
                    let has_lines = file.path.extension().is_some_and(|it| it == "jsonl");
                    let documents = if has_lines {
                        text.lines().collect()
                    } else {
                        vec![text]
                    };
                    for json in documents.iter().filter(|it| it.starts_with('{')) {
                        let parsed = serde_json::from_str::<serde_json::Value>(json);
                        let place = (&folder.spec.gateway, &scenario.scenario);
                        assert!(parsed.is_ok(), "{place:?} {parsed:?}\n{json}");
                    }
                    rendered += 1;
                }
            }
        }
    }
    assert!(rendered > 100);
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = Catalogue::default().resolve("ngnix").unwrap_err();
    assert!(matches!(error, DriverError::UnknownGateway { .. }));
    assert!(error.remedy().contains("nginx"), "{}", error.remedy());
}

#[test]
fn an_overlay_replaces_by_name_and_adds() {
    let overlay = tempfile::tempdir().unwrap();
    for name in ["nginx", "mine"] {
        script_folder(&overlay.path().join(name), "exit 0", "");
    }
    let catalogue = Catalogue::new(Some(overlay.path().into()));
    assert_eq!(
        catalogue.resolve("nginx").unwrap().origin,
        Origin::Path(overlay.path().join("nginx"))
    );
    assert_eq!(
        catalogue.resolve("haproxy").unwrap().origin,
        Origin::Embedded
    );
    assert!(
        catalogue
            .list()
            .unwrap()
            .iter()
            .any(|folder| folder.spec.gateway == "mine")
    );
}

#[test]
fn a_mistake_in_a_folder_has_its_line() {
    let overlay = tempfile::tempdir().unwrap();
    let yaml = "gateway: mine\ncontract: 1\ntitle: Mine\nstrat: [x]\n";
    std::fs::write(overlay.path().join("gateway.yaml"), yaml).unwrap();
    let error = Catalogue::default()
        .resolve(overlay.path().to_str().unwrap())
        .unwrap_err();
    assert!(
        matches!(&error, DriverError::Mistakes(mistakes) if mistakes.all().iter().any(|mistake| mistake.line == 4))
    );
}

#[test]
fn a_missing_folder_or_template_is_reported() {
    let error = Catalogue::default().resolve("./nope").unwrap_err();
    assert_eq!(error.to_string(), "there is no folder ./nope");
    let mine = tempfile::tempdir().unwrap();
    script_folder(mine.path(), "exit 0", "");
    let yaml = mine.path().join("gateway.yaml");
    let text =
        std::fs::read_to_string(&yaml).unwrap() + "files: [{template: x.conf, to: x.conf}]\n";
    std::fs::write(&yaml, text).unwrap();
    let error = Catalogue::default()
        .resolve(mine.path().to_str().unwrap())
        .unwrap_err();
    assert!(error.remedy().contains("write it"), "{error:?}");
}

#[test]
fn the_reference_gateway_gets_its_file() {
    let scenario = scenario(
        "scenario: s\ntitle: s\nupstream: go-bench\nconsumers: [{name: alice, keys: ['k\"1']}]\n\
         routes:\n- {name: short, path: /json}\n\
         - {name: long, path: /json/deep, strip_path: true, policies: [{api_key: {header: X-Api-Key}}, {mock: {status: 200, content_type: text/plain, body: '<&>'}}]}\n\
         requests: [{path: /json}]\n",
    );
    let listen: SocketAddr = "127.0.0.1:1234".parse().unwrap();
    let targets = ["[::1]:1".parse().unwrap()];
    let wiring = Wiring {
        binary: Path::new("/gatebench"),
        version: "1.0",
        work: Path::new("/w"),
        listen,
        targets: &targets,
        more_upstreams: &[],
        keepalive: 64,
        cores: &[2, 3],
        access_log: false,
        metrics: None,
        profile: None,
        control_plane: None,
        database: None,
        weights: 0,
    };
    let files = render(&folder("reference"), &input_for(&scenario, &wiring)).unwrap();
    assert_eq!(files[0].path, Path::new("gateway.json"));
    let found: serde_json::Value =
        serde_json::from_str(&files[0].text).unwrap_or_else(|_| panic!("{}", files[0].text));
    let expected = json!({
        "listen": ["127.0.0.1:1234"],
        "workers": 2,
        "timeouts": {"drain_ms": 1500},
        "access_log": false,
        "upstreams": [{"name": "origin", "keepalive": 64, "rest_after_failure_ms": 0, "targets": [{"address": "::1", "port": 1, "weight": 1}]}],
        "consumers": [{"name": "alice", "keys": ["k\"1"], "password": null}],
        "routes": [
            {"name": "long", "path": "/json/deep", "strip_path": true, "upstream": "origin", "policies": [
                {"api_key": {"header": "X-Api-Key"}},
                {"mock": {"status": 200, "content_type": "text/plain", "body": "<&>"}},
            ]},
            {"name": "short", "path": "/json", "strip_path": false, "upstream": "origin", "policies": []},
        ],
    });
    assert_eq!(found, expected);
}

#[test]
fn no_limit_on_connections_is_below_the_load() {
    let caps = [
        ("haproxy", "maxconn", [(64, 1024), (10_000, 10_064)]),
        (
            "nginx",
            "worker_connections",
            [(64, 8192), (10_000, 20_064)],
        ),
    ];
    for (name, setting, expected) in caps {
        for (keepalive, cap) in expected {
            let targets = ["127.0.0.1:1".parse().unwrap()];
            let wiring = Wiring {
                binary: Path::new("/gateway"),
                version: "1.0",
                work: Path::new("/w"),
                listen: "127.0.0.1:1234".parse().unwrap(),
                targets: &targets,
                more_upstreams: &[],
                keepalive,
                cores: &[0],
                access_log: false,
                metrics: None,
                profile: None,
                control_plane: None,
                database: None,
                weights: 0,
            };
            let files =
                render(&folder(name), &input_for(&crate::common::plain(), &wiring)).unwrap();
            let line = format!("    {setting} {cap}");
            assert!(
                files
                    .iter()
                    .any(|file| file.text.lines().any(|it| it.trim_end_matches(';') == line)),
                "{name} with {keepalive}: no '{line}'"
            );
        }
    }
}

/// Returns the files of a scenario before and after a change to its routes.
fn files_of(name: &str, scenario: &Scenario) -> [BTreeMap<String, String>; 2] {
    let targets = ["127.0.0.1:2".parse().unwrap()];
    let wiring = wiring(&targets);
    [
        input_for(scenario, &wiring),
        changed_input_for(scenario, &wiring),
    ]
    .map(|input| {
        let files = render(&folder(name), &input).unwrap().into_iter();
        files
            .map(|file| (file.path.display().to_string(), file.text))
            .collect()
    })
}

#[test]
fn envoys_listener_has_the_filters_of_later_routes_from_the_start() {
    let scenario = scenario(
        "scenario: s\ntitle: s\nupstream: httpbin\nroutes:\n\
         - {name: a, path: /a, policies: [{jwt: {keys: [{hs256: {secret: the first secret of thirty-two bytes}}]}}]}\n\
         requests: [{path: /a}]\nlater:\n  routes:\n\
         \x20 - name: a\n    path: /a\n    policies:\n\
         \x20   - jwt: {keys: [{hs256: {secret: the other secret of thirty-two bytes}}]}\n\
         \x20   - request_json: {remove: [/x]}\n\
         \x20 parity: [{name: p, request: {path: /a}, reaches_upstream: true}]\n",
    );
    let [before, after] = files_of("envoy", &scenario);
    assert_eq!(before["envoy.json"], after["envoy.json"]);
    for filter in ["jwt_authn", "lua"] {
        let name = format!("\"envoy.filters.http.{filter}\"");
        assert!(before["envoy.json"].contains(&name), "{name}");
    }
    assert!(before["routes.json"].contains("\"jwt-1\""));
    assert!(!before["routes.json"].contains("LuaPerRoute"));
    assert!(after["routes.json"].contains("\"jwt-2\""));
    assert!(after["routes.json"].contains("LuaPerRoute"));
}

#[test]
fn a_file_is_rendered_for_each_setting_of_a_policy() {
    let route = |name: &str, sheet: &str| {
        format!(
            "- {{name: {name}, path: /{name}, policies: [{{response_xslt: {{stylesheet: \"<{sheet}/>\"}}}}]}}\n"
        )
    };
    let routes = [route("a", "one"), route("b", "two"), route("c", "one")].concat();
    let scenario = scenario(&format!(
        "scenario: s\ntitle: s\nupstream: httpbin\nroutes:\n{routes}requests: [{{path: /a}}]\n"
    ));
    let [files, _] = files_of("nginx", &scenario);
    let sheets = files.iter().filter(|(name, _)| name.contains("stylesheet"));
    let sheets: Vec<_> = sheets
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        sheets,
        [
            ("stylesheet-1.xslt", "<one/>"),
            ("stylesheet-2.xslt", "<two/>")
        ]
    );
    // Each location occurs twice: for the path itself, and for what is below it.
    let uses = |number: u32| {
        let name = format!("stylesheet-{number}.xslt");
        files["nginx.conf"].matches(&name).count()
    };
    assert_eq!((uses(1), uses(2)), (4, 2));
}

/// In Kong, a plug-in starts LuaJIT's profiler in each worker, and a policy for all routes is a
/// global plug-in.
#[test]
fn kong_has_plug_ins_for_a_profile_and_for_all_routes() {
    let scenario = scenario(
        "scenario: s\ntitle: s\nupstream: httpbin\nconsumers: [{name: a, password: b}]\n\
         global_policies: [{request_size_limit: {max_bytes: 9}}]\n\
         routes: [{name: a, path: /a, policies: [{basic_auth: {}}]}, {name: b, path: /b}]\n\
         requests: [{path: /a}]\n",
    );
    let targets = ["127.0.0.1:2".parse().unwrap()];
    let rendered = |profile| {
        let wiring = Wiring {
            profile,
            ..wiring(&targets)
        };
        let files = render(&folder("kong"), &input_for(&scenario, &wiring)).unwrap();
        let texts = files.into_iter();
        let texts = texts.map(|file| (file.path.display().to_string(), file.text));
        texts.collect::<BTreeMap<_, _>>()
    };
    let (plain, profiled) = (rendered(None), rendered(Some(499)));
    let plug_in = "kong/plugins/profiler/handler.lua";
    assert!(!plain.contains_key(plug_in) && !plain["kong.conf"].contains("profiler"));
    assert!(profiled["kong.conf"].contains("plugins = bundled,profiler"));
    assert!(profiled[plug_in].contains("start(\"/w/lua.profile.\", 499)"));

    let found: serde_json::Value = serde_json::from_str(&plain["kong.json"]).unwrap();
    assert_eq!(found["plugins"][0]["name"], "request-size-limiting");
    let routes = &found["services"][0]["routes"];
    assert_eq!(routes[0]["plugins"][0]["name"], "basic-auth");
    assert_eq!(routes[0]["plugins"].as_array().unwrap().len(), 1);
    assert_eq!(routes[1]["plugins"], json!([]));
}

#[test]
fn a_misspelled_condition_of_a_file_is_reported() {
    let (_at, folder) = variant("files: [{template: nginx.conf, when: profil}]\n");
    let input = input_for(&crate::common::plain(), &wiring(&[]));
    let error = render(&folder.unwrap(), &input).unwrap_err();
    assert!(
        error.to_string().contains("there is no `profil`"),
        "{error}"
    );
    assert!(error.remedy().contains("did you mean `profile`?"));
}

fn variant(more: &str) -> (tempfile::TempDir, Result<Folder, DriverError>) {
    let at = tempfile::tempdir().unwrap();
    let yaml = format!("gateway: mine\ncontract: 2\ntitle: Mine\nextends: nginx\n{more}");
    std::fs::write(at.path().join("gateway.yaml"), yaml).unwrap();
    let folder = Catalogue::default().resolve(at.path().to_str().unwrap());
    (at, folder)
}

/// Returns a variant of nginx's folder whose feature for stylesheets needs this module.
fn with_module(path: &str, test: &str) -> Folder {
    let needs = format!("{{path: {path}, test: {test}, install: make it}}");
    let features = format!("features: {{response_xslt: {{native: a module, needs: {needs}}}}}\n");
    variant(&features).1.unwrap()
}

#[test]
fn a_variant_inherits_unstated_keys_from_its_base() {
    let (at, folder) = variant("features: {rate_limit: unused, jwt: native}\nproven_with: ['9']\n");
    let (mine, nginx) = (folder.unwrap(), crate::common::folder("nginx"));
    assert_eq!(mine.spec.start, nginx.spec.start);
    assert_eq!(mine.spec.proven(), ["9"]);
    assert_eq!(mine.spec.title, "Mine");
    let has = |folder: &Folder| ["rate_limit", "jwt", "tls"].map(|it| folder.spec.has(it));
    assert_eq!(
        (has(&mine), has(&nginx)),
        ([false, true, true], [true, false, true])
    );
    let targets = ["127.0.0.1:2".parse().unwrap()];
    let input = input_for(&crate::common::plain(), &wiring(&targets));
    assert_eq!(
        render(&mine, &input).unwrap(),
        render(&nginx, &input).unwrap()
    );
    // The texts of the base folder are included, because a run depends on both folders.
    assert!(
        mine.texts()
            .any(|(file, _)| file == "../nginx/gateway.yaml")
    );

    std::fs::write(at.path().join("nginx.conf"), "# {{ prefix }}").unwrap();
    let mine = Catalogue::default()
        .resolve(at.path().to_str().unwrap())
        .unwrap();
    assert_eq!(render(&mine, &input).unwrap()[0].text, "# /");
}

#[test]
fn a_missing_base_is_named() {
    for (word, message) in [
        ("nginks", "there is no gateway folder `nginks` to extend"),
        ("nginx-lua", "`nginx-lua` itself extends another folder"),
    ] {
        let at = tempfile::tempdir().unwrap();
        let yaml = format!("gateway: mine\ncontract: 2\ntitle: Mine\nextends: {word}\n");
        std::fs::write(at.path().join("gateway.yaml"), yaml).unwrap();
        let error = Catalogue::default()
            .resolve(at.path().to_str().unwrap())
            .unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn paths_follow_from_the_prefix_of_the_program() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = tempfile::tempdir().unwrap();
    let prefix = root.path().canonicalize().unwrap().join("usr/local");
    std::fs::create_dir_all(prefix.join("bin")).unwrap();
    let program = prefix.join("bin/gw");
    std::fs::write(&program, "#!/bin/sh\necho \"gw 1.$(cat $GW_HOME/minor)\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let at = root.path().join("folder");
    std::fs::create_dir(&at).unwrap();
    let yaml = "gateway: gw\ncontract: 2\ntitle: GW\nstart: [x]\nbinary:\n  names: [gw]\n  version_args: []\n  \
                version_pattern: 'gw (\\S+)'\n  needs: ['{{ prefix }}/minor']\n  \
                environment: {GW_HOME: '{{ prefix }}'}\n\
                features: {mock: {native: x, needs: {path: '{{ prefix }}/minor', install: make x}}}\n";
    std::fs::write(at.join("gateway.yaml"), yaml).unwrap();
    let folder = Catalogue::default().resolve(at.to_str().unwrap()).unwrap();
    let find = || folder.find_binary_of(root.path().to_str(), &crate::common::launcher());
    let error = find().unwrap_err().to_string();
    let minor = prefix.join("minor");
    assert!(
        error.contains(&format!("{} was not found", minor.display())),
        "{error}"
    );
    std::fs::write(&minor, "7").unwrap();
    let found = find().unwrap();
    assert_eq!(
        (found.path.as_path(), found.version.as_str()),
        (program.as_path(), "1.7")
    );
    let extras = folder.spec.extras();
    assert_eq!(found.lacks("mock", extras["mock"]), None);
}

#[test]
fn a_policy_whose_module_is_missing_is_not_supported() {
    let nginx = with_module("/no/such/module.so", "[]");
    let scenario: Scenario =
        gatebench_config::read("../../scenarios/policy/response-xslt.yaml".as_ref()).unwrap();
    let binary = nginx.find_binary(&crate::common::launcher()).unwrap();
    let lacking = nginx.supports(&scenario, &binary).unwrap_err().policies;
    assert_eq!(lacking, ["response_xslt (missing: make it)"]);
    assert!(nginx.supports(&crate::common::plain(), &binary).is_ok());
    assert!(nginx.claims(&scenario).is_ok());
}

#[test]
fn an_extra_that_fails_its_test_is_not_supported() {
    let scenario: Scenario =
        gatebench_config::read("../../scenarios/policy/response-xslt.yaml".as_ref()).unwrap();
    let lacking_after = |test: &str| {
        let nginx = with_module("/", &format!("[sh, -c, '{test}', '{{{{ binary }}}}']"));
        let binary = nginx.find_binary(&crate::common::launcher()).unwrap();
        nginx.supports(&scenario, &binary).map_err(|it| it.policies)
    };
    assert_eq!(lacking_after(r#"test -x "$0""#), Ok(()));
    assert_eq!(
        lacking_after("echo no such symbol; echo; exit 1"),
        Err(vec!["response_xslt (no such symbol)".into()])
    );
    assert_eq!(
        lacking_after("exit 3"),
        Err(vec![
            "response_xslt (its test failed and printed nothing)".into()
        ])
    );
}
