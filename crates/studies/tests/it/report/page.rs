//! The HTML page is well-formed and self-contained, and the same findings give the same page.

use gatebench_report::html;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{fixture, verdicts};

/// Parses the page as XML. Fails on links to files, and on everything on which [`files`] fails.
pub fn check(text: &str) {
    let files = files(text);
    assert!(files.is_empty(), "{files:?}");
}

/// Parses the page as XML, and returns the files to which it links. Fails on anything that a
/// browser would fetch or run, on duplicate ids, and on references to missing ids.
pub fn files(text: &str) -> Vec<String> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut ids = Vec::new();
    let mut targets = Vec::new();
    let mut depth = 0_usize;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(element) => {
                depth += 1;
                attributes(&element, &mut ids, &mut targets);
            }
            Event::Empty(element) => attributes(&element, &mut ids, &mut targets),
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id occurs twice");
    let mut files = Vec::new();
    for target in targets {
        match target.strip_prefix('#') {
            Some(id) => assert!(ids.iter().any(|it| it == id), "{target} leads nowhere"),
            None => files.push(target),
        }
    }
    files
}

fn attributes(element: &BytesStart<'_>, ids: &mut Vec<String>, targets: &mut Vec<String>) {
    let name = element.name().as_ref().to_owned();
    assert!(
        !["script", "link", "iframe", "object"].contains(&name.as_str()),
        "{name}"
    );
    for attribute in element.attributes() {
        let attribute = attribute.unwrap();
        let value = attribute.value.to_string();
        let key = attribute.key.as_ref();
        let is_fetched = key == "src" && !value.starts_with("data:image/svg+xml;base64,");
        assert!(
            !key.starts_with("on") && !is_fetched && key != "style",
            "{name}"
        );
        match key {
            "id" => ids.push(value),
            "href" => targets.push(value),
            "aria-labelledby" => targets.extend(value.split(' ').map(|id| format!("#{id}"))),
            _ => {}
        }
    }
}

#[test]
fn the_page_is_well_formed_and_fetches_nothing() {
    let text = html::render(&fixture::findings());
    check(&text);
    let style = text.split("<style>").nth(1).unwrap();
    let style = style.split("</style>").next().unwrap();
    for fetch in ["url(", "@import", "@font-face", "http:", "https:"] {
        assert!(!style.contains(fetch), "{fetch}");
    }
    // The page is kept so that it can be viewed in a browser.
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/report.html"), &text).unwrap();
}

#[test]
fn verdicts_are_shown_if_there_are_any() {
    let text = html::render(&verdicts::with_verdicts());
    check(&text);
    for chip in [
        "better\">better",
        "worse\">worse",
        "same\">no change",
        "open\">inconclusive",
    ] {
        assert!(text.contains(chip), "{chip}");
    }
    // Two scenarios with seven comparisons each; one comparison in each has no interval.
    assert_eq!(text.matches("class=\"mean\"").count(), 12);
    assert!(!html::render(&fixture::findings()).contains("Verdicts:"));
    std::fs::write(
        concat!(env!("CARGO_TARGET_TMPDIR"), "/verdicts.html"),
        &text,
    )
    .unwrap();
}

#[test]
fn the_table_shows_memory_and_start() {
    let text = html::render(&fixture::findings());
    assert!(text.contains(">memory<span class=\"unit\">MiB<"));
    assert!(text.contains(">start<span class=\"unit\">ms<"));
}

#[test]
fn the_same_findings_give_the_same_bytes() {
    let findings = fixture::findings();
    assert!(html::render(&findings) == html::render(&findings));
}

#[test]
fn a_variant_has_one_color_everywhere() {
    let text = html::render(&fixture::findings());
    let rows: Vec<&str> = text
        .match_indices("<span class=\"name\">nginx<")
        .map(|(at, _)| text[..at].rsplit("<tr class=\"").next().unwrap())
        .collect();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.starts_with("v2\"")), "{rows:?}");
}

#[test]
fn points_beyond_the_last_trustworthy_percentile_are_not_drawn() {
    let mut findings = fixture::findings();
    for curve in findings.scenarios.iter_mut().flat_map(|s| &mut s.curves) {
        curve.trusted_percentile = 99.0;
    }
    let text = html::render(&findings);
    assert!(text.contains(">p99<") && !text.contains(">p99.9<"));
}
