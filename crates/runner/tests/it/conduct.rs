//! Tests whole runs with real processes: the files that they write, and their behavior after
//! failures.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{Bench, kill, launcher, part};
use gatebench_gateway::GatewayConfig;
use gatebench_model::{Culprit, Variant};
use gatebench_net::Backend;
use gatebench_runner::{Interrupt, Progress, RunnerError, Step, Warning, prepare_resume, run};
use gatebench_store::{Outcome, RunWriter, Status, StoreError, StoredTrial};
use gatebench_testbed::gateway::Catalogue;
use gatebench_upstream::{Kind, UpstreamConfig};

fn ignore(_: Progress) {}

fn trial<'a>(trials: &'a [StoredTrial], variant: &str) -> &'a StoredTrial {
    trials
        .iter()
        .find(|trial| trial.record.trial.variant == variant)
        .unwrap()
}

#[test]
fn a_run_writes_everything_that_a_report_needs() {
    let bench = Bench::warmed_up();
    let summary = bench
        .run(
            bench.prepare(&["api-key"], &["reference"]),
            &Interrupt::new(),
            &ignore,
        )
        .unwrap();
    assert_eq!(
        (
            summary.planned,
            summary.completed,
            summary.failed,
            summary.interrupted
        ),
        (2, 2, 0, false)
    );
    let stored = bench.stored();
    let manifest = stored.manifest();
    assert_eq!(manifest.status, Status::Finished);
    assert_eq!(manifest.gateways["reference"].version, "0.0.0");
    assert_eq!(manifest.gateways["reference"].folder.len(), 2);
    assert!(manifest.environment["kernel"]["release"].is_string());
    let frequency = &manifest.environment["frequency"];
    assert!(frequency.is_string(), "{frequency}");
    let shows_frequency = frequency != "not visible";
    assert_eq!(manifest.environment["libraries"]["libxml2"], "2.9.14");
    for variant in ["direct", "reference"] {
        let stored = trial(stored.trials(), variant);
        let record = &stored.record;
        assert_eq!(record.outcome, Outcome::Completed);
        assert!(
            record.parity_before.as_ref().unwrap().holds()
                && record.parity_after.as_ref().unwrap().holds()
        );
        let clock = record.clock_source.clone();
        assert_eq!(
            clock.map(|it| it.ended),
            gatebench_testbed::probe::clock_source()
        );
        let histograms = stored.histograms().unwrap();
        for phase in &record.phases {
            let seen = phase.machine.gateway_frequency.is_some();
            assert_eq!(seen, shows_frequency && variant != "direct");
            let counts = &phase.counts;
            assert!(
                counts.completed > 0 && counts.errors.is_empty() && counts.checks_failed.is_empty(),
                "{counts:?}"
            );
            assert_eq!(phase.trace.traced, counts.completed, "{:?}", phase.trace);
            assert!(
                phase.ledger.unique >= counts.completed,
                "{:?}",
                phase.ledger
            );
            assert_eq!(phase.measure_ns, 200_000_000);
            assert_eq!(
                histograms[&format!("{}.added.2xx", phase.name)].len(),
                counts.completed
            );
            assert_eq!(phase.usage.contains_key("gateway"), variant != "direct");
            for (component, usage) in &phase.usage {
                assert!(
                    usage.cpu_ns > 0 && usage.window_ns > 100_000_000,
                    "{component}: {usage:?}"
                );
            }
        }
        let rows: Vec<_> = stored
            .series()
            .unwrap()
            .into_iter()
            .map(|row| (row.phase, row.second))
            .collect();
        assert_eq!(rows, [("closed".to_owned(), 0), ("open".to_owned(), 0)]);
    }
    let gateway = trial(stored.trials(), "reference")
        .record
        .gateway
        .clone()
        .unwrap();
    assert!(
        gateway.stopped.starts_with("on SIGTERM after") && gateway.processes == 1,
        "{gateway:?}"
    );
    let parity = trial(stored.trials(), "reference")
        .record
        .parity_before
        .clone()
        .unwrap();
    let reached: Vec<bool> = parity
        .cases
        .iter()
        .map(|case| case.reached_upstream)
        .collect();
    assert_eq!(reached, [true, true, false, false, false]);
    assert_eq!((parity.routes_expected, parity.routes_answering), (1, 1));
}

#[test]
fn a_mock_never_reaches_the_upstream_and_has_no_direct_variant() {
    let bench = Bench::new();
    let summary = bench
        .run(
            bench.prepare(&["mock"], &["reference"]),
            &Interrupt::new(),
            &ignore,
        )
        .unwrap();
    assert_eq!((summary.planned, summary.completed), (1, 1));
    let stored = bench.stored();
    for phase in &trial(stored.trials(), "reference").record.phases {
        assert_eq!((phase.trace.traced, phase.trace.header_stripped), (0, 0));
        assert_eq!(phase.trace.never_reached_upstream, phase.counts.completed);
    }
}

/// Starts an upstream and a gateway in front of it, on threads of this process.
fn someone_elses_gateway() -> std::net::SocketAddr {
    let (listens, heard) = std::sync::mpsc::channel();
    let stop = || Arc::new(AtomicBool::new(false));
    let origin = listens.clone();
    std::thread::spawn(move || {
        let listen = ([127, 0, 0, 1], 0).into();
        let config = UpstreamConfig {
            kind: Kind::GoBench,
            listen,
            cores: vec![],
            backend: None,
            tls: None,
            streams: gatebench_upstream::STREAMS,
        };
        gatebench_upstream::serve(config, stop(), |address| origin.send(address).unwrap()).unwrap();
    });
    let target = heard.recv().unwrap();
    let config = serde_json::json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{ "name": "o", "keepalive": 8, "targets": [{ "address": target.ip(), "port": target.port(), "weight": 1 }] }],
        "routes": [{ "name": "json", "path": "/json", "upstream": "o" }],
    });
    let config = GatewayConfig::parse(&config.to_string()).unwrap();
    std::thread::spawn(move || {
        gatebench_gateway::serve(&config, &[], None, stop(), |bound| {
            listens.send(bound[0]).unwrap()
        })
        .unwrap();
    });
    heard.recv().unwrap()
}

#[test]
fn an_attached_gateway_is_measured_in_place() {
    let bench = Bench::new();
    let url = format!("http://{}", someone_elses_gateway());
    let mut prepared = bench.prepare(&["proxy-json"], &["reference"]);
    prepared.gateways.clear();
    let attached = Variant::Attached {
        name: "attached".into(),
        url,
        pid: None,
        pod: None,
    };
    prepared.plan.variants[1] = attached;
    let mine = prepared
        .plan
        .trials
        .iter_mut()
        .find(|trial| trial.variant == "reference");
    mine.unwrap().variant = "attached".into();
    let summary = bench.run(prepared, &Interrupt::new(), &ignore).unwrap();
    assert_eq!((summary.completed, summary.failed), (2, 0));
    let stored = bench.stored();
    assert_eq!(stored.manifest().gateways["attached"].version, "unknown");
    let record = &trial(stored.trials(), "attached").record;
    // The run cannot read the ledger of an attached gateway's upstream, so the times in the
    // responses show which requests reached the upstream.
    assert!(record.parity_before.as_ref().unwrap().holds());
    assert!(
        record.warnings[0].contains("--pid"),
        "{:?}",
        record.warnings
    );
    for phase in &record.phases {
        assert_eq!(phase.trace.traced, phase.counts.completed);
        assert!(!phase.usage.contains_key("gateway") && !phase.usage.contains_key("upstream"));
    }
}

#[test]
fn a_gateway_without_the_policy_is_not_started() {
    let bench = Bench::new();
    let lacking = bench.gateway("lacking", |_, text| text.replace("  api_key: native\n", ""));
    let steps = Mutex::new(Vec::new());
    let observer = |progress| {
        if let Progress::StepStarted(step) = progress {
            steps.lock().unwrap().push(step);
        }
    };
    let mut prepared = bench.prepare(&["api-key"], &[&lacking]);
    prepared
        .plan
        .trials
        .retain(|trial| trial.variant == "lacking");
    let summary = bench.run(prepared, &Interrupt::new(), &observer).unwrap();
    assert_eq!((summary.not_supported, summary.failed), (1, 0));
    let outcome = bench.stored().trials()[0].record.outcome.clone();
    assert_eq!(
        outcome,
        Outcome::NotSupported {
            policies: vec!["api_key".into()]
        }
    );
    assert_eq!(*steps.lock().unwrap(), []);
}

#[test]
fn a_wrong_response_fails_the_trial_with_both_sides_and_the_run_continues() {
    let bench = Bench::new();
    // The gateway itself responds to every request.
    let wrong = bench.gateway("wrong", |file, text| match file {
        "gateway.json" => text.replace(
            r#""policies": ["#,
            r#""policies": [ {"mock": {"status": 200, "content_type": "application/json", "body": "{}"}}"#,
        ),
        _ => text,
    });
    let prepared = bench.prepare(&["proxy-json"], &[&wrong, "reference"]);
    let summary = bench.run(prepared, &Interrupt::new(), &ignore).unwrap();
    assert_eq!((summary.completed, summary.failed), (2, 1));
    let stored = bench.stored();
    let record = &trial(stored.trials(), "wrong").record;
    let Outcome::Failed {
        culprit,
        reason,
        phase,
        ..
    } = &record.outcome
    else {
        panic!("{:?}", record.outcome)
    };
    assert_eq!((culprit, phase), (&Culprit::Gateway("wrong".into()), &None));
    assert!(
        reason.contains(
            "expected:\n  body contains '\"time\"'\n  the request does reach the upstream"
        ),
        "{reason}"
    );
    assert!(reason.contains("received:\n  HTTP/1.1 200 OK"), "{reason}");
}

#[test]
fn a_gateway_killed_during_a_load_is_named_and_the_run_continues() {
    for (victim, culprit) in [
        ("gateway", Culprit::Gateway("reference".into())),
        ("upstream", Culprit::Upstream),
    ] {
        let bench = Bench::new();
        std::fs::write(
            bench.path("load.yaml"),
            crate::common::WARMED_UP.replace("measure: 200ms", "measure: 1s"),
        )
        .unwrap();
        let killed = Mutex::new(false);
        let observer = |progress| {
            if matches!(progress, Progress::Live { .. })
                && !*killed.lock().unwrap()
                && part("gateway").is_some()
                && let Some(pid) = part(victim)
            {
                kill(pid);
                *killed.lock().unwrap() = true;
            }
        };
        let summary = bench
            .run(
                bench.prepare(&["proxy-json"], &["reference"]),
                &Interrupt::new(),
                &observer,
            )
            .unwrap();
        assert_eq!((summary.completed, summary.failed), (1, 1), "{victim}");
        let stored = bench.stored();
        let outcome = &trial(stored.trials(), "reference").record.outcome;
        let Outcome::Failed {
            culprit: found,
            reason,
            phase,
            ..
        } = outcome
        else {
            panic!("{outcome:?}")
        };
        assert_eq!((found, phase.as_deref()), (&culprit, Some("closed")));
        assert!(reason.contains("killed by signal KILL"), "{reason}");
    }
}

#[test]
fn an_interrupted_run_keeps_finished_trials_and_is_resumed() {
    let bench = Bench::new();
    let interrupt = Interrupt::new();
    let finished = Mutex::new(0);
    let raised = Mutex::new(None);
    let observer = |progress| match progress {
        Progress::TrialFinished { .. } => *finished.lock().unwrap() += 1,
        Progress::PhaseStarted { .. } if *finished.lock().unwrap() == 1 => {
            raised.lock().unwrap().get_or_insert_with(Instant::now);
            interrupt.raise();
        }
        _ => {}
    };
    let summary = bench
        .run(
            bench.prepare(&["proxy-json"], &["reference"]),
            &interrupt,
            &observer,
        )
        .unwrap();
    assert!(raised.lock().unwrap().unwrap().elapsed() < Duration::from_secs(20));
    assert_eq!((summary.completed, summary.interrupted), (1, true));
    assert_eq!(bench.stored().manifest().status, Status::Interrupted);
    assert_eq!(
        bench.stored().trials()[1].record.outcome,
        Outcome::Interrupted
    );

    let prepared = prepare_resume(&bench.out(), &Catalogue::default(), &launcher()).unwrap();
    assert_eq!(prepared.warnings, []);
    let summary = run(&bench.request(prepared, true), &Interrupt::new(), &ignore).unwrap();
    assert_eq!(
        (summary.planned, summary.completed, summary.interrupted),
        (2, 2, false)
    );
    assert_eq!(bench.stored().manifest().status, Status::Finished);
}

#[test]
fn a_resumed_run_keeps_its_backend_and_reports_changes() {
    let bench = Bench::new();
    let mut request = bench.request(bench.prepare(&["proxy-json"], &["reference"]), false);
    request.backend = Some(Backend::Epoll);
    run(&request, &Interrupt::new(), &ignore).unwrap();
    let mut trials = std::fs::read_dir(bench.out().join("trials")).unwrap();
    std::fs::remove_dir_all(trials.next().unwrap().unwrap().path()).unwrap();
    RunWriter::resume(&bench.out())
        .unwrap()
        .0
        .update_manifest(|manifest| manifest.gatebench = "0.0.0".into())
        .unwrap();

    let warned = Mutex::new(Vec::new());
    let observer = |progress| {
        if let Progress::Warning(warning @ Warning::InstrumentChanged { .. }) = progress {
            warned.lock().unwrap().push(warning.to_string());
        }
    };
    let prepared = prepare_resume(&bench.out(), &Catalogue::default(), &launcher()).unwrap();
    run(&bench.request(prepared, true), &Interrupt::new(), &observer).unwrap();
    let warned = warned.into_inner().unwrap();
    assert_eq!(warned.len(), 1, "the backend is the same: {warned:?}");
    assert!(warned[0].contains("instead of 0.0.0"), "{warned:?}");
    let stored = bench.stored();
    assert!(stored.manifest().notes.contains(&warned[0]));
    let mut phases = stored
        .trials()
        .iter()
        .flat_map(|trial| &trial.record.phases);
    assert_eq!((stored.trials().len(), phases.clone().count()), (2, 4));
    assert!(phases.all(|phase| phase.engine.backend == "epoll"));
}

#[test]
fn a_second_interrupt_ends_a_gateway_that_ignores_the_first() {
    let bench = Bench::new();
    // The shell ignores SIGTERM, and the gateway has a minute to stop.
    let stubborn = bench.gateway("stubborn", |_, text| {
        let start = r#"start: [ sh, -c, "trap '' TERM; \"$0\" gateway \"$1\" & while :; do sleep 1; done", "{{ binary }}", "{{ work }}/gateway.json" ]"#;
        let text = text.replace(r#"start: [ "{{ binary }}", gateway, "{{ work }}/gateway.json" ]"#, start);
        text.replace("timeout: 3s", "timeout: 60s")
    });
    let mut prepared = bench.prepare(&["proxy-json"], &[&stubborn]);
    prepared
        .plan
        .trials
        .retain(|trial| trial.variant == "stubborn");
    let interrupt = Interrupt::new();
    let began = Mutex::new(None);
    let observer = |progress| match progress {
        Progress::PhaseStarted { .. } => interrupt.raise(),
        Progress::StepStarted(Step::Down) => {
            *began.lock().unwrap() = Some(Instant::now());
            interrupt.raise();
        }
        _ => {}
    };
    let summary = bench.run(prepared, &interrupt, &observer).unwrap();
    assert!(began.lock().unwrap().unwrap().elapsed() < Duration::from_secs(10));
    assert!(summary.interrupted);
}

#[test]
fn an_interrupt_ends_a_start_that_hangs() {
    let bench = Bench::new();
    let hanging = bench.gateway("hanging", |_, text| {
        let text = text.replace(
            r#"start: [ "{{ binary }}", gateway, "{{ work }}/gateway.json" ]"#,
            "start: [ sleep, '60' ]",
        );
        text.replace("timeout: 5s", "timeout: 60s")
    });
    let mut prepared = bench.prepare(&["proxy-json"], &[&hanging]);
    prepared
        .plan
        .trials
        .retain(|trial| trial.variant == "hanging");
    let interrupt = Interrupt::new();
    let observer = |progress| {
        if progress == Progress::StepStarted(Step::GatewayUp) {
            interrupt.raise();
        }
    };
    let began = Instant::now();
    let summary = bench.run(prepared, &interrupt, &observer).unwrap();
    assert!(
        summary.interrupted && began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        bench.stored().trials()[0].record.outcome,
        Outcome::Interrupted
    );
}

#[test]
fn a_failed_start_shows_the_reason() {
    let bench = Bench::new();
    let refusing = bench.gateway("refusing", |file, text| match file {
        "gateway.json" => text.replacen("\"workers\"", "\"wrokers\"", 1),
        _ => text,
    });
    let summary = bench
        .run(
            bench.prepare(&["proxy-json"], &[&refusing]),
            &Interrupt::new(),
            &ignore,
        )
        .unwrap();
    assert_eq!((summary.completed, summary.failed), (1, 1));
    let stored = bench.stored();
    let outcome = &trial(stored.trials(), "refusing").record.outcome;
    let Outcome::Failed {
        culprit, reason, ..
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    assert_eq!(culprit, &Culprit::Gateway("refusing".into()));
    assert!(reason.contains("wrokers"), "{reason}");
}

#[test]
fn a_directory_that_cannot_be_written_ends_the_run() {
    let bench = Bench::new();
    let prepared = bench.prepare(&["proxy-json"], &["reference"]);
    std::fs::write(bench.out(), "a file where the directory should be").unwrap();
    let error = bench.run(prepared, &Interrupt::new(), &ignore).unwrap_err();
    assert!(
        matches!(error, RunnerError::Store(StoreError::Io { .. })),
        "{error}"
    );
}

#[test]
fn a_directory_that_becomes_unwritable_ends_the_run_at_the_second_trial() {
    let bench = Bench::new();
    let lost = Mutex::new(Vec::new());
    let observer = |progress| match progress {
        Progress::RunStarted { dir, .. } => {
            std::fs::remove_dir(dir.join("trials")).unwrap();
            std::fs::write(dir.join("trials"), "").unwrap();
        }
        Progress::Warning(Warning::TrialLost { number, .. }) => lost.lock().unwrap().push(number),
        _ => {}
    };
    let error = bench
        .run(
            bench.prepare(&["proxy-json"], &["reference"]),
            &Interrupt::new(),
            &observer,
        )
        .unwrap_err();
    assert_eq!(error.culprit(), Some(Culprit::Environment));
    assert_eq!(*lost.lock().unwrap(), [1]);
}
