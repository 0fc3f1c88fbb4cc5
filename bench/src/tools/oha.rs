//! oha, a load generator that is based on hyper.

use std::collections::BTreeMap;

use gatebench_external::Figures;
use serde_json::Value;

use super::external::made;
use super::{Job, Made, Method, Protocol, Tool, split};

pub static OHA: Tool = Tool {
    name: "oha",
    words,
    read,
    version: Some(["oha", "--version"]),
};

/// The error that oha counts for each request in flight at the end.
const CUT_OFF: &str = "aborted due to deadline";

fn words(job: &Job<'_>) -> Result<Vec<String>, String> {
    let mut words = vec![job.programs.find("oha")?];
    let (connections, seconds) = (job.work.connections, job.seconds);
    words.extend(split(&format!(
        "--no-tui --output-format json -z {seconds}s -c {connections}"
    )));
    match job.work.protocol {
        Protocol::Http1 => {}
        Protocol::Tls => words.push("--insecure".into()),
        Protocol::Http2 { streams } => words.extend(split(&format!("--http2 -p {streams}"))),
    }
    if !job.work.keep_alive {
        words.push("--disable-keepalive".into());
    }
    if job.work.method == Method::Post {
        let body = job.files.body.display().to_string();
        words.extend(["-m".into(), "POST".into(), "-D".into(), body]);
        words.extend(["-T".into(), "application/json".into()]);
    }
    words.push(job.url.into());
    Ok(words)
}

fn read(job: &Job<'_>, output: &str) -> Result<Made, String> {
    let streams = match job.work.protocol {
        Protocol::Http2 { streams } => streams,
        Protocol::Http1 | Protocol::Tls => 1,
    };
    counted(figures(output)?, u64::from(job.work.connections * streams))
}

/// Fails like [`made`], but accepts up to `under_way` requests that were cut off at the end.
fn counted(mut figures: Figures, under_way: u64) -> Result<Made, String> {
    let may_be_cut_off = |error: &str, count: u64| error == CUT_OFF && count <= under_way;
    figures
        .errors
        .retain(|error, count| !may_be_cut_off(error, *count));
    made(&figures)
}

pub fn figures(output: &str) -> Result<Figures, String> {
    let value: Value = serde_json::from_str(output)
        .map_err(|error| format!("oha printed no JSON ({error}): {output}"))?;
    let counts = |field: &str| -> Result<BTreeMap<String, u64>, String> {
        serde_json::from_value(value[field].clone())
            .map_err(|error| format!("oha's JSON has no {field}: {error}"))
    };
    let ns = |seconds: &Value| seconds.as_f64().map(|it| (it * 1e9).round() as u64);
    let summary = &value["summary"];
    let mut by_class: BTreeMap<String, u64> = BTreeMap::new();
    for (status, count) in counts("statusCodeDistribution")? {
        let class = status.get(..1).unwrap_or_default();
        *by_class.entry(format!("{class}xx")).or_insert(0) += count;
    }
    let errors = counts("errorDistribution")?;
    let completed: u64 = by_class.values().sum();
    let percentiles = value["latencyPercentiles"].as_object().into_iter();
    let percentiles = percentiles.flatten().filter_map(|(name, seconds)| {
        let name = name.strip_prefix('p')?;
        Some((name.to_owned(), ns(seconds)?))
    });
    Ok(Figures {
        duration_ns: ns(&summary["total"]).ok_or("oha's JSON has no summary.total")?,
        sent: completed + errors.values().sum::<u64>(),
        completed,
        by_class,
        errors,
        percentiles_ns: percentiles.collect(),
        max_ns: ns(&summary["slowest"]),
        ..Figures::default()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str, under_way: u64) -> Result<Made, String> {
        counted(figures(text)?, under_way)
    }

    #[test]
    fn a_clean_run_is_read() {
        let made = read(include_str!("samples/oha.json"), 15);
        assert_eq!(
            made,
            Ok(Made {
                requests: 83_753,
                seconds: 1.002_183_091
            })
        );
    }

    #[test]
    fn other_statuses_and_errors_do_not_count() {
        let clean = include_str!("samples/oha.json");
        assert_eq!(read(clean, 14), Err(format!("15 {CUT_OFF}")));
        let other = clean.replace("\"200\"", "\"404\"");
        assert_eq!(read(&other, 16), Err("83753 4xx".into()));
        let refused = read(include_str!("samples/oha-refused.json"), 16);
        assert!(refused.is_err_and(|error| error.contains("Connection refused")));
        assert!(read("", 16).is_err());
    }

    #[test]
    fn percentiles_and_all_requests_are_read() {
        let text = r#"{"summary": {"total": 1.0, "slowest": 0.5},
            "latencyPercentiles": {"p50": 0.001, "p90": null, "p99.9": 0.25},
            "statusCodeDistribution": {"200": 7, "503": 1}, "errorDistribution": {"aborted": 2}}"#;
        let figures = figures(text).unwrap();
        let percentiles = [
            ("50".to_owned(), 1_000_000),
            ("99.9".to_owned(), 250_000_000),
        ];
        assert_eq!(figures.percentiles_ns, BTreeMap::from(percentiles));
        assert_eq!((figures.sent, figures.max_ns), (10, Some(500_000_000)));
    }
}
