//! Runs external load generators against the same upstream, each with its usual options, and at the
//! same rate if it can send at a fixed rate.

use std::path::{Path, PathBuf};
use std::process::Command;

use gatebench_external::{Figures, Generator};
use serde_json::json;

use super::Bench;
use super::case::{Case, Job};
use super::judge::{QUANTILES, Trial};
use super::origin::Origin;
use super::tool::{self, Times};
use crate::folder::Folder;
use crate::programs::Programs;
use crate::table::{Table, ms, ms_or_dash};
use crate::tools::external::{Load, figures};
use crate::tools::oha;

/// A typical number of connections, for wrk and wrk2.
const CONNECTIONS: u32 = 64;
/// A typical number of k6's virtual users.
const K6_USERS: u32 = 50;

/// An installed external load generator.
pub struct External {
    pub name: &'static str,
    program: PathBuf,
    ask: Ask,
}

type Ask = fn(&Path, &str, &Job) -> Result<Response, String>;

/// The figures of an external load generator that are compared.
pub struct Response {
    pub times: Times,
    pub requests: u64,
}

/// Finds the external load generators on PATH and in the folder of `make external`.
pub fn installed(programs: &Programs) -> Vec<External> {
    let all: [(_, _, Ask); 5] = [
        ("oha", "oha", |program, url, job| {
            with_oha(program, url, job, &[])
        }),
        ("oha, corrected", "oha", |program, url, job| {
            with_oha(program, url, job, &["--latency-correction"])
        }),
        ("k6", "k6", with_k6),
        ("wrk2", "wrk2", |program, url, job| {
            with_wrk(program, url, job, &["-R", &job.rate_per_second.to_string()])
        }),
        ("wrk, closed", "wrk", |program, url, job| {
            with_wrk(program, url, job, &[])
        }),
    ];
    let found = all.into_iter().filter_map(|(name, word, ask)| {
        let program = programs.find(word).ok()?.into();
        Some(External { name, program, ask })
    });
    found.collect()
}

impl External {
    pub fn run(&self, origin: &Origin, job: &Job) -> Result<Response, String> {
        eprintln!("  {}", self.name);
        origin.begin(job, 0)?;
        (self.ask)(&self.program, &origin.url(&job.target), job)
    }
}

pub fn table(external: &[External]) -> Table {
    let ours = ["case", "", "truth", "gatebench"];
    Table::new(2, ours.into_iter().chain(external.iter().map(|it| it.name)))
}

pub fn compare(
    bench: &Bench<'_>,
    case: &Case,
    trial: &Trial,
    external: &[External],
    table: &mut Table,
) -> Result<(), String> {
    let origin = Origin::start(bench.programs)?;
    let responses: Vec<Response> = external
        .iter()
        .map(|it| it.run(&origin, &trial.job))
        .collect::<Result<_, _>>()?;
    for (name, q, pick) in &QUANTILES[..4] {
        let ours = [
            case.name.to_owned(),
            (*name).to_owned(),
            ms(trial.truth.quantile_ns(*q) as f64),
            ms_or_dash(pick(&trial.said.times)),
        ];
        let theirs = responses
            .iter()
            .map(|response| ms_or_dash(pick(&response.times)));
        table.row(ours.into_iter().chain(theirs));
    }
    let ours = [
        case.name.to_owned(),
        "requests".to_owned(),
        trial.truth.response_ns.len().to_string(),
        trial.said.sent().to_string(),
    ];
    let theirs = responses
        .iter()
        .map(|response| response.requests.to_string());
    table.row(ours.into_iter().chain(theirs));
    Ok(())
}

fn with_oha(program: &Path, url: &str, job: &Job, extra: &[&str]) -> Result<Response, String> {
    let mut command = Command::new(program);
    command.args(["--no-tui", "--output-format", "json", "-z"]);
    command.arg(format!("{}s", job.seconds));
    command
        .args(["-q", &job.rate_per_second.to_string()])
        .args(extra)
        .arg(url);
    let figures = oha::figures(&tool::output(&mut command)?)?;
    Ok(Response::of(&figures, figures.sent))
}

fn with_k6(program: &Path, url: &str, job: &Job) -> Result<Response, String> {
    let folder = Folder::new()?;
    let script = folder.write("script.js", k6_script(url, job))?;
    let load = Load {
        script: Some(script.as_path()),
        ..closed(url, job)
    };
    let mut command = Command::new(program);
    command.args(load.arguments(Generator::K6, &folder)?);
    tool::output(&mut command)?;
    let summary = folder.path(Generator::K6.result_file().unwrap_or_default());
    let text = std::fs::read_to_string(&summary)
        .map_err(|error| format!("{}: {error}", summary.display()))?;
    let figures = figures(Generator::K6, &text)?;
    Ok(Response::of(&figures, figures.sent))
}

/// A script as k6's users typically write it.
fn k6_script(url: &str, job: &Job) -> String {
    let (rate, seconds) = (job.rate_per_second, job.seconds);
    format!(
        "import http from 'k6/http';\n\
         export const options = {{\n\
         \x20 scenarios: {{ load: {{ executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s',\n\
         \x20   duration: '{seconds}s', preAllocatedVUs: {K6_USERS} }} }},\n\
         }};\n\
         export default function () {{ http.get('{url}'); }}\n"
    )
}

/// Runs wrk, which cannot send at a fixed rate, or wrk2, whose rate option is in `extra`.
fn with_wrk(program: &Path, url: &str, job: &Job, extra: &[&str]) -> Result<Response, String> {
    let folder = Folder::new()?;
    let mut command = Command::new(program);
    command.args(extra);
    command.args(closed(url, job).arguments(Generator::Wrk, &folder)?);
    let figures = figures(Generator::Wrk, &tool::output(&mut command)?)?;
    Ok(Response::of(&figures, figures.completed))
}

fn closed<'a>(url: &'a str, job: &Job) -> Load<'a> {
    Load {
        url,
        headers: json!({}),
        body: None,
        connections: CONNECTIONS,
        seconds: job.seconds,
        script: None,
    }
}

impl Response {
    fn of(figures: &Figures, requests: u64) -> Self {
        let at = |name: &str| Some(*figures.percentiles_ns.get(name)? as f64);
        Self {
            times: Times {
                p50: at("50"),
                p90: at("90"),
                p99: at("99"),
                p99_9: at("99.9"),
                max: figures.max_ns.map(|ns| ns as f64),
            },
            requests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_figures_are_absent() {
        let figures = Figures {
            percentiles_ns: [
                ("50".to_owned(), 1_000_000),
                ("99.9".to_owned(), 250_000_000),
            ]
            .into(),
            max_ns: Some(3_000_000),
            ..Figures::default()
        };
        let response = Response::of(&figures, 10);
        let times = &response.times;
        assert_eq!((times.p50, times.p99_9), (Some(1e6), Some(2.5e8)));
        assert_eq!((times.p90, times.max), (None, Some(3e6)));
        assert_eq!(response.requests, 10);
    }
}
