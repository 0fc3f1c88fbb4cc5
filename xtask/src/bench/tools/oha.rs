//! oha, the load tool of the hyper family.

use serde_json::Value;

use super::{Job, Made, Method, Protocol, Tool, split};

/// HTTP/1.1 and HTTP/2 over tokio and hyper.
pub static OHA: Tool = Tool {
    name: "oha",
    words,
    read,
    version: Some(["oha", "--version"]),
};

/// What oha calls the requests that were under way when the time was over.
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
    parse(output, u64::from(job.work.connections * streams))
}

/// `under_way` requests may be cut off at the end; nothing else may be wrong.
fn parse(output: &str, under_way: u64) -> Result<Made, String> {
    let value: Value =
        serde_json::from_str(output).map_err(|error| format!("its JSON is none: {error}"))?;
    let counts = |field: &str| {
        let map = value[field]
            .as_object()
            .ok_or_else(|| format!("its JSON has no {field}"))?;
        let count = |(name, count): (&String, &Value)| {
            let count = count
                .as_u64()
                .ok_or_else(|| format!("{field} holds no counts"))?;
            Ok((name.clone(), count))
        };
        map.iter().map(count).collect::<Result<Vec<_>, String>>()
    };
    for (error, count) in counts("errorDistribution")? {
        if error != CUT_OFF || count > under_way {
            return Err(format!("{count} × {error}"));
        }
    }
    let mut requests = 0;
    for (status, count) in counts("statusCodeDistribution")? {
        if !status.starts_with('2') {
            return Err(format!("{count} answers with status {status}"));
        }
        requests += count;
    }
    let seconds = value["summary"]["total"]
        .as_f64()
        .ok_or("its JSON has no summary.total")?;
    Ok(Made { requests, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_run_is_read() {
        let made = parse(include_str!("samples/oha.json"), 15);
        assert_eq!(
            made,
            Ok(Made {
                requests: 83_753,
                seconds: 1.002_183_091
            })
        );
    }

    #[test]
    fn other_statuses_and_errors_are_no_run() {
        let clean = include_str!("samples/oha.json");
        assert_eq!(parse(clean, 14), Err(format!("15 × {CUT_OFF}")));
        let other = clean.replace("\"200\"", "\"404\"");
        assert!(parse(&other, 16).is_err_and(|error| error.ends_with("with status 404")));
        let refused = parse(include_str!("samples/oha-refused.json"), 16);
        assert!(refused.is_err_and(|error| error.contains("Connection refused")));
        assert!(parse("", 16).is_err());
    }
}
