//! Tests of `gatebench load`. Most of the loads go to an upstream that keeps a ledger.

use std::collections::BTreeMap;
use std::net::TcpListener;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::bench::{Bench, Finished};
use crate::serving::Serving;

const PATH: &str = "/json/valid";

pub struct Loads {
    pub bench: Bench,
    upstream: Serving,
}

impl Loads {
    pub fn new() -> Self {
        let bench = Bench::new();
        let upstream = Serving::start(&bench, &["upstream", "go-bench"]);
        Self { bench, upstream }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.upstream.address())
    }

    #[track_caller]
    pub fn load(&self, flags: &str) -> Finished {
        self.bench
            .gatebench(&format!("load {flags} {}", self.url(PATH)))
    }

    #[track_caller]
    fn json(&self, flags: &str, code: i32) -> Value {
        json(&self.load(&format!("--json {flags}")), code)
    }

    fn ledger(&self) -> Value {
        self.upstream.ledger()
    }
}

/// Asserts the exit code and returns standard output, which must be a single JSON document.
#[track_caller]
pub fn json(finished: &Finished, code: i32) -> Value {
    finished.assert_code(code);
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", finished.stdout))
}

pub fn number(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("{pointer} is not a number in {value:#}"))
}

#[test]
fn a_closed_load_counts_what_the_upstream_counts() {
    let loads = Loads::new();
    let found = loads.json("-c 4 -d 300ms --warm-up 0s --check status=200", 0);
    let ledger = loads.ledger();
    let requests = number(&found, "/requests");
    assert!(requests > 0);
    for pointer in [
        "/sent",
        "/completed",
        "/intended",
        "/status/2xx",
        "/checks/passed",
        "/response_time_ns/count",
    ] {
        assert_eq!(number(&found, pointer), requests, "{pointer}");
    }
    assert_eq!(number(&ledger, "/requests"), requests);
    assert_eq!(number(&ledger, "/without_nonce"), requests);
    assert_eq!(number(&ledger, "/bytes_in"), number(&found, "/bytes_sent"));
    // `bytes_received` counts only bytes within the window; the last responses may arrive after it.
    assert!(number(&found, "/bytes_received") <= number(&ledger, "/bytes_out"));
    assert_eq!(number(&ledger, "/connections_accepted"), 4);
    assert_eq!(number(&found, "/connections_opened"), 4);
    for zero in [
        "/dropped",
        "/failed",
        "/checks/failed",
        "/errors/timeout",
        "/queued_max",
        "/lateness_ns/max",
    ] {
        assert_eq!(number(&found, zero), 0, "{zero}");
    }
    assert_eq!(found["interrupted"], false);
    assert_eq!(found["engine"]["workers"], 1);
}

#[test]
fn json_has_every_figure_and_null_where_samples_are_few() {
    let loads = Loads::new();
    // The achieved rate is judged only with at least 30 requests.
    let found = loads.json("--rate 80 -d 300ms --warm-up 0s -c 2", 0);
    assert_eq!(number(&found, "/intended"), 24);
    for times in ["response_time_ns", "service_time_ns", "lateness_ns"] {
        for figure in ["mean", "min", "p50", "max"] {
            assert!(
                found[times][figure].is_number(),
                "{times}.{figure}: {found:#}"
            );
        }
        for figure in ["p75", "p90", "p95", "p99", "p99_9", "p99_99"] {
            assert!(
                found[times].as_object().unwrap().contains_key(figure),
                "{times}.{figure}"
            );
        }
        assert!(found[times]["p99"].is_null());
    }
    for figure in [
        "backend",
        "cpu_ns_per_request",
        "workers",
        "limited_by",
        "busy_share",
        "run_queue_wait_share",
        "steal_share",
    ] {
        assert!(
            found["engine"].as_object().unwrap().contains_key(figure),
            "{figure}"
        );
    }
    assert!(found["rate_per_second"].is_number() && found["checks"].is_null());
    assert!(number(&found, "/window/measured_ns") >= 300_000_000);
}

#[test]
fn several_urls_are_requested_in_turn_and_reported_separately() {
    let loads = Loads::new();
    let words = format!(
        "load --json --rate 100 -d 200ms --warm-up 0s {} {}",
        loads.url(PATH),
        loads.url("/no-such")
    );
    let found = json(&loads.bench.gatebench(&words), 0);
    let routes = found["routes"].as_array().unwrap();
    let sent: Vec<_> = routes.iter().map(|route| number(route, "/sent")).collect();
    assert_eq!(sent, [10, 10]);
    assert_eq!(routes[1]["name"], "GET /no-such");
    assert_eq!(number(&found, "/status/4xx"), 10);
    assert_eq!(
        number(&found, "/failed"),
        10,
        "without checks, a 404 is not a good response"
    );
}

#[test]
fn a_request_contains_everything_on_the_command_line() {
    let bench = Bench::new();
    let upstream = Serving::start(&bench, &["upstream", "httpbin"]);
    bench.write("body.json", r#"{"a": 1}"#);
    let mut command = bench.command();
    let url = format!("http://a.test:{}/anything?q=1", upstream.port);
    let resolve = format!("a.test:{}:127.0.0.1", upstream.port);
    command.args([
        "load",
        "--json",
        "--rate",
        "50",
        "-d",
        "100ms",
        "--warm-up",
        "0s",
    ]);
    command.args([
        "-H",
        "X-One: first",
        "-u",
        "me:secret",
        "--body",
        "@body.json",
        "--resolve",
        &resolve,
    ]);
    command.args([
        "--check",
        "json:/method=POST",
        "--check",
        r#"json:/json={"a": 1}"#,
    ]);
    command.args(["--check", "json:/headers/X-One=first"]);
    command.args(["--check", "json:/headers/Authorization=Basic bWU6c2VjcmV0"]);
    let host = format!("json:/headers/Host=a.test:{}", upstream.port);
    command.args(["--check", &host, "--source", "127.0.0.1", &url]);
    let found = json(&bench.spawn(command).wait(), 0);
    assert_eq!(number(&found, "/checks/passed"), 5, "{found:#}");
}

#[test]
fn a_number_of_requests_is_sent_exactly() {
    let loads = Loads::new();
    for (flags, requests) in [
        ("-n 100 -c 7", 100),
        ("-n 3", 3),
        ("-n 5 --rate 200 --arrivals poisson", 5),
    ] {
        let before = number(&loads.ledger(), "/requests");
        let found = loads.json(flags, 0);
        assert_eq!(number(&found, "/requests"), requests, "{flags}");
        assert_eq!(number(&found, "/completed"), requests, "{flags}");
        assert_eq!(
            number(&loads.ledger(), "/requests") - before,
            requests,
            "{flags}"
        );
    }
    loads.load("-n 10 --warm-up 0s").assert_code(0);
    let renewed = loads.json("-n 20 -c 2 --requests-per-connection 2 --think 1ms", 0);
    assert!(number(&renewed, "/connections_opened") >= 10, "{renewed:#}");
}

#[test]
fn data_files_path_files_and_stages_are_used() {
    let bench = Bench::new();
    let upstream = Serving::start(&bench, &["upstream", "httpbin"]);
    let origin = format!("http://{}", upstream.address());
    bench.write("users.csv", "name,id\nAda,7\n");
    bench.write("more.jsonl", "{\"key\": \"secret\"}\n");
    bench.write(
        "paths.txt",
        "# shop\n/anything/a\n\n3 /anything/{{users.id}}\n",
    );
    let words = format!(
        "load --json -c 2 --stage 4:100ms --stage 1:100ms --warm-up 0s --data-file users.csv --data-file more.jsonl \
         -H X-Key:{{{{more.key}}}} --body {{{{users.name}}}} --path-file paths.txt \
         --check json:/headers/X-Key=secret --check json:/data=Ada {origin}"
    );
    let found = json(&bench.gatebench(&words), 0);
    let sent: Vec<_> = found["routes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| number(it, "/sent"))
        .collect();
    assert_eq!(sent.iter().sum::<u64>(), number(&found, "/requests"));
    assert!(sent[1] > sent[0], "{sent:?}");
    assert_eq!(found["routes"][1]["name"], "POST /anything/{{users.id}}");
    let unknown = bench.gatebench(&format!("load -n 1 {origin}/{{{{id}}}}"));
    unknown
        .assert_code(2)
        .assert_says(&["'id'", "--data-file id.csv"]);
    // Templates may contain spaces inside the braces, as in scenarios.
    let mut command = bench.command();
    let url = format!("{origin}/anything/{{{{ users.id }}}}");
    command.args(["load", "--json", "-n", "2", "--data-file", "users.csv"]);
    command.args(["--check", "contains=/anything/7", &url]);
    let spaced = json(&bench.spawn(command).wait(), 0);
    assert_eq!(number(&spaced, "/checks/passed"), 2);
    let misspelled = format!("load -n 1 --data-file users.csv {origin}/{{{{users.nam}}}}");
    bench
        .gatebench(&misspelled)
        .assert_code(2)
        .assert_says(&["'nam'", "columns: name, id"]);
    bench.write("broken.csv", "a,b\n1\n");
    let broken = bench.gatebench(&format!("load -n 1 --data-file broken.csv {origin}"));
    broken
        .assert_code(2)
        .assert_says(&["broken.csv:2", "columns"]);
}

#[test]
fn thresholds_and_checks_determine_the_exit_code() {
    let loads = Loads::new();
    let quick = "-c 2 -d 200ms --warm-up 0s";
    let kept =
        "--threshold p50<10s --threshold errors<1% --threshold rate>1 --threshold requests>=1";
    loads.load(&format!("{quick} {kept}")).assert_code(0);
    let listed = loads.json(
        &format!("{quick} --slo p50<=10s,errors<=1% --slo rate>1"),
        0,
    );
    assert_eq!(listed["thresholds"].as_array().unwrap().len(), 3);
    assert_eq!(listed["thresholds"][1]["threshold"], "errors<=1%");
    let missed = loads.load(&format!("{quick} {kept} --threshold max<1us"));
    assert!(
        missed.assert_code(1).stdout.contains("✗ max<1us"),
        "{}",
        missed.stdout
    );
    loads
        .load(&format!("{quick} --check status=201"))
        .assert_code(1);
    loads
        .load(&format!(
            "{quick} --check status=201 --threshold checks>=0%"
        ))
        .assert_code(0);
    loads
        .load(&format!("{quick} --check status=201 --threshold checks>1%"))
        .assert_code(1);
    let closed = loads.load(&format!("{quick} --threshold dropped<1"));
    closed.assert_code(1);
    assert!(closed.stdout.contains("no arrivals"), "{}", closed.stdout);
    let few = loads.json(&format!("{quick} --threshold p99.999<10s"), 1);
    let seen = few["thresholds"][0]["seen"].as_str().unwrap();
    assert!(seen.contains("p99.999 needs 1,000,000"), "{seen}");
    assert_eq!(few["thresholds"][0]["held"], false);
    assert!(few["thresholds"][0]["value"].is_null(), "{few:#}");
}

#[test]
fn a_threshold_without_measurements_is_missed() {
    let loads = Loads::new();
    // The only request is due during the warm-up.
    let nothing = "--rate 1 --warm-up 100ms -d 100ms";
    let found = loads.json(nothing, 4);
    assert_eq!(number(&found, "/requests"), 0);
    assert!(found["response_time_ns"]["mean"].is_null());
    for threshold in [
        "rate<1000",
        "errors<1%",
        "p50<10s",
        "dropped<1",
        "requests<10",
    ] {
        loads
            .load(&format!("{nothing} --threshold {threshold}"))
            .assert_code(1);
    }
    let screen = loads.load(nothing);
    assert!(
        screen.stdout.contains("No request ended"),
        "{}",
        screen.stdout
    );
}

#[test]
fn requests_without_a_response_count_with_their_timeout() {
    let bench = Bench::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let words = format!("load --json -c 2 -d 300ms --warm-up 0s --timeout 200ms {url}");
    let found = json(&bench.gatebench(&words), 4);
    assert!(number(&found, "/errors/timeout") >= 2);
    assert_eq!(number(&found, "/completed"), 0);
    assert!(number(&found, "/response_time_ns/min") >= 200_000_000);
    for threshold in ["errors<50%", "5xx<1", "2xx<1000"] {
        let judged = bench.gatebench(&format!("{words} --threshold {threshold}"));
        judged.assert_code(1);
    }
    let counted = "--threshold requests>=1 --threshold errors>=1";
    bench
        .gatebench(&format!("{words} {counted}"))
        .assert_code(4);
}

#[test]
fn ctrl_c_keeps_the_results() {
    let loads = Loads::new();
    for flags in ["--json", "--quiet"] {
        let before = number(&loads.ledger(), "/requests");
        let session = loads.bench.start(&format!(
            "load {flags} -c 2 -d 60s --warm-up 0s {}",
            loads.url(PATH)
        ));
        loads.bench.wait_for("the load", || {
            (number(&loads.ledger(), "/requests") > before + 100).then_some(())
        });
        session.signal("INT");
        let finished = session.wait();
        finished.assert_code(130);
        if flags == "--json" {
            let found = json(&finished, 130);
            assert_eq!(found["interrupted"], true);
            assert!(number(&found, "/requests") > 0);
        } else {
            assert!(
                finished.stdout.contains("Interrupted: "),
                "{}",
                finished.stdout
            );
            assert_eq!(finished.stderr, "");
        }
    }
}

#[test]
fn an_unreachable_target_is_named() {
    let bench = Bench::new();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let refused = bench.gatebench(&format!("load -d 100ms http://127.0.0.1:{port}/x"));
    refused.assert_code(3).assert_says(&[
        "error: target http://127.0.0.1",
        "refused",
        "  → ",
        "curl",
    ]);
    assert_eq!(refused.stdout, "");
    let unknown = bench.gatebench("load -d 100ms http://no-such-host.invalid/");
    unknown
        .assert_code(3)
        .assert_says(&["target no-such-host.invalid", "--resolve"]);
    let core = bench.gatebench("load --cores 999 http://127.0.0.1:9/");
    core.assert_code(3)
        .assert_says(&["core 999", "  → name a core"]);
    let source = bench.gatebench("load --source 192.0.2.1 http://127.0.0.1:9/");
    source
        .assert_code(3)
        .assert_says(&["--source", "192.0.2.1", "  → use an address"]);
    let unwritable = bench.gatebench("load --hdr nowhere/x.hlog http://127.0.0.1:9/");
    unwritable
        .assert_code(3)
        .assert_says(&["--hdr nowhere/x.hlog", "  → "]);
}

#[test]
fn invalid_arguments_are_refused_before_anything_is_sent() {
    let bench = Bench::new();
    for (words, said) in [
        ("", "URL"),
        ("ftp://a/", "http or https"),
        ("http://a/ http://b/", "but the first URL refers to"),
        ("--check 200 http://a/", "status=200"),
        (
            "--check status=200 --check status=201 http://a/",
            "two statuses",
        ),
        ("--threshold p99=3 http://a/", "p99<10ms"),
        (
            "--slo p99<1s,p95 http://a/",
            "column 8: the bound 'p95' has no '<'",
        ),
        ("--threshold checks>1% http://a/", "there are none"),
        ("-H X http://a/", "Name: value"),
        ("-X get http://a/", "uppercase"),
        ("--body @no-such http://a/", "no-such"),
        ("-k http://a/", "no TLS on http://"),
        ("--cert x https://a/", "--key"),
        ("--cacert no-such https://a/", "no-such"),
        ("--ramp-to 5 http://a/", "--rate"),
        ("--rate 0 http://a/", "is not a rate"),
        ("-c 0 http://a/", "0"),
        ("-d 0s http://a/", "the duration is zero"),
        ("--resolve b:80:127.0.0.1 http://a/", "matches no URL"),
        ("--source ::1 http://127.0.0.1/", "IPv6"),
        ("-X HEAD --check contains=a http://a/", "no body"),
        ("--alpn h2 https://a/", "--http2"),
        ("--timeout 0s http://a/", "--timeout"),
        ("--stage 10:20s -d 1s http://a/", "stages take 20s"),
        ("--handshakes --stage 10:1s http://a/", "add --rate"),
        ("-n 10 --warm-up 1s http://a/", "--warm-up"),
        ("--cores 0,1 -c 1 http://a/", "2 workers"),
        ("--cores 0,0 http://a/", "core 0 twice"),
        ("-c abc http://a/", "write a whole number, for example 64"),
        ("-n 1e3 http://a/", "write a whole number, for example 64"),
        ("http://a/{{users.name http://a/", "{{"),
    ] {
        bench
            .gatebench(&format!("load {words}"))
            .assert_code(2)
            .assert_says(&[said]);
    }
}

#[test]
fn the_hdr_log_contains_every_request() {
    let loads = Loads::new();
    let found = loads.json("-c 2 -d 1200ms --warm-up 0s --hdr load.hlog", 0);
    let log = loads.bench.read("load.hlog");
    let mut deserializer = Deserializer::new();
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        let LogEntry::Interval(interval) = entry.unwrap() else {
            continue;
        };
        let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
        let histogram: Histogram<u64> = deserializer.deserialize(&mut &bytes[..]).unwrap();
        let (lines, count) = counts
            .entry(interval.tag().unwrap().as_str().into())
            .or_default();
        *lines += 1;
        *count += histogram.len();
    }
    for metric in ["response", "service", "lateness"] {
        let (lines, count) = counts[metric];
        assert_eq!(count, number(&found, "/requests"), "{metric}");
        assert!(
            lines <= 3,
            "{metric} has one line for each second and one for the drain"
        );
    }
    assert_eq!(counts.len(), 3);
}

#[test]
fn the_screen_fits_100_columns_and_names_omitted_percentiles() {
    let loads = Loads::new();
    let words = "-d 200ms --rate 500 --check status=200 --check contains=no-such-thing-in-any-body --threshold errors<0.1%";
    let screen = loads.load(words).assert_code(1).stdout.clone();
    assert!(
        screen.lines().all(|line| line.chars().count() <= 100),
        "{screen}"
    );
    for part in [
        "GET http://",
        "open: 500 requests/s on 500 connections, 200ms after 1s",
        "Latency",
        "p50",
        "lateness",
        "left out",
        "Arrivals",
        "Checks",
        "✗ errors<0.1%",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(!screen.contains('\x1b'));
    for (flags, said) in [
        (
            "-n 1 -c 1",
            "closed: 1 connection, 1 request without warm-up",
        ),
        (
            "-n 9 -c 2 --connection-rate 100",
            "connecting takes 20.0 ms",
        ),
        (
            "--rate 50 --arrivals poisson -d 100ms --warm-up 0s -c 2",
            "open: 50.0 requests/s, Poisson arrivals, on 2 connections",
        ),
    ] {
        let load = loads.load(flags);
        assert!(load.stdout.contains(said), "{flags}: {}", load.stdout);
        // The load is described only once: on standard output, but not on standard error.
        assert!(!load.stderr.contains("GET http"), "{}", load.stderr);
    }
}

#[test]
fn help_has_an_example_for_each_use() {
    let help = Bench::new()
        .gatebench("load --help")
        .assert_code(0)
        .stdout
        .clone();
    assert!(
        help.lines().all(|line| line.chars().count() <= 100),
        "{help}"
    );
    for figure in ["lateness.", "dropped", "5xx"] {
        assert!(help.contains(figure), "{figure}: {help}");
    }
    let (_, examples) = help.split_once("Examples:").unwrap();
    assert_eq!(examples.matches("\n  gatebench load ").count(), 11);
}
