//! h2load, nghttp2's load tool: the reference for HTTP/2.

use super::{Job, Made, Method, Protocol, Tool, after, before, split};

/// HTTP/1.1 and HTTP/2 over libev.
pub static H2LOAD: Tool = Tool {
    name: "h2load",
    words,
    read,
    version: Some(["h2load", "--version"]),
};

fn words(job: &Job<'_>) -> Result<Vec<String>, String> {
    if !job.work.keep_alive {
        return Err("cannot open a connection per request".into());
    }
    let mut words = vec![job.programs.find("h2load")?];
    let (connections, seconds) = (job.work.connections, job.seconds);
    words.extend(split(&format!("-t1 -c{connections} -D{seconds}")));
    match job.work.protocol {
        Protocol::Http1 | Protocol::Tls => words.push("--h1".into()),
        Protocol::Http2 { streams } => words.push(format!("-m{streams}")),
    }
    if job.work.method == Method::Post {
        words.extend(["-d".into(), job.files.body.display().to_string()]);
        words.extend(["-H".into(), "Content-Type: application/json".into()]);
    }
    words.push(job.url.into());
    Ok(words)
}

fn read(job: &Job<'_>, output: &str) -> Result<Made, String> {
    parse(output, job.work.protocol)
}

fn parse(output: &str, protocol: Protocol) -> Result<Made, String> {
    let expected = match protocol {
        Protocol::Http1 | Protocol::Tls => "http/1.1",
        Protocol::Http2 { .. } => "h2c",
    };
    let spoken: String = after(output, "Application protocol:")?;
    if spoken != expected {
        return Err(format!("spoke {spoken}, not {expected}"));
    }
    if protocol == Protocol::Tls {
        let version: String = after(output, "TLS Protocol:")?;
        if version != "TLSv1.3" {
            return Err(format!("spoke {version}, not TLSv1.3"));
        }
    }
    for bad in [
        " failed,",
        " errored,",
        " timeout",
        " 3xx,",
        " 4xx,",
        " 5xx",
    ] {
        let count: u64 = before(output, bad)?;
        if count > 0 {
            return Err(format!("{count}{}", bad.trim_end_matches(',')));
        }
    }
    Ok(Made {
        requests: before(output, " succeeded,")?,
        seconds: before(output, "s, ")
            .or_else(|_| before(output, "ms, ").map(|ms: f64| ms / 1e3))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_runs_are_read() {
        let made = parse(include_str!("samples/h2load.txt"), Protocol::Http1);
        assert_eq!(
            made,
            Ok(Made {
                requests: 98_222,
                seconds: 1.0
            })
        );
        let tls = parse(include_str!("samples/h2load-tls.txt"), Protocol::Tls);
        assert!(tls.is_ok_and(|made| made.requests == 19_073));
        let http2 = parse(
            include_str!("samples/h2load-h2c.txt"),
            Protocol::Http2 { streams: 10 },
        );
        assert!(http2.is_ok_and(|made| made.requests == 65_362));
    }

    #[test]
    fn other_statuses_and_other_protocols_are_no_run() {
        let statuses = parse(include_str!("samples/h2load-405.txt"), Protocol::Http1);
        assert_eq!(statuses, Err("61318 failed".into()));
        let clean = include_str!("samples/h2load.txt");
        let http2 = parse(clean, Protocol::Http2 { streams: 1 });
        assert_eq!(http2, Err("spoke http/1.1, not h2c".into()));
        assert!(parse(clean, Protocol::Tls).is_err_and(|error| error.contains("TLS Protocol")));
        let timed_out = clean.replace("0 timeout", "4 timeout");
        assert_eq!(parse(&timed_out, Protocol::Http1), Err("4 timeout".into()));
    }
}
