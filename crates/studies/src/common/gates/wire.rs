//! Gates for connections, HTTP versions, access logs and idle workers.

use gatebench_model::Shape;
use gatebench_report::Unit;
use gatebench_report::format::{counted, grouped, quantity};

use super::thresholds::{RECONNECT_SHARE_MAX, WRITTEN_BYTES_MAX};
use super::{SPEED, View};
use crate::common::facts::{Gate, PhaseKind, Reason};
use crate::common::loads::connections_max;

/// A gateway may open two connections for each request that clients can have in flight, and replace
/// some connections, but must not open a connection for each request.
pub(super) fn upstream_connections(view: &View) -> Option<Reason> {
    let wire = view.phase.wire.as_ref()?;
    let upstream = wire.upstream.filter(|_| !view.is_direct())?;
    let needed = 2 * wire.client_connections * streams_per_connection(view);
    is_reconnecting(upstream.connections, needed, upstream.requests).then_some(())?;
    let message = format!(
        "The gateway opened {} to the upstream for {}: it does not keep connections open.",
        counted(upstream.connections, "connection"),
        counted(upstream.requests, "request")
    );
    let remedy = "Turn on keep-alive toward the upstream in the gateway's templates.";
    Some(view.limited(Gate::UpstreamConnections, &SPEED, message, remedy))
}

/// The number of requests that a client connection may have in flight at a time.
pub(super) fn streams_per_connection(view: &View) -> u64 {
    let streams = view.scenario().and_then(|it| it.transport.http2_streams);
    u64::from(streams.unwrap_or(1))
}

/// The load generator reopens a connection only if it was closed, or if the load requires it.
pub(super) fn client_connections(view: &View) -> Option<Reason> {
    let wire = view.phase.wire.as_ref()?;
    let needed = match &view.phase.shape {
        Shape::Closed(closed) if closed.requests_per_connection.is_some() => return None,
        Shape::Closed(closed) => connections_max(closed),
        Shape::Open(open) => open.connections_max,
    };
    let opened = wire.client_connections;
    is_reconnecting(opened, u64::from(needed), wire.responses).then_some(())?;
    let message = format!(
        "{} were opened for {}, but the load needs only {}: connections are closed too early.",
        counted(opened, "connection"),
        counted(wire.responses, "response"),
        grouped(f64::from(needed))
    );
    let remedy = "Let the gateway keep clients' connections open, for example by raising its limit on requests per connection.";
    Some(view.limited(Gate::ClientConnections, &SPEED, message, remedy))
}

fn is_reconnecting(opened: u64, needed: u64, requests: u64) -> bool {
    opened as f64 > needed as f64 + RECONNECT_SHARE_MAX * requests as f64
}

/// HTTP/1.0 differs from HTTP/1.1 in how connections are kept open and how responses are delimited.
pub(super) fn old_version(view: &View) -> Option<Reason> {
    let upstream = view.phase.wire.as_ref()?.upstream?;
    (upstream.http10 > 0).then_some(())?;
    let message = format!(
        "The gateway sent HTTP/1.0 to the upstream in {} of {}.",
        grouped(upstream.http10 as f64),
        counted(upstream.requests, "request")
    );
    let remedy = "Use HTTP/1.1 toward the upstream in the gateway's templates.";
    Some(view.limited(Gate::UpstreamVersion, &SPEED, message, remedy))
}

/// A log line for each request is work that other gateways do not do.
pub(super) fn writes_log(view: &View) -> Option<Reason> {
    if view.scenario().is_some_and(|scenario| scenario.access_log) {
        return None;
    }
    let wire = view.phase.wire.as_ref()?;
    let written = wire.gateway?.written_bytes;
    let each = written as f64 / wire.responses.max(1) as f64;
    (each >= WRITTEN_BYTES_MAX).then_some(())?;
    let message = format!(
        "The gateway wrote {} to files, {} per response, although the scenario requires no access log.",
        quantity(written as f64, Unit::Bytes),
        quantity(each, Unit::Bytes)
    );
    let remedy = "Turn off the access log in the gateway's templates. If the gateway writes \
                  error messages, remove their cause.";
    Some(view.limited(Gate::AccessLog, &SPEED, message, remedy))
}

/// In a closed load, each configured worker should have work. A thread counts as busy if it did at
/// least a twentieth of the work. More threads than workers may be busy, because runtimes have
/// additional threads.
pub(super) fn idle_workers(view: &View) -> Option<Reason> {
    let busy = view.phase.wire.as_ref()?.gateway?.threads_busy;
    let workers = view.run?.1.gateway.as_ref()?.workers;
    let is_closed = view.kind() == PhaseKind::Closed;
    (is_closed && busy > 0 && busy < workers).then_some(())?;
    let message = format!(
        "The gateway has {workers} configured workers, but only {busy} of its threads did at least \
         a twentieth of the work."
    );
    let remedy = "Make sure that the gateway's templates use `workers`, and that the load has connections for each worker.";
    Some(view.limited(Gate::Workers, &SPEED, message, remedy))
}
