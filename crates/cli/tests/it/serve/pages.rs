//! The pages of runs that have ended.

use std::fs;
use std::path::Path;
use std::process::Command;

use gatebench_model::Culprit;
use gatebench_store::Outcome;
use serde_json::Value;
use tempfile::TempDir;

use super::site::{Response, Site, links};
use crate::history::common::Made;
use crate::history::common::runs::{slower, write_run};
use crate::history::nights;

/// Writes two runs of ten blocks, a day apart. In the second run, haproxy needs 1.5 times the CPU
/// time.
pub(super) fn two_runs() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (day, factor) in [("02", 1.0), ("03", 1.5)] {
        write_run(
            &folder.path().join(format!("gatebench-runs/day-{day}")),
            10,
            |manifest| manifest.created = format!("2026-01-{day}T03:04:05Z").parse().unwrap(),
            |made| slower(made, "haproxy", factor),
        );
    }
    folder
}

pub(super) fn gatebench(folder: &Path, words: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_gatebench"))
        .args(words.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn three_clicks_lead_to_a_raw_file_and_the_download_is_the_report() {
    let folder = two_runs();
    gatebench(folder.path(), "report gatebench-runs/day-03");
    let site = Site::start(folder.path(), &[]);
    let list = site.page("/");
    let runs = links(&list, "/run/");
    assert_eq!(
        runs,
        ["/run/day-03/", "/run/day-02/"],
        "the newest run comes first"
    );
    for words in ["finished", "nginx 1.22.1", "2026-01-03 03:04:05 UTC"] {
        assert!(list.contains(words), "{words}:\n{list}");
    }
    let report = fs::read(folder.path().join("gatebench-runs/day-03/report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let headline = report["headlines"][0]["text"].as_str().unwrap();
    assert!(list.contains(headline), "{headline}");

    let run = site.page(&runs[0]);
    let trials = links(&run, "/trial/");
    assert_eq!(trials.len(), report["trials"].as_array().unwrap().len());
    let trial = site.page(&trials[0]);
    assert!(
        trial.contains("<svg") && trial.contains("saturate"),
        "{trial}"
    );
    let file = links(&trial, "/file/series.csv").remove(0);
    let name = trials[0].trim_end_matches('/').rsplit('/').next().unwrap();
    let place = format!("gatebench-runs/day-03/trials/{name}/series.csv");
    let series = fs::read_to_string(folder.path().join(place)).unwrap();
    for line in series.lines() {
        assert!(site.page(&file).contains(line), "{line}");
    }

    let share = site.get("/run/day-03/report.html");
    let page = fs::read_to_string(folder.path().join("gatebench-runs/day-03/report.html"));
    assert!(
        share.body == page.unwrap(),
        "the download differs from report.html"
    );
    let disposition = share.header("content-disposition").unwrap();
    assert_eq!(disposition, "attachment; filename=\"day-03.html\"");
}

#[test]
fn the_page_has_the_verdict_of_compare() {
    let folder = two_runs();
    let words = "compare gatebench-runs/day-02 gatebench-runs/day-03 --format json";
    let found: Value = serde_json::from_str(&gatebench(folder.path(), words)).unwrap();
    assert_eq!(found["decision"], "worse", "{found}");
    let verdict = found["text"].as_str().unwrap();
    let site = Site::start(folder.path(), &[]);
    let list = site.page("/");
    let form = "<form action=\"/compare\" method=\"get\">";
    let (_, rest) = list.split_once(form).unwrap();
    let boxes = rest.split("name=\"run\" value=\"").skip(1);
    let names = boxes.filter_map(|it| it.split('"').next());
    let query: Vec<String> = names.map(|name| format!("run={name}")).collect();
    // The list has the newer run first; the older one is still the baseline.
    assert_eq!(query, ["run=day-03", "run=day-02"]);
    // Three clicks lead to a comparison: on the boxes of two runs and on the button.
    let page = site.page(&format!("/compare?{}", query.join("&")));
    // On the page, a range and its unit stay on one line.
    let has_verdict = |page: &str| {
        let plain = page.replace('\u{a0}', " ").replace('\u{2060}', "");
        plain.contains(verdict)
    };
    assert!(has_verdict(&page), "{verdict}\n{page}");
    let swapped = links(&page, "/compare?").remove(0);
    assert!(!has_verdict(&site.page(&swapped)));
    // If the query names only the candidate, the form selects the other run as the baseline.
    for (candidate, baseline) in [("day-03", "day-02"), ("day-02", "day-03")] {
        let form = site.page(&format!("/compare?run={candidate}"));
        let selected = form.split(" selected=\"selected\">").skip(1);
        let selected: Vec<&str> = selected.filter_map(|it| it.split('<').next()).collect();
        assert_eq!(selected[..2], [baseline, candidate], "{form}");
    }
    for wrong in [
        "run=day-02&run=day-03&run=x",
        "metric=x",
        "baseline=x&candidate=day-02",
    ] {
        assert!(
            site.get(&format!("/compare?{wrong}")).status >= 400,
            "{wrong}"
        );
    }
}

#[test]
fn the_history_leads_to_the_run_of_a_change() {
    let folder = nights();
    let site = Site::start(folder.path(), &[]);
    let list = site.page("/");
    for path in [&*links(&list, "/history")[0], "/history?gateway=haproxy"] {
        let page = site.page(path);
        assert!(page.contains("class=\"change worse\"") && page.contains("in night-07"));
        let run = site.page(&links(&page, "/run/night-07/")[0]);
        assert!(run.contains("id=\"results\""), "{run}");
    }
    let list = site.page("/?filter=night-1");
    assert!(list.contains("9 of 18 runs"), "{list}");
}

#[test]
fn the_contents_of_runs_are_shown_as_text() {
    let folder = TempDir::new().unwrap();
    let run = "<b>a & \"b\"";
    let dir = folder.path().join(run);
    write_run(
        &dir,
        1,
        |manifest| manifest.plan.suite = "<script>alert(1)</script>".into(),
        |made| made.record.warnings.push("<img src=x onerror=1>".into()),
    );
    let site = Site::start(folder.path(), &["."]);
    let list = site.page("/");
    assert!(list.contains("&lt;script&gt;") && !list.contains("<script>alert"));
    let run = links(&list, "/run/").remove(0);
    let page = site.page(&run);
    assert!(
        !page.contains("<script>alert") && !page.contains("<b>a"),
        "{page}"
    );
    let trial = links(&page, "/trial/").remove(0);
    let trial_page = site.page(&trial);
    assert!(trial_page.contains("&lt;img") && !trial_page.contains("<img src=x"));
    let file = links(&trial_page, "nginx.conf").remove(0);
    assert_sealed(&site.get(&file));
}

/// Asserts that a browser shows a response as plain text, without access to the site.
#[track_caller]
fn assert_sealed(raw: &Response) {
    assert_eq!(
        raw.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(raw.header("x-content-type-options"), Some("nosniff"));
    let policy = raw.header("content-security-policy").unwrap();
    assert!(
        policy.contains("sandbox") && !policy.contains("allow"),
        "{policy}"
    );
}

#[test]
fn the_words_of_a_failed_gateway_are_shown_as_text() {
    const HOSTILE: &str = "<script>alert(1)</script>";
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("mine");
    let fail = |made: &mut Made| {
        if made.is("nginx") {
            made.record.outcome = Outcome::Failed {
                culprit: Culprit::Gateway("nginx".into()),
                reason: format!("the gateway ended: {HOSTILE}"),
                remedy: format!("read {HOSTILE}"),
                phase: None,
            };
        }
    };
    write_run(&dir, 1, |_| {}, fail);
    let log = "gateway/gateway.stderr.log";
    let trial = "trials/0002-proxy-json-nginx-b1";
    fs::write(dir.join(trial).join(log), HOSTILE).unwrap();
    // The list shows the first sentence of the report, which names the failure.
    gatebench(folder.path(), "report mine");
    let site = Site::start(folder.path(), &["."]);
    let trial = links(&site.page("/run/mine/"), "/trial/0002-").remove(0);
    for path in ["/", "/run/mine/", &*trial, "/run/mine/report.html"] {
        let page = site.page(path);
        let escaped = "&lt;script&gt;alert(1)&lt;/script&gt;";
        assert!(page.contains(escaped), "{path}: {page}");
        assert!(!page.contains("<script>alert"), "{path}: {page}");
    }
    let raw = site.get(&links(&site.page(&trial), log).remove(0));
    assert!(raw.body.contains(HOSTILE), "{raw:?}");
    assert_sealed(&raw);
}

#[test]
fn a_run_directory_is_served_alone_and_a_folder_must_exist() {
    let folder = two_runs();
    let site = Site::start(folder.path(), &["gatebench-runs/day-02"]);
    assert!(site.url.contains("/run/day-02/?token="), "{}", site.url);
    assert_eq!(links(&site.page("/"), "/run/"), ["/run/day-02/"]);
    assert_eq!(site.get("/run/day-03/").status, 404);

    let output = Command::new(env!("CARGO_BIN_EXE_gatebench"))
        .args(["serve", "missing"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("missing: the directory does not exist"),
        "{said}"
    );
}

#[test]
fn an_unreadable_run_is_listed_with_the_reason() {
    let folder = two_runs();
    let manifest = folder.path().join("gatebench-runs/day-02/manifest.json");
    fs::write(&manifest, "{\"schema\": 1, \"gatebench\"").unwrap();
    let site = Site::start(folder.path(), &[]);
    let list = site.page("/");
    assert!(
        list.contains("is damaged") && list.contains("/run/day-03/"),
        "{list}"
    );
    let page = site.get("/run/day-02/");
    assert_eq!(page.status, 500);
    assert!(page.body.contains("Restore"), "{}", page.body);
}
