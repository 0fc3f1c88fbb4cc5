//! Proves that a gateway distributes requests among all targets of the upstream.

use gatebench_model::{Request, Scenario};
use gatebench_store::ParityCaseRecord;

use super::{Place, proof};
use crate::abort::Abort;
use crate::http_probe::{exchange, render};
use crate::ledger;

/// The expected number of requests for the target with the lowest weight. A gateway that chooses
/// randomly among ten targets misses a target with a probability of less than one in ten million.
const REQUESTS_PER_TARGET: u64 = 20;

/// Sends enough requests to reach every target. `samples` are the requests of the load. Repeats the
/// first of them to which the gateway does not respond itself, or if there is none, the request of
/// the first case that reaches the upstream. Returns `None` if there is only one target, no ledger,
/// or no request to send.
///
/// # Errors
/// A target does not report its ledger, or the run was interrupted.
pub(crate) fn prove(
    scenario: &Scenario,
    samples: &[Request],
    place: &Place<'_>,
) -> Result<Option<ParityCaseRecord>, Abort> {
    let mut cases = scenario.parity.iter().filter(|it| it.reaches_upstream);
    let case = || cases.next().map(|it| &it.request);
    // The upstream's list also contains the scenario's additional upstreams, after the targets.
    let targets = place.upstream.len().min(scenario.targets as usize);
    let targets = &place.upstream[..targets];
    let proxied = |request: &&Request| !scenario.gateway_responds_to(request);
    let request = samples.iter().find(proxied).or_else(case);
    let Some(request) = request.filter(|_| targets.len() > 1) else {
        return Ok(None);
    };
    let before = ledger::begun(targets, place.interrupt)?;
    let bytes = render(request, &place.target.address.to_string(), None);
    let asked = enough(scenario);
    for _ in 0..asked {
        // The response is ignored, because the ledgers show which targets received requests.
        let _ = exchange(
            &place.target,
            &bytes,
            request.method == "HEAD",
            place.interrupt,
        );
        place.interrupt.check()?;
    }
    let after = ledger::begun(targets, place.interrupt)?;
    let seen = ledger::gained(&before, &after);
    let sent = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    Ok(Some(record(&seen, asked, &sent)))
}

fn enough(scenario: &Scenario) -> u64 {
    let weights = scenario.weights.first();
    let parts = weights.and_then(|all| {
        let least = all.iter().min().filter(|least| **least > 0)?;
        Some(all.iter().sum::<u32>().div_ceil(*least))
    });
    // Without weights, all targets are equal.
    REQUESTS_PER_TARGET * u64::from(parts.unwrap_or(scenario.targets))
}

fn record(seen: &[u64], asked: u64, sent: &str) -> ParityCaseRecord {
    let failure = seen.contains(&0).then(|| {
        let seen: Vec<String> = seen.iter().map(u64::to_string).collect();
        [
            format!("{asked} times, one after another:\n{sent}"),
            "each target gets at least one request".into(),
            format!("the targets got {} requests", seen.join(", ")),
        ]
    });
    let name = format!("each of {} targets gets a request", seen.len());
    proof(name, true, failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_with_the_lowest_weight_gets_enough_requests() {
        let scenario = |weights: &str| -> Scenario {
            let text = format!(
                "{{scenario: s, title: t, upstream: ping, targets: 2, {weights}routes: [{{name: r, path: /}}], \
                 requests: [{{path: /ping}}]}}"
            );
            gatebench_config::parse("s.yaml", &text).unwrap()
        };
        assert_eq!(enough(&scenario("")), 40);
        assert_eq!(enough(&scenario("weights: [[3, 1], [1, 3]], ")), 80);
    }

    #[test]
    fn a_target_without_requests_fails_the_proof() {
        assert!(record(&[20, 1, 39], 60, "GET /\n").passed);
        let found = record(&[60, 0, 0], 60, "GET /\n");
        assert!(!found.passed);
        assert_eq!(found.name, "each of 3 targets gets a request");
        assert_eq!(found.received, "the targets got 60, 0, 0 requests");
        assert!(
            found
                .sent
                .starts_with("60 times, one after another:\nGET /")
        );
    }
}
