//! The pages in a real browser, Chromium, with axe-core, which checks their accessibility.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use gatebench_store::LiveEvent;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::pages::{gatebench, two_runs};
use super::site::{Site, links};
use super::webdriver::Browser;
use super::while_it_runs::{running, second};
use crate::bench::Bench;
use crate::turns::turn;

const TAB: char = '\u{E004}';
const ENTER: char = '\u{E007}';

fn axe() -> String {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".local/share");
    let data = std::env::var_os("XDG_DATA_HOME").map_or_else(home, PathBuf::from);
    let file = data.join("gatebench/axe/axe.min.js");
    fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; run scripts/install-axe", file.display()))
}

/// Asserts that the open page has no serious accessibility violation and is not wider than the
/// screen.
#[track_caller]
fn assert_accessible(browser: &Browser, axe: &str, name: &str) {
    let script = format!(
        "const done = arguments[arguments.length - 1]; {axe};\n\
         axe.run(document, {{resultTypes: ['violations']}})\
         .then(found => done(found.violations.map(it => [it.impact, it.id, \
         it.nodes.slice(0, 3).map(node => node.html + ' ' + node.failureSummary)])));"
    );
    let found = browser.run_async(&script);
    let serious: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it[0] == "serious" || it[0] == "critical")
        .collect();
    assert!(serious.is_empty(), "{name}: {serious:#?}");
    let wider = "return document.documentElement.scrollWidth - window.innerWidth";
    let wider = browser.run(wider).as_i64().unwrap();
    assert!(wider <= 0, "{name} is {wider} pixels wider than the screen");
}

#[test]
#[ignore = "needs Chromium and axe-core: make test-full"]
fn pages_are_accessible_on_a_desktop_and_a_phone_in_both_color_schemes() {
    let _turn = turn();
    let folder = two_runs();
    gatebench(folder.path(), "report gatebench-runs/day-02");
    gatebench(folder.path(), "report gatebench-runs/day-03");
    let site = Site::start(folder.path(), &["--allow-run"]);
    let run = site.page("/run/day-03/");
    let trial = links(&run, "/trial/").remove(0);
    let pages = [
        ("list", "/"),
        ("run", "/run/day-03/"),
        ("trial", &trial),
        ("compare", "/compare?run=day-03&run=day-02"),
        ("history", "/history"),
        ("start", "/start"),
        ("missing", "/run/nothing/"),
    ];
    let (browser, axe) = (Browser::start(), axe());
    browser.open(&site.url);
    for (is_phone, is_dark) in [(false, false), (false, true), (true, false), (true, true)] {
        browser.on_phone(is_phone);
        browser.in_dark_mode(is_dark);
        for (name, path) in pages {
            browser.open(&format!("http://{}{path}", site.host()));
            let screen = if is_phone { "phone" } else { "desktop" };
            let name = format!("{name}-{screen}{}", if is_dark { "-dark" } else { "" });
            browser.picture(&name);
            assert_accessible(&browser, &axe, &name);
            if name.starts_with("missing") {
                // The browser reports the status 404 as an error.
                browser.discard_log();
            } else {
                browser.assert_quiet(&site.host());
            }
        }
    }
    browser.open(&format!("http://{}/run/day-03/", site.host()));
    // `%PDF-1` in Base64.
    assert_eq!(browser.print(), "JVBERi0x");
}

#[test]
#[ignore = "needs Chromium: make test-full"]
fn the_downloaded_report_opens_from_disk_without_network_or_scripts() {
    let folder = two_runs();
    let site = Site::start(folder.path(), &[]);
    let report = site.get("/run/day-03/report.html");
    drop(site);
    let file = folder.path().join("day-03.html");
    fs::write(&file, report.body).unwrap();
    let browser = Browser::start();
    let disable = json!({"value": true});
    browser.chromium("Emulation.setScriptExecutionDisabled", disable);
    browser.open(&format!("file://{}", file.display()));
    let heading = browser.run("return document.querySelector('h1').innerText");
    let heading = heading.as_str().unwrap();
    assert!(heading.starts_with("A tour"), "{heading}");
    browser.until("haproxy");
    assert_eq!(browser.run("return document.scripts.length"), 0);
    // No URL has an empty host, so this fails on every HTTP request.
    browser.assert_quiet("");
}

#[test]
#[ignore = "needs Chromium: make test-full"]
fn the_keyboard_reaches_a_run_and_selects_two() {
    let folder = two_runs();
    let site = Site::start(folder.path(), &[]);
    let browser = Browser::start();
    browser.open(&site.url);
    let focused = "const it = document.activeElement; return [it.tagName, it.innerText || it.name, \
                   getComputedStyle(it).outlineStyle, it.getAttribute('href')]";
    browser.press(&[TAB]);
    assert_eq!(browser.run(focused)[1], "Skip to content");
    let mut reached = Vec::new();
    for _ in 0..20 {
        browser.press(&[TAB]);
        let at = browser.run(focused);
        assert_ne!(at[2], "none", "the focus on {at} is not visible");
        if at[0] == "INPUT" && at[1] == "run" {
            browser.press(&[' ']);
        }
        if at[1] == "Compare" && at[0] == "BUTTON" {
            browser.press(&[ENTER]);
            break;
        }
        reached.push(at);
    }
    let is_run = |it: &&Value| it[3].as_str().is_some_and(|it| it.starts_with("/run/"));
    assert_eq!(reached.iter().filter(is_run).count(), 2, "{reached:#?}");
    browser.until("worse");
    assert!(browser.text().contains("day-02"), "{}", browser.text());
    browser.assert_quiet(&site.host());
}

#[test]
#[ignore = "needs Chromium and axe-core: make test-full"]
fn a_reload_a_second_tab_and_a_killed_run_lose_nothing() {
    let _turn = turn();
    let folder = TempDir::new().unwrap();
    let site = Site::start(folder.path(), &["."]);
    let browser = Browser::start();
    browser.open(&site.url);
    browser.until("There are no runs yet");
    let (writer, open, mut live) = running(folder.path());
    // The list shows the run without a reload.
    browser.until("mine");
    let first = browser.current_tab();
    browser.open(&format!("http://{}/run/mine/", site.host()));
    live.write(&LiveEvent::Phase {
        phase: "saturate".into(),
    })
    .unwrap();
    let mut responses = 0;
    for at in 0..8 {
        live.write(&second(at, 40_000 + 1_000 * u64::from(at)))
            .unwrap();
        responses += 40_000 + 1_000 * u64::from(at);
    }
    let total = format!(
        "{},{:03} responses in 8 seconds",
        responses / 1_000,
        responses % 1_000
    );
    browser.until(&total);
    let marks = "return document.querySelectorAll('#now svg path, #now svg polyline').length";
    let drawn = browser.run(marks).as_u64().unwrap();
    assert!(drawn > 0, "{}", browser.text());
    assert_accessible(&browser, &axe(), "live");
    browser.picture("live-desktop");
    browser.reload();
    browser.until(&total);
    assert_eq!(browser.run(marks).as_u64(), Some(drawn));
    let second_tab = browser.tab();
    browser.open(&format!("http://{}/run/mine/", site.host()));
    browser.until(&total);
    assert_eq!(browser.run(marks).as_u64(), Some(drawn));
    let to_trial = "document.querySelector('a[href*=\"/trial/\"]').click()";
    browser.run(to_trial);
    browser.until("Raw files");
    browser.back();
    browser.until(&total);
    browser.on_phone(true);
    browser.in_dark_mode(true);
    assert_accessible(&browser, &axe(), "live on a phone");
    browser.picture("live-phone-dark");

    drop((live, open, writer));
    for tab in [first, second_tab] {
        browser.switch(&tab);
        browser.until("killed");
        browser.until("gatebench run --resume");
    }
    browser.assert_quiet(&site.host());
}

#[test]
#[ignore = "needs Chromium: make test-full"]
fn without_scripts_the_page_reloads_itself() {
    let folder = TempDir::new().unwrap();
    let site = Site::start(folder.path(), &["."]);
    let browser = Browser::start();
    browser.open(&site.url);
    browser.chromium(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": true}),
    );
    browser.reload();
    crate::history::common::runs::write_run(&folder.path().join("mine"), 1, |_| {}, |_| {});
    browser.until("mine");
}

#[test]
#[ignore = "needs Chromium: make test-full"]
fn a_run_draws_its_first_chart_within_two_seconds_and_becomes_its_report() {
    let _turn = turn();
    let bench = Bench::new();
    bench.load(
        "- {name: latency, open: {rate_per_second: 200, connections_max: 8}, measure: 6s, timeout: 2s}\n",
    );
    let mut command = bench.command();
    command
        .args([
            "run",
            "suite.yaml",
            "--dir",
            "runs/mine",
            "--serve",
            "--serve-keep",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines();
    let mut said_lines = said.by_ref().map_while(Result::ok);
    let url = said_lines.find_map(|line| Some(line.strip_prefix("page: ")?.trim().to_owned()));
    let url = url.unwrap();
    let rest = thread::spawn(move || said.map_while(Result::ok).for_each(drop));
    let browser = Browser::start();
    browser.open(&url);
    browser.until("measuring load latency");
    let began = std::time::Instant::now();
    while browser.run("return document.querySelectorAll('#now svg').length") == 0 {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "{}",
            browser.text()
        );
    }
    let waited = began.elapsed();
    assert!(waited < Duration::from_millis(2_500), "{waited:?}");
    browser.until("Download the report");
    assert!(browser.text().contains("finished"), "{}", browser.text());
    let (_, host) = url.split_once("//").unwrap();
    browser.assert_quiet(host.split('/').next().unwrap());
    crate::processes::signal(run.id(), "INT");
    run.wait().unwrap();
    rest.join().unwrap();
}
