//! The traffic on the wire, added up over the trials of each variant and compared between gateways.

use gatebench_model::{Scenario, Variant};
use gatebench_report::format::{counted, grouped, listed, quantity, three_figures};
use gatebench_report::{Tone, Unit};
use gatebench_store::{TrialRecord, WireFacts};

use super::context::Context;
use super::facts::{WireFact, WireFindings, WireName};
use super::gates::thresholds::WRITTEN_BYTES_MAX;
use super::{by_key, joined};

/// The facts that should be equal for all gateways, regardless of their configuration.
const MEANT_TO_BE_EQUAL: [WireName; 3] = [
    WireName::UpstreamVersion,
    WireName::PassesRequests,
    WireName::PassesResponses,
];

/// The traffic of each variant of a scenario, in the plan's order. Variants whose completed trials
/// recorded no traffic are left out.
pub(crate) fn of_scenario(context: &Context, scenario: &Scenario) -> Vec<WireFindings> {
    // The null gateway is left out, because it does different work.
    let variants = context.plan.variants.iter().filter(|it| !it.is_null());
    let found = variants.filter_map(|variant| of_cell(context, scenario, variant));
    let mut found: Vec<WireFindings> = found.collect();
    for name in MEANT_TO_BE_EQUAL {
        mark_uncommon(&mut found, name);
    }
    found
}

/// Returns a sentence for each fact of [`MEANT_TO_BE_EQUAL`] that differs between gateways. A fact
/// that is wrong by itself is a reason against its trial instead.
pub(crate) fn differences(wire: &[WireFindings]) -> Vec<(Tone, String)> {
    let names = MEANT_TO_BE_EQUAL.into_iter();
    names
        .filter_map(|name| Some((Tone::Caution, difference(wire, name)?)))
        .collect()
}

/// The difference as a sentence: `the gateways differ in responses forwarded before they are
/// complete: yes for reference and envoy; no for nginx.`
fn difference(wire: &[WireFindings], name: WireName) -> Option<String> {
    // The direct variant has no gateway process and does not change messages.
    let gateways = wire.iter().filter(|found| !found.is_direct);
    let facts = gateways.filter_map(|found| {
        let fact = found.facts.iter().find(|fact| fact.name == name)?;
        Some((fact, found.variant.clone()))
    });
    let facts: Vec<(&WireFact, String)> = facts.collect();
    let differs = facts.iter().any(|(fact, _)| fact.differs);
    let groups = by_key(
        facts
            .into_iter()
            .map(|(fact, variant)| (&fact.text, variant)),
    );
    let groups = groups.into_iter();
    let groups = groups.map(|(text, variants)| format!("{text} for {}", listed(&variants)));
    let (title, groups) = (name.title(), joined(groups, "; "));
    differs.then(|| format!("the gateways differ in {title}: {groups}."))
}

/// Marks the gateways whose value is not the most common one; in a tie, the first value counts as
/// the most common.
fn mark_uncommon(found: &mut [WireFindings], name: WireName) {
    let texts: Vec<String> = found
        .iter()
        .filter(|found| !found.is_direct)
        .flat_map(|found| &found.facts)
        .filter(|fact| fact.name == name)
        .map(|fact| fact.text.clone())
        .collect();
    let count = |text: &String| texts.iter().filter(|other| *other == text).count();
    // `max_by_key` returns the last of several maxima, so the order is reversed.
    let Some(common) = texts.iter().rev().max_by_key(|text| count(text)) else {
        return;
    };
    for found in found {
        let own = found.facts.iter_mut().filter(|fact| fact.name == name);
        own.for_each(|fact| fact.differs = !found.is_direct && fact.text != *common);
    }
}

fn of_cell(context: &Context, scenario: &Scenario, variant: &Variant) -> Option<WireFindings> {
    let records = context.completed_of(&scenario.scenario, variant.label());
    let records: Vec<&TrialRecord> = records.collect();
    let phases = || records.iter().flat_map(|record| &record.phases);
    let wires: Vec<&WireFacts> = phases().filter_map(|phase| phase.wire.as_ref()).collect();
    (!wires.is_empty()).then_some(())?;
    let mut facts = vec![per_client_connection(&wires), retries(&records)];
    facts.extend(counted_at_upstream(&wires));
    facts.extend(buffering(&records));
    facts.extend(gateway(&wires, &records));
    facts.extend(routes(&records));
    facts.sort_by_key(|fact| fact.name);
    Some(WireFindings {
        variant: variant.label().to_owned(),
        is_direct: *variant == Variant::Direct,
        facts,
    })
}

fn fact(name: WireName, value: f64, text: String) -> WireFact {
    WireFact {
        name,
        value: Some(value),
        text,
        differs: false,
    }
}

fn counted_at_upstream(wires: &[&WireFacts]) -> Vec<WireFact> {
    let all = || wires.iter().filter_map(|wire| wire.upstream);
    let sum = |of: fn(gatebench_store::UpstreamWire) -> u64| all().map(of).sum::<u64>() as f64;
    let requests = sum(|it| it.requests);
    if requests == 0.0 {
        return Vec::new();
    }
    let bytes = |name, total: f64| {
        let each = total / requests;
        fact(name, each, quantity(each, Unit::Bytes))
    };
    let fields = sum(|it| it.fields) / requests;
    let per_connection = requests / sum(|it| it.connections).max(1.0);
    let name = WireName::RequestsPerUpstreamConnection;
    vec![
        version(requests, sum(|it| it.http10), sum(|it| it.http2)),
        fact(name, per_connection, grouped(per_connection)),
        fact(WireName::Fields, fields, three_figures(fields)),
        bytes(WireName::HeadBytes, sum(|it| it.head_bytes)),
        bytes(WireName::BodyBytes, sum(|it| it.body_bytes)),
    ]
}

fn version(requests: f64, http10: f64, http2: f64) -> WireFact {
    let used = [
        ("1.0", http10),
        ("1.1", requests - http10 - http2),
        ("2", http2),
    ];
    let used: Vec<String> = used
        .into_iter()
        .filter(|(_, count)| *count >= 0.01 * requests)
        .map(|(version, _)| version.to_owned())
        .collect();
    WireFact {
        value: None,
        ..fact(WireName::UpstreamVersion, 0.0, listed(&used))
    }
}

fn per_client_connection(wires: &[&WireFacts]) -> WireFact {
    let responses: u64 = wires.iter().map(|wire| wire.responses).sum();
    let connections: u64 = wires.iter().map(|wire| wire.client_connections).sum();
    let each = responses as f64 / connections.max(1) as f64;
    let name = WireName::RequestsPerClientConnection;
    fact(name, each, grouped(each))
}

fn retries(records: &[&TrialRecord]) -> WireFact {
    let phases = records.iter().flat_map(|record| &record.phases);
    let repeated: u64 = phases.map(|phase| phase.ledger.repeated).sum();
    WireFact {
        differs: repeated > 0,
        ..fact(WireName::Retries, repeated as f64, grouped(repeated as f64))
    }
}

fn buffering(records: &[&TrialRecord]) -> Vec<WireFact> {
    let tried = |name, of: fn(&gatebench_store::Buffering) -> Option<bool>| {
        let all = records.iter().filter_map(|it| of(it.buffering.as_ref()?));
        let all: Vec<bool> = all.collect();
        let passed = all.iter().filter(|passed| **passed).count();
        let text = match passed {
            _ if all.is_empty() => return None,
            0 => "no",
            all_of_them if all_of_them == all.len() => "yes",
            _ => "sometimes",
        };
        let share = passed as f64 / all.len() as f64;
        Some(fact(name, share, text.to_owned()))
    };
    let tried = [
        tried(WireName::PassesRequests, |it| it.passes_requests),
        tried(WireName::PassesResponses, |it| it.passes_responses),
    ];
    tried.into_iter().flatten().collect()
}

fn gateway(wires: &[&WireFacts], records: &[&TrialRecord]) -> Vec<WireFact> {
    let all: Vec<_> = wires.iter().filter_map(|wire| wire.gateway).collect();
    let Some(threads) = all.iter().map(|it| it.threads).max() else {
        return Vec::new();
    };
    let responses: u64 = wires.iter().map(|wire| wire.responses).sum();
    let written: u64 = all.iter().map(|it| it.written_bytes).sum();
    let each = written as f64 / responses.max(1) as f64;
    let busy = all.iter().map(|it| it.threads_busy).max().unwrap_or(0);
    let gateways = records.iter().filter_map(|record| record.gateway.as_ref());
    let (configured, processes) = gateways.fold((0, 0), |(configured, processes), it| {
        (it.workers.max(configured), it.processes.max(processes))
    });
    let [threads, configured] = [threads, configured].map(|it| grouped(it.into()));
    let text = format!(
        "{} of {threads} in {}, {configured} configured",
        grouped(busy.into()),
        counted(processes.into(), "process")
    );
    vec![
        WireFact {
            differs: each >= WRITTEN_BYTES_MAX,
            ..fact(WireName::WrittenBytes, each, quantity(each, Unit::Bytes))
        },
        fact(WireName::Workers, f64::from(busy), text),
    ]
}

fn routes(records: &[&TrialRecord]) -> Option<WireFact> {
    let passes = records
        .iter()
        .flat_map(|record| record.parity_before.iter().chain(&record.parity_after));
    let fewest = passes
        .filter(|pass| pass.routes_expected > 0)
        .min_by_key(|pass| pass.routes_answering)?;
    let [responding, expected] = [fewest.routes_answering, fewest.routes_expected].map(f64::from);
    let text = format!("{} of {}", grouped(responding), grouped(expected));
    Some(WireFact {
        differs: responding < expected,
        ..fact(WireName::Routes, responding, text)
    })
}
