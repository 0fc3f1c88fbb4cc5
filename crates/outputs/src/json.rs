//! Writes one line of JSON per fact.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::distribution::Distribution;
use crate::facts::{Component, Fact, Second, Usage, What};
use crate::stat::Stat;

/// The line for a fact; `None` for [`What::Closed`].
pub(crate) fn line(fact: &Fact) -> Option<Vec<u8>> {
    let (kind, content) = match &fact.what {
        What::Second(second) => ("second", of_second(second, &fact.load.checks)),
        What::Usage(usage) => ("usage", of_usage(usage)),
        What::Own(own) => (
            "own_metrics",
            json!({"requests": own.requests, "pools": own.pools}),
        ),
        What::Judged(it) => (
            "judged",
            json!({"valid": it.is_valid, "limited": it.reasons}),
        ),
        What::Ended => ("ended", json!({})),
        What::Closed => return None,
    };
    let mut line = json!({
        "type": kind,
        "from_ms": fact.from_ns / 1_000_000,
        "to_ms": fact.to_ns / 1_000_000,
        "labels": fact.load.labels,
        "request": fact.load.request,
    });
    line[kind] = content;
    Some(format!("{line}\n").into_bytes())
}

fn of_second(second: &Second, checks: &[String]) -> Value {
    let statuses = second.statuses.iter();
    let statuses = statuses.map(|(status, count)| (status.to_string(), *count));
    let classes = second.classes.iter();
    let classes = classes.map(|(class, count)| (class.as_str().to_owned(), *count));
    let counts: BTreeMap<String, u64> = statuses.chain(classes).collect();
    let failed = second.checks_failed.iter();
    let failed = failed.filter_map(|(number, count)| Some((checks.get(*number)?, *count)));
    let failed: BTreeMap<&String, u64> = failed.collect();
    let mut times: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for ((trend, class), all) in &second.times {
        let of_trend = times.entry(trend.as_str()).or_default();
        of_trend.insert(class.as_str().into(), figures(all));
    }
    json!({
        "number": second.number,
        "requests": second.requests(),
        "status": counts,
        "errors": second.errors,
        "dropped": second.dropped,
        "checks_failed": failed,
        "bytes_sent": second.bytes_sent,
        "bytes_received": second.bytes_received,
        "busy": second.busy,
        "engine_cpu_ns": second.engine_cpu_ns,
        "times_ms": times,
    })
}

fn figures(all: &Distribution) -> Value {
    let figure = |stat: &Stat| Some((stat.to_string(), json!(stat.of(all, 1e6)?)));
    Stat::DEFAULT.iter().filter_map(figure).collect()
}

fn of_usage(usage: &Usage) -> Value {
    let component = |(name, it): (&&str, &Component)| {
        let figures = json!({
            "cpu_ns": it.cpu_ns,
            "memory_bytes": it.memory_bytes,
            "descriptors": it.descriptors,
        });
        ((*name).to_owned(), figures)
    };
    let components: Map<String, Value> = usage.components.iter().map(component).collect();
    json!({"second": usage.second, "components": components})
}
