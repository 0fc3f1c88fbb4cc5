//! A run with an external load generator: the latencies that it printed are reported, and gatebench
//! computes none of its own.

use std::collections::BTreeMap;

use gatebench_report::{Tone, Validity};
use gatebench_store::{ExternalFigures, ExternalGenerator, TraceCounts};
use gatebench_studies::common::facts::{Aspect, Gate, Metric, PhaseKind};

use crate::common::{Made, analysed_run, manifest, row};

/// Changes a trial to one measured with k6: percentiles, but no histograms, series or bins.
fn driven_by_k6(made: &mut Made) {
    made.intervals.clear();
    made.rows.clear();
    for phase in &mut made.record.phases {
        phase.sums.clear();
        phase.trace = TraceCounts::default();
        phase.counts.completed = 5_000;
        phase.counts.by_class = BTreeMap::from([("2xx".into(), 5_000)]);
        phase.external = Some(ExternalFigures {
            engine: "k6".into(),
            percentiles_ns: [("50", 1_000), ("90", 2_000), ("99", 3_000), ("99.9", 4_000)]
                .map(|(percentile, value_ns)| (percentile.to_owned(), value_ns))
                .into(),
            ..ExternalFigures::default()
        });
    }
}

fn k6() -> ExternalGenerator {
    ExternalGenerator {
        name: "k6".into(),
        version: "1.8.1".into(),
        binary: "/usr/bin/k6".into(),
        script: None,
    }
}

#[test]
fn thresholds_of_a_script_are_reported() {
    let mut manifest = manifest(3);
    manifest.external_generator = Some(k6());
    let (_dir, findings) = analysed_run(manifest, |mut made| {
        driven_by_k6(&mut made);
        let is_held = made.record.trial.block != 2;
        let external = made.open().external.as_mut().unwrap();
        external.thresholds = BTreeMap::from([
            ("http_req_duration: p(95)<200".into(), is_held),
            ("checks: rate>0.99".into(), true),
        ]);
        Some(made)
    });
    let said = |tone: Tone| -> Vec<&str> {
        let all = findings.scenarios[0].sentences.iter();
        let own = all.filter(|it| it.tone == tone && it.text.contains("threshold"));
        own.filter(|it| it.variant.as_deref() == Some("nginx"))
            .map(|it| it.text.as_str())
            .collect()
    };
    assert_eq!(
        said(Tone::Alarm),
        [
            "k6's threshold `http_req_duration: p(95)<200` was crossed with nginx in steady, in 1 \
             of 3 trials."
        ]
    );
    assert_eq!(
        said(Tone::Plain),
        ["k6's thresholds passed with nginx in steady: `checks: rate>0.99`."]
    );
}

#[test]
fn external_percentiles_are_reported_if_enough_responses_lie_beyond_them() {
    let mut manifest = manifest(3);
    manifest.external_generator = Some(k6());
    let (_dir, findings) = analysed_run(manifest, |mut made| {
        driven_by_k6(&mut made);
        Some(made)
    });
    assert_eq!(findings.run.engine_backend, "k6 1.8.1");
    let nginx = row(&findings, "nginx");
    let median = |metric| {
        let found = nginx.metric(PhaseKind::Open, metric)?;
        Some(found.estimate.as_ref()?.median)
    };
    assert_eq!(median(Metric::ResponseP50), Some(1_000.0));
    assert_eq!(median(Metric::ResponseP99), Some(3_000.0));
    assert_eq!(
        median(Metric::ResponseP999),
        None,
        "five responses lie beyond it"
    );
    assert_eq!(median(Metric::AddedP50), None);
    assert_eq!(median(Metric::LatenessP99), None);
    assert!(
        nginx
            .metric(PhaseKind::Closed, Metric::Throughput)
            .is_some()
    );
    // Nothing shows whether the ten seconds were steady.
    assert_eq!(nginx.validity, Some(Validity::Limited));
    let reasons: Vec<_> = nginx
        .reasons
        .iter()
        .map(|it| (it.gate, it.phase.as_deref(), it.spoils.as_slice()))
        .collect();
    let (untested, cpu) = (Gate::SteadinessUntested, Aspect::CpuPerRequest);
    let closed = (untested, Some("saturate"), &[Aspect::Throughput, cpu][..]);
    let open = (untested, Some("steady"), &[cpu, Aspect::Latency][..]);
    assert_eq!(reasons, [closed, open]);
    let said = &nginx.reasons[0].message;
    assert!(said.contains("k6 records no figures over time"), "{said}");
    assert!(
        !findings.notes.iter().any(|it| it.contains("Steady state")),
        "{:?}",
        findings.notes
    );
}
