use std::collections::HashSet;

use gatebench_config::{HumanDuration, parse};

use super::*;
use crate::AbTest;

fn plan(seed: u64, blocks: u32, direct: bool) -> Plan {
    let scenario = |name: &str, policies: &str| {
        let text = format!(
            "{{scenario: {name}, title: t, upstream: ping, routes: [{{name: r, path: /ping, policies: [{policies}]}}], \
             requests: [{{path: /ping}}]}}"
        );
        parse::<Scenario>("s.yaml", &text).unwrap()
    };
    let mock = scenario(
        "mocked",
        "{mock: {status: 200, content_type: text/plain, body: x}}",
    );
    let suite = Suite {
        blocks,
        direct,
        ..Suite::new("s", "t", "l")
    };
    let load = "{profile: l, title: t, phases: [\
                {name: a, closed: {connections: 1}, warm_up: 1s, measure: 3s}, \
                {name: b, open: {rate_per_second: 10}, warm_up: 500ms, measure: 3s}]}";
    let gateway = |name: &str| Variant::gateway(name, name);
    let placement = Placement::automatic(&crate::Topology::flat(&[0, 1]));
    let scenarios = vec![scenario("plain", ""), mock];
    let load = parse("l.yaml", load).unwrap();
    Plan::expand(
        &suite,
        scenarios,
        load,
        vec![gateway("a"), gateway("b")],
        seed,
        blocks,
        placement,
    )
}

#[test]
fn each_block_has_each_cell_once() {
    let plan = plan(7, 4, true);
    assert_eq!(plan.variants[0], Variant::Direct);
    for block in 1..=4 {
        let trials = plan.trials.iter().filter(|it| it.block == block);
        let cells: Vec<_> = trials.map(|it| (&*it.scenario, &*it.variant)).collect();
        // Two scenarios, two gateways, and the direct variant for the plain scenario.
        assert_eq!(cells.len(), 5);
        let cells: HashSet<_> = cells.into_iter().collect();
        assert_eq!(cells.len(), 5);
        assert!(cells.contains(&("plain", "direct")) && !cells.contains(&("mocked", "direct")));
    }
    let numbers = plan.trials.iter().map(|trial| trial.number);
    assert!(numbers.eq(1..=20));
}

#[test]
fn the_order_depends_only_on_the_seed_and_more_blocks_begin_the_same() {
    assert_eq!(plan(7, 4, true).trials, plan(7, 4, true).trials);
    assert_ne!(plan(7, 4, true).trials, plan(8, 4, true).trials);
    assert_eq!(plan(7, 9, true).trials[..20], plan(7, 4, true).trials[..]);
    let plan = plan(7, 2, true);
    let order = |block| {
        let trials = plan.trials.iter().filter(move |it| it.block == block);
        trials.map(|it| (&it.scenario, &it.variant))
    };
    assert!(!order(1).eq(order(2)), "blocks differ from each other");
}

#[test]
fn the_null_gateway_is_measured_where_bytes_pass_unchanged() {
    let mut plan = plan(7, 1, true);
    plan.variants.push(Variant::null());
    let trials = interleave(&plan.scenarios, &plan.variants, 7, 1);
    let of_null = trials.iter().filter(|trial| trial.variant == NULL);
    let scenarios: Vec<&str> = of_null.map(|trial| trial.scenario.as_str()).collect();
    // The gateway itself responds in the other scenario.
    assert_eq!(scenarios, ["plain"]);
    let mut tls = plan.scenarios[0].clone();
    tls.transport.tls = true;
    assert!(tls.incomparable_with_null().is_some());
}

#[test]
fn the_floor_of_an_earlier_manifest_is_the_direct_variant() {
    let plan = plan(1, 1, true);
    let written = serde_json::to_string(&plan).unwrap();
    let earlier = written.replace(r#""direct""#, r#""floor""#);
    assert!(written.contains(r#"{"kind":"direct"}"#) && earlier.contains(r#""variant":"floor""#));
    assert_eq!(serde_json::from_str::<Plan>(&earlier).unwrap(), plan);
}

#[test]
fn the_floor_of_an_earlier_suite_is_the_direct_variant() {
    let suite = |key: &str| {
        let text = format!(
            "{{suite: s, title: t, gateways: [a], scenarios: [b], load: l, blocks: 1, \
             {key}: false}}"
        );
        parse::<Suite>("s.yaml", &text).unwrap()
    };
    assert_eq!(suite("floor"), suite("direct"));
    assert!(!suite("floor").direct);
}

#[test]
fn a_suite_without_the_direct_variant_has_no_direct_trials() {
    let trials = plan(7, 3, false).trials;
    assert!(trials.iter().all(|trial| trial.variant != "direct"));
}

#[test]
fn turns_are_drawn_again_for_each_phase_and_block() {
    let mut plan = plan(7, 200, false);
    plan.load.phases[0].side_by_side = true;
    plan.load.phases.push(plan.load.phases[1].clone());
    let turns = |block: u32| {
        let trials = plan.trials.iter();
        let own: Vec<&Trial> = trials.filter(|trial| trial.block == block).collect();
        plan.turns(&own[..2])
    };
    assert_eq!(turns(3), turns(3), "the result depends only on the plan");
    let mut counts = std::collections::HashMap::new();
    for block in 1..=200 {
        let turns = turns(block);
        assert_eq!((turns[0] + turns[1], turns[2] + turns[3]), (1, 1));
        *counts.entry((turns[0], turns[2])).or_insert(0_i32) += 1;
    }
    // Five standard deviations of a count whose mean is 50.
    let expected = |count: &i32| (count - 50).abs() < 31;
    assert!(
        counts.len() == 4 && counts.values().all(expected),
        "{counts:?}"
    );
    assert!(plan.turns(&[]).is_empty());
}

#[test]
fn deciding_phases_come_first_and_the_others_in_separate_blocks() {
    let mut plan = plan(7, 5, false);
    plan.load.phases[0].side_by_side = true;
    plan.study = Study::Ab(AbTest {
        candidate: "a".into(),
        baseline: "b".into(),
        again: "c".into(),
        metric: crate::DecisiveMetric::Cpu,
        blocks_max: 3,
        decides_first: true,
    });
    let phases = |plan: &Plan| -> Vec<(u32, String)> {
        let of_trial = |trial: &Trial| -> Vec<(u32, String)> {
            let phases = plan.phases_of(trial);
            phases.map(|it| (trial.block, it.name.clone())).collect()
        };
        plan.trials.iter().flat_map(of_trial).collect()
    };
    let all = phases(&plan);
    assert_eq!(all.len(), plan.trials.len());
    let is_right = |(block, name): &(u32, String)| (*block <= 3) == (name == "a");
    assert!(all.iter().all(is_right), "{all:?}");
    let own: Vec<&Trial> = plan.trials.iter().filter(|it| it.block == 4).collect();
    assert_eq!(plan.turns(&own[..2]).len(), 2, "one phase with two trials");
    plan.cut_deciding_after_block(1);
    let blocks: BTreeSet<u32> = plan.trials.iter().map(|it| it.block).collect();
    assert_eq!((blocks, plan.blocks), (BTreeSet::from([1, 4, 5]), 3));
    if let Study::Ab(ab_test) = &mut plan.study {
        ab_test.decides_first = false;
    }
    assert_eq!(phases(&plan).len(), 2 * plan.trials.len());
}

#[test]
fn only_cpu_time_is_taken_from_a_side_by_side_phase() {
    use crate::DecisiveMetric as Metric;
    let mut plan = plan(7, 1, false);
    for phase in &mut plan.load.phases {
        phase.side_by_side = true;
        assert!(Metric::Cpu.is_taken_from(phase));
        for metric in [Metric::Throughput, Metric::AddedP50, Metric::AddedP99] {
            assert!(!metric.is_taken_from(phase), "{metric:?}");
        }
    }
    assert!(!plan.load.phases.is_empty());
}

#[test]
fn the_expected_duration_is_that_of_the_phases_and_the_overhead() {
    let plan = plan(7, 2, true);
    assert_eq!(plan.trial_seconds(), 8.5);
    assert_eq!(plan.expected_duration(), Duration::from_secs(85));
}

#[test]
fn the_expected_duration_includes_the_wait_for_a_quiet_machine() {
    let mut plan = plan(7, 2, true);
    let loads = plan.trials.len() * plan.load.phases.len();
    let settle = Settle {
        load_per_core: 0.2,
        at_most: HumanDuration::from_millis(2_000),
    };
    plan.settle = Some(settle);
    let waited = Duration::from_secs(2) * loads as u32;
    assert_eq!(plan.expected_duration(), Duration::from_secs(85) + waited);
    let earlier = r#"{"name": "s", "retries": 2, "settle": {"load_per_core": 0.2, "at_most": "4s"},
        "combines": true, "saves_error_log": false}"#;
    plan.study = Study::Versions(serde_json::from_str(earlier).unwrap());
    assert_eq!(plan.retries(), 2);
    let waited = 2 * waited;
    assert_eq!(plan.expected_duration(), Duration::from_secs(85) + waited);
}

#[test]
fn every_order_is_equally_likely() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut counts = std::collections::HashMap::new();
    for _ in 0..24_000 {
        let mut items = [0, 1, 2, 3];
        shuffle(&mut items, &mut random);
        *counts.entry(items).or_insert(0_i32) += 1;
    }
    assert_eq!(counts.len(), 24);
    // Five standard deviations of a count whose mean is 1000.
    assert!(
        counts.values().all(|count| (count - 1000).abs() < 155),
        "{counts:?}"
    );
}

#[test]
fn the_plan_survives_json() {
    let plan = plan(7, 2, true);
    let json = serde_json::to_value(&plan).unwrap();
    assert!(jsonschema::is_valid(
        &crate::schema(crate::FileKind::Plan),
        &json
    ));
    assert_eq!(serde_json::from_value::<Plan>(json).unwrap(), plan);
}
