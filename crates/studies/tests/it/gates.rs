//! Gates for the load generator, the schedule, the responses, the gateway's processes and steady
//! state: a change that trips the gate, and a slightly smaller one that does not.

use gatebench_report::Validity;
use gatebench_studies::common::facts::{Aspect, Gate, Metric, PhaseKind, Reason};

use crate::common::gates::{ALL, changed, check, reasons};
use crate::common::{Made, SECOND_NS, as_recorded, row, three_blocks, trial};

#[test]
fn a_clean_run_is_valid_throughout() {
    let findings = three_blocks(|_| ());
    assert!(
        findings.trials.iter().all(|trial| trial.reasons.is_empty()),
        "{:#?}",
        findings.trials
    );
    assert!(
        findings
            .trials
            .iter()
            .all(|trial| trial.validity == Validity::Valid)
    );
}

#[test]
fn engine_saturated() {
    // The load generator and the upstream share core 0. In the closed load, the upstream keeps this
    // core 30 % busy.
    let busy = |share: u64| {
        move |made: &mut Made| {
            made.used("saturate", "engine").cpu_ns = share * SECOND_NS / 10;
            // The gateway's core is less busy than core 0.
            made.used("saturate", "gateway").cpu_ns = 82 * SECOND_NS / 10;
        }
    };
    let spoils = [Aspect::Throughput];
    check(
        Gate::EngineSaturated,
        Validity::Limited,
        &spoils,
        busy(56),
        busy(54),
    );
    let open = |share: u64| {
        move |made: &mut Made| {
            made.used("steady", "engine").cpu_ns = share * SECOND_NS / 10;
        }
    };
    check(
        Gate::EngineSaturated,
        Validity::Limited,
        &[Aspect::Latency],
        open(81),
        open(79),
    );
}

#[test]
fn the_busier_of_gateway_and_load_generator_is_the_bottleneck() {
    let gates = |gateway_tenths: u64| {
        let findings = three_blocks(|made| {
            if made.is("nginx") {
                made.used("saturate", "engine").cpu_ns = 62 * SECOND_NS / 10;
                made.used("saturate", "gateway").cpu_ns = gateway_tenths * SECOND_NS / 10;
            }
        });
        let reasons = &trial(&findings, "nginx").reasons;
        reasons.iter().map(|reason| reason.gate).collect::<Vec<_>>()
    };
    // The load generator and the upstream keep their core 92 % busy.
    assert_eq!(gates(93), []);
    assert_eq!(gates(91), [Gate::EngineSaturated]);
}

#[test]
fn cpu_per_request_is_valid_if_the_load_generator_is_saturated() {
    let findings = changed(|made| made.used("saturate", "engine").cpu_ns = 9 * SECOND_NS);
    let nginx = row(&findings, "nginx");
    let validity = |metric| nginx.metric(PhaseKind::Closed, metric).unwrap().validity;
    assert_eq!(validity(Metric::Throughput), Validity::Limited);
    assert_eq!(validity(Metric::GatewayCpuPerRequest), Validity::Valid);
}

#[test]
fn the_direct_variant_may_saturate_the_load_generator_and_the_upstream() {
    let findings = three_blocks(|made| {
        if made.is("direct") {
            made.used("saturate", "engine").cpu_ns = 7 * SECOND_NS;
            made.closed().engine.run_queue_wait_ns = 5 * SECOND_NS;
        }
    });
    assert!(trial(&findings, "direct").reasons.is_empty());
}

#[test]
fn engine_waited() {
    let waited = |tenths: u64| {
        move |made: &mut Made| {
            made.open().engine.run_queue_wait_ns = tenths * SECOND_NS / 10;
        }
    };
    check(
        Gate::EngineWaited,
        Validity::Limited,
        &[Aspect::Latency],
        waited(21),
        waited(19),
    );
}

#[test]
fn a_waiting_load_generator_limits_nothing_if_the_gateway_is_busy() {
    let gates = |gateway_tenths: u64| {
        let findings = three_blocks(|made| {
            if made.is("nginx") {
                made.closed().engine.run_queue_wait_ns = 4 * SECOND_NS;
                made.used("saturate", "gateway").cpu_ns = gateway_tenths * SECOND_NS;
            }
        });
        let reasons = &trial(&findings, "nginx").reasons;
        reasons.iter().map(|reason| reason.gate).collect::<Vec<_>>()
    };
    assert_eq!(gates(8), []);
    assert_eq!(gates(7), [Gate::GatewayNotSaturated, Gate::EngineWaited]);
}

#[test]
fn engine_late() {
    let late = |ns: u64| {
        move |made: &mut Made| {
            made.record_values("steady", "lateness", &[(5_000, 49_000), (ns, 1_000)]);
        }
    };
    check(
        Gate::EngineLate,
        Validity::Limited,
        &[Aspect::Latency],
        late(1_100_000),
        late(990_000),
    );
}

#[test]
fn requests_that_wait_for_a_connection_are_charged_to_the_gateway() {
    let waited = |longest_ns: u64| {
        move |made: &mut Made| {
            let values = [(1_000, 49_000), (longest_ns, 1_000)];
            made.record_values("steady", "lateness", &values);
            made.open().counts.queued_max = 4_961;
        }
    };
    check(
        Gate::ConnectionsHeld,
        Validity::Invalid,
        &[Aspect::Latency, Aspect::LatencyTail],
        waited(900_000_000),
        waited(500_000),
    );
    let found = reasons(|made| {
        waited(900_000_000)(made);
        made.open().engine.run_queue_wait_ns = 1_000_000_000;
    });
    let gates: Vec<Gate> = found.iter().map(|it| it.gate).collect();
    assert!(gates.contains(&Gate::EngineLate), "{gates:?}");
    assert!(!gates.contains(&Gate::ConnectionsHeld), "{gates:?}");
}

fn capacity(made: &mut Made, per_second: u64) {
    let requests = per_second * crate::common::SECONDS;
    let phase = made.closed();
    phase.counts.intended = requests;
    phase.counts.sent = requests;
    phase.counts.completed = requests;
    phase.counts.completed_in_window = requests;
    phase.counts.by_class = [("2xx".to_owned(), requests)].into();
    phase.counts.bytes_received = requests * 200;
    made.record_values(
        "saturate",
        "response",
        &[(64 * SECOND_NS / per_second, requests)],
    );
}

#[test]
fn upstream_near_direct() {
    // The direct variant handles 100,000 requests per second.
    check(
        Gate::UpstreamNearDirect,
        Validity::Limited,
        &[Aspect::Throughput],
        |made| capacity(made, 71_000),
        |made| capacity(made, 69_000),
    );
}

#[test]
fn arrivals_dropped() {
    let dropped = |count| move |made: &mut Made| made.open().counts.dropped = count;
    let spoils = [Aspect::Latency, Aspect::Throughput, Aspect::CpuPerRequest];
    check(
        Gate::ArrivalsDropped,
        Validity::Invalid,
        &spoils,
        dropped(1),
        dropped(0),
    );
}

#[test]
fn rate_not_achieved() {
    let in_time = |count| move |made: &mut Made| made.open().counts.completed_in_window = count;
    let spoils = [Aspect::Latency, Aspect::Throughput, Aspect::CpuPerRequest];
    check(
        Gate::RateNotAchieved,
        Validity::Invalid,
        &spoils,
        in_time(49_499),
        in_time(49_500),
    );
    let sent = |count| move |made: &mut Made| made.open().counts.sent = count;
    check(
        Gate::RateNotAchieved,
        Validity::Invalid,
        &spoils,
        sent(49_499),
        sent(49_500),
    );
}

#[test]
fn checks_failed() {
    let failed = |count| {
        move |made: &mut Made| {
            made.open()
                .counts
                .checks_failed
                .insert("status is 200".into(), count);
        }
    };
    check(
        Gate::ChecksFailed,
        Validity::Invalid,
        &ALL,
        failed(1),
        failed(0),
    );
}

#[test]
fn a_response_that_fails_two_checks_counts_once() {
    let twice = |failing_checks| {
        let found = reasons(|made| {
            let counts = &mut made.open().counts;
            counts.checks_failed = [("status is 200".into(), 5), ("body is x".into(), 5)].into();
            counts.failing_checks = failing_checks;
        });
        found[0].message.clone()
    };
    let listed = "5 × body is x, 5 × status is 200.";
    assert_eq!(
        twice(Some(5)),
        format!("5 responses failed the checks: {listed}")
    );
    // Earlier versions did not record `failing_checks`.
    assert_eq!(
        twice(None),
        format!("10 responses failed the checks: {listed}")
    );
}

#[test]
fn request_errors() {
    let errors = |count| {
        move |made: &mut Made| {
            made.open().counts.errors.insert("timeout".into(), count);
        }
    };
    check(
        Gate::RequestErrors,
        Validity::Invalid,
        &ALL,
        errors(51),
        errors(0),
    );
    let spoils = [Aspect::Throughput, Aspect::Latency];
    check(
        Gate::RequestErrors,
        Validity::Limited,
        &spoils,
        errors(50),
        errors(0),
    );
}

#[test]
fn no_responses() {
    let answered = |sent, completed| {
        move |made: &mut Made| {
            let counts = &mut made.open().counts;
            (counts.sent, counts.completed) = (sent, completed);
        }
    };
    // These counts trip other gates, too.
    let tripped = |sent, completed| {
        let found = reasons(answered(sent, completed));
        found.into_iter().find(|it| it.gate == Gate::NoResponses)
    };
    for sent in [0, 50_000] {
        let reason = tripped(sent, 0).unwrap();
        assert_eq!(
            (reason.validity, &reason.spoils[..]),
            (Validity::Invalid, &ALL[..])
        );
    }
    assert!(tripped(50_000, 50_000).is_none());
}

#[test]
fn parity_lost() {
    let after = |passed| {
        move |made: &mut Made| {
            made.record.parity_after.as_mut().unwrap().cases[0].passed = passed;
        }
    };
    check(
        Gate::ParityLost,
        Validity::Invalid,
        &ALL,
        after(false),
        after(true),
    );
    let never = reasons(|made| made.record.parity_after = None);
    assert_eq!(
        never[0].message,
        "The parity test before or after the load is missing."
    );
    let routes = reasons(|made| {
        made.record.parity_before.as_mut().unwrap().routes_answering = 0;
    });
    assert_eq!(routes[0].message, "Parity did not hold before the load.");
}

#[test]
fn parity_of_a_cold_load_is_tested_only_after_it() {
    let cold = |holds: bool| {
        reasons(move |made| {
            made.record.parity_before = None;
            made.record.parity_after.as_mut().unwrap().cases[0].passed = holds;
            if let Some(facts) = &mut made.record.gateway {
                facts.first_correct = Some(gatebench_store::FirstCorrect::default());
            }
        })
    };
    let lost = |reasons: &[Reason]| -> Vec<String> {
        let lost = reasons.iter().filter(|it| it.gate == Gate::ParityLost);
        lost.map(|it| it.message.clone()).collect()
    };
    assert!(lost(&cold(true)).is_empty());
    assert_eq!(lost(&cold(false)), ["Parity did not hold after the load."]);
}

#[test]
fn a_worker_that_ends_outside_the_measurements_is_reported() {
    let ended = |count| {
        move |made: &mut Made| made.record.gateway.as_mut().unwrap().processes_ended = count
    };
    check(
        Gate::GatewayRestarted,
        Validity::Invalid,
        &ALL,
        ended(1),
        ended(0),
    );
    // If a phase reports that a process ended, the trial does not report it again.
    let expected = reasons(|made| {
        made.used("steady", "gateway").processes_ended = 1;
        made.record.gateway.as_mut().unwrap().processes_ended = 1;
    });
    assert_eq!(expected.len(), 1, "{expected:#?}");
}

#[test]
fn gateway_restarted() {
    let ended = |count| {
        move |made: &mut Made| {
            made.used("steady", "gateway").processes_ended = count;
        }
    };
    check(
        Gate::GatewayRestarted,
        Validity::Invalid,
        &ALL,
        ended(1),
        ended(0),
    );
}

#[test]
fn gateway_not_saturated() {
    let busy = |tenths: u64| {
        move |made: &mut Made| {
            made.used("saturate", "gateway").cpu_ns = tenths * SECOND_NS / 10;
        }
    };
    check(
        Gate::GatewayNotSaturated,
        Validity::Limited,
        &[Aspect::Throughput],
        busy(79),
        busy(81),
    );
}

#[test]
fn side_by_side_only_cpu_time_and_memory_are_judged() {
    let trips = |gate, change: fn(&mut Made)| {
        let found = reasons(|made| {
            made.open().side_by_side = true;
            change(made);
        });
        found.iter().any(|it| it.gate == gate)
    };
    let steal: fn(&mut Made) = |made| made.open().machine.steal_ns = 900_000_000;
    assert!(!trips(Gate::Steal, steal));
    assert!(trips(Gate::ChecksFailed, |made| {
        let failed = &mut made.open().counts.checks_failed;
        failed.insert("status is 200".into(), 1);
    }));
}

#[test]
fn not_steady() {
    // The value rises by 1 ÷ `parts` of its first value each second.
    let rising = |parts: u64| {
        move |made: &mut Made| {
            for row in made.rows.iter_mut().filter(|row| row.phase == "saturate") {
                row.completed += u64::from(row.second) * row.completed / parts;
                if let Some(gateway) = &mut row.gateway {
                    gateway.cpu_ns += u64::from(row.second) * gateway.cpu_ns / parts;
                }
            }
        }
    };
    check(
        Gate::NotSteady,
        Validity::Limited,
        &[Aspect::Throughput],
        rising(100),
        rising(1_000),
    );
    let slowing = |parts: u64| {
        move |made: &mut Made| {
            for row in made.rows.iter_mut().filter(|row| row.phase == "steady") {
                let p50 = row.response_p50_ns.unwrap();
                row.response_p50_ns = Some(p50 + u64::from(row.second) * p50 / parts);
            }
        }
    };
    check(
        Gate::NotSteady,
        Validity::Limited,
        &[Aspect::Latency],
        slowing(50),
        slowing(200),
    );
}

#[test]
fn one_late_send_in_a_thousand_limits_the_tail() {
    let late = |count: u64| {
        move |made: &mut Made| {
            let values = [(100_000, 50_000 - count), (3_000_000, count)];
            made.record_values("steady", "lateness", &values);
        }
    };
    let spoils = [Aspect::LatencyTail];
    check(
        Gate::EngineLate,
        Validity::Limited,
        &spoils,
        late(60),
        late(40),
    );
}

#[test]
fn an_incomplete_last_second_is_not_a_trend() {
    let found = reasons(|made| {
        let mut part = made.rows.last().unwrap().clone();
        part.second = 10;
        part.response_p50_ns = Some(9_000_000);
        made.rows.push(part);
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn retries() {
    let repeated = |count| move |made: &mut Made| made.open().ledger.repeated = count;
    let spoils = [Aspect::Throughput, Aspect::Latency, Aspect::CpuPerRequest];
    check(
        Gate::Retries,
        Validity::Limited,
        &spoils,
        repeated(1),
        repeated(0),
    );
    let expected = reasons(|made| made.open().trace.repeated_at_upstream = 3);
    assert_eq!(expected[0].message, "The gateway retried 3 requests.");
}

#[test]
fn never_reached_upstream() {
    let cached = |count| move |made: &mut Made| made.open().trace.never_reached_upstream = count;
    check(
        Gate::NeverReachedUpstream,
        Validity::Invalid,
        &ALL,
        cached(1),
        cached(0),
    );
    let refused = |meant| {
        move |made: &mut Made| {
            made.open().trace.never_reached_upstream = 7;
            made.open().trace.meant_for_gateway = meant;
        }
    };
    check(
        Gate::NeverReachedUpstream,
        Validity::Invalid,
        &ALL,
        refused(6),
        refused(7),
    );
    let foreign = |count| move |made: &mut Made| made.open().trace.foreign = count;
    check(
        Gate::NeverReachedUpstream,
        Validity::Invalid,
        &ALL,
        foreign(1),
        foreign(0),
    );
    let wrong = |failing| {
        move |made: &mut Made| {
            made.open().trace.never_reached_upstream = 7;
            made.open().counts.failing_checks = Some(failing);
        }
    };
    let has_gate = |failing| {
        let found = reasons(wrong(failing));
        found.iter().any(|it| it.gate == Gate::NeverReachedUpstream)
    };
    assert!(has_gate(6) && !has_gate(7));
    let refused = reasons(|made| {
        made.open().trace.never_reached_upstream = 7;
        made.open().counts.by_class = [("2xx".to_owned(), 3), ("4xx".to_owned(), 7)].into();
    });
    assert_eq!(
        refused[0].message,
        "7 requests never reached the upstream; the gateway refused them (7 × 4xx)."
    );
}

#[test]
fn header_stripped() {
    let stripped = |count| move |made: &mut Made| made.open().trace.header_stripped = count;
    check(
        Gate::HeaderStripped,
        Validity::Limited,
        &[Aspect::Latency],
        stripped(1),
        stripped(0),
    );
}

#[test]
fn percentiles_include_requests_without_a_response() {
    // 49,951 of 50,000 responses take 50 µs and 49 take 125 µs; `errors` further requests get no
    // response.
    let p999 = |errors| {
        let findings = changed(|made| {
            made.record_values("steady", "response", &[(50_000, 49_951), (125_000, 49)]);
            if errors > 0 {
                made.open().counts.errors.insert("timeout".into(), errors);
            }
        });
        let row = row(&findings, "nginx");
        let found = row.metric(PhaseKind::Open, Metric::ResponseP999).unwrap();
        found.estimate.as_ref().unwrap().median
    };
    assert_eq!(p999(0), as_recorded(50_000));
    assert_eq!(p999(50), as_recorded(125_000));
}
