//! wrk: the tool that most figures in the field come from.

use super::{Job, Made, Method, Protocol, Tool, after, before};

/// HTTP/1.1 over epoll.
pub static WRK: Tool = Tool {
    name: "wrk",
    words,
    read,
    version: Some(["wrk", "-v"]),
};

fn words(job: &Job<'_>) -> Result<Vec<String>, String> {
    if matches!(job.work.protocol, Protocol::Http2 { .. }) {
        return Err("speaks no HTTP/2".into());
    }
    let (connections, seconds) = (job.work.connections, job.seconds);
    let mut words = vec![job.programs.find("wrk")?];
    words.extend(["-t1", "--latency"].map(String::from));
    words.extend([format!("-c{connections}"), format!("-d{seconds}s")]);
    if job.work.method == Method::Post {
        words.extend(["-s".into(), job.files.wrk_script.display().to_string()]);
    }
    if !job.work.keep_alive {
        words.extend(["-H".into(), "Connection: close".into()]);
    }
    words.push(job.url.into());
    Ok(words)
}

/// Errors and other statuses have lines of their own, which are left out where there are none.
fn read(_: &Job<'_>, output: &str) -> Result<Made, String> {
    parse(output)
}

fn parse(output: &str) -> Result<Made, String> {
    let is_bad = |line: &&str| {
        line.trim_start().starts_with("Socket errors:")
            || line.contains("Non-2xx or 3xx responses:")
    };
    if let Some(line) = output.lines().find(is_bad) {
        return Err(line.trim().into());
    }
    let requests: u64 = before(output, " requests in ")?;
    let rate: f64 = after(output, "Requests/sec:")?;
    Ok(Made {
        requests,
        seconds: requests as f64 / rate,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_clean_run_is_read() {
        let made = parse(include_str!("samples/wrk.txt")).unwrap();
        assert_eq!(made.requests, 99_739);
        assert!((made.seconds - 1.004_46).abs() < 1e-5, "{made:?}");
    }

    #[test]
    fn other_statuses_and_errors_are_no_run() {
        let statuses = parse(include_str!("samples/wrk-404.txt"));
        assert_eq!(statuses, Err("Non-2xx or 3xx responses: 87621".into()));
        let errors = parse(include_str!("samples/wrk-errors.txt")).unwrap_err();
        assert!(errors.starts_with("Socket errors: connect "), "{errors}");
        assert!(parse("").is_err());
    }
}
