//! Counts on the wire are reported, and wrong counts limit the validity.

use gatebench_report::{Tone, Validity};
use gatebench_store::{Buffering, GatewayWire, UpstreamWire, WireFacts};
use gatebench_studies::Findings;
use gatebench_studies::common::facts::{Aspect, Gate, WireFact, WireName};

use crate::common::gates::{changed, check, reasons};
use crate::common::{Made, analysed_run, manifest, three_blocks, trial};

const WORK: [Aspect; 3] = [Aspect::Throughput, Aspect::Latency, Aspect::CpuPerRequest];

/// The facts of a correct load: 50,000 responses over 64 connections on both sides. Each request to
/// the upstream has three header fields, in a head of 100 bytes.
fn sound() -> WireFacts {
    WireFacts {
        responses: 50_000,
        client_connections: 64,
        upstream: Some(UpstreamWire {
            requests: 50_000,
            connections: 64,
            fields: 150_000,
            head_bytes: 5_000_000,
            ..UpstreamWire::default()
        }),
        gateway: Some(GatewayWire {
            written_bytes: 200,
            threads: 3,
            threads_busy: 1,
        }),
    }
}

fn with(change: impl Fn(&mut WireFacts)) -> impl Fn(&mut Made) {
    move |made| {
        let mut wire = sound();
        change(&mut wire);
        made.open().wire = Some(wire);
    }
}

fn upstream(change: impl Fn(&mut UpstreamWire)) -> impl Fn(&mut Made) {
    with(move |wire| change(wire.upstream.as_mut().unwrap()))
}

#[test]
fn a_sound_load_has_no_reasons() {
    assert!(reasons(with(|_| ())).is_empty());
}

#[test]
fn connections_to_the_upstream_are_kept_open() {
    let gate = Gate::UpstreamConnections;
    let (trips, spares) = (
        upstream(|it| it.connections = 629),
        upstream(|it| it.connections = 628),
    );
    check(gate, Validity::Limited, &WORK, trips, spares);
}

#[test]
fn clients_connections_are_kept_open() {
    let gate = Gate::ClientConnections;
    // The fixture's open load has the default limit of 64 connections, which this test reads from
    // its shape.
    let most = |made: &mut Made| match &made.open().shape {
        gatebench_model::Shape::Open(open) => u64::from(open.connections_max),
        gatebench_model::Shape::Closed(_) => unreachable!(),
    };
    let opened = |beyond: u64| {
        move |made: &mut Made| {
            let opened = most(made) + 500 + beyond;
            with(|wire| wire.client_connections = opened)(made);
        }
    };
    check(gate, Validity::Limited, &WORK, opened(1), opened(0));
}

#[test]
fn an_old_version_is_reported() {
    let gate = Gate::UpstreamVersion;
    let (trips, spares) = (upstream(|it| it.http10 = 1), upstream(|it| it.http2 = 1));
    check(gate, Validity::Limited, &WORK, trips, spares);
}

#[test]
fn an_access_log_that_is_not_required_is_reported() {
    let gate = Gate::AccessLog;
    let written = |bytes| with(move |wire| wire.gateway.as_mut().unwrap().written_bytes = bytes);
    let (trips, spares) = (written(500_000), written(499_999));
    check(gate, Validity::Limited, &WORK, trips, spares);
}

fn fact(findings: &Findings, variant: &str, name: WireName) -> WireFact {
    let wire = &findings.scenarios[0].wire;
    let found = wire.iter().find(|it| it.variant == variant).unwrap();
    found
        .facts
        .iter()
        .find(|it| it.name == name)
        .unwrap()
        .clone()
}

#[test]
fn facts_are_added_up_over_trials() {
    let findings = changed(with(|_| ()));
    let wire = &findings.scenarios[0].wire;
    assert_eq!(wire.len(), 1, "the other gateways were not tested");
    let stated = |name| fact(&findings, "nginx", name).text;
    assert_eq!(stated(WireName::UpstreamVersion), "1.1");
    assert_eq!(stated(WireName::RequestsPerUpstreamConnection), "781");
    assert_eq!(stated(WireName::Fields), "3.00");
    assert_eq!(stated(WireName::HeadBytes), "100 B");
    assert_eq!(
        stated(WireName::Workers),
        "1 of 3 in 2 processes, 1 configured"
    );
    assert_eq!(stated(WireName::Routes), "1 of 1");
}

#[test]
fn differences_between_gateways_are_cautions() {
    let findings = three_blocks(|made| {
        with(|_| ())(made);
        made.record.buffering = Some(Buffering {
            passes_requests: None,
            passes_responses: Some(!made.is("haproxy")),
        });
    });
    let passes = |variant| fact(&findings, variant, WireName::PassesResponses);
    assert!(passes("haproxy").differs && !passes("nginx").differs && !passes("direct").differs);
    let sentence = findings
        .headlines
        .iter()
        .find(|said| said.text.contains("the gateways differ in"))
        .unwrap();
    assert_eq!(sentence.tone, Tone::Caution);
    let expected = "proxy-json: the gateways differ in responses forwarded before they are complete: yes for nginx; no for haproxy.";
    assert_eq!(sentence.text, expected);
}

#[test]
fn a_required_access_log_has_a_line_for_each_response() {
    let stated = |lines: u64| {
        let mut planned = manifest(3);
        planned.plan.scenarios[0].access_log = true;
        let change = move |mut made: Made| {
            if made.is("nginx") {
                made.record.gateway.as_mut().unwrap().access_log_lines = Some(lines);
                made.open().wire = Some(sound());
            }
            Some(made)
        };
        let findings = analysed_run(planned, change).1;
        trial(&findings, "nginx").reasons.clone()
    };
    let short = stated(49_000);
    assert_eq!(
        (short[0].gate, short[0].validity),
        (Gate::AccessLog, Validity::Invalid)
    );
    assert!(
        short[0]
            .message
            .contains("the gateway wrote only 49,000 lines for"),
        "{short:#?}"
    );
    assert_eq!(stated(49_600), []);
}

#[test]
fn idle_workers_are_reported() {
    let busy = |threads_busy: u32| {
        move |made: &mut Made| {
            made.record.gateway.as_mut().unwrap().workers = 2;
            let mut wire = sound();
            wire.gateway.as_mut().unwrap().threads_busy = threads_busy;
            made.closed().wire = Some(wire);
        }
    };
    check(Gate::Workers, Validity::Limited, &WORK, busy(1), busy(2));
}
