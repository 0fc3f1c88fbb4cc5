//! The load generator of gatebench, run as `gatebench load`.

use serde_json::Value;

use super::{Job, Made, Method, Protocol, Tool, split};

/// Measures latency and checks the status of each response, as in a real load.
pub static OURS: Tool = Tool {
    name: "gatebench",
    words,
    read,
    version: None,
};

fn words(job: &Job<'_>) -> Result<Vec<String>, String> {
    let work = job.work;
    let (connections, seconds) = (work.connections, job.seconds);
    let mut words = vec![job.programs.gatebench.display().to_string()];
    words.extend(split(&format!(
        "load --quiet --json --check status=200 --backend {}",
        backend(job)
    )));
    words.extend(split(&format!(
        "--connections {connections} --duration {seconds}s --warm-up 0s"
    )));
    match work.protocol {
        Protocol::Http1 => {}
        Protocol::Tls => words.extend(split("--insecure --tls 1.3")),
        Protocol::Http2 { streams } => words.extend(split(&format!("--http2 --streams {streams}"))),
    }
    if work.method == Method::Post {
        words.extend(["--header".into(), "Content-Type: application/json".into()]);
        words.extend(["--body".into(), format!("@{}", job.files.body.display())]);
    }
    if !work.keep_alive {
        words.extend(split("--requests-per-connection 1"));
    }
    words.push(job.url.into());
    Ok(words)
}

fn backend(job: &Job<'_>) -> &'static str {
    if job.work.epoll { "epoll" } else { "io_uring" }
}

fn read(job: &Job<'_>, output: &str) -> Result<Made, String> {
    parse(output, backend(job))
}

fn parse(output: &str, backend: &str) -> Result<Made, String> {
    let value: Value =
        serde_json::from_str(output).map_err(|error| format!("the output is not JSON: {error}"))?;
    let number = |pointer: &str| {
        let number = value.pointer(pointer).and_then(Value::as_u64);
        number.ok_or_else(|| format!("the JSON output has no number at {pointer}"))
    };
    for bad in ["/failed", "/dropped", "/checks/failed"] {
        let count = number(bad)?;
        if count > 0 {
            return Err(format!(
                "{bad}: {count} of {}; errors {}",
                number("/requests")?,
                value["errors"]
            ));
        }
    }
    let used = &value["engine"]["backend"];
    if used != backend {
        return Err(format!("ran on {used}, not {backend}"));
    }
    // Requests in flight at the end count, so the time until they end counts too.
    let nanoseconds = number("/window/measured_ns")? + number("/window/drained_ns")?;
    Ok(Made {
        requests: number("/completed")?,
        seconds: nanoseconds as f64 / 1e9,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_run_is_read() {
        let made = parse(include_str!("samples/gatebench.json"), "io_uring");
        assert_eq!(
            made,
            Ok(Made {
                requests: 158_370,
                seconds: 1.000_793_457
            })
        );
    }

    #[test]
    fn failures_and_another_backend_do_not_count() {
        let clean = include_str!("samples/gatebench.json");
        let failed = clean.replace("\"failed\": 0", "\"failed\": 3");
        assert!(parse(&failed, "io_uring").is_err_and(|error| error.starts_with("/failed: 3 of")));
        assert!(parse(clean, "epoll").is_err_and(|error| error.contains("not epoll")));
        assert!(parse("{}", "epoll").is_err());
    }
}
