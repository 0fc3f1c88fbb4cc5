//! Tests the search for files by name, and the default scenarios of a check.

use gatebench_model::Scenario;
use gatebench_runner::{Library, Source, check_scenarios, scenario_and_load};

fn scenario(library: &Library, name: &str) -> Scenario {
    scenario_and_load(name, None, library).unwrap().0
}

#[test]
fn embedded_files_are_valid_and_found_by_their_own_names() {
    let library = Library::default();
    let scenarios = library.scenarios().unwrap();
    assert!(scenarios.len() >= 2);
    for listed in scenarios {
        let name = &listed.document.scenario;
        assert_eq!(scenario(&library, name), listed.document);
    }
    let suites = library.suites().unwrap();
    assert!(suites.iter().any(|listed| listed.document.suite == "tour"));
    let loads = library.loads().unwrap();
    assert!(loads.iter().any(|listed| listed.document.profile == "tour"));
}

#[test]
fn an_overlay_directory_adds_and_replaces_documents() {
    let folder = tempfile::tempdir().unwrap();
    let text = "{scenario: proxy-json, title: mine, upstream: ping, routes: [{name: r, path: /ping}], \
                requests: [{path: /ping}]}";
    let new = folder.path().join("new.yaml");
    std::fs::write(folder.path().join("proxy-json.yaml"), text).unwrap();
    std::fs::write(&new, text.replace("proxy-json", "new")).unwrap();
    let library = Library::new(Some(folder.path().into()));
    assert_eq!(scenario(&library, "proxy-json").title, "mine");
    assert_eq!(scenario(&library, "new").title, "mine");
    let listed = library.scenarios().unwrap();
    assert!(
        listed
            .iter()
            .any(|it| it.source == Source::File(new.clone()))
    );
    let embedded = listed.iter().find(|it| it.document.scenario == "api-key");
    assert!(matches!(embedded.unwrap().source, Source::Embedded(_)));
    assert!(library.suites().is_ok());
}

#[test]
fn two_files_of_an_overlay_cannot_have_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = "scenario: twice\ntitle: t\nupstream: ping\nroutes: [{name: r, path: /ping}]\n\
                requests: [{path: /ping}]\n";
    std::fs::create_dir(folder.path().join("below")).unwrap();
    std::fs::write(folder.path().join("a.yaml"), text).unwrap();
    std::fs::write(folder.path().join("below/b.yaml"), text).unwrap();
    let error = Library::new(Some(folder.path().into()))
        .scenarios()
        .unwrap_err();
    assert!(
        error.to_string().contains("also has the name 'twice'"),
        "{error}"
    );
}

#[test]
fn a_family_names_all_its_scenarios_where_several_are_allowed() {
    let library = Library::default();
    assert_eq!(scenario(&library, "routes-1000").routes.len(), 1_000);
    assert_eq!(
        scenario(&library, "rate-limit-100-keys").scenario,
        "rate-limit-100-keys"
    );
    assert!(scenario_and_load("rate-limit-keys", None, &library).is_err());
    let error = scenario_and_load("routes", None, &library).unwrap_err();
    assert!(
        error.remedy().contains("routes-1, routes-100"),
        "{}",
        error.remedy()
    );
    let listed = library.scenarios().unwrap();
    let named = |it: &&str| it.starts_with("routes-") && it[7..].parse::<u32>().is_ok();
    let names = listed.iter().map(|it| it.document.scenario.as_str());
    assert_eq!(names.filter(named).count(), 4);
}

#[test]
fn a_published_document_is_found_by_its_names_and_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let text = "{published: mine, title: t, setting: Of mine., suite: tour, tables: [{row: connections, \
                groups: [{group: document, label: rate, columns: [{figure: rate}]}]}]}";
    std::fs::create_dir(folder.path().join("published")).unwrap();
    let path = folder.path().join("published/mine.yaml");
    std::fs::write(&path, text).unwrap();
    let library = Library::new(Some(folder.path().into()));
    let name = |word: &str| library.published_of(word).unwrap().document.published;
    assert_eq!(name("mine"), "mine");
    assert_eq!(name(path.to_str().unwrap()), "mine");
    assert_eq!(name("soap-earlier"), "soap-earlier");
    assert_eq!(name("seed-003"), "gravitee");
    let error = library.published_of("seed-9").unwrap_err();
    assert!(
        error.remedy().contains("kong-benchmark"),
        "{}",
        error.remedy()
    );
    for listed in Library::default().published().unwrap() {
        assert!(listed.source.path().starts_with("published"));
    }
}

#[test]
fn the_contract_is_checked_first() {
    let scenarios = check_scenarios(&Library::default()).unwrap();
    let names: Vec<&str> = scenarios.iter().map(|it| it.scenario.as_str()).collect();
    assert_eq!(names[0], "contract");
    assert!(
        names.contains(&"proxy-json") && names.contains(&"api-key"),
        "{names:?}"
    );
}

#[test]
fn an_overlay_replaces_scenarios_of_a_family_and_whole_families() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("deep/below/routes-100.yaml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    let text = "scenario: routes-100\ntitle: mine\nupstream: ping\nroutes: [{name: r, path: /ping}]\n\
                requests: [{path: /ping}]\n";
    std::fs::write(&own, text).unwrap();
    // A file of another kind that contains one of the keys in a nested mapping.
    std::fs::write(folder.path().join("deep/api.yaml"), "x:\n  scenario: y\n").unwrap();
    let library = Library::new(Some(folder.path().into()));
    assert_eq!(scenario(&library, "routes-100").title, "mine");
    assert_eq!(scenario(&library, "routes-1").routes.len(), 1);
    let family = text
        .replace("routes-100", "routes")
        .replace("upstream:", "matrix: {routes: [7]}\nupstream:");
    std::fs::write(&own, family).unwrap();
    let library = Library::new(Some(folder.path().into()));
    assert_eq!(scenario(&library, "routes-7").title, "mine");
    assert!(scenario_and_load("routes-100", None, &library).is_err());
}
