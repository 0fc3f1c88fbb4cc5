//! Compares the arguments and scripts for each load generator with the expected text. `BLESS=1`
//! rewrites the expected scripts.

use std::fs;
use std::path::{Path, PathBuf};

use gatebench_config::parse;
use gatebench_external::{Generator, Job, Order, Part, Refusal, export, translate};
use gatebench_model::{LoadProfile, Phase, Scenario};

const URL: &str = "http://127.0.0.1:8080";

const CHECKED: &str = r#"
scenario: sizes
title: Responses of two sizes
upstream: go-bench
routes: [{name: all, path: /}]
requests:
  - path: /size/350B
    headers: {X-Api-Key: "it's"}
    checks: &checks
      - {status: 200}
      - {header: {name: content-type, equals: text/plain}}
      - {body_contains: x}
  - {path: "/size/1KB?a=b", headers: {X-Api-Key: "it's"}, checks: *checks}
"#;

const POST: &str = r#"
scenario: post
title: A body
upstream: go-bench
routes: [{name: all, path: /}]
requests:
  - method: POST
    path: /echo
    headers: {Content-Type: application/json}
    body: '{"a": "é"}'
    checks: [{status: 200}, {json: {path: /a, equals: é}}]
"#;

const FILLED: &str = r#"
scenario: filled
title: Two groups with data
upstream: go-bench
routes: [{name: all, path: /}]
data:
  users: {list: {columns: [name, key], values: [[ann, k1], [bob, k2]], pick: zipf}}
  n: {sequence: {from: 1}}
groups:
  - name: good
    share: 3
    requests:
      - {path: "/resource/{{ n }}?user={{ users.name }}", headers: {X-Key: "{{ users.key }}"}, weight: 2, checks: [{status: 200}]}
      - {path: /xml, body: {base64: "/w=="}, method: POST}
  - name: bad-ones
    share: 1
    requests: [{path: /none, checks: [{status: 404}]}]
"#;

const APART: &str = "
scenario: apart
title: One group with its own load
upstream: go-bench
routes: [{name: all, path: /}]
groups:
  - name: own
    load: {closed: {connections: 2}}
    requests: [{path: /none, checks: [{status: 404}]}]
";

fn scenario(text: &str) -> Scenario {
    parse("s.yaml", text).unwrap()
}

fn phases(phases: &str) -> Vec<Phase> {
    let text = format!("{{profile: p, title: t, phases: [{phases}]}}");
    parse::<LoadProfile>("l.yaml", &text).unwrap().phases
}

fn order(
    generator: Generator,
    scenario: &Scenario,
    phase: &str,
    part: Part,
) -> Result<Order, Refusal> {
    let phase = phases(phase).remove(0);
    let job = Job {
        url: URL,
        scenario,
        phase: &phase,
        part,
        threads: 2,
        script: None,
        own_load: false,
    };
    translate(generator, &job)
}

fn script(order: &Order) -> String {
    String::from_utf8(order.files[0].bytes.clone()).unwrap()
}

#[track_caller]
fn assert_golden(name: &str, text: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "run with BLESS=1 to rewrite {name}");
}

const CLOSED: &str = "{name: full, closed: {connections: 6}, warm_up: 100ms, measure: 1500ms}";
const OPEN: &str =
    "{name: steady, open: {rate_per_second: 2.5, connections_max: 8}, measure: 3s, drain: 1s}";

#[test]
fn wrk_gets_a_script_and_whole_seconds() {
    let order = order(Generator::Wrk, &scenario(CHECKED), CLOSED, Part::Measure).unwrap();
    let words = "--threads 2 --connections 6 --duration 2s --timeout 10s --script scenario.lua http://127.0.0.1:8080";
    assert_eq!(order.arguments.join(" "), words);
    assert_eq!(order.environment["GATEBENCH_URL"], URL);
    let said = order.limits.not_expressed.join("\n");
    assert!(
        said.contains("1.5s: wrk accepts only whole seconds, so it runs for 2 s"),
        "{said}"
    );
    assert!(said.contains("slows wrk"), "{said}");
    assert_golden("sizes.lua", &script(&order));
}

#[test]
fn fewer_threads_than_requested_are_reported() {
    let said = |generator, connections: u32| {
        let phase = format!("{{name: p, closed: {{connections: {connections}}}, measure: 1s}}");
        let order = order(generator, &scenario(POST), &phase, Part::Measure).unwrap();
        order.limits.not_expressed.join("\n")
    };
    let expected = "2 threads: wrk opens the same number of connections in each, so the 7 connections run on 1";
    assert!(said(Generator::Wrk, 7).contains(expected));
    assert!(!said(Generator::Wrk, 8).contains("threads"));
    let expected = "2 threads: h2load runs at most one per connection, so it runs 1";
    assert!(said(Generator::H2load, 1).contains(expected));
    assert!(!said(Generator::H2load, 7).contains("threads"));
}

#[test]
fn wrk_renders_one_request_once_and_reads_no_json() {
    let order = order(Generator::Wrk, &scenario(POST), CLOSED, Part::WarmUp).unwrap();
    assert!(order.arguments.contains(&"1s".into()));
    let said = order.limits.not_expressed.join("\n");
    assert!(
        said.contains("the check 'JSON at '/a' is \"é\"': Lua in wrk cannot read JSON"),
        "{said}"
    );
    assert_golden("post.lua", &script(&order));
}

#[test]
fn wrk_reports_that_it_cannot_match_responses_to_requests() {
    let text = CHECKED.replace("checks: *checks", "checks: [{status: 404}], weight: 3");
    let order = order(Generator::Wrk, &scenario(&text), CLOSED, Part::Measure).unwrap();
    let said = order.limits.not_expressed.join("\n");
    assert!(
        said.contains("wrk does not report which request a response belongs to"),
        "{said}"
    );
    let script = script(&order);
    assert!(!script.contains("function response"), "{script}");
    assert!(script.contains("local sums = {1, 4}"), "{script}");
}

#[test]
fn h2load_gets_paths_headers_and_a_body() {
    let said = order(Generator::H2load, &scenario(CHECKED), CLOSED, Part::Measure).unwrap();
    assert_eq!(
        said.arguments,
        [
            "--h1",
            "--threads=2",
            "--clients=6",
            "--duration=1500ms",
            "--header=X-Api-Key: it's",
            "http://127.0.0.1:8080/size/350B",
            "http://127.0.0.1:8080/size/1KB?a=b",
        ]
    );
    let not = said.limits.not_expressed.join("\n");
    assert!(
        not.contains("the check 'status is 200': h2load cannot check responses"),
        "{not}"
    );
    let post = order(Generator::H2load, &scenario(POST), CLOSED, Part::Measure).unwrap();
    assert!(post.arguments.contains(&"--data=body".into()));
    assert_eq!(post.files[0].bytes, r#"{"a": "é"}"#.as_bytes());
}

#[test]
fn a_host_field_replaces_that_of_the_generator() {
    let of = |generator, text: &str| {
        let text = text.replace("X-Api-Key: \"it's\"", "host: shop.test");
        order(generator, &scenario(&text), CLOSED, Part::Measure).unwrap()
    };
    let wrk = of(Generator::Wrk, CHECKED);
    assert!(script(&wrk).contains(r#"{["Host"] = "shop.test"}"#));
    let alone = POST.replace("Content-Type: application/json", "host: shop.test");
    let wrk = of(Generator::Wrk, &alone);
    assert!(script(&wrk).contains(r#"wrk.headers["Host"] = "shop.test""#));
    let h2load = of(Generator::H2load, CHECKED);
    let headers = h2load.arguments.iter();
    let headers: Vec<_> = headers.filter(|it| it.starts_with("--header")).collect();
    assert_eq!(headers, ["--header=:authority: shop.test"]);
}

const KEYS: &str = r#"
scenario: keys
title: Only some requests use the data
upstream: go-bench
routes: [{name: all, path: /}]
data:
  keys: {list: {columns: [key], values: [[k1], [k2]]}}
requests:
  - {path: /size/350B, headers: {X-Key: "{{ keys.key }}"}}
  - {path: /size/1KB}
  - {path: "/size/350B?key={{ keys.key }}"}
"#;

#[test]
fn k6_skips_no_rows_that_are_taken_in_turn() {
    let skips = "those that do not use the data skip its values";
    let order_of = |text: &str| order(Generator::K6, &scenario(text), CLOSED, Part::Measure);
    let in_turn = order_of(KEYS).unwrap();
    let text = script(&in_turn);
    for part in [
        "'keys': (turn) => ROWS_0[turn % 2],",
        "    turns: { 'keys': [0, 2] },\n",
        "    turns: {},\n",
        "    turns: { 'keys': [1, 2] },\n",
        "drawn[name] = SOURCES[name](cycle * all + before);",
        "const row = rows(requests, request);",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!in_turn.limits.not_expressed.join("\n").contains(skips));
    let weighted = KEYS.replace("{path: /size/1KB}", "{path: /size/1KB, weight: 2}");
    let weighted = order_of(&weighted).unwrap();
    let said = weighted.limits.not_expressed.join("\n");
    assert!(said.contains(skips), "{said}");
    let all = KEYS.replace("{path: /size/1KB}", "{path: \"/size/{{ keys.key }}\"}");
    let all = order_of(&all).unwrap();
    assert!(script(&all).contains("'keys': () => ROWS_0[exec.scenario.iterationInTest % 2],"));
}

#[test]
fn k6_runs_at_most_one_user_per_request() {
    let phase = |most: u32| {
        format!("{{name: few, closed: {{connections: 64, requests_max: {most}}}, measure: 1s}}")
    };
    let few = order(Generator::K6, &scenario(CHECKED), &phase(50), Part::Measure).unwrap();
    assert!(script(&few).contains("vus: 50,\n      iterations: 50,"));
    let said = few.limits.not_expressed.join("\n");
    let expected =
        "64 connections in phase 'few': k6 runs at most one user per request, so it runs 50";
    assert!(said.contains(expected), "{said}");
    let many = order(Generator::K6, &scenario(CHECKED), &phase(64), Part::Measure).unwrap();
    assert!(script(&many).contains("vus: 64,\n      iterations: 64,"));
    assert!(
        !many
            .limits
            .not_expressed
            .join("\n")
            .contains("at most one user")
    );
    let message = "k6 cannot run a group that sends no request, which phase 'few' requires";
    assert_refused(Generator::K6, FILLED, &phase(1), message);
}

#[test]
fn k6_gets_a_script() {
    for (name, text, phase) in [
        ("sizes.js", CHECKED, CLOSED),
        ("post.js", POST, OPEN),
        ("filled.js", FILLED, CLOSED),
    ] {
        let order = order(Generator::K6, &scenario(text), phase, Part::Measure).unwrap();
        assert_eq!(order.arguments.last().unwrap(), "scenario.js");
        assert_golden(name, &script(&order));
    }
}

#[test]
fn every_shape_that_k6_supports_is_exported() {
    let phases = phases(
        "{name: full, closed: {connections: 6, think: 10ms}, warm_up: 500ms, measure: 2s}, \
         {name: up-and-down, closed: {connections: 1, stages: [{connections: 4, over: 1s}]}, measure: 2s}, \
         {name: few, closed: {connections: 2, requests_max: 10}, measure: 2s}, \
         {name: ramp, open: {rate_per_second: 10, ramp_to_per_second: 20}, warm_up: 1s, measure: 2s}, \
         {name: spike, open: {rate_per_second: 10, stages: [{rate_per_second: 100, over: 1s, how: step}]}, measure: 2s}",
    );
    let (text, limits) = export(&scenario(CHECKED), &phases, "http://gateway:1/").unwrap();
    assert_golden("export.js", &text);
    let said = limits.not_expressed.join("\n");
    assert!(
        said.contains("k6 drops an arrival when all 64 users are busy"),
        "{said}"
    );
}

#[track_caller]
fn assert_refused(generator: Generator, text: &str, phase: &str, message: &str) {
    let refusal = order(generator, &scenario(text), phase, Part::Measure).unwrap_err();
    assert_eq!(refusal.message, message);
    assert!(!refusal.remedy.is_empty());
}

#[test]
fn unsupported_jobs_are_refused_with_a_reason() {
    let rate = |generator| {
        format!(
            "{generator} cannot send at a fixed rate, but phase 'steady' requires 2.5 requests/s"
        )
    };
    for generator in [Generator::Wrk, Generator::H2load] {
        assert_refused(generator, CHECKED, OPEN, &rate(generator));
        let groups = "send several groups at the same time, which scenario 'filled' requires";
        assert_refused(
            generator,
            FILLED,
            CLOSED,
            &format!("{generator} cannot {groups}"),
        );
        let own_load = "give a group of requests its own load, which scenario 'apart' requires";
        assert_refused(
            generator,
            APART,
            CLOSED,
            &format!("{generator} cannot {own_load}"),
        );
        let think = "{name: calm, closed: {connections: 1, think: 1s}, measure: 1s}";
        let wait = "wait between requests, which phase 'calm' requires";
        assert_refused(
            generator,
            CHECKED,
            think,
            &format!("{generator} cannot {wait}"),
        );
    }
    let put = POST.replace("POST", "PUT");
    let message = "h2load cannot send PUT with a body, which scenario 'post' requires";
    assert_refused(Generator::H2load, &put, CLOSED, message);
    let poisson = "{name: wild, open: {rate_per_second: 5, arrivals: poisson}, measure: 1s}";
    let message = "k6 cannot spread arrivals as a Poisson process, which phase 'wild' requires";
    assert_refused(Generator::K6, CHECKED, poisson, message);
}

#[test]
fn a_users_script_is_run_as_it_is() {
    let (scenario, path) = (scenario(CHECKED), Path::new("/mine/my \"script\".lua"));
    let (closed, open) = (phases(CLOSED).remove(0), phases(OPEN).remove(0));
    let job = |phase, own_load| Job {
        url: URL,
        scenario: &scenario,
        phase,
        part: Part::Measure,
        threads: 1,
        script: Some(path),
        own_load,
    };
    let wrk = translate(Generator::Wrk, &job(&closed, false)).unwrap();
    assert!(script(&wrk).contains(r#"dofile("/mine/my \"script\".lua")"#));
    let k6 = translate(Generator::K6, &job(&closed, false)).unwrap();
    let words = k6.arguments.join(" ");
    assert!(
        words.ends_with("--vus=6 --duration=1500ms /mine/my \"script\".lua"),
        "{words}"
    );
    let own = translate(Generator::K6, &job(&open, true)).unwrap();
    assert!(!own.arguments.join(" ").contains("--vus"));
    let said = own.limits.not_expressed.join("\n");
    assert!(said.contains("the load: the script has its own"), "{said}");
    let refusal = translate(Generator::K6, &job(&open, false)).unwrap_err();
    assert!(
        refusal.message.contains("the script defines no load"),
        "{refusal}"
    );
    let refusal = translate(Generator::H2load, &job(&closed, false)).unwrap_err();
    assert_eq!(refusal.message, "h2load does not support scripts");
}
