//! Tests that several load generators together send exactly the requests that a single one would
//! send.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatebench_model::Source;
use gatebench_model::data::{List, Rows, Sequence, Uniform};
use gatebench_model::load::{ConnectionStage, DrawnThink, ExponentialThink, Spread};
use proptest::prelude::*;

use super::*;
use crate::data::DataSet;
use crate::load::Part;

/// The requests of one worker, each with its send time and bytes.
type Sent = Vec<(u64, Vec<u8>)>;

fn sent_by_all(load: &Load) -> Vec<Sent> {
    let control = Control::new(load.cores.len());
    let compiled = compile(load, &control).unwrap();
    control.starts_at(10 * MS);
    let workers = 0..compiled.workers;
    let run = |number| {
        let machine = Simulated::new(|index, _, _| Reaction::Response((1 + index % 7) * MS, OK));
        let sent = Rc::clone(&machine.sent);
        let (full, _out) = RingBuffer::new(64);
        let (_back, empty) = RingBuffer::new(64);
        let work = Work {
            compiled: &compiled,
            number,
            outlet: Outlet { full, empty },
        };
        work.run(machine).unwrap();
        sent.take()
    };
    workers.map(run).collect()
}

fn sent_by_parts(load: &Load, sizes: &[usize]) -> Vec<Sent> {
    let workers = sizes.iter().sum();
    let mut first_worker = 0;
    let mut all = Vec::new();
    for size in sizes {
        let part = Load {
            cores: vec![0; *size],
            part: Some(Part {
                first_worker,
                workers,
            }),
            ..load.clone()
        };
        all.extend(sent_by_all(&part));
        first_worker += size;
    }
    all
}

/// Returns three sources: rows that are used in turn, random numbers, and a sequence whose numbers
/// are used only once.
fn data() -> DataSet {
    let rows: Vec<serde_json::Value> = (0..23).map(|row| format!("row-{row}").into()).collect();
    let list = List {
        columns: Vec::new(),
        values: serde_json::from_value::<Rows>(rows.into()).unwrap(),
        pick: Default::default(),
        exponent: None,
    };
    let sources = [
        ("rows", Source::List(list)),
        ("drawn", Source::Uniform(Uniform { min: 0, max: 99 })),
        ("once", Source::Sequence(Sequence { from: 5, step: 3 })),
    ];
    let named = sources.map(|(name, source)| (name.to_owned(), source));
    DataSet::new(&BTreeMap::from(named)).unwrap()
}

fn shapes() -> impl Strategy<Value = Shape> {
    let spread = prop_oneof![Just(Spread::Uniform), Just(Spread::Poisson)];
    let stage =
        (0.0..900.0_f64, 1..400_u64, any::<bool>()).prop_map(|(rate, ms, steps)| RateStage {
            rate_per_second: rate,
            over: HumanDuration::from_millis(ms),
            how: if steps { Change::Step } else { Change::Linear },
        });
    let limit = proptest::option::of(1..300_u64);
    let open = (
        1.0..900.0_f64,
        spread,
        proptest::collection::vec(stage, 0..3),
        1..40_u32,
        limit.clone(),
    );
    let open = open.prop_map(|(rate, arrivals, stages, connections_max, requests_max)| {
        Shape::Open(Open {
            arrivals,
            stages,
            connections_max,
            requests_max,
            ..Open::new(rate)
        })
    });
    let think = prop_oneof![
        Just(None),
        Just(Some(Think::Constant(HumanDuration::from_millis(3)))),
        Just(Some(Think::Drawn(DrawnThink::Exponential(
            ExponentialThink {
                mean: HumanDuration::from_millis(20),
            }
        )))),
    ];
    let stage = (0..40_u32, 1..400_u64).prop_map(|(connections, ms)| ConnectionStage {
        connections,
        over: HumanDuration::from_millis(ms),
    });
    let stages = proptest::collection::vec(stage, 0..3);
    let closed = (1..40_u32, think, stages, limit);
    let closed = closed.prop_map(|(connections, think, stages, requests_max)| {
        Shape::Closed(Closed {
            think,
            stages,
            requests_max,
            ..Closed::new(connections)
        })
    });
    prop_oneof![open, closed]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_split_sends_the_requests_of_the_undivided_load(
        shape in shapes(),
        sizes in proptest::collection::vec(1..6_usize, 1..5),
        order in prop_oneof![Just(Order::InTurn), Just(Order::Random)],
        seed in any::<u64>(),
    ) {
        let mut load = load(shape, 50, 800);
        let path = "/{{rows}}/{{drawn}}/{{once}}";
        load.data = Arc::new(data());
        load.groups[0].order = order;
        load.groups[0].requests = vec![
            Request::new("GET", path),
            Request { weight: 3.0, ..Request::new("GET", format!("/more{path}")) },
        ];
        load.seed = seed;
        load.cores = vec![0; sizes.iter().sum()];
        let whole = sent_by_all(&load);
        prop_assert_eq!(sent_by_parts(&load, &sizes), whole);
    }
}

/// Returns the send times of all workers' requests, in order.
fn union(sent: &[Sent]) -> Vec<u64> {
    let mut times: Vec<u64> = sent.iter().flatten().map(|(at_ns, _)| *at_ns).collect();
    times.sort_unstable();
    times
}

#[test]
fn even_arrivals_of_any_number_of_workers_are_those_of_one() {
    let mut load = load(open(700.0, 64, 100), 0, 1_000);
    let one = union(&sent_by_all(&load));
    assert_eq!(one.len(), 700);
    load.cores = vec![0; 8];
    assert_eq!(union(&sent_by_parts(&load, &[3, 1, 4])), one);
}

#[test]
fn nonces_of_all_workers_and_load_generators_differ() {
    let mut load = load(open(700.0, 700, 100), 0, 1_000);
    let mut nonces = std::collections::HashSet::new();
    let mut count = 0;
    // A load generator's 300 workers need two tags, so the second load generator starts with the
    // third.
    for (first_worker, tag) in [(0, u16::MAX), (300, 1)] {
        load.cores = vec![0; 300];
        load.trace_tag = Some(tag);
        load.part = Some(Part {
            first_worker,
            workers: 600,
        });
        for (_, request) in sent_by_all(&load).into_iter().flatten() {
            let text = String::from_utf8(request).unwrap();
            let (_, nonce) = text.split_once("gatebench-nonce: ").unwrap();
            nonces.insert(nonce[..16].to_owned());
            count += 1;
        }
    }
    assert_eq!((count, nonces.len()), (700, 700));
}

#[test]
fn workers_without_arrivals_get_no_part_of_the_queue() {
    let load = |workers| Load {
        cores: vec![0; workers],
        ..load(open(1_000.0, 1, 100), 0, 1_000)
    };
    let sent = |workers| union(&sent_by_all(&load(workers))).len();
    assert_eq!(sent(2), sent(1));
}
