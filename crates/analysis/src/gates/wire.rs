//! Gates over what went on the wire beside the requests: connections, versions, logs.

use gatebench_model::Shape;

use super::thresholds::{RECONNECT_SHARE_MAX, WRITTEN_BYTES_MAX};
use super::{View, says};
use crate::findings::{Aspect, Gate, PhaseKind, Reason, Unit, Validity};
use crate::format::{counted, grouped, quantity};

/// What another way of doing the work spoils.
const WORK: [Aspect; 3] = [Aspect::Throughput, Aspect::Latency, Aspect::CpuPerRequest];

/// A gateway may open a connection for each of the client's, and replace some; it must not open one for
/// each request.
pub(super) fn upstream_connections(view: &View) -> Option<Reason> {
    let wire = view.phase.wire.as_ref()?;
    let upstream = wire.upstream.filter(|_| !view.is_direct())?;
    let needed = 2 * wire.client_connections * streams_per_connection(view);
    is_reconnecting(upstream.connections, needed, upstream.requests).then_some(())?;
    let message = format!(
        "The gateway opened {} to the upstream for {}: it does not keep them.",
        counted(upstream.connections, "connection"),
        counted(upstream.requests, "request")
    );
    let remedy = "Turn on keep-alive towards the upstream in the gateway's templates.";
    let gate = Gate::UpstreamConnections;
    Some(view.reason(gate, Validity::Limited, &WORK, says(message, remedy)))
}

/// Requests that a client's connection may have under way at a time.
pub(super) fn streams_per_connection(view: &View) -> u64 {
    let streams = view.scenario().and_then(|it| it.transport.http2_streams);
    u64::from(streams.unwrap_or(1))
}

/// The engine opens a connection anew only where it was closed, or where the load asks for it.
pub(super) fn client_connections(view: &View) -> Option<Reason> {
    let wire = view.phase.wire.as_ref()?;
    let needed = match &view.phase.shape {
        Shape::Closed(closed) if closed.requests_per_connection.is_some() => return None,
        Shape::Closed(closed) => {
            let stages = closed.stages.iter().map(|stage| stage.connections);
            stages.fold(closed.connections, u32::max)
        }
        Shape::Open(open) => open.connections_max,
    };
    let opened = wire.client_connections;
    is_reconnecting(opened, u64::from(needed), wire.answers).then_some(())?;
    let message = format!(
        "{} were opened for {}, where {} were asked for: they are closed from the other side.",
        counted(opened, "connection"),
        counted(wire.answers, "answer"),
        grouped(f64::from(needed))
    );
    let remedy = "Let the gateway keep clients' connections: raise its limit of requests for each.";
    let gate = Gate::ClientConnections;
    Some(view.reason(gate, Validity::Limited, &WORK, says(message, remedy)))
}

fn is_reconnecting(opened: u64, needed: u64, requests: u64) -> bool {
    opened as f64 > needed as f64 + RECONNECT_SHARE_MAX * requests as f64
}

/// HTTP/1.0 has other rules for keeping connections and framing answers.
pub(super) fn old_version(view: &View) -> Option<Reason> {
    let upstream = view.phase.wire.as_ref()?.upstream?;
    (upstream.http10 > 0).then_some(())?;
    let message = format!(
        "The gateway asked the upstream over HTTP/1.0 in {} of {}.",
        grouped(upstream.http10 as f64),
        counted(upstream.requests, "request")
    );
    let remedy = "Set HTTP/1.1 towards the upstream in the gateway's templates.";
    let gate = Gate::UpstreamVersion;
    Some(view.reason(gate, Validity::Limited, &WORK, says(message, remedy)))
}

/// A line for each request is work that other gateways are not asked for.
pub(super) fn writes_log(view: &View) -> Option<Reason> {
    if view.scenario().is_some_and(|scenario| scenario.access_log) {
        return None;
    }
    let wire = view.phase.wire.as_ref()?;
    let written = wire.gateway?.written_bytes;
    let each = written as f64 / wire.answers.max(1) as f64;
    (each >= WRITTEN_BYTES_MAX).then_some(())?;
    let message = format!(
        "The gateway wrote {} to files, {} for each answer: an access log, which the scenario does not ask for.",
        quantity(written as f64, Unit::Bytes),
        quantity(each, Unit::Bytes)
    );
    let remedy = "Turn the access log off in the gateway's templates.";
    let gate = Gate::AccessLog;
    Some(view.reason(gate, Validity::Limited, &WORK, says(message, remedy)))
}

/// Under a closed load each of the workers that were asked for has work; a thread that did a twentieth of
/// it counts. More may be busy: runtimes have threads of their own.
pub(super) fn idle_workers(view: &View) -> Option<Reason> {
    let busy = view.phase.wire.as_ref()?.gateway?.threads_busy;
    let workers = view.run?.1.gateway.as_ref()?.workers;
    let is_closed = view.kind() == PhaseKind::Closed;
    (is_closed && busy > 0 && busy < workers).then_some(())?;
    let message = format!(
        "Only {busy} of the {workers} workers that the gateway was asked for did at least a twentieth of the work."
    );
    let remedy =
        "See that its templates use `workers`, and that the load has connections for each.";
    let gate = Gate::Workers;
    Some(view.reason(gate, Validity::Limited, &WORK, says(message, remedy)))
}
