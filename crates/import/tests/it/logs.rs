//! Tests access logs with known contents.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use gatebench_config::parse;
use gatebench_import::{AccessLog, Folder, ImportError, Options};
use gatebench_model::load::Spread;
use gatebench_model::{LoadProfile, Scenario, Shape};

use crate::common::{scenario, text};

/// Returns log lines with these paths and statuses in turn, one per second.
fn lines(requests: &[(&str, u16)], count: usize) -> String {
    let mut log = String::new();
    for (number, (path, status)) in requests.iter().cycle().take(count).enumerate() {
        let (minute, second) = (number / 60 % 60, number % 60);
        log += &format!(
            "192.0.2.{} - alice [31/Jan/2025:14:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" {status} {} \"-\" \"agent\"\n",
            number % 7,
            100 + number % 3
        );
    }
    log
}

fn options() -> Options {
    Options::new("access.log", "mine")
}

fn imported(files: &[&[u8]], options: &Options) -> Result<Folder, ImportError> {
    let mut log = AccessLog::new(options);
    for file in files {
        log.read("access.log", *file, &mut |_| {})?;
    }
    log.finish(options)
}

fn weights(scenario: &Scenario) -> Vec<(String, f64)> {
    scenario
        .requests
        .iter()
        .map(|it| (it.label(), it.weight))
        .collect()
}

#[test]
fn shares_sizes_and_the_curve_are_those_of_the_log() {
    let log = lines(
        &[
            ("/users/17?token=SECRET", 200),
            ("/users/18", 200),
            ("/cart", 200),
            ("/cart", 503),
        ],
        1_200,
    );
    let folder = imported(&[log.as_bytes()], &options()).unwrap();
    let found = scenario(&folder, "scenario.yaml");
    let expected = [
        ("GET /cart".to_owned(), 25.0),
        ("GET /cart 503".to_owned(), 25.0),
        ("GET /users/{number}".to_owned(), 25.0),
        ("GET /users/{number}?token=x".to_owned(), 25.0),
    ];
    assert_eq!(weights(&found), expected);
    for file in &folder.files {
        for personal in ["SECRET", "192.0.2", "alice", "agent"] {
            assert!(
                !file.text.contains(personal),
                "{personal} is in {}",
                file.path
            );
        }
    }
    let load: LoadProfile = parse("load.yaml", text(&folder, "load.yaml")).unwrap();
    let Shape::Open(open) = &load.phases[0].shape else {
        panic!("{load:?}");
    };
    assert_eq!((open.arrivals, open.stages.len()), (Spread::Poisson, 60));
    assert!(
        open.stages
            .iter()
            .all(|stage| (stage.rate_per_second - 1.0).abs() < 1e-9)
    );
    assert_eq!(load.phases[0].measure.to_string(), "1m");
    assert!(
        load.title.contains("the log has only whole seconds"),
        "{}",
        load.title
    );
    let users: LoadProfile = parse("users.yaml", text(&folder, "users.yaml")).unwrap();
    let Shape::Closed(closed) = &users.phases[0].shape else {
        panic!("{users:?}");
    };
    assert_eq!(
        closed.connections, 7,
        "each of seven clients comes back after seven seconds"
    );
    assert!(text(&folder, "users.yaml").contains("mean: 7s"));
}

#[test]
fn a_replay_is_faster_longer_or_cut_to_an_hour() {
    let log = lines(&[("/a", 200)], 1_800) + &lines(&[("/a", 200)], 600).replace(":14:", ":15:");
    let mut options = options();
    options.replay.times = 3.0;
    options.replay.over = Some("30s".parse().unwrap());
    options.replay.hour = Some("2025-01-31T15".parse().unwrap());
    let folder = imported(&[log.as_bytes()], &options).unwrap();
    let load: LoadProfile = parse("load.yaml", text(&folder, "load.yaml")).unwrap();
    let Shape::Open(open) = &load.phases[0].shape else {
        panic!("{load:?}");
    };
    assert_eq!(load.phases[0].measure.to_string(), "30s");
    // Ten minutes of the hour have one request per second.
    let rates: Vec<f64> = open.stages.iter().map(|it| it.rate_per_second).collect();
    assert_eq!(
        (rates[0], rates[9], rates[10], rates.len()),
        (3.0, 3.0, 0.001, 60)
    );
    assert!(
        folder.facts[1]
            .starts_with("600 requests, 2025-01-31 15:00:00 to 2025-01-31 16:00:00 at 3x in 30s"),
        "{:?}",
        folder.facts
    );
    assert!(text(&folder, "suite.yaml").contains("2025-01-31T14 1800"));
    assert!("yesterday".parse::<gatebench_import::Hour>().is_err());
}

#[test]
fn rotated_and_compressed_files_are_one_log() {
    let log = lines(&[("/a", 200), ("/b", 200)], 300);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(log.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let folder = imported(&[&packed, log.as_bytes()], &options()).unwrap();
    assert!(
        folder.facts[0].starts_with("600 lines, read in the format of nginx"),
        "{:?}",
        folder.facts
    );
}

#[test]
fn malformed_lines_are_counted_and_fatal_from_one_percent_on() {
    let log = lines(&[("/a", 200)], 1_000);
    let with = |bad: usize| log.clone() + &"what is this\n".repeat(bad);
    let folder = imported(&[with(9).as_bytes()], &options()).unwrap();
    assert_eq!(folder.facts[1], "malformed lines left out: 9");
    assert_eq!(
        folder.facts[2],
        "  access.log:1001: expected a time in brackets"
    );
    let error = imported(&[with(11).as_bytes()], &options()).unwrap_err();
    let words = error.to_string();
    assert!(
        words.starts_with("access.log: 11 of 1011 lines are not in the format of nginx"),
        "{words}"
    );
    assert!(
        words.contains("\n  access.log:1001: expected a time in brackets"),
        "{words}"
    );
    assert!(!words.contains("what is this"), "{words}");
}

#[test]
fn rare_requests_are_left_out_and_many_names_become_one() {
    let word = |number: usize| {
        number
            .to_string()
            .bytes()
            .map(|it| char::from(it - b'0' + b'a'))
            .collect::<String>()
    };
    let mut log = String::new();
    for number in 0..5_000 {
        log += &lines(
            &[(
                &format!("/{}/{}", word(number % 40), word(number % 90)),
                200,
            )],
            1,
        );
    }
    let folder = imported(&[log.as_bytes()], &options()).unwrap();
    let found = scenario(&folder, "scenario.yaml");
    assert!(found.requests.len() <= 100, "{}", found.requests.len());
    let total: f64 = found.requests.iter().map(|it| it.weight).sum();
    assert!(total > 99.0, "{total}");
    let fact = folder
        .facts
        .iter()
        .find(|it| it.starts_with("request shares"))
        .unwrap();
    assert!(fact.contains("at most 0.0"), "{fact}");
}

#[test]
fn a_log_without_requests_is_refused() {
    let log = "192.0.2.1 - - [31/Jan/2025:14:00:00 +0000] \"-\" 408 0\n".repeat(200);
    let error = imported(&[log.as_bytes()], &options()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "access.log: it has no request that can be replayed"
    );
    let mut options = options();
    options.replay.hour = Some("2020-01-01T00".parse().unwrap());
    let log = lines(&[("/a", 200)], 100);
    let error = imported(&[log.as_bytes()], &options).unwrap_err();
    assert!(error.remedy().contains("--hour"), "{}", error.remedy());
}

#[test]
fn files_without_entries_and_comments_do_not_count_against_the_format() {
    let log = "# comment\n".repeat(300) + &lines(&[("/a", 200)], 300);
    let files: [&[u8]; 3] = [b"", b"\n# comment\n", log.as_bytes()];
    let folder = imported(&files, &options()).unwrap();
    let fact = &folder.facts[0];
    assert!(
        fact.starts_with("300 lines, read in the format of nginx"),
        "{fact}"
    );
}
