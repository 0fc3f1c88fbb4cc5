//! ab (ApacheBench), which with `-k` takes the least CPU time of the external load generators for
//! plain GET.

use super::{Job, Made, Method, Protocol, Tool, after};

/// HTTP/1.0, with keep-alive as an extension.
pub static AB: Tool = Tool {
    name: "ab",
    words,
    read,
    version: Some(["ab", "-V"]),
};

fn words(job: &Job<'_>) -> Result<Vec<String>, String> {
    if matches!(job.work.protocol, Protocol::Http2 { .. }) {
        return Err("does not support HTTP/2".into());
    }
    let mut words = vec![job.programs.find("ab")?];
    // `-t` alone stops at 50,000 requests; the later `-n` raises that limit.
    let (seconds, connections) = (job.seconds, job.work.connections);
    words.extend(super::split(&format!(
        "-q -t {seconds} -n 100000000 -c {connections}"
    )));
    if job.work.keep_alive {
        words.push("-k".into());
    }
    if job.work.method == Method::Post {
        let body = job.files.body.display().to_string();
        words.extend(["-p".into(), body, "-T".into(), "application/json".into()]);
    }
    words.push(job.url.into());
    Ok(words)
}

fn read(job: &Job<'_>, output: &str) -> Result<Made, String> {
    if job.work.protocol == Protocol::Tls {
        let version: String = after(output, "SSL/TLS Protocol:")?;
        if !version.starts_with("TLSv1.3,") {
            return Err(format!("used {version}, not TLSv1.3"));
        }
    }
    parse(output, job.work.keep_alive)
}

fn parse(output: &str, keep_alive: bool) -> Result<Made, String> {
    for bad in ["Non-2xx responses:", "Write errors:"] {
        if let Ok(count) = after::<u64>(output, bad) {
            return Err(format!("{bad} {count}"));
        }
    }
    let failed: u64 = after(output, "Failed requests:")?;
    if failed > 0 {
        return Err(format!("Failed requests: {failed}"));
    }
    let requests: u64 = after(output, "Complete requests:")?;
    if keep_alive {
        let kept: u64 = after(output, "Keep-Alive requests:")?;
        if kept < requests {
            return Err(format!(
                "only {kept} of {requests} requests kept their connection"
            ));
        }
    }
    Ok(Made {
        requests,
        seconds: after(output, "Time taken for tests:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_runs_are_read() {
        let kept = parse(include_str!("samples/ab.txt"), true);
        assert_eq!(
            kept,
            Ok(Made {
                requests: 120_404,
                seconds: 1.0
            })
        );
        let closed = parse(include_str!("samples/ab-close.txt"), false);
        assert_eq!(
            closed,
            Ok(Made {
                requests: 11_745,
                seconds: 1.0
            })
        );
    }

    #[test]
    fn other_statuses_failures_and_lost_connections_do_not_count() {
        let statuses = parse(include_str!("samples/ab-404.txt"), true);
        assert_eq!(statuses, Err("Non-2xx responses: 105671".into()));
        let failed =
            include_str!("samples/ab.txt").replace("requests:        0", "requests:        3");
        assert_eq!(parse(&failed, true), Err("Failed requests: 3".into()));
        let lost = include_str!("samples/ab.txt").replace(
            "Keep-Alive requests:    120404",
            "Keep-Alive requests:    7",
        );
        assert!(parse(&lost, true).is_err_and(|error| error.starts_with("only 7 of")));
        assert!(parse("", true).is_err());
    }
}
