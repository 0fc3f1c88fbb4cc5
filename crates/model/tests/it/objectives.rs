//! Tests objectives: their bounds, their order, and the position of a mistake.

use gatebench_model::Objective;
use proptest::prelude::*;

#[test]
fn objectives_are_parsed_in_their_usual_notation() {
    let written = |text: &str| text.parse::<Objective>().unwrap().to_string();
    assert_eq!(written("p99<10ms, errors<0.1%"), "p99<10ms, errors<0.1%");
    assert_eq!(
        written("p99 < 10ms"),
        "p99<10ms, errors<0.1%",
        "the default is one in a thousand"
    );
    assert_eq!(
        written("errors<1 %,p99.9<1s,p50<250us"),
        "p50<250us, p99.9<1s, errors<1%"
    );
    let highest = |text: &str| text.parse::<Objective>().unwrap().samples_needed().round();
    assert_eq!(highest("p50<1ms, p99.9<1s"), 10_000.0);
}

#[test]
fn bounds_that_a_search_does_not_support_are_reported_with_their_place_and_remedy() {
    for (text, column, reason) in [
        ("p99<10ms,  mean<1ms", 12, "'mean' is neither"),
        ("p99>1s", 1, "has no '<'"),
        ("p99.9999<1s", 1, "'p99.9999' is neither"),
        ("service.p99<1s", 1, "'service.p99' is neither"),
        ("p99<1s, errors<5", 16, "'5' is not a share"),
        ("p99<0s", 5, "must be above 0"),
        ("p99<1s, p99<2s", 9, "p99 is bounded twice"),
        ("p99<1s, errors<0%", 16, "above 0%"),
        (
            "p99<1s, errors<1%, errors<2%",
            20,
            "errors are bounded twice",
        ),
        ("errors<1%", 1, "no response time is bounded"),
    ] {
        let error = text.parse::<Objective>().unwrap_err();
        assert_eq!(error.column, column, "{text}: {error}");
        let said = error.to_string();
        assert!(said.contains(reason), "{text}: {said}");
        assert!(
            said.ends_with("write bounds like p99<10ms, errors<0.1%"),
            "{said}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused_at_a_position_in_it(text in ".{0,40}") {
        if let Err(error) = text.parse::<Objective>() {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
        }
    }

    #[test]
    fn an_objective_keeps_its_text(
        bounds in prop::collection::btree_map(1_u32..100_000, 1_u64..10_000_000, 1..4), errors in 1_u32..100_000,
    ) {
        let mut text = String::new();
        for (thousandths, micros) in &bounds {
            text += &format!("p{}<{micros}us, ", f64::from(*thousandths) / 1_000.0);
        }
        text += &format!("errors<={}%", f64::from(errors) / 1_000.0);
        let objective: Objective = text.parse().unwrap();
        prop_assert_eq!(objective.to_string(), text);
        let read = objective.percentiles.iter().zip(&bounds);
        for ((percentile, bound), (thousandths, micros)) in read {
            prop_assert_eq!(*percentile, f64::from(*thousandths) / 1_000.0);
            prop_assert_eq!(bound.value, *micros as f64 * 1e3);
        }
        prop_assert_eq!(objective.percentiles.len(), bounds.len());
        prop_assert!((objective.errors.value - f64::from(errors) / 100_000.0).abs() < 1e-12);
        let json = serde_json::to_string(&objective).unwrap();
        prop_assert_eq!(serde_json::from_str::<Objective>(&json).unwrap(), objective);
    }
}
