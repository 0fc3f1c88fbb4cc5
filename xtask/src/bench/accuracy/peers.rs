//! What the others say of the same upstream under the same load, each as people use it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Bench;
use super::case::{Case, Job};
use super::judge::{QUANTILES, Trial};
use super::origin::Origin;
use super::table::{Table, ms, ms_or_dash};
use super::tool::{self, Times};
use crate::bench::folder::Folder;
use crate::bench::programs::Programs;

/// Connections and users that people begin with.
const CONNECTIONS: u32 = 64;
const K6_USERS: u32 = 50;

/// A load tool that is there.
pub struct Peer {
    pub name: &'static str,
    program: PathBuf,
    ask: Ask,
}

/// Runs a program against a URL.
type Ask = fn(&Path, &str, &Job) -> Result<Answer, String>;

/// What a peer says.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    pub times: Times,
    pub requests: Option<u64>,
}

/// The peers on the path or among those that the project installed for itself.
pub fn installed(programs: &Programs) -> Vec<Peer> {
    let all: [(_, _, Ask); 5] = [
        ("oha", "oha", |program, url, job| {
            oha(program, url, job, &[])
        }),
        ("oha, corrected", "oha", |program, url, job| {
            oha(program, url, job, &["--latency-correction"])
        }),
        ("k6", "k6", k6),
        ("wrk2", "wrk2", |program, url, job| {
            wrk(program, url, job, &["-R", &job.rate_per_second.to_string()])
        }),
        ("wrk, closed", "wrk", |program, url, job| {
            wrk(program, url, job, &[])
        }),
    ];
    let found = all.into_iter().filter_map(|(name, word, ask)| {
        let program = programs.find(word).ok()?.into();
        Some(Peer { name, program, ask })
    });
    found.collect()
}

impl Peer {
    /// Drives the load, from a new beginning of the upstream.
    pub fn run(&self, origin: &Origin, job: &Job) -> Result<Answer, String> {
        eprintln!("  {}", self.name);
        origin.begin(job, 0)?;
        (self.ask)(&self.program, &origin.url(&job.target), job)
    }
}

/// The table of all tools.
pub fn table(peers: &[Peer]) -> Table {
    let ours = ["case", "", "truth", "gatebench"];
    Table::new(
        2,
        ours.into_iter().chain(peers.iter().map(|peer| peer.name)),
    )
}

/// Runs every peer on a case and adds what all say.
pub fn compare(
    bench: &Bench<'_>,
    case: &Case,
    trial: &Trial,
    peers: &[Peer],
    table: &mut Table,
) -> Result<(), String> {
    let origin = Origin::start(bench.programs)?;
    let answers: Vec<Answer> = peers
        .iter()
        .map(|peer| peer.run(&origin, &trial.job))
        .collect::<Result<_, _>>()?;
    for (name, q, pick) in &QUANTILES[..4] {
        let ours = [
            case.name.to_owned(),
            (*name).to_owned(),
            ms(trial.truth.quantile_ns(*q) as f64),
            ms_or_dash(pick(&trial.said.times)),
        ];
        let theirs = answers.iter().map(|answer| ms_or_dash(pick(&answer.times)));
        table.row(ours.into_iter().chain(theirs));
    }
    let ours = [
        case.name.to_owned(),
        "requests".to_owned(),
        trial.truth.response_ns.len().to_string(),
        trial.said.sent().to_string(),
    ];
    let told = |answer: &Answer| answer.requests.map_or("–".into(), |it| it.to_string());
    table.row(ours.into_iter().chain(answers.iter().map(told)));
    Ok(())
}

fn oha(program: &Path, url: &str, job: &Job, extra: &[&str]) -> Result<Answer, String> {
    let mut command = Command::new(program);
    command.args(["--no-tui", "--output-format", "json", "-z"]);
    command.arg(format!("{}s", job.seconds));
    command
        .args(["-q", &job.rate_per_second.to_string()])
        .args(extra)
        .arg(url);
    read_oha(&tool::output(&mut command)?)
}

fn read_oha(text: &str) -> Result<Answer, String> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("oha printed no JSON ({error}): {text}"))?;
    let seconds = |value: &Value| value.as_f64().map(|seconds| seconds * 1e9);
    let at = |name: &str| seconds(&value["latencyPercentiles"][name]);
    let sum = |name: &str| {
        let each = value[name]
            .as_object()
            .into_iter()
            .flat_map(|it| it.values());
        each.filter_map(Value::as_u64).sum::<u64>()
    };
    Ok(Answer {
        times: Times {
            p50: at("p50"),
            p90: at("p90"),
            p99: at("p99"),
            p99_9: at("p99.9"),
            max: seconds(&value["summary"]["slowest"]),
        },
        requests: Some(sum("statusCodeDistribution") + sum("errorDistribution")),
    })
}

fn k6(program: &Path, url: &str, job: &Job) -> Result<Answer, String> {
    let folder = Folder::new()?;
    let script = folder.write("script.js", &k6_script(url, job))?;
    let mut command = Command::new(program);
    command.args([
        "run",
        "--quiet",
        "--no-color",
        "--no-usage-report",
        "--address",
        "",
    ]);
    command.arg(script).env("K6_NO_USAGE_REPORT", "true");
    read_k6(&tool::output(&mut command)?)
}

/// What people write: a constant arrival rate with 50 users.
fn k6_script(url: &str, job: &Job) -> String {
    let (rate, seconds) = (job.rate_per_second, job.seconds);
    format!(
        "import http from 'k6/http';\n\
         export const options = {{\n\
         \x20 summaryTrendStats: ['p(50)', 'p(90)', 'p(99)', 'p(99.9)', 'max'],\n\
         \x20 scenarios: {{ load: {{ executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s',\n\
         \x20   duration: '{seconds}s', preAllocatedVUs: {K6_USERS} }} }},\n\
         }};\n\
         export default function () {{ http.get('{url}'); }}\n\
         export function handleSummary(data) {{\n\
         \x20 return {{ stdout: JSON.stringify(data.metrics) }};\n\
         }}\n"
    )
}

fn read_k6(text: &str) -> Result<Answer, String> {
    let start = text
        .find('{')
        .ok_or_else(|| format!("k6 printed no JSON: {text}"))?;
    let value: Value = serde_json::from_str(text[start..].trim())
        .map_err(|error| format!("k6 printed no JSON ({error}): {text}"))?;
    let duration = &value["http_req_duration"]["values"];
    let at = |name: &str| duration[name].as_f64().map(|ms| ms * 1e6);
    Ok(Answer {
        times: Times {
            p50: at("p(50)"),
            p90: at("p(90)"),
            p99: at("p(99)"),
            p99_9: at("p(99.9)"),
            max: at("max"),
        },
        requests: value["http_reqs"]["values"]["count"].as_u64(),
    })
}

/// wrk, which cannot hold a rate, and wrk2, which is told one.
fn wrk(program: &Path, url: &str, job: &Job, extra: &[&str]) -> Result<Answer, String> {
    let folder = Folder::new()?;
    let script = folder.write("done.lua", WRK_DONE)?;
    let mut command = Command::new(program);
    command.args([
        "-t1",
        &format!("-c{CONNECTIONS}"),
        &format!("-d{}s", job.seconds),
    ]);
    command.args(extra).arg("-s").arg(script).arg(url);
    read_wrk(&tool::output(&mut command)?)
}

/// Percentiles in microseconds, and how many requests there were.
const WRK_DONE: &str = "\
done = function(summary, latency, requests)
  io.write(string.format('found %d %d %d %d %d %d\\n', summary.requests,
    latency:percentile(50), latency:percentile(90), latency:percentile(99),
    latency:percentile(99.9), latency.max))
end
";

fn read_wrk(text: &str) -> Result<Answer, String> {
    let line = text.lines().find_map(|line| line.strip_prefix("found "));
    let numbers = line.map(|line| line.split(' ').flat_map(str::parse).collect::<Vec<f64>>());
    let Some([requests, p50, p90, p99, p99_9, max]) = numbers.as_deref() else {
        return Err(format!("wrk printed no percentiles: {text}"));
    };
    let ns = |micros: &f64| Some(micros * 1e3);
    Ok(Answer {
        times: Times {
            p50: ns(p50),
            p90: ns(p90),
            p99: ns(p99),
            p99_9: ns(p99_9),
            max: ns(max),
        },
        requests: Some(*requests as u64),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_the_peers_print_is_read() {
        let text = r#"{"summary": {"slowest": 0.5}, "latencyPercentiles": {"p50": 0.001, "p99.9": 0.25},
            "statusCodeDistribution": {"200": 7, "503": 1}, "errorDistribution": {"aborted": 2}}"#;
        let answer = read_oha(text).unwrap();
        assert_eq!(
            (answer.times.p50, answer.times.p99_9),
            (Some(1e6), Some(2.5e8))
        );
        assert_eq!((answer.times.p90, answer.requests), (None, Some(10)));

        let text = r#"
            {"http_req_duration": {"values": {"p(50)": 1.5, "max": 3}}, "http_reqs": {"values": {"count": 5}}}"#;
        let answer = read_k6(text).unwrap();
        assert_eq!(
            (answer.times.p50, answer.times.max),
            (Some(1.5e6), Some(3e6))
        );
        assert_eq!(answer.requests, Some(5));

        let answer = read_wrk("Running 1s test\nfound 100 1 2 3 4 5\nmore\n").unwrap();
        assert_eq!((answer.times.p99, answer.times.max), (Some(3e3), Some(5e3)));
        assert_eq!(answer.requests, Some(100));
        assert!(read_wrk("unable to connect").is_err());
    }
}
