//! The gates for a load outside a run.

use gatebench_model::Shape;
use gatebench_model::load::{Closed, Open};
use gatebench_store::{
    AgentRecord, AgentsRecord, Counts, EngineFacts, Histogram, MachineFacts, PhaseRecord,
};
use gatebench_studies::common::facts::{CurveMetric, Gate, Reason};
use gatebench_studies::judge_load;

use crate::common::SECOND_NS;

const REQUESTS: u64 = 1_000;

/// A second at 1,000 requests/s, sent by two workers with time to spare.
fn phase(shape: &Shape) -> PhaseRecord {
    PhaseRecord {
        name: "load".into(),
        shape: shape.clone(),
        measure_ns: SECOND_NS,
        counts: Counts {
            intended: REQUESTS,
            sent: REQUESTS,
            completed: REQUESTS,
            completed_in_window: REQUESTS,
            ..Counts::default()
        },
        engine: EngineFacts {
            workers: 2,
            cpu_ns: SECOND_NS / 2,
            ..EngineFacts::default()
        },
        machine: MachineFacts {
            window_ns: SECOND_NS,
            cores: 2,
            ..MachineFacts::default()
        },
        ..PhaseRecord::default()
    }
}

fn judged(phase: &PhaseRecord, lateness_ns: u64) -> Vec<Reason> {
    let mut lateness = Histogram::new(3).unwrap();
    lateness.auto(true);
    lateness.record_n(lateness_ns, REQUESTS).unwrap();
    judge_load(phase, [(CurveMetric::Lateness, lateness)])
}

fn open(change: impl Fn(&mut PhaseRecord)) -> Vec<Gate> {
    let mut phase = phase(&Shape::Open(Open::new(REQUESTS as f64)));
    change(&mut phase);
    let reasons = judged(&phase, 1_000);
    reasons.into_iter().map(|reason| reason.gate).collect()
}

#[test]
fn a_load_without_a_run_is_judged_by_the_same_gates() {
    assert_eq!(open(|_| {}), []);
    let dropped = |phase: &mut PhaseRecord| phase.counts.dropped = 1;
    assert_eq!(open(dropped), [Gate::ArrivalsDropped]);
    let slow = |phase: &mut PhaseRecord| phase.counts.completed_in_window = 980;
    assert_eq!(open(slow), [Gate::RateNotAchieved]);
    let waited = |phase: &mut PhaseRecord| phase.engine.run_queue_wait_ns = SECOND_NS / 2;
    assert_eq!(open(waited), [Gate::EngineWaited]);
    let throttled = |phase: &mut PhaseRecord| phase.machine.throttled_ns = 1;
    assert_eq!(open(throttled), [Gate::Throttled]);
    let stolen = |phase: &mut PhaseRecord| phase.machine.steal_ns = SECOND_NS / 20;
    assert_eq!(open(stolen), [Gate::Steal]);
}

/// Three agents, of which the last one is changed.
fn agents(change: impl Fn(&mut AgentRecord)) -> AgentsRecord {
    let mut each = ["a", "b", "c"].map(|place| AgentRecord {
        place: place.into(),
        workers: 2,
        backend: "io_uring".into(),
        response_p50_ns: Some(1_000_000),
        lateness_p99_ns: Some(1_000),
        window_ns: SECOND_NS,
        ..AgentRecord::default()
    });
    change(&mut each[2]);
    AgentsRecord {
        each: each.into(),
        ..AgentsRecord::default()
    }
}

#[test]
fn one_faulty_agent_of_several_is_named() {
    type Change = fn(&mut AgentRecord);
    let changes: [(Change, Gate, &str); 6] = [
        (
            |it| it.throttled_ns = 5_000_000,
            Gate::Throttled,
            "Agent c was stopped by a CPU limit for 5.00 ms.",
        ),
        (
            |it| it.steal_ns = SECOND_NS / 10,
            Gate::Steal,
            "Agent c lost 5.0 % of its cores' time to the hypervisor.",
        ),
        (
            |it| it.lateness_p99_ns = Some(2_000_000),
            Gate::EngineLate,
            "Agent c sent 1 % of its requests more than 2.00 ms late.",
        ),
        (
            |it| it.dropped = 7,
            Gate::ArrivalsDropped,
            "Agent c dropped 7 arrivals.",
        ),
        (
            |it| it.backend = "epoll".into(),
            Gate::AgentsDiffer,
            "The agents used different event loops, which are not comparable: io_uring on a, \
             io_uring on b and epoll on c.",
        ),
        (
            |it| it.response_p50_ns = Some(1_200_000),
            Gate::AgentsDiffer,
            "Agent c has a p50 of 1.20 ms, compared with 1.00 ms for the others.",
        ),
    ];
    let judged_of = |agents: AgentsRecord| {
        let mut phase = phase(&Shape::Open(Open::new(REQUESTS as f64)));
        phase.agents = Some(agents);
        let reasons = judged(&phase, 1_000).into_iter();
        reasons.map(|it| (it.gate, it.message)).collect::<Vec<_>>()
    };
    assert_eq!(judged_of(agents(|_| {})), []);
    for (change, gate, message) in changes {
        assert_eq!(judged_of(agents(change)), [(gate, message.to_owned())]);
    }
}

#[test]
fn a_busy_load_generator_is_reported_with_its_meaning() {
    let busy = |phase: &mut PhaseRecord| phase.engine.cpu_ns = SECOND_NS * 9 / 5;
    assert_eq!(open(busy), [Gate::EngineSaturated]);
    let brief = |phase: &mut PhaseRecord| {
        phase.measure_ns = SECOND_NS / 10;
        phase.engine.cpu_ns = SECOND_NS / 5;
    };
    assert_eq!(
        open(brief),
        [],
        "a tenth of a second is too short for shares of CPU time"
    );
    for (shape, meaning) in [
        (
            Shape::Open(Open::new(REQUESTS as f64)),
            "response times include the resulting delays",
        ),
        (
            Shape::Closed(Closed::new(8)),
            "the target may sustain a higher rate",
        ),
    ] {
        let mut phase = phase(&shape);
        busy(&mut phase);
        let reasons = judged(&phase, 1_000);
        let expected = format!("The load generator kept its cores 90 % busy; {meaning}.");
        assert_eq!(reasons[0].message, expected);
    }
}

#[test]
fn requests_sent_late_are_not_charged_to_the_gateway() {
    let mut phase = phase(&Shape::Open(Open::new(REQUESTS as f64)));
    phase.counts.queued_max = 5;
    let reasons = judged(&phase, 5_000_000);
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert_eq!(reasons[0].gate, Gate::EngineLate);
}

#[test]
fn few_requests_show_only_whether_a_load_works() {
    let few = |phase: &mut PhaseRecord| {
        phase.counts.sent = 20;
        phase.counts.completed = 20;
        phase.counts.dropped = 1;
        phase.machine.throttled_ns = 1;
    };
    assert_eq!(open(few), [Gate::ArrivalsDropped]);
}
