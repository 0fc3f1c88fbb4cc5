//! The report files of `gatebench load`.

use serde_json::Value;

use crate::load::{Loads, number};

#[test]
fn a_report_is_written_in_the_format_of_its_extension() {
    let loads = Loads::new();
    let files = "--report load.html --report load.md --report load.json --report load.csv \
                 --report load.xml --report load.txt";
    let words = "--rate 500 -d 2100ms --warm-up 0s --check status=200 --threshold max<1us";
    let finished = loads.load(&format!("--quiet {files} {words}"));
    finished.assert_code(1);
    let read = |extension: &str| loads.bench.read(&format!("load.{extension}"));
    assert_eq!(read("txt"), finished.stdout);
    let written: Value = serde_json::from_str(&read("json")).unwrap();
    let requests = number(&written, "/requests");
    assert!(requests >= 1_000);
    let csv = read("csv");
    assert!(csv.starts_with("figure,value\n"), "{csv}");
    assert!(
        csv.contains(&format!("\nresponse_time_ns.count,{requests}\n")),
        "{csv}"
    );
    let junit = read("xml");
    assert!(junit.contains("tests=\"3\" failures=\"1\""), "{junit}");
    assert!(junit.contains("max&lt;1us missed"), "{junit}");
    let markdown = read("md");
    for part in [
        "## GET http://",
        "### Latency",
        "| lateness |",
        "- max&lt;1us missed",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let page = read("html");
    for part in [
        "Latency by percentile",
        "Second by second",
        "responses per second",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let wrong = loads.load("--report load.pdf");
    wrong.assert_code(2).assert_says(&["load.pdf", ".html"]);
    let nowhere = loads.load("-n 1 --report nowhere/load.html");
    nowhere.assert_code(3).assert_says(&["nowhere/load.html"]);
}
