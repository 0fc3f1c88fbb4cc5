//! Runs that a page starts.

use std::fs;

use super::site::{Response, Site};
use super::webdriver::Browser;
use crate::bench::Bench;

/// Creates a bench whose suite is one of the choices of the form.
fn bench() -> Bench {
    let bench = Bench::new();
    let over = bench.path("over/scenarios/own");
    fs::create_dir_all(&over).unwrap();
    let suite = bench.read("suite.yaml");
    let suite = suite.replace("./ping.yaml", "ping");
    let suite = suite.replace("./load.yaml", "short");
    fs::write(over.join("small.yaml"), suite).unwrap();
    fs::copy(bench.path("ping.yaml"), over.join("ping.yaml")).unwrap();
    fs::copy(bench.path("load.yaml"), over.join("short.yaml")).unwrap();
    bench
}

fn site(bench: &Bench) -> Site {
    let words = ["runs", "--allow-run", "--overlay", "over"];
    Site::start(&bench.path(""), &words)
}

fn token(site: &Site) -> String {
    let page = site.page("/start?suite=small&gateway=reference&length=smoke");
    let (_, rest) = page.split_once("name=\"token\" value=\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

fn post(site: &Site, lines: &[&str], form: &str) -> Response {
    let host = format!("Host: {}", site.host());
    let length = format!("Content-Length: {}", form.len());
    let form_type = "Content-Type: application/x-www-form-urlencoded";
    let lines = [&[&*host, &length, form_type], lines].concat().join("\r\n");
    site.send(&format!("POST /start HTTP/1.1\r\n{lines}\r\n\r\n{form}"))
}

const CHOICE: &str = "suite=small&gateway=reference&length=smoke";

#[test]
fn a_page_starts_the_run_that_it_shows() {
    let bench = bench();
    let site = site(&bench);
    let page = site.page(&format!("/start?{CHOICE}"));
    let command = "gatebench run small --gateway reference --smoke --overlay over --dir";
    assert!(page.contains(command), "{page}");
    let cookie = format!("Cookie: {}", site.cookie);
    let origin = format!("Origin: http://{}", site.host());
    let form = format!("{CHOICE}&token={}", token(&site));
    let response = post(&site, &[&cookie, &origin], &form);
    assert_eq!(response.status, 303, "{response:?}");
    let path = response.header("location").unwrap().to_owned();
    let again = post(&site, &[&cookie, &origin], &form);
    assert_eq!(again.status, 403, "a token starts one run: {again:?}");
    let second = format!("{CHOICE}&token={}", token(&site));
    let busy = post(&site, &[&cookie, &origin], &second);
    assert_eq!(busy.status, 409, "{busy:?}");

    let mut changes = site.changes(&format!("{path}events"));
    changes.until("event: over");
    bench.wait_for("the report", || {
        let page = site.page(&path);
        page.contains("Download the report").then_some(())
    });
    let runs: Vec<_> = fs::read_dir(bench.path("runs")).unwrap().collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
}

/// The page's referrer policy determines which `Origin` a browser sends with a form.
#[test]
#[ignore = "needs Chromium: make test-full"]
fn the_button_starts_a_run_in_a_browser() {
    let bench = bench();
    let site = site(&bench);
    let browser = Browser::start();
    browser.open(&site.url);
    let page = site.url.split("/?").next().unwrap();
    browser.open(&format!("{page}/start?{CHOICE}"));
    browser.run("document.querySelector('form[method=post] button').click()");
    browser.until("Download the report");
}

#[test]
fn only_a_page_of_this_server_starts_a_run() {
    let bench = bench();
    let site = site(&bench);
    let cookie = format!("Cookie: {}", site.cookie);
    let origin = format!("Origin: http://{}", site.host());
    // With `no-referrer`, a browser would send `Origin: null` with the form.
    let page = site.get("/start");
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    let foreign = ["Origin: http://evil.example", "Origin: null", "X: y"];
    for other in foreign {
        let form = format!("{CHOICE}&token={}", token(&site));
        assert_eq!(post(&site, &[&cookie, other], &form).status, 403, "{other}");
    }
    let other_port = format!("Origin: http://127.0.0.1:{}", site.port ^ 1);
    let form = format!("{CHOICE}&token={}", token(&site));
    assert_eq!(post(&site, &[&cookie, &other_port], &form).status, 403);
    assert_eq!(post(&site, &[&origin], &form).status, 403, "no cookie");
    for wrong in [CHOICE.to_owned(), format!("{CHOICE}&token=0123")] {
        assert_eq!(post(&site, &[&cookie, &origin], &wrong).status, 403);
    }
    for outside in [
        "suite=./suite.yaml",
        "suite=small&gateway=./mine",
        "suite=small&length=--quick",
        "suite=small&dir=/tmp",
    ] {
        let form = format!("{outside}&token={}", token(&site));
        let response = post(&site, &[&cookie, &origin], &form);
        assert_eq!(response.status, 400, "{outside}: {response:?}");
    }
    for path in ["/", "/run/mine/", "/history"] {
        let lines = [&*cookie, &*origin, "Content-Length: 0"];
        assert_eq!(site.request("POST", path, &lines).status, 405, "{path}");
    }
    let long = format!("{CHOICE}&gateway={}", "x".repeat(10_000));
    assert_eq!(post(&site, &[&cookie, &origin], &long).status, 413);
    let none = fs::read_dir(bench.path("runs")).unwrap().count();
    assert_eq!(none, 0);
}
