//! Searches for capacity on gateways whose knee is known.

use gatebench_model::load::{Open, Spread};
use gatebench_model::{Capacity, HumanDuration, Setup, Shape, Study, Trial, Variant};
use gatebench_report::{Tone, Validity};
use gatebench_stats::capacity::{self, Sustained};
use gatebench_store::{
    Manifest, Outcome, PhaseRecord, Run, RunWriter, StepOutcome, StepRole, TrialRecord,
};
use gatebench_studies::Findings;
use gatebench_studies::analyse;
use gatebench_studies::capacity::facts::{Bottleneck, CapacityFindings, SizingFindings};
use gatebench_studies::{FurtherLoad, Next, after_load};
use tempfile::TempDir;

use crate::common::{Made, SECOND_NS, SECONDS, every_cell, made, manifest};

/// A gateway: the rate that it can sustain, and the number of cores that the load generator and the
/// upstream together keep busy at that rate.
#[derive(Clone, Copy)]
struct Law {
    knee: f64,
    instrument: f64,
}

fn searching(variants: Vec<Variant>, blocks: u32) -> Manifest {
    let mut manifest = manifest(blocks);
    let capacity = Capacity {
        objective: "p99<10ms".parse().unwrap(),
        step: HumanDuration::from_millis(4_000),
        connections: 64,
        arrivals: Spread::Poisson,
        rate_max_per_second: None,
        size_for_per_second: Some(50_000.0),
    };
    manifest.plan.load = capacity.load();
    manifest.plan.study = Study::Capacity(capacity);
    manifest.plan.variants = variants;
    manifest.plan.trials = every_cell(&manifest.plan, blocks);
    manifest
}

/// Adds to a trial a load on a gateway with this law: an open load at `rate` or, if `rate` is
/// `None`, a closed load at the knee.
fn load(made: &mut Made, template: &PhaseRecord, name: &str, rate: Option<f64>, law: Law) {
    let offered = rate.unwrap_or(law.knee);
    let done = offered.min(law.knee * 1.05);
    let mut phase = template.clone();
    phase.name = name.into();
    phase.measure_ns = SECONDS * SECOND_NS;
    phase.sums.clear();
    if let Some(rate) = rate {
        phase.shape = Shape::Open(Open::new(rate));
    }
    phase.counts.intended = (offered * SECONDS as f64) as u64;
    phase.counts.sent = phase.counts.intended;
    phase.counts.completed_in_window = (done * SECONDS as f64) as u64;
    phase.counts.completed = phase.counts.completed_in_window;
    made.record.phases.push(phase);
    let busy = |share: f64| (share.min(1.0) * (SECONDS * SECOND_NS) as f64) as u64;
    made.used(name, "gateway").cpu_ns = busy(0.9 * done / law.knee);
    made.used(name, "engine").cpu_ns = busy(law.instrument * done / law.knee / 2.0);
    made.used(name, "upstream").cpu_ns = busy(law.instrument * done / law.knee / 2.0);
    let slow_ns = if offered <= law.knee {
        5_000_000
    } else {
        20_000_000
    };
    made.record_values(name, "response", &[(1_000_000, 97_000), (slow_ns, 3_000)]);
}

fn next_step(
    manifest: &Manifest,
    earlier: &[TrialRecord],
    current: &TrialRecord,
) -> Option<(FurtherLoad, f64)> {
    let Next::Load(step) = after_load(&manifest.plan, earlier, current) else {
        return None;
    };
    let rate_per_second = match &step.phase.shape {
        Shape::Open(open) => open.rate_per_second,
        Shape::Closed(closed) => panic!("{closed:?}"),
    };
    Some((step, rate_per_second))
}

/// A trial as the runner makes it: first the saturation, then the steps that the search requests.
fn repeat(manifest: &Manifest, trial: &Trial, earlier: &[TrialRecord], law: Law) -> Made {
    let mut made = made(&crate::common::manifest(1), trial);
    let template = made.closed().clone();
    made.record.phases.clear();
    made.intervals.clear();
    made.rows.clear();
    load(&mut made, &template, "saturation", None, law);
    let mut number = 0;
    while let Some((step, rate)) = next_step(manifest, earlier, &made.record) {
        number += 1;
        assert!(number < 60, "the search does not end: {:?}", step.phase);
        let name = format!("step-{number}");
        load(&mut made, &template, &name, Some(rate), law);
        let phase = made.record.phases.last_mut().unwrap();
        step.mark(phase, &made.intervals);
    }
    made
}

/// Runs a whole plan; `change` may change a trial after its measurement.
fn run(
    manifest: Manifest,
    law: impl Fn(&Trial) -> Law,
    change: impl Fn(&mut TrialRecord),
) -> Findings {
    let dir = TempDir::new().unwrap();
    let mut writer = RunWriter::create(dir.path(), manifest.clone()).unwrap();
    let mut done: Vec<TrialRecord> = Vec::new();
    for trial in &manifest.plan.trials {
        let same = done
            .iter()
            .filter(|it| it.trial.variant == trial.variant && it.outcome == Outcome::Completed);
        let earlier: Vec<TrialRecord> = same.cloned().collect();
        let mut made = repeat(&manifest, trial, &earlier, law(trial));
        change(&mut made.record);
        let open = writer.begin_trial(trial).unwrap();
        std::fs::write(open.gateway_folder().join("nginx.conf"), "events {}").unwrap();
        open.finish(made.record.clone(), &made.intervals, &made.rows)
            .unwrap();
        done.push(made.record);
    }
    writer
        .set_status(gatebench_store::Status::Finished)
        .unwrap();
    analyse(&Run::open(dir.path()).unwrap()).unwrap()
}

fn capacity(findings: &Findings) -> &CapacityFindings {
    findings.study.of().unwrap()
}

fn found(findings: &Findings) -> &Sustained {
    match capacity(findings).gateways[0].outcome.as_ref().unwrap() {
        capacity::Outcome::Found(found) => found,
        other => panic!("{other:?}"),
    }
}

const ALONE: Law = Law {
    knee: 21_000.0,
    instrument: 0.5,
};

fn nginx() -> Vec<Variant> {
    vec![Variant::gateway("nginx", "nginx")]
}

#[test]
fn a_known_knee_is_found_with_curve_and_bottleneck() {
    let findings = run(searching(nginx(), 5), |_| ALONE, |_| {});
    let rates = found(&findings);
    let interval = rates.half.interval.unwrap();
    assert!(
        interval.low <= ALONE.knee && ALONE.knee <= interval.high,
        "{interval:?}"
    );
    assert!((interval.high / interval.low - 1.0) < 0.03, "{interval:?}");
    assert!(rates.rate.rate_per_second < rates.half.rate_per_second);
    assert_eq!(rates.knees_per_second.len(), 5);
    let found = &capacity(&findings).gateways[0];
    assert_eq!(
        (found.validity, found.bottleneck),
        (Validity::Valid, Some(Bottleneck::Gateway))
    );
    assert_eq!(found.saturation_per_second, Some(ALONE.knee));
    let rates: Vec<f64> = found
        .curve
        .iter()
        .map(|point| point.offered_per_second)
        .collect();
    assert!(
        rates.is_sorted() && rates[0] < 0.11 * ALONE.knee,
        "{rates:?}"
    );
    for point in &found.curve {
        let distance = point.offered_per_second / ALONE.knee;
        // Steps on both sides of the knee may be merged if they are closer than the resolution.
        if (0.98..1.02).contains(&distance) {
            continue;
        }
        assert_eq!(point.missed == 0, distance < 1.0, "{point:?}");
        assert_eq!(
            point.p99_ns.map(|ns| ns < 10e6),
            Some(distance < 1.0),
            "{point:?}"
        );
    }
    let text = &findings.headlines[1].text;
    assert!(
        text.starts_with("nginx sustains p99<10ms, errors<0.1% at 2")
            && text.contains("with 95 % probability, and half of the time at 2"),
        "{text}"
    );
    assert!(
        text.ends_with("At higher rates, the gateway's cores are at their limit."),
        "{text}"
    );
    let reasons = findings.trials.iter().flat_map(|trial| &trial.reasons);
    let mut of_phases = reasons.filter_map(|reason| reason.phase.as_deref());
    assert!(
        of_phases.all(|phase| phase == "saturation"),
        "steps have separate findings"
    );
}

#[test]
fn a_capacity_limited_by_the_instrument_is_a_lower_bound() {
    let findings = run(
        searching(nginx(), 3),
        |_| Law {
            instrument: 0.97,
            ..ALONE
        },
        |_| {},
    );
    let found = &capacity(&findings).gateways[0];
    assert_eq!(
        (found.validity, found.bottleneck),
        (Validity::Limited, Some(Bottleneck::EngineAndUpstream))
    );
    let low = match found.outcome.as_ref().unwrap() {
        capacity::Outcome::Found(found) => found.rate.interval.unwrap().low,
        other => panic!("{other:?}"),
    };
    let bound = format!("at {:.1}k requests/s or more (the lower end", low / 1e3);
    assert!(
        found.text.contains(&bound) && !found.text.contains('–'),
        "a lower bound is stated without an interval: {}",
        found.text
    );
    assert!(
        found
            .text
            .contains("Limited by the load generator and the upstream"),
        "{}",
        found.text
    );
    let sizing = &capacity(&findings).sizings[0];
    assert!(
        sizing.text.contains("needs at most 3 cores for 50.0k"),
        "{}",
        sizing.text
    );
}

#[test]
fn a_capacity_from_disturbed_steps_is_a_lower_bound() {
    // The records are changed only after the search has ended, so the search repeats no step.
    let disturb = |record: &mut TrialRecord| {
        for phase in &mut record.phases {
            phase.machine.foreign_cpu_ns = phase.machine.window_ns / 2;
        }
    };
    let findings = run(searching(nginx(), 3), |_| ALONE, disturb);
    let found = &capacity(&findings).gateways[0];
    assert_eq!(found.validity, Validity::Limited);
    assert!(
        found
            .text
            .contains("other processes, the hypervisor or a CPU limit"),
        "{}",
        found.text
    );
}

/// The tone of the sentence that states the first gateway's capacity.
fn tone(findings: &Findings) -> Tone {
    let text = &capacity(findings).gateways[0].text;
    let mut headlines = findings.headlines.iter();
    headlines.find(|it| it.text == *text).unwrap().tone
}

#[test]
fn steps_that_miss_at_any_rate_give_no_sustained_rate() {
    let lapse = |record: &mut TrialRecord| {
        let block = record.trial.block as usize;
        let steps = record.phases.iter_mut().filter_map(|it| it.step.as_mut());
        for (number, step) in steps.enumerate() {
            if (number + block).is_multiple_of(6) {
                step.outcome = StepOutcome::Missed;
            }
        }
    };
    let findings = run(searching(nginx(), 5), |_| ALONE, lapse);
    let found = &capacity(&findings).gateways[0];
    let Some(capacity::Outcome::Lapsing { lapses, half }) = &found.outcome else {
        panic!("{found:?}")
    };
    assert!(
        lapses.share > 0.05 && lapses.interval.low > 0.0,
        "{lapses:?}"
    );
    let ratio = half.rate_per_second / ALONE.knee;
    assert!((ratio - 1.0).abs() < 0.05, "{half:?}");
    let begins = "nginx sustains p99<10ms, errors<0.1% at no rate with 95 % probability: ";
    assert!(found.text.starts_with(begins), "{}", found.text);
    assert_eq!(tone(&findings), Tone::Caution);
    assert_eq!(found.per_core_per_second, None);
    // Without lapses, an upper limit on their share is stated next to the rate.
    let findings = run(searching(nginx(), 5), |_| ALONE, |_| {});
    let found = &capacity(&findings).gateways[0];
    let expected = ") miss it regardless of the rate. ";
    assert!(found.text.contains(expected), "{}", found.text);
    assert_eq!(tone(&findings), Tone::Plain);
}

#[test]
fn a_deviating_process_is_a_caution() {
    let law = |trial: &Trial| Law {
        knee: if trial.block == 3 {
            14_000.0
        } else {
            ALONE.knee
        },
        ..ALONE
    };
    let findings = run(searching(nginx(), 5), law, |_| {});
    assert_eq!(found(&findings).deviating, [2]);
    let text = &capacity(&findings).gateways[0].text;
    let expected = "Process 3 of 5 differs from the others by more than chance explains: half of \
         its steps meet the objective at 1";
    assert!(text.contains(expected), "{text}");
    assert_eq!(tone(&findings), Tone::Caution);
}

#[test]
fn a_disturbed_step_is_repeated_regardless_of_its_outcome() {
    let manifest = searching(nginx(), 1);
    // With the first knee, every step of the curve meets the objective; with the second, every step
    // misses it.
    for (knee, outcome) in [(1e9, StepOutcome::Held), (1.0, StepOutcome::Missed)] {
        let law = Law { knee, ..ALONE };
        let mut made = made(&crate::common::manifest(1), &manifest.plan.trials[0]);
        let template = made.closed().clone();
        made.record.phases.clear();
        made.intervals.clear();
        load(&mut made, &template, "saturation", None, ALONE);
        let mut rates = Vec::new();
        for number in 0..7 {
            let (step, rate) = next_step(&manifest, &[], &made.record).unwrap();
            rates.push(rate);
            let name = format!("step-{number}");
            load(&mut made, &template, &name, Some(rate), law);
            let phase = made.record.phases.last_mut().unwrap();
            phase.machine.foreign_cpu_ns = phase.machine.window_ns / 2;
            step.mark(phase, &made.intervals);
            assert_eq!(phase.step.unwrap().outcome, outcome);
        }
        let changes: Vec<bool> = rates.windows(2).map(|it| it[0] != it[1]).collect();
        assert_eq!(
            changes,
            [false, false, true, false, false, true],
            "the third attempt counts: {rates:?}"
        );
    }
}

#[test]
fn runs_with_longer_confirming_steps_are_read() {
    let as_before = |record: &mut TrialRecord| {
        let steps = record.phases.iter_mut().filter_map(|it| it.step.as_mut());
        for step in steps.filter(|step| step.role == StepRole::Near) {
            step.role = StepRole::Confirm;
            if step.outcome == StepOutcome::Missed {
                step.outcome = StepOutcome::Disturbed;
            }
        }
    };
    let findings = run(searching(nginx(), 3), |_| ALONE, as_before);
    let half = found(&findings).half.rate_per_second;
    assert!((half / ALONE.knee - 1.0).abs() < 0.02, "{half}");
    let method = &capacity(&findings).method;
    assert!(
        method.contains("which meets the objective half of the time"),
        "{method}"
    );
}

#[test]
fn an_interrupted_repeat_is_part_of_the_curve_but_not_of_the_capacity() {
    let interrupt = |record: &mut TrialRecord| {
        if record.trial.block == 3 {
            record.outcome = Outcome::Interrupted;
        }
    };
    let findings = run(searching(nginx(), 3), |_| ALONE, interrupt);
    let two = found(&findings);
    assert_eq!((two.knees_per_second.len(), two.rate.interval), (2, None));
    let steps = |findings: &Findings| -> u32 {
        capacity(findings).gateways[0]
            .curve
            .iter()
            .map(|it| it.held + it.missed)
            .sum()
    };
    let whole = run(searching(nginx(), 3), |_| ALONE, |_| {});
    assert_eq!(steps(&findings), steps(&whole));
}

/// The sizings of a search on nginx with these numbers of cores; `change` may change a trial after
/// its measurement.
fn sizings(
    counts: &[usize],
    rate_per_second: f64,
    change: impl Fn(&mut TrialRecord, u32),
) -> Vec<SizingFindings> {
    let sized = |cores: &usize| Variant::Gateway {
        name: format!("nginx-{cores}core"),
        folder: "nginx".into(),
        setup: Setup {
            cores: Some(*cores),
            ..Setup::default()
        },
    };
    let cores_of = |trial: &Trial| -> u32 {
        let cores = trial.variant["nginx-".len()..].trim_end_matches("core");
        cores.parse().unwrap()
    };
    let mut manifest = searching(counts.iter().map(sized).collect(), 2);
    manifest.plan.placement.gateway = (1..=4).collect();
    if let Study::Capacity(capacity) = &mut manifest.plan.study {
        capacity.size_for_per_second = Some(rate_per_second);
    }
    // Each additional core adds 5 % contention, so four cores do the work of 3.5.
    let law = |trial: &Trial| {
        let cores = f64::from(cores_of(trial));
        Law {
            knee: 10_000.0 * cores / (1.0 + 0.05 * (cores - 1.0)),
            instrument: 0.3,
        }
    };
    let changed = |record: &mut TrialRecord| {
        let cores = cores_of(&record.trial);
        record.gateway.as_mut().unwrap().workers = cores;
        for phase in &mut record.phases {
            phase.usage.get_mut("gateway").unwrap().cpu_ns *= u64::from(cores);
        }
        change(record, cores);
    };
    let findings = run(manifest, law, changed);
    capacity(&findings).sizings.clone()
}

#[test]
fn cores_are_extrapolated_by_a_line_or_by_the_law() {
    let measured = |counts: &[usize]| sizings(counts, 50_000.0, |_, _| ());
    let [four] = &measured(&[1, 2, 3, 4])[..] else {
        panic!()
    };
    // 10,000 N ÷ (1 + 0.05 (N − 1)) reaches 50,000 at 6.33 cores.
    assert_eq!(four.sizing.unwrap().cores, 7, "{}", four.text);
    assert!(
        four.text.starts_with("nginx needs 7 cores"),
        "{}",
        four.text
    );
    assert!(
        four.text
            .contains("extrapolated from 1, 2, 3 and 4 cores by the Universal"),
        "{}",
        four.text
    );
    // The sustained rate is slightly below the knee at 10,000.
    let [one] = &measured(&[1])[..] else { panic!() };
    assert_eq!(
        (one.sizing.unwrap().cores, one.validity),
        (6, Validity::Valid),
        "{}",
        one.text
    );
    assert!(
        one.text
            .contains("extrapolated from 1 core by a straight line"),
        "{}",
        one.text
    );
}

/// Returns a change of records after which every step on this number of cores misses the objective.
fn missed_on(failing: u32) -> impl Fn(&mut TrialRecord, u32) {
    move |record, cores| {
        let steps = record.phases.iter_mut().filter_map(|it| it.step.as_mut());
        steps
            .filter(|_| cores == failing)
            .for_each(|step| step.outcome = StepOutcome::Missed);
    }
}

#[test]
fn a_size_that_sustains_no_rate_gives_no_upper_bound() {
    let [found] = &sizings(&[1, 2, 4], 5_000.0, missed_on(1))[..] else {
        panic!()
    };
    let sizing = found.sizing.unwrap();
    assert_eq!((sizing.cores, sizing.extrapolated), (2, false));
    assert_eq!(found.cores_without_capacity, [1.0]);
    assert_eq!(found.validity, Validity::Limited);
    let text = &found.text;
    assert!(
        text.starts_with("nginx needs at most 2 cores for 5"),
        "{text}"
    );
    let reason = "because it sustains this rate with 2 cores; no capacity was found with 1 core.";
    assert!(text.ends_with(reason), "{text}");
}

#[test]
fn a_larger_size_that_sustains_no_rate_does_not_matter() {
    let [found] = &sizings(&[1, 2, 4], 5_000.0, missed_on(4))[..] else {
        panic!()
    };
    assert_eq!(found.sizing.unwrap().cores, 1, "{}", found.text);
    let reason = "because it sustains this rate with 1 core; no capacity was found with 4 cores.";
    assert!(found.text.ends_with(reason), "{}", found.text);
}

#[test]
fn an_interrupted_size_gives_no_upper_bound() {
    let interrupt = |record: &mut TrialRecord, cores: u32| {
        if cores == 2 {
            record.outcome = Outcome::Interrupted;
        }
    };
    let [found] = &sizings(&[1, 2], 50_000.0, interrupt)[..] else {
        panic!()
    };
    assert_eq!(found.sizing.unwrap().cores, 6, "{}", found.text);
    let reason = "no capacity was found with 2 cores.";
    assert!(found.text.ends_with(reason), "{}", found.text);
}

#[test]
fn a_gateway_without_responses_has_no_capacity() {
    let silent = |record: &mut TrialRecord| record.phases[0].counts.completed_in_window = 0;
    let findings = run(searching(nginx(), 1), |_| ALONE, silent);
    let found = &capacity(&findings).gateways[0];
    assert!(found.outcome.is_none() && found.validity == Validity::Invalid);
    assert!(
        found
            .text
            .contains("no completed repeat of the search has a result"),
        "{}",
        found.text
    );
    let roles = [
        StepRole::Curve,
        StepRole::Search,
        StepRole::Near,
        StepRole::Confirm,
    ];
    let written = serde_json::to_string(&(roles, StepOutcome::Disturbed)).unwrap();
    assert_eq!(
        written, r#"[["curve","search","near","confirm"],"disturbed"]"#,
        "earlier records stay readable"
    );
}
