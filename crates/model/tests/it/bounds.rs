//! Tests bounds: their quantities, their order, and the position of a mistake.

use gatebench_model::Bounds;
use gatebench_model::bound::{Clock, Counted, Operator, Quantity, Statistic, samples_needed};
use proptest::prelude::*;

fn read(text: &str) -> (Quantity, Operator, f64) {
    let Bounds(bounds) = text.parse().unwrap();
    let [bound] = &bounds[..] else {
        panic!("{bounds:?}")
    };
    (bound.quantity, bound.operator, bound.value)
}

#[test]
fn every_quantity_is_parsed() {
    use Operator::{AtLeast, AtMost, Less, More};
    let response = |statistic| Quantity::Time(Clock::Response, statistic);
    assert_eq!(
        read("p99<10ms"),
        (response(Statistic::Percentile(99.0)), Less, 1e7)
    );
    assert_eq!(
        read(" p99.9 <= 1.5s "),
        (response(Statistic::Percentile(99.9)), AtMost, 1.5e9)
    );
    assert_eq!(read("avg<250us"), (response(Statistic::Mean), Less, 250e3));
    assert_eq!(
        read("med<1s"),
        (response(Statistic::Percentile(50.0)), Less, 1e9)
    );
    let service = Quantity::Time(Clock::Service, Statistic::Max);
    assert_eq!(read("service.max<1s"), (service, Less, 1e9));
    let lateness = Quantity::Time(Clock::Lateness, Statistic::Percentile(99.0));
    assert_eq!(read("lateness.p99<1ms"), (lateness, Less, 1e6));
    assert_eq!(read("rate>1000"), (Quantity::Rate, More, 1000.0));
    assert_eq!(
        read("errors<0.1%"),
        (Quantity::Share(Counted::Errors), Less, 0.001)
    );
    assert_eq!(
        read("errors<10"),
        (Quantity::Number(Counted::Errors), Less, 10.0)
    );
    assert_eq!(read("checks>=99.9 %").0, Quantity::Share(Counted::Checks));
    assert_eq!(
        read("5xx<1"),
        (Quantity::Number(Counted::Status(5)), Less, 1.0)
    );
    assert_eq!(
        read("requests>=100"),
        (Quantity::Number(Counted::Requests), AtLeast, 100.0)
    );
}

#[test]
fn bounds_are_listed_with_commas_and_keep_their_order() {
    let Bounds(bounds) = "errors < 1 %,p99<=10ms , rate>1000".parse().unwrap();
    let texts: Vec<String> = bounds.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["errors<1%", "p99<=10ms", "rate>1000"]);
    let held = [0.01, 1e7, 1000.0].map(|value| bounds.iter().map(move |it| it.holds(value)));
    let held: Vec<Vec<bool>> = held.into_iter().map(Iterator::collect).collect();
    assert_eq!(held[0], [false, true, false]);
    assert_eq!(held[1], [false, true, true]);
    assert_eq!(held[2], [false, true, false]);
}

#[test]
fn mistakes_are_reported_with_their_place_and_remedy() {
    for (text, column, reason) in [
        ("", 1, "a bound is missing"),
        ("p99<10ms,", 10, "a bound is missing"),
        ("p99=10ms", 1, "has no '<'"),
        ("p99<10ms, p95", 11, "'p95' has no '<'"),
        ("p99<10", 5, "'10' is not a duration"),
        ("p99< =1s", 6, "'=1s' is not a duration"),
        ("p100<1s", 1, "'p100' is neither"),
        ("p0<1s", 1, "'p0' is neither"),
        ("p<1s", 1, "'p' is neither"),
        ("p99<1s, latency<1s", 9, "'latency' is neither"),
        ("rate>fast", 6, "'fast' is not a bound for rate"),
        ("rate>inf", 6, "is not a bound"),
        (
            "p99<1s, errors<0.1",
            16,
            "'0.1' is not a whole number: write a share as 10%",
        ),
        ("errors<0.01", 8, "write a share as 1%"),
        ("errors<0.07", 8, "write a share as 7%"),
        ("errors<1.5", 8, "write a share as 1.5%"),
        ("errors<1e-9", 8, "'1e-9' is not a whole number; write"),
        ("requests>0.5", 10, "'0.5' is not a whole number; write"),
        ("errors<200%", 8, "more than 100%"),
        ("requests>10%", 10, "not a share"),
        ("errors<-1", 8, "is not a bound"),
    ] {
        let error = text.parse::<Bounds>().unwrap_err();
        assert_eq!(error.column, column, "{text}: {error}");
        let said = error.to_string();
        assert!(said.contains(reason), "{text}: {said}");
        assert!(
            said.ends_with("write bounds like p99<10ms, errors<0.1%"),
            "{said}"
        );
    }
}

#[test]
fn a_percentile_needs_ten_samples_beyond_it() {
    let needed = [50.0, 99.0, 99.9, 99.99, 99.999].map(samples_needed);
    assert_eq!(needed, [20.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0]);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused_at_a_position_in_it(text in ".{0,40}") {
        if let Err(error) = text.parse::<Bounds>() {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
        }
    }

    #[test]
    fn a_bound_keeps_its_text(
        percentile in 1_u32..100,
        sign in "<=?|>=?",
        bound in 0_u32..100_000,
    ) {
        let text = format!("p{percentile}{sign}{bound}us");
        let Bounds(bounds) = text.parse().unwrap();
        prop_assert_eq!(bounds.len(), 1);
        prop_assert_eq!(bounds[0].to_string(), text);
        prop_assert_eq!(bounds[0].value, f64::from(bound) * 1e3);
    }
}
