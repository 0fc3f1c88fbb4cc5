use super::*;

/// Returns the point at which the cost settles within 5 %, with 200 requests in each window.
fn settles(costs: &[f64]) -> Settled {
    let window = |cost: &f64| Window {
        responses: 200,
        cpu_ns: (cost * 200.0) as u64,
    };
    let windows: Vec<Window> = costs.iter().map(window).collect();
    course(&windows, 0.05).unwrap().settled
}

/// Costs that change from one value to another. Each argument is a number of windows and their
/// cost.
fn step(before: (usize, f64), after: (usize, f64)) -> Vec<f64> {
    [vec![before.1; before.0], vec![after.1; after.0]].concat()
}

/// Numbers from 0.92 to 1.08.
fn noise(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        0.92 + 0.16 * (state >> 33) as f64 / f64::from(1_u32 << 31)
    })
}

#[test]
fn a_constant_cost_is_steady_from_the_first_request() {
    assert_eq!(settles(&[1_000.0; 60]), Settled::After(0));
    // A peak that recurs every fifteen windows is part of the steady state.
    let spiky = (0..90).map(|at| if at % 15 == 7 { 2_000.0 } else { 1_000.0 });
    assert_eq!(settles(&spiky.collect::<Vec<_>>()), Settled::After(0));
}

#[test]
fn a_step_is_located() {
    for windows in [1, 2, 3, 12, 40] {
        let costs = step((windows, 3_000.0), (90 - windows, 1_000.0));
        assert_eq!(settles(&costs), Settled::After(200 * windows as u64));
    }
    let cheaper_first = step((10, 500.0), (80, 1_000.0));
    assert_eq!(settles(&cheaper_first), Settled::After(2_000));
    let near = step((30, 1_049.0), (60, 1_000.0));
    assert_eq!(settles(&near), Settled::After(0));
    let far = step((30, 1_051.0), (60, 1_000.0));
    assert_eq!(settles(&far), Settled::After(6_000));
}

#[test]
fn more_than_a_second_outside_the_band_precedes_the_steady_state() {
    let early = [vec![1_000.0], step((25, 3_000.0), (274, 1_000.0))].concat();
    assert_eq!(settles(&early), Settled::After(200 * 26));
    let burst = step((25, 2_500.0), (253, 1_000.0));
    let late = [step((10, 2_000.0), (12, 1_000.0)), burst].concat();
    assert_eq!(settles(&late), Settled::After(200 * 47));
    let burst = |windows| {
        let rest = step((windows, 3_000.0), (200 - windows, 1_000.0));
        settles(&[vec![1_000.0; 100], rest].concat())
    };
    assert_eq!(burst(10), Settled::After(0));
    assert_eq!(burst(11), Settled::After(200 * 111));
    // A burst of more than ten windows leaves the last third without a steady state, however long
    // the third is.
    let last = [vec![1_000.0; 450], step((15, 3_000.0), (135, 1_000.0))].concat();
    assert_eq!(settles(&last), Settled::Inconclusive);
}

#[test]
fn one_early_window_inside_the_band_is_not_the_steady_state() {
    let early = [vec![1_000.0], step((8, 3_000.0), (291, 1_000.0))].concat();
    assert_eq!(settles(&early), Settled::After(200 * 8));
}

#[test]
fn invalid_blocks_do_not_affect_other_blocks() {
    use Validity::{Invalid, Limited, Valid};
    let validity = |blocks: &[Validity]| {
        let found = FigureCell::over(blocks.iter().map(|it| (*it, 1.0)));
        (found.validity, found.estimate.map(|it| it.blocks))
    };
    assert_eq!(validity(&[Valid, Invalid]), (Some(Valid), Some(1)));
    let limited = validity(&[Valid, Invalid, Limited]);
    assert_eq!(limited, (Some(Limited), Some(2)));
    assert_eq!(validity(&[Invalid, Invalid]), (Some(Invalid), None));
    assert_eq!(validity(&[]), (None, None));
}

#[test]
fn noise_of_eight_percent_moves_the_steady_state_by_only_a_few_windows() {
    for seed in 1..=10 {
        let steady: Vec<f64> = noise(seed).take(300).map(|it| 1_000.0 * it).collect();
        let Settled::After(requests) = settles(&steady) else {
            panic!("{seed}")
        };
        assert!(requests <= 600, "{seed}: {requests}");
        // Without noise, the cost is 5 % above its final value after 74 windows.
        let decay = |(at, noise): (usize, f64)| {
            let above = 2.0 * (-(at as f64) / 20.0).exp();
            1_000.0 * (1.0 + above) * noise
        };
        let falling: Vec<f64> = noise(seed).take(300).enumerate().map(decay).collect();
        let Settled::After(requests) = settles(&falling) else {
            panic!("{seed}")
        };
        assert!((12_000..=20_000).contains(&requests), "{seed}: {requests}");
    }
}

#[test]
fn a_cost_that_falls_until_the_end_never_settles() {
    let falling: Vec<f64> = (0..90).map(|at| 2_000.0 - 10.0 * f64::from(at)).collect();
    assert_eq!(settles(&falling), Settled::Never);
    // The last third defines the steady state, so the steady state cannot begin in it.
    assert_eq!(settles(&step((68, 3_000.0), (22, 1_000.0))), Settled::Never);
    assert_eq!(settles(&step((62, 3_000.0), (28, 1_000.0))), Settled::Never);
    let just = step((60, 3_000.0), (30, 1_000.0));
    assert_eq!(settles(&just), Settled::Never);
}

#[test]
fn without_a_steady_state_the_result_is_inconclusive() {
    let swinging = (0..150).map(|at| if at / 25 % 2 == 0 { 700.0 } else { 1_300.0 });
    let swinging: Vec<f64> = swinging.collect();
    assert_eq!(settles(&swinging), Settled::Inconclusive);
    assert_eq!(settles(&[1_000.0; 8]), Settled::Inconclusive);
    assert_eq!(settles(&[0.0; 60]), Settled::Inconclusive);
    assert_eq!(course(&[], 0.05), None);
}

#[test]
fn bins_are_merged_until_they_have_enough_responses() {
    let bins = BinsRecord {
        ends_ns: vec![1, 2, 3, 4, 5],
        responses: vec![0, 60, 50, 200, 20],
        gateway_cpu_ns: vec![7, 2, 3, 4, 5],
        upstream_cpu_ns: Vec::new(),
    };
    let window = |responses, cpu_ns| Window { responses, cpu_ns };
    assert_eq!(windows(&bins), [window(110, 12), window(200, 4)]);
    let unseen = BinsRecord {
        gateway_cpu_ns: Vec::new(),
        ..bins
    };
    assert_eq!(course(&windows(&unseen), 0.05), None);
}

#[test]
fn headlines_name_the_scenario_if_there_are_several() {
    let text = r#"{"scenario": "small", "title": "t", "upstream": "go-bench", "routes": []}"#;
    let scenario: Scenario = serde_json::from_str(text).unwrap();
    let variants = ["quick", "slow"].map(|name| Variant::Attached {
        name: name.into(),
        url: String::new(),
        pid: None,
        pod: None,
    });
    let start = |after_ns: f64| Start {
        after_ns,
        resolution_ns: 1.0,
        validity: Validity::Valid,
        course: None,
        course_validity: Validity::Valid,
    };
    let cells = [(&variants[0], 1e6), (&variants[1], 2e6)].map(|(variant, after_ns)| Cell {
        scenario: &scenario,
        variant,
        starts: (0..MIN_BLOCKS).map(|_| start(after_ns)).collect(),
    });
    let study = ColdStart { within_percent: 5 };
    let says = |has_several| {
        let one = sentence(&cells[0], study, has_several).unwrap();
        let both = soonest(&cells, has_several).unwrap();
        [one.text, both.text]
    };
    let opening = "quick sends its first correct response";
    let [one, both] = says(false);
    assert!(one.starts_with(&format!("{opening} 1")), "{one}");
    assert_eq!(both, format!("{opening} sooner than slow in every block."));
    let [one, both] = says(true);
    assert!(one.starts_with(&format!("{opening} in small 1")), "{one}");
    let sooner = format!("{opening} in small sooner than slow in every block.");
    assert_eq!(both, sooner);
}
