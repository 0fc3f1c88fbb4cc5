//! The results as JSON.

use std::collections::BTreeMap;

use gatebench_engine::{Class, ErrorKind, Metric, RouteRecord};
use hdrhistogram::Counter;
use serde_json::{Value, json};

use crate::commands::load::agents::ByAgent;
use crate::commands::load::figures::{Figures, PERCENTILES, Times, class_word};
use crate::commands::load::results::Results;

/// The version of the JSON format, incremented when a field is removed or changes its meaning.
const SCHEMA_VERSION: u32 = 2;

pub fn of(results: &Results<'_>) -> Value {
    let figures = &results.figures;
    let counts = figures.counts();
    let outcome = figures.outcome;
    json!({
        "schema_version": SCHEMA_VERSION,
        "gatebench": env!("CARGO_PKG_VERSION"),
        "target": results.target,
        "load": results.load,
        "protocol": results.protocol,
        "requests": figures.ended(),
        "sent": counts.sent,
        "completed": counts.completed,
        "errors": errors(&counts.errors),
        "status": statuses(&counts.by_class),
        "status_codes": status_codes(&figures.outcome.statuses),
        "failed": figures.failed(),
        "rate_per_second": figures.rate_per_second(),
        "response_time_ns": times(&figures.response),
        "service_time_ns": times(&figures.service),
        "lateness_ns": times(&figures.lateness),
        "response_time_by_status_ns": by_class(figures),
        "intended": counts.intended,
        "dropped": counts.dropped,
        "queued_max": counts.queued_max,
        "checks": checks(figures),
        "thresholds": thresholds(results),
        "connections_opened": counts.connections_opened,
        "connections_failed": errors(&counts.connections_failed),
        "tls_sessions_resumed": outcome.resumed,
        "bytes_sent": counts.bytes_sent,
        "bytes_received": counts.bytes_received,
        "routes": routes(figures),
        "window": {
            "warm_up_ns": outcome.window_ns.0.saturating_sub(outcome.start_ns),
            "measured_ns": outcome.window_ns.1 - outcome.window_ns.0,
            "drained_ns": outcome.drained_ns,
        },
        "interrupted": outcome.interrupted,
        "engine": engine(results),
        "agents": results.agents.map(agents),
    })
}

fn agents(by_agent: &ByAgent) -> Value {
    let each = by_agent.each.iter().map(|agent| {
        let figures = Figures::of(&agent.outcome);
        let counts = figures.counts();
        json!({
            "agent": agent.place,
            "node": agent.node,
            "cores": agent.cores,
            "first_worker": agent.first_worker,
            "backend": agent.outcome.backend.as_str(),
            "intended": counts.intended,
            "sent": counts.sent,
            "completed": counts.completed,
            "dropped": counts.dropped,
            "failed": figures.failed(),
            "rate_per_second": figures.rate_per_second(),
            "response_time_ns": times(&figures.response),
            "lateness_ns": times(&figures.lateness),
            "connect_time_ns": times(&Times::of_recording(&agent.outcome.connects)),
            "busy_share": figures.busy_share(),
            "run_queue_wait_share": figures.run_queue_share(),
            "steal_ns": agent.health.steal_ns,
            "throttled_ns": agent.health.throttled_ns,
            "clock_ahead_ns": agent.clock.ahead_ns,
            "clock_uncertainty_ns": agent.clock.uncertainty_ns,
            "records": agent.records,
            "record_bytes": agent.bytes,
        })
    });
    let start = by_agent
        .start
        .map(|it| json!({"spread_ns": it.spread_ns, "uncertainty_ns": it.uncertainty_ns}));
    let lost = by_agent
        .lost
        .as_ref()
        .map(|it| json!({"agent": it.agent, "second": it.second, "message": it.error.to_string()}));
    json!({
        "start": start,
        "each": each.collect::<Vec<_>>(),
        "lost": lost,
        "coordinator": {"cpu_ns": by_agent.cpu_ns, "memory_bytes": by_agent.memory_bytes},
    })
}

fn engine(results: &Results<'_>) -> Value {
    let figures = &results.figures;
    let cautions = results.cautions.iter();
    let limits =
        cautions.map(|it| json!({"limit": it.word, "message": it.message, "remedy": it.remedy}));
    json!({
        "backend": figures.outcome.backend.as_str(),
        "workers": figures.outcome.workers.len(),
        "cores": results.cores,
        "cpu_ns": figures.cpu_ns(),
        "cpu_ns_per_request": figures.cpu_ns_per_request(),
        "busy_share": figures.busy_share(),
        "run_queue_wait_share": figures.run_queue_share(),
        "steal_share": results.steal_share(),
        "throttled_ns": results.machine.throttled_ns,
        "limited_by": limits.collect::<Vec<_>>(),
    })
}

/// A percentile with fewer than ten samples beyond it is null.
fn times<C: Counter>(times: &Times<C>) -> Value {
    let mut object = json!({
        "count": times.count(),
        "mean": times.mean_ns(),
        "min": times.min_ns(),
        "max": times.max_ns(),
    });
    for (percentile, word) in PERCENTILES {
        object[word] = times.percentile_ns(percentile).into();
    }
    object
}

fn by_class(figures: &Figures<'_>) -> Value {
    let classes = Class::ALL.into_iter().filter_map(|class| {
        let of_class = Times::of_class(&figures.outcome.recordings, Metric::Response, class);
        of_class.recording()?;
        Some((class.as_str().to_owned(), times(&of_class)))
    });
    Value::Object(classes.collect())
}

fn errors(counts: &[u64]) -> Value {
    let kinds = ErrorKind::ALL.into_iter().zip(counts);
    let kinds = kinds.map(|(kind, count)| (kind.as_str().to_owned(), (*count).into()));
    Value::Object(kinds.collect())
}

fn statuses(counts: &[u64]) -> Value {
    let classes = Class::ALL.into_iter().zip(counts);
    let responses = classes.filter(|(class, count)| *class != Class::Failed || **count > 0);
    let responses = responses.map(|(class, count)| (class_word(class).to_owned(), (*count).into()));
    Value::Object(responses.collect())
}

fn checks(figures: &Figures<'_>) -> Value {
    let counts = figures.counts();
    if !figures.checked {
        return Value::Null;
    }
    let each = figures.failed_checks().into_iter();
    let each = each.map(|(text, failed)| json!({"check": text, "failed": failed}));
    json!({
        "passed": counts.completed - counts.responses_failing_checks,
        "failed": counts.responses_failing_checks,
        "each": each.collect::<Value>(),
    })
}

fn thresholds(results: &Results<'_>) -> Value {
    let judged = results.judged.iter();
    let judged = judged.map(
        |it| json!({"threshold": it.text, "value": it.value, "seen": it.words, "held": it.held}),
    );
    judged.collect()
}

/// Responses by status, as in `{"200": 17}`.
fn status_codes(statuses: &BTreeMap<u16, u64>) -> Value {
    let codes = statuses
        .iter()
        .map(|(status, count)| (status.to_string(), json!(count)));
    codes.collect()
}

fn routes(figures: &Figures<'_>) -> Value {
    let routes = figures.routes().map(|(name, route): (&str, &RouteRecord)| {
        json!({
            "name": name,
            "sent": route.sent,
            "completed": route.completed,
            "errors": errors(&route.errors),
            "status": statuses(&route.by_class),
            "responses_failing_checks": route.responses_failing_checks,
            "response_time_ns": times(&Times::of_recording(&route.response)),
        })
    });
    routes.collect()
}
