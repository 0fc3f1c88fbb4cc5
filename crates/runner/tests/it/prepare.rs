//! Tests the plans that result from a user's arguments.

use std::path::Path;

use crate::common::alone;
use gatebench_model::load::Closed;
use gatebench_model::{Length, Shape, Study, Variant};
use gatebench_runner::{Attach, Library, Prepared, RunnerError, Selection, Warning, prepare};
use gatebench_studies::isolation::plan::IsolationChoice;
use gatebench_studies::measure::plan::MeasureChoice;
use gatebench_studies::soak::plan::SoakChoice;
use gatebench_testbed::gateway::Catalogue;
use gatebench_testbed::{DriverError, Launcher};

fn launcher() -> Launcher {
    // A program whose output for `--version` does not match the version pattern of the reference
    // gateway.
    Launcher {
        program: "/bin/true".into(),
        prefix_args: vec![],
    }
}

/// Creates a gateway folder whose program is the shell.
fn folder(at: &Path, name: &str, policies: &str) -> String {
    let path = at.join(name);
    std::fs::create_dir(&path).unwrap();
    let text = format!(
        "gateway: {name}\ncontract: 1\ntitle: T\nbinary: {{names: [sh], version_args: [-c, 'echo v1.2'], \
         version_pattern: 'v(\\S+)'}}\nstart: [sh]\npolicies: {policies}\n"
    );
    std::fs::write(path.join("gateway.yaml"), text).unwrap();
    path.display().to_string()
}

fn prepare_with(selection: &Selection) -> Result<Prepared, RunnerError> {
    // A run changes the set of cores that this process may use.
    let _alone = alone();
    prepare(
        selection,
        &Library::default(),
        &Catalogue::default(),
        &launcher(),
    )
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[test]
fn the_same_gateway_twice_has_two_labels() {
    let at = tempfile::tempdir().unwrap();
    let path = folder(at.path(), "mine", "{}");
    let selection = Selection {
        words: words(&["proxy-json"]),
        gateways: vec![path.clone(), path],
        ..Selection::default()
    };
    let prepared = prepare_with(&selection).unwrap();
    let labels: Vec<&str> = prepared.plan.variants.iter().map(Variant::label).collect();
    assert_eq!(labels, ["direct", "mine", "mine-2"]);
    assert_eq!(prepared.gateways["mine-2"].binary.version, "1.2");
    assert_eq!(prepared.plan.trials.len(), 9);
    assert_eq!(prepared.plan.scenarios.len(), 1);
}

#[test]
fn no_gateway_has_the_label_of_the_direct_variant() {
    for name in ["direct", "floor"] {
        let at = tempfile::tempdir().unwrap();
        let path = folder(at.path(), "mine", "{}");
        let selection = Selection {
            words: words(&["proxy-json"]),
            gateways: vec![path.clone()],
            labels: [(path, name.to_owned())].into(),
            ..Selection::default()
        };
        let plan = prepare_with(&selection).unwrap().plan;
        let labels: Vec<&str> = plan.variants.iter().map(Variant::label).collect();
        assert_eq!(labels, ["direct", &format!("{name}-2")]);
        let read = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(plan, read);
    }
}

#[test]
fn a_smoke_run_is_one_short_block() {
    let at = tempfile::tempdir().unwrap();
    let path = folder(at.path(), "mine", "{}");
    let selection = Selection {
        gateways: vec![path],
        length: Length::Smoke,
        ..Selection::default()
    };
    let plan = prepare_with(&selection).unwrap().plan;
    assert_eq!((plan.blocks, plan.suite.as_str()), (1, "tour"));
    let loads: Vec<(&str, &Shape)> = plan.phases().map(|it| (&*it.name, &it.shape)).collect();
    let once = Shape::Closed(Closed {
        requests_max: Some(1),
        ..Closed::new(1)
    });
    assert_eq!(loads, [("smoke", &once)]);
    let length = plan.length.unwrap();
    assert_eq!(length.changes.len(), 2, "{length:?}");
    assert_eq!(length.changes[0], "1 block in place of 3");
}

#[test]
fn named_gateways_must_exist_and_those_of_the_suite_need_not() {
    let at = tempfile::tempdir().unwrap();
    let path = folder(at.path(), "absent", "{}");
    let spec = Path::new(&path).join("gateway.yaml");
    let text = std::fs::read_to_string(&spec)
        .unwrap()
        .replace("[sh], v", "[no-such-program], v");
    std::fs::write(&spec, text).unwrap();
    let selection = Selection {
        gateways: vec![path.clone()],
        ..Selection::default()
    };
    let error = prepare_with(&selection).unwrap_err();
    assert!(
        matches!(
            error,
            RunnerError::Driver(DriverError::BinaryMissing { .. })
        ),
        "{error}"
    );
    let present = folder(at.path(), "present", "{}");
    let suite = at.path().join("s.yaml");
    let text = format!(
        "suite: s\ntitle: t\ngateways: [{path}, {present}]\nscenarios: [proxy-json]\nload: tour\nblocks: 2\n"
    );
    std::fs::write(&suite, text).unwrap();
    let selection = Selection {
        words: vec![suite.display().to_string()],
        ..Selection::default()
    };
    let prepared = prepare_with(&selection).unwrap();
    assert!(
        matches!(&prepared.warnings[..], [Warning::GatewayMissing { gateway, .. }] if gateway == "absent")
    );
    assert_eq!(prepared.gateways.len(), 1);
}

#[test]
fn contradictory_arguments_are_refused() {
    for (wrong, part) in [
        (&["tour", "tour"][..], "second suite"),
        (&["tour", "api-key"], "cannot be combined"),
        (&["api-key", "api-key"], "twice"),
    ] {
        let error = prepare_with(&Selection {
            words: words(wrong),
            ..Selection::default()
        })
        .unwrap_err();
        assert!(
            matches!(error, RunnerError::Words { .. }) && error.to_string().contains(part),
            "{error}"
        );
    }
    let absent = Selection {
        gateways: words(&["nginx@0.1"]),
        ..Selection::default()
    };
    let text = prepare_with(&absent).unwrap_err().to_string();
    assert!(text.contains("there is no nginx 0.1 here"), "{text}");
    let whose = Selection {
        configs: words(&["mine.conf"]),
        ..Selection::default()
    };
    let text = prepare_with(&whose).unwrap_err().to_string();
    assert!(
        text.contains("--config needs exactly one gateway"),
        "{text}"
    );
}

#[test]
fn an_attached_gateway_is_measured_only_with_direct() {
    let attach = Attach {
        url: "http://127.0.0.1:9".into(),
        pid: None,
        pod: None,
    };
    let selection = Selection {
        attach: Some(attach),
        ..Selection::default()
    };
    let labels: Vec<String> = prepare_with(&selection)
        .unwrap()
        .plan
        .variants
        .iter()
        .map(|variant| variant.label().to_owned())
        .collect();
    assert_eq!(labels, ["direct", "attached"]);
}

#[test]
fn the_cores_of_an_attached_gateway_are_not_kept_awake() {
    let attach = Attach {
        url: "http://127.0.0.1:9".into(),
        pid: Some(1),
        pod: None,
    };
    let selection = Selection {
        attach: Some(attach),
        keep_awake: true,
        ..Selection::default()
    };
    let error = prepare_with(&selection).unwrap_err();
    assert!(matches!(error, RunnerError::Words { .. }), "{error}");
    assert!(error.to_string().contains("--keep-awake"), "{error}");
    assert!(error.remedy().contains("omit"), "{}", error.remedy());
}

#[test]
fn a_load_profile_may_not_have_the_names_of_loads_at_shares() {
    let at = tempfile::tempdir().unwrap();
    let gateway = folder(at.path(), "mine", "{}");
    let prepared = |phase: &str| {
        let load = at.path().join("l.yaml");
        let text = format!(
            "profile: l\ntitle: t\nphases:\n  - {{name: {phase}, open: {{rate_per_second: 100}}, measure: 1s}}\n"
        );
        std::fs::write(&load, text).unwrap();
        prepare_with(&Selection {
            words: words(&["proxy-json"]),
            gateways: vec![gateway.clone()],
            load: Some(load.display().to_string()),
            study: Box::new(MeasureChoice { percents: vec![50] }),
            ..Selection::default()
        })
    };
    for taken in ["saturation", "at-50"] {
        let error = prepared(taken).unwrap_err();
        assert!(matches!(error, RunnerError::Study(_)), "{error}");
        assert!(error.to_string().contains(taken), "{error}");
    }
    let plan = prepared("at-90").unwrap().plan;
    let Study::Measure(Some(shares)) = plan.study else {
        panic!("{:?}", plan.study)
    };
    assert_eq!(shares.percents, [50]);
}

#[test]
fn a_suite_may_request_its_study() {
    let at = tempfile::tempdir().unwrap();
    let gateway = folder(at.path(), "mine", "{}");
    let suite = at.path().join("s.yaml");
    let text = format!(
        "suite: s\ntitle: t\ngateways: [{gateway}]\nscenarios: [proxy-json]\nload: tour\nblocks: 1\n\
         study: {{at: [50]}}\n"
    );
    std::fs::write(&suite, text).unwrap();
    let percents = |percents: Vec<u32>| {
        let plan = prepare_with(&Selection {
            words: vec![suite.display().to_string()],
            study: Box::new(MeasureChoice { percents }),
            ..Selection::default()
        });
        match plan.unwrap().plan.study {
            Study::Measure(Some(shares)) => shares.percents,
            study => panic!("{study:?}"),
        }
    };
    assert_eq!(percents(Vec::new()), [50]);
    assert_eq!(percents(vec![80, 70]), [70, 80]);
}

/// Prepares a plan with a load profile that has this text after its title.
fn prepare_load(at: &Path, word: &str, text: &str) -> Result<Prepared, RunnerError> {
    let load = at.join("l.yaml");
    std::fs::write(&load, format!("profile: l\ntitle: t\n{text}")).unwrap();
    prepare_with(&Selection {
        words: words(&[word]),
        gateways: vec![at.join("mine").display().to_string()],
        load: Some(load.display().to_string()),
        ..Selection::default()
    })
}

const START: &str = "phases:\n  - {name: start, open: {rate_per_second: 100}, measure: 1s}\n";

#[test]
fn cold_starts_need_a_cold_load() {
    let at = tempfile::tempdir().unwrap();
    folder(at.path(), "mine", "{}");
    let error = prepare_load(at.path(), "cold-start", START).unwrap_err();
    assert!(matches!(error, RunnerError::Study(_)), "{error}");
    let said = error.to_string();
    assert!(said.contains("needs a load that starts cold"), "{said}");
    assert!(error.remedy().contains("omit --load"), "{}", error.remedy());
    let cold = format!("cold: true\n{START}");
    let plan = prepare_load(at.path(), "cold-start", &cold).unwrap().plan;
    assert!(
        matches!(plan.study, Study::ColdStart(_)),
        "{:?}",
        plan.study
    );
    let smoke = prepare_with(&Selection {
        words: words(&["cold-start"]),
        gateways: vec![at.path().join("mine").display().to_string()],
        length: Length::Smoke,
        ..Selection::default()
    });
    assert!(smoke.is_ok(), "{:?}", smoke.err());
}

#[test]
fn gateways_that_begin_cold_do_not_wait_for_each_other() {
    let at = tempfile::tempdir().unwrap();
    folder(at.path(), "mine", "{}");
    let both = "  - {name: both, side_by_side: true, closed: {connections: 4}, measure: 1s}\n";
    let prepared = |cold: &str| {
        let text = format!("{cold}{START}{both}");
        prepare_load(at.path(), "proxy-json", &text)
    };
    let error = prepared("cold: true\n").unwrap_err();
    assert!(matches!(error, RunnerError::Study(_)), "{error}");
    assert!(error.to_string().contains("side_by_side"), "{error}");
    assert!(prepared("").is_ok());
}

#[test]
fn retries_do_not_apply_to_gateways_side_by_side() {
    let at = tempfile::tempdir().unwrap();
    let mine = folder(at.path(), "mine", "{}");
    let suite = format!(
        "suite: s\ntitle: t\ngateways: [{mine}]\nscenarios: [proxy-json]\nload: l.yaml\nblocks: 1\n\
         retries: 2\n"
    );
    std::fs::write(at.path().join("suite.yaml"), suite).unwrap();
    let warned = |load: &str, gateways: &[&String]| {
        let load = format!("profile: l\ntitle: t\n{load}");
        std::fs::write(at.path().join("l.yaml"), load).unwrap();
        let prepared = prepare_with(&Selection {
            words: vec![at.path().join("suite.yaml").display().to_string()],
            gateways: gateways.iter().map(ToString::to_string).collect(),
            ..Selection::default()
        });
        let warnings = prepared.unwrap().warnings;
        let is_unused = |it: &Warning| matches!(it, Warning::RetriesUnused { load } if load == "l");
        warnings.iter().any(is_unused)
    };
    let side_by_side = START.replace("measure", "side_by_side: true, measure");
    assert!(warned(&side_by_side, &[&mine, &mine]));
    assert!(!warned(&side_by_side, &[&mine]));
    assert!(!warned(START, &[&mine, &mine]));
}

fn suite_with_its_own_load(at: &Path, scenario: &str) -> Vec<String> {
    let gateway = folder(at, "mine", "{}");
    let suite = at.join("s.yaml");
    let text = format!(
        "suite: s\ntitle: t\ngateways: [{gateway}]\nscenarios: [{{scenario: {scenario}, load: isolation}}]\n\
         load: tour\nblocks: 1\ndirect: false\n"
    );
    std::fs::write(&suite, text).unwrap();
    vec![suite.display().to_string()]
}

#[test]
fn published_sizes_may_have_separate_loads_for_scenarios() {
    let at = tempfile::tempdir().unwrap();
    let gateway = folder(at.path(), "mine", "{api_key: native}");
    let suite = at.path().join("s.yaml");
    let text = format!(
        "suite: s\ntitle: t\ngateways: [{gateway}]\nscenarios: [proxy-json, api-key]\nload: tour\nblocks: 3\n\
         cpus: [1]\nas_published:\n  load: closed\n  blocks: 1\n  of_cpus:\n    \
         - {{cpus: 1, load: l20, of_scenarios: {{api-key: l100}}}}\n"
    );
    std::fs::write(&suite, text).unwrap();
    let selection = Selection {
        words: vec![suite.display().to_string()],
        length: Length::AsPublished,
        ..Selection::default()
    };
    let plan = prepare_with(&selection).unwrap().plan;
    let load = |scenario: &str| plan.load_of(scenario).profile.clone();
    assert_eq!([load("proxy-json"), load("api-key")], ["l20", "l100"]);
    let changes = plan.length.as_ref().unwrap().changes.join("; ");
    assert!(changes.contains("the load 'l100' of api-key"), "{changes}");
}

#[test]
fn healthy_twins_have_the_load_of_their_scenario() {
    let at = tempfile::tempdir().unwrap();
    let selection = Selection {
        words: suite_with_its_own_load(at.path(), "good-and-failing"),
        study: Box::new(IsolationChoice::default()),
        ..Selection::default()
    };
    let plan = prepare_with(&selection).unwrap().plan;
    let loads: Vec<&str> = plan
        .trials
        .iter()
        .map(|trial| plan.load_of(&trial.scenario).profile.as_str())
        .collect();
    assert_eq!(
        loads, ["isolation"; 3],
        "all trials have the load of their scenario"
    );
}

#[test]
fn a_soak_lasts_as_long_as_the_load_of_its_scenario() {
    let at = tempfile::tempdir().unwrap();
    let selection = Selection {
        words: suite_with_its_own_load(at.path(), "proxy-json"),
        study: Box::new(SoakChoice {
            duration: None,
            growth_bytes_per_hour: 1,
        }),
        ..Selection::default()
    };
    let plan = prepare_with(&selection).unwrap().plan;
    let length = |load: &gatebench_model::LoadProfile| -> f64 {
        load.phases.iter().map(|it| it.measure.as_secs_f64()).sum()
    };
    let Study::Soak(soak) = &plan.study else {
        panic!("{:?}", plan.study)
    };
    assert_eq!(
        soak.duration.as_secs_f64(),
        length(plan.load_of("proxy-json"))
    );
    assert!(soak.duration.as_secs_f64() != length(&plan.load));
}
