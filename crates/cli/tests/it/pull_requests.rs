//! The script that the GitHub Action and the GitLab component run, tested with a local server that
//! replaces GitHub and GitLab.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::bench::{Bench, Finished};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/pull-request");

/// More arrivals than one connection can carry, so no trial is valid.
const FLOOD: &str = "- {name: flood, open: {rate_per_second: 100000, connections_max: 1, queue_max: 1}, measure: 300ms}\n";

/// The number of other comments, which fill the first page of the list.
const OTHERS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    method: String,
    path: String,
    authorization: String,
}

#[derive(Default)]
struct State {
    comments: Vec<Value>,
    calls: Vec<Call>,
}

/// A server that stores the comments on one pull request and offers the APIs of GitHub and GitLab.
/// It runs until the test process ends.
struct Server {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Server {
    fn start() -> Self {
        let other = |id| json!({"id": id, "body": "another comment"});
        let state = Arc::new(Mutex::new(State {
            comments: (1..=OTHERS).map(other).collect(),
            calls: Vec::new(),
        }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(&stream.unwrap(), &mut shared.lock().unwrap());
            }
        });
        Self { port, state }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns gatebench's comment. There must be exactly one besides the other comments.
    fn comment(&self) -> String {
        let state = self.state.lock().unwrap();
        let [only] = &state.comments[OTHERS..] else {
            panic!("{:?}", &state.comments[OTHERS..]);
        };
        only["body"].as_str().unwrap().to_owned()
    }

    fn last_call(&self) -> Call {
        self.state.lock().unwrap().calls.last().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, state: &mut State) {
    let mut reader = BufReader::new(stream);
    let mut lines = reader.by_ref().lines().map(|line| line.unwrap());
    let first = lines.next().unwrap();
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let header = |name: &str| {
        let pairs = head.iter().filter_map(|line| line.split_once(": "));
        let mut values = pairs.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();

    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let reply = match method.as_str() {
        "GET" => {
            let page = path.rsplit_once("page=").unwrap().1;
            let page: usize = page.parse().unwrap();
            let shown = state.comments.iter().skip((page - 1) * 100).take(100);
            shown.cloned().collect()
        }
        "POST" => {
            let text: Value = serde_json::from_slice(&body).unwrap();
            let id = state.comments.len() + 1;
            state.comments.push(json!({"id": id, "body": text["body"]}));
            json!({"id": id})
        }
        _ => {
            let text: Value = serde_json::from_slice(&body).unwrap();
            let id: usize = path.rsplit_once('/').unwrap().1.parse().unwrap();
            state.comments[id - 1]["body"] = text["body"].clone();
            json!({"id": id})
        }
    };
    let authorization = header("authorization").or_else(|| header("private-token"));
    state.calls.push(Call {
        method,
        path,
        authorization: authorization.unwrap_or_default(),
    });
    let reply = reply.to_string();
    let length = reply.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let mut stream = stream;
    stream.write_all((head + &reply).as_bytes()).unwrap();
}

fn script(bench: &Bench, words: &[&str], settings: &[(&str, &str)]) -> Finished {
    let programs = Path::new(env!("CARGO_BIN_EXE_gatebench")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let (mark, value) = bench.mark();
    let mut command = Command::new(SCRIPT);
    command
        .args(words)
        .current_dir(bench.path(""))
        .env(mark, value)
        .env("PATH", format!("{}:{path}", programs.display()))
        .envs(settings.iter().copied());
    // The test itself may run in a CI job of GitHub or GitLab.
    for name in ["GITLAB_CI", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"] {
        if !settings.iter().any(|(set, _)| *set == name) {
            command.env_remove(name);
        }
    }
    bench.spawn(command).wait()
}

#[test]
fn a_pull_request_has_one_comment_with_the_newest_result() {
    let bench = Bench::new();
    let server = Server::start();
    bench.write("event.json", r#"{"pull_request": {"number": 7}}"#);
    let url = server.url();
    let run = |name: &str, arguments: &str| {
        let settings = [
            ("GITHUB_API_URL", url.as_str()),
            ("GITHUB_EVENT_PATH", "event.json"),
            ("GITHUB_REPOSITORY", "me/gateway"),
            ("GITHUB_OUTPUT", "output"),
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("GATEBENCH_TOKEN", "secret"),
            ("GATEBENCH_ARGUMENTS", arguments),
        ];
        let finished = script(&bench, &["run", "suite.yaml"], &settings);
        // The next job begins in a new folder.
        std::fs::rename(bench.path("gatebench"), bench.path(name)).unwrap();
        finished
    };
    let call = |method: &str, path: &str| Call {
        method: method.into(),
        path: format!("/repos/me/gateway/issues/{path}"),
        authorization: "Bearer secret".into(),
    };

    let works = "--smoke\n--gateway  'reference'";
    run("first", works).assert_code(0);
    assert_eq!(server.last_call(), call("POST", "7/comments"));
    let comment = server.comment();
    assert!(
        comment.starts_with("<!-- gatebench: gatebench -->\n## Small"),
        "{comment}"
    );
    assert_eq!(bench.read("summary"), bench.read("first/comment.md"));

    bench.faulty("wrong-bytes:1");
    run("second", "--gateway ./faulty").assert_code(1);
    assert_eq!(server.last_call(), call("PATCH", "comments/101"));
    assert!(server.comment().contains("faulty"), "{}", server.comment());

    bench.load(FLOOD);
    let open = run("third", "--gateway reference");
    open.assert_code(0)
        .assert_says(&["warning: the result is inconclusive"]);

    let literal = "--scenario '$(touch made)'";
    run("fourth", literal)
        .assert_code(2)
        .assert_says(&["$(touch made)"]);
    assert!(!bench.path("made").exists());
    let comment = server.comment();
    assert!(comment.contains("exit code 2 and no result"), "{comment}");
    assert_eq!(
        bench.read("output"),
        "exit-code=0\nexit-code=1\nexit-code=4\nexit-code=2\n"
    );
}

#[test]
fn a_comment_contains_the_results_of_each_specification() {
    let bench = Bench::new();
    let words = [
        "spec",
        "--tags",
        "single_route,balancer",
        "--smoke",
        "--gateway",
        "reference",
    ];
    script(&bench, &words, &[("GITHUB_STEP_SUMMARY", "summary")]).assert_code(0);
    let comment = bench.read("gatebench/comment.md");
    let headings = comment.lines().filter(|line| line.starts_with("## "));
    assert!(headings.count() >= 2, "{comment}");
    assert!(comment.contains("One route"), "{comment}");
    assert_eq!(bench.read("summary"), comment);
}

#[test]
fn a_merge_request_gets_the_verdict_of_an_ab_test() {
    let bench = Bench::new();
    let server = Server::start();
    let url = server.url();
    let settings = [
        ("GITLAB_CI", "true"),
        ("CI_API_V4_URL", url.as_str()),
        ("CI_PROJECT_ID", "3"),
        ("CI_MERGE_REQUEST_IID", "9"),
        ("GATEBENCH_NAME", "speed"),
        ("GATEBENCH_STRICT", "true"),
        ("GATEBENCH_TOKEN", "secret"),
        ("GATEBENCH_ARGUMENTS", "--load smoke --budget 1s"),
    ];
    script(&bench, &["ab", "reference", "reference"], &settings).assert_code(4);
    let created = Call {
        method: "POST".into(),
        path: "/projects/3/merge_requests/9/notes".into(),
        authorization: "secret".into(),
    };
    assert_eq!(server.last_call(), created);
    let verdict = bench.read("speed/comment.md");
    assert!(verdict.contains("cannot be distinguished"), "{verdict}");
    let comment = format!("<!-- gatebench: speed -->\n{verdict}");
    assert_eq!(server.comment(), comment);
    assert!(bench.read("speed/junit.xml").ends_with("</testsuites>\n"));

    // A branch pipeline has no merge request.
    std::fs::remove_dir_all(bench.path("speed/run")).unwrap();
    let branch = settings
        .iter()
        .copied()
        .filter(|(name, _)| !name.contains("MERGE"));
    let branch: Vec<_> = branch.collect();
    let finished = script(&bench, &["ab", "reference", "no-such"], &branch);
    finished
        .assert_code(2)
        .assert_says(&["this job does not belong to a pull or merge request"]);
    assert_eq!(server.comment(), comment);
}
