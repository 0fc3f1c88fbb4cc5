//! The engine, as a process of its own.

use super::{Job, Made, Method, Protocol, Tool};

/// The engine with everything a real load has: latency recorded, status checked.
pub static OURS: Tool = Tool {
    name: "gatebench",
    words,
    read,
    version: None,
};

fn words(job: &Job<'_>) -> Result<Vec<String>, String> {
    let work = job.work;
    if work.protocol != Protocol::Http1 || work.method != Method::Get || !work.keep_alive {
        return Err(
            "the engine's example makes plain GET requests on connections that stay".into(),
        );
    }
    let backend = if work.epoll { "epoll" } else { "io_uring" };
    Ok(vec![
        "env".into(),
        format!("GATEBENCH_BACKEND={backend}"),
        job.programs.client.display().to_string(),
        job.url.into(),
        work.connections.to_string(),
        job.seconds.to_string(),
    ])
}

fn read(job: &Job<'_>, output: &str) -> Result<Made, String> {
    parse(output, if job.work.epoll { "epoll" } else { "io_uring" })
}

fn parse(output: &str, backend: &str) -> Result<Made, String> {
    let value: serde_json::Value =
        serde_json::from_str(output).map_err(|error| format!("its JSON is none: {error}"))?;
    let number = |field: &str| {
        let number = value[field].as_u64();
        number.ok_or_else(|| format!("its JSON has no number '{field}'"))
    };
    for field in ["errors", "dropped", "failing_checks"] {
        let count = number(field)?;
        if count > 0 {
            return Err(format!("{field}: {count}"));
        }
    }
    if value["backend"] != backend {
        return Err(format!("ran on {}, not {backend}", value["backend"]));
    }
    let seconds = number("window_ns")? as f64 / 1e9;
    Ok(Made {
        requests: number("requests")?,
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"backend":"io_uring","requests":7,"errors":0,"dropped":0,"failing_checks":0,"window_ns":500000000}"#;

    #[test]
    fn a_clean_run_is_read() {
        assert_eq!(
            parse(LINE, "io_uring"),
            Ok(Made {
                requests: 7,
                seconds: 0.5
            })
        );
    }

    #[test]
    fn errors_and_another_backend_are_no_run() {
        let failing = LINE.replace("\"errors\":0", "\"errors\":1");
        assert_eq!(parse(&failing, "io_uring"), Err("errors: 1".into()));
        assert!(parse(LINE, "epoll").is_err());
        assert!(parse("{}", "epoll").is_err());
    }
}
