//! Profiles of gateways' CPU time, sampled by a real perf or by LuaJIT's own profiler.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Bench, Finished, replace_load};
use crate::gateways::is_on_path;
use crate::turns::turn;

/// The load of `gatebench flame` without its warm-up.
const COLD: &str = "- {name: profile, closed: {connections: 64}, measure: 10s}\n";

/// Reports whether the machine forbids sampling. gatebench must then print a remedy.
fn is_forbidden(output: &Finished) -> bool {
    let is_reported = output.code == Some(3)
        && output.stderr.contains("perf took no sample")
        && !output.stderr.contains("used no CPU time");
    assert!(
        !is_reported || output.stderr.contains("perf_event_paranoid"),
        "{}",
        output.stderr
    );
    is_reported
}

fn profile(bench: &Bench) -> Value {
    let report: Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    let sections = report["sections"].as_array().unwrap();
    let profile = sections.iter().find(|it| it["id"] == "profile");
    profile.unwrap().clone()
}

#[test]
fn two_gateways_are_compared_function_by_function() {
    let _turn = turn();
    let bench = Bench::new();
    replace_load(&bench.path(""), "flame", COLD);
    let words = "flame reference nginx --scenario ./ping.yaml --connections 8 --duration 3s \
                 --overlay over --dir run";
    let output = bench.gatebench(words);
    if is_forbidden(&output) {
        return;
    }
    output.assert_code(0);
    assert!(output.stdout.contains("Profile"), "{}", output.stdout);

    let profile = profile(&bench);
    let labels: Vec<&str> = profile["table"]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|group| group["label"].as_str())
        .collect();
    assert_eq!(labels, ["reference", "nginx", "difference"]);
    assert!(!profile["table"]["rows"].as_array().unwrap().is_empty());

    let page = bench.read("run/report.html");
    for graph in profile["graphs"].as_array().unwrap() {
        let file = graph["file"].as_str().unwrap();
        assert!(page.contains(file));
        let drawn = bench.read(&format!("run/{file}"));
        assert!(drawn.contains("<svg") && drawn.contains("ns per request"));
    }
    assert_eq!(profile["graphs"].as_array().unwrap().len(), 3);
    let before = bench.read("run/flame-ping-nginx.svg");
    bench.gatebench("report run").assert_code(0);
    assert_eq!(bench.read("run/flame-ping-nginx.svg"), before);
}

/// Asserts that at least 80 % of the time in Lua is in stacks that name a Lua file and line.
#[track_caller]
fn assert_lua_is_named(folded: &str) {
    let (mut named, mut inside) = (0, 0);
    for line in folded.lines() {
        let (stack, ns) = line.rsplit_once(' ').unwrap();
        let ns: u64 = ns.parse().unwrap();
        if stack.ends_with(";nginx outside Lua") {
            continue;
        }
        inside += ns;
        let has_place = |frame: &str| {
            let place = frame
                .strip_suffix(')')
                .and_then(|it| it.rsplit_once(".lua:"));
            place.is_some_and(|(_, line)| line.parse::<u32>().is_ok())
        };
        if stack.split(';').any(has_place) {
            named += ns;
        }
    }
    assert!(inside > 0, "{folded}");
    assert!(named * 5 >= inside * 4, "{named} of {inside} ns:\n{folded}");
}

/// Asserts that a profile of this gateway names Lua files and lines, and contains this function.
/// LuaJIT's own profiler needs neither perf nor the permission that perf needs.
#[track_caller]
fn assert_shows_lua(gateway: &str, function: &str) {
    let _turn = turn();
    let bench = Bench::new();
    replace_load(&bench.path(""), "flame", COLD);
    let words = format!(
        "flame {gateway} --scenario json-response-edits --connections 8 --duration 3s \
         --overlay over --dir run"
    );
    bench.gatebench(&words).assert_code(0);
    let trial = &bench.kept_trials("run")[0];
    let folded = bench.read(&format!("run/trials/{trial}/profile.folded"));
    assert_lua_is_named(&folded);
    assert!(folded.contains(function), "{folded}");
    let profile = profile(&bench);
    assert_eq!(profile["graphs"].as_array().unwrap().len(), 1);
}

#[test]
fn lua_functions_of_nginx_have_their_file_and_line() {
    assert_shows_lua("nginx-lua", "/json.lua:");
}

#[test]
fn lua_functions_of_kong_have_their_file_and_line() {
    if is_on_path("kong") {
        assert_shows_lua("kong", "(kong/init.lua:");
    }
}

#[test]
fn an_interrupted_profile_is_reported_soon() {
    let _turn = turn();
    let bench = Bench::new();
    replace_load(&bench.path(""), "flame", COLD);
    let short = bench.gatebench(
        "flame reference --scenario ./ping.yaml --duration 3s --overlay over --dir short",
    );
    if is_forbidden(&short) {
        return;
    }
    let words = "flame reference --scenario ./ping.yaml --connections 8 --duration 5m \
                 --frequency 4000 --overlay over --dir run";
    let session = bench.start(words);
    session.until_load();
    // Long enough for a few seconds of sampling.
    thread::sleep(Duration::from_secs(8));
    session.signal("INT");
    let stopped = Instant::now();
    // No other gateway remained to be measured, so the run is complete.
    session
        .wait()
        .assert_code(0)
        .assert_says(&["the load was stopped early"]);
    // Reading all copied stacks would take as long as sampling them, so gatebench limits the time
    // for reading them.
    let took = stopped.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert!(
        !profile(&bench)["table"]["rows"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert!(bench.processes().is_empty(), "{:?}", bench.processes());
    let trial = &bench.kept_trials("run")[0];
    assert!(
        !bench
            .path(&format!("run/trials/{trial}/perf.data"))
            .exists()
    );
}
