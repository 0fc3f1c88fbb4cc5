//! Tests k6 scripts with known loads and requests.

use gatebench_config::parse;
use gatebench_import::{Folder, TextKind};
use gatebench_model::{LoadProfile, Shape};

use crate::common::{imported, scenario, text};

fn script(text: &str) -> Folder {
    imported(TextKind::K6, "k6.js", text)
}

fn load(folder: &Folder) -> LoadProfile {
    parse("load.yaml", text(folder, "load.yaml")).unwrap()
}

fn has_note(folder: &Folder, words: &str) -> bool {
    folder.notes.iter().any(|note| note.what.contains(words))
}

#[test]
fn callbacks_belong_to_the_function_that_contains_them() {
    let folder = script(
        "export default async function main() { http.get('/a'); sleep(3);
         group('b', function () { http.get('/b') }); group('c', function c() { http.get('/c') }) }",
    );
    let load = text(&folder, "load.yaml");
    assert!(load.contains("think: 1s"), "{load}");
    let folder = script(
        "export const options = { scenarios: {
           a: { executor: 'constant-vus', exec: 'a' },
           b: { executor: 'constant-vus', exec: 'b' } } };
         export function a() { group('pay', function () { http.get('/a') }) }
         export const b = function () { http.get('/b') };",
    );
    assert_eq!(scenario(&folder, "scenario.yaml").groups.len(), 2);
}

#[test]
fn loads_that_are_not_used_are_noted() {
    let folder = script(
        "export const options = { scenarios: {
           a: { executor: 'constant-vus', exec: 'a' },
           b: { executor: 'constant-vus', exec: 'b' } } };
         export function a() { http.get('/a') } export function b() { http.get(unknown()) }",
    );
    let notes = &folder.notes;
    assert!(has_note(&folder, "the load of the scenario b"), "{notes:?}");
    assert!(!has_note(&folder, "the load of the scenario a"));
}

#[test]
fn rates_and_iterations_are_multiplied_by_the_requests_of_an_iteration() {
    let of = |options: &str| {
        let body = "export default function () { http.get('/a'); http.get('/b') }";
        load(&script(&format!(
            "export const options = {options};\n{body}"
        )))
    };
    let load = of("{ vus: 2, iterations: 10 }");
    let Shape::Closed(closed) = &load.phases[0].shape else {
        panic!("{load:?}");
    };
    assert_eq!(closed.requests_max, Some(20));
    let load = of(
        "{ scenarios: { a: { executor: 'ramping-arrival-rate', startRate: 5,
        stages: [{ duration: '10s', target: 50 }] } } }",
    );
    let Shape::Open(open) = &load.phases[0].shape else {
        panic!("{load:?}");
    };
    let rates = (open.rate_per_second, open.stages[0].rate_per_second);
    assert_eq!(rates, (10.0, 100.0));
}

#[test]
fn computed_options_are_noted() {
    for (options, expected) in [
        ("{ vus: __ENV.VUS }", "`vus` in the options"),
        (
            "{ vus: 1, duration: `${__ENV.D}s` }",
            "`duration` in the options",
        ),
        (
            "{ stages: [{ duration: '1s', target: __ENV.N }] }",
            "`target` in the options",
        ),
        ("{ stages: makeStages() }", "`stages` in the options"),
        ("{ stages: [make()] }", "`stages`: not all values"),
        ("{ ...common, vus: 5 }", "`...common` in the options"),
        ("makeOptions()", "options that exist only while k6 runs"),
    ] {
        let body = "export default function () { http.get('/a') }";
        let folder = script(&format!("export const options = {options};\n{body}"));
        let notes = &folder.notes;
        assert!(has_note(&folder, expected), "{options}: {notes:?}");
    }
    for options in [
        "...known, vus: __ENV.VUS",
        "vus: 3, ...computed",
        "vus: 3, ...all.computed",
    ] {
        let folder = script(&format!(
            "const known = {{ vus: 2 }}; const computed = {{ vus: __ENV.VUS }};
             const all = {{ computed }}; export const options = {{ {options} }}; http.get('/a')"
        ));
        let load = load(&folder);
        let Shape::Closed(closed) = &load.phases[0].shape else {
            panic!("{options}: {load:?}");
        };
        assert_eq!(closed.connections, 1, "{options}");
        assert!(has_note(&folder, "`vus` in the options"), "{options}");
    }
    let folder = script("export const options = { vus: 20, stages: [make()] }; http.get('/a')");
    let known = text(&folder, "load.yaml");
    assert!(known.contains("connections: 20"), "{known}");
    let folder = script("export const options = { vus: 2 }; http.get('/a')");
    assert!(folder.notes.is_empty(), "{:?}", folder.notes);
}
