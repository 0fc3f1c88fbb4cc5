//! Tests the loads of a capacity search.

use gatebench_model::load::{Closed, Spread};
use gatebench_model::study::capacity::SATURATION;
use gatebench_model::{Capacity, HumanDuration, Shape};

fn capacity(objective: &str) -> Capacity {
    Capacity {
        objective: objective.parse().unwrap(),
        step: HumanDuration::from_millis(4_000),
        connections: 64,
        arrivals: Spread::Poisson,
        rate_max_per_second: None,
        size_for_per_second: None,
    }
}

#[test]
fn a_step_is_long_enough_for_its_percentile() {
    let seconds = |objective: &str, rate| {
        let phase = capacity(objective).step("s".into(), rate);
        let arrivals = match &phase.shape {
            Shape::Open(open) => Some(open.arrivals),
            Shape::Closed(_) => None,
        };
        assert_eq!(arrivals, Some(Spread::Poisson));
        assert_eq!(phase.warm_up, HumanDuration::from_millis(1_000));
        phase.measure.as_secs_f64()
    };
    assert_eq!(seconds("p99<10ms", 20_000.0), 4.0);
    assert_eq!(seconds("p99<10ms", 200.0), 5.0, "1,000 requests");
    assert_eq!(seconds("p99.9<10ms", 200.0), 16.0, "the maximum");
}

#[test]
fn an_earlier_search_without_arrivals_had_uniform_arrivals() {
    let mut json = serde_json::to_value(capacity("p99<10ms")).unwrap();
    assert_eq!(json["arrivals"], "poisson");
    json.as_object_mut().unwrap().remove("arrivals");
    let old: Capacity = serde_json::from_value(json).unwrap();
    assert_eq!(old.arrivals, Spread::Uniform);
}

#[test]
fn every_trial_begins_with_saturation() {
    let load = capacity("p99<10ms").load();
    let [phase] = &load.phases[..] else {
        panic!("{load:?}")
    };
    assert_eq!(phase.name, SATURATION);
    assert_eq!(phase.shape, Shape::Closed(Closed::new(64)));
    assert_eq!(phase.measure, HumanDuration::from_millis(2_000));
}
