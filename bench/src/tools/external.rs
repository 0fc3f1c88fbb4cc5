//! wrk, h2load and k6, with the command lines, scripts and parsers that gatebench uses for them.

use std::path::Path;
use std::time::Duration;

use gatebench_external::{Figures, Generator, Part, UNCHECKED_RESPONSES, parse, translate};
use gatebench_model::load::Closed;
use gatebench_model::{HumanDuration, Phase, Scenario, Shape};
use serde_json::{Value, json};

use super::{Job, Made, Method, Protocol, Tool, after};
use crate::files;
use crate::folder::Folder;

/// HTTP/1.1 over epoll.
pub static WRK: Tool = Tool {
    name: "wrk",
    words: |job| words(Generator::Wrk, job),
    read: |_, output| made(&figures(Generator::Wrk, output)?),
    version: Some(["wrk", "-v"]),
};

/// HTTP/1.1 and HTTP/2 over libev; part of nghttp2.
pub static H2LOAD: Tool = Tool {
    name: "h2load",
    words: |job| words(Generator::H2load, job),
    read: |job, output| read_h2load(job.work.protocol, output),
    version: Some(["h2load", "--version"]),
};

/// wrk's default request timeout.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A closed load that repeats one request, sent by one thread.
pub struct Load<'a> {
    pub url: &'a str,
    /// The request's headers as a JSON object.
    pub headers: Value,
    /// The request's body; a request with a body is a POST.
    pub body: Option<String>,
    pub connections: u32,
    pub seconds: u64,
    /// A script that defines the request and the load instead of these fields.
    pub script: Option<&'a Path>,
}

impl Load<'_> {
    /// Writes the files that a generator needs into a folder, and returns its arguments.
    pub fn arguments(&self, generator: Generator, folder: &Folder) -> Result<Vec<String>, String> {
        let (origin, path) = origin_and_path(self.url);
        let mut request = json!({"path": path, "headers": self.headers});
        if let Some(body) = &self.body {
            request["method"] = "POST".into();
            request["body"] = body.as_str().into();
        }
        let scenario: Scenario = serde_json::from_value(json!({
            "scenario": "bench", "title": "One request", "upstream": "ping",
            "routes": [{"name": "all", "path": "/"}], "requests": [request],
        }))
        .map_err(|error| format!("the request cannot be described: {error}"))?;
        let shape = Shape::Closed(Closed::new(self.connections));
        let phase = Phase {
            timeout: HumanDuration(TIMEOUT),
            ..Phase::new(
                "load",
                shape,
                HumanDuration(Duration::from_secs(self.seconds)),
            )
        };
        let job = gatebench_external::Job {
            url: origin,
            scenario: &scenario,
            phase: &phase,
            part: Part::Measure,
            threads: 1,
            script: self.script,
            own_load: self.script.is_some(),
        };
        let order = translate(generator, &job).map_err(|refusal| refusal.to_string())?;
        for file in &order.files {
            folder.write(file.name, &file.bytes)?;
        }
        let files = order.files.iter().map(|file| file.name);
        let files: Vec<&str> = files.chain(generator.result_file()).collect();
        let arguments = order.arguments.into_iter();
        Ok(arguments.map(|it| absolute(it, &files, folder)).collect())
    }
}

/// Replaces the name of a file in an argument such as `--data=body` or `body` by its absolute path.
fn absolute(argument: String, files: &[&str], folder: &Folder) -> String {
    let named = files.iter().find_map(|name| {
        let option = argument.strip_suffix(*name)?;
        let is_whole = option.is_empty() || option.ends_with('=');
        is_whole.then(|| format!("{option}{}", folder.path(name).display()))
    });
    named.unwrap_or(argument)
}

fn origin_and_path(url: &str) -> (&str, &str) {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let path = url[authority..].find('/').map(|at| authority + at);
    path.map_or((url, "/"), |at| url.split_at(at))
}

fn words(generator: Generator, job: &Job<'_>) -> Result<Vec<String>, String> {
    let work = job.work;
    match (generator, work.protocol) {
        (Generator::Wrk, Protocol::Http2 { .. }) => return Err("does not support HTTP/2".into()),
        (Generator::H2load, _) if !work.keep_alive => {
            return Err("cannot open a connection per request".into());
        }
        _ => {}
    }
    let mut headers = json!({});
    if !work.keep_alive {
        headers["Connection"] = "close".into();
    }
    let body = (work.method == Method::Post).then(files::body);
    if body.is_some() {
        headers["Content-Type"] = "application/json".into();
    }
    let load = Load {
        url: job.url,
        headers,
        body,
        connections: work.connections,
        seconds: job.seconds.into(),
        script: None,
    };
    let mut words = vec![job.programs.find(generator.as_str())?];
    words.extend(load.arguments(generator, &job.files.folder)?);
    if let Protocol::Http2 { streams } = work.protocol {
        // gatebench itself runs h2load only over HTTP/1.1, so the option has to be replaced.
        for word in words.iter_mut().filter(|word| word.as_str() == "--h1") {
            *word = format!("-m{streams}");
        }
    }
    Ok(words)
}

pub fn figures(generator: Generator, output: &str) -> Result<Figures, String> {
    parse(generator, output).map_err(|error| error.to_string())
}

fn read_h2load(protocol: Protocol, output: &str) -> Result<Made, String> {
    let expected = match protocol {
        Protocol::Http1 | Protocol::Tls => "http/1.1",
        Protocol::Http2 { .. } => "h2c",
    };
    let mut expectations = vec![("Application protocol:", expected)];
    if protocol == Protocol::Tls {
        expectations.push(("TLS Protocol:", "TLSv1.3"));
    }
    for (label, expected) in expectations {
        let spoken: String = after(output, label)?;
        if spoken != expected {
            return Err(format!("used {spoken}, not {expected}"));
        }
    }
    made(&figures(Generator::H2load, output)?)
}

/// Fails if a response was not 2xx or a request failed.
pub fn made(figures: &Figures) -> Result<Made, String> {
    let classes = figures.by_class.iter().filter(|(class, _)| *class != "2xx");
    if let Some((kind, count)) = figures.errors.iter().chain(classes).next() {
        return Err(format!("{count} {kind}"));
    }
    let unchecked = figures.metrics.get(UNCHECKED_RESPONSES);
    let unchecked = unchecked.and_then(|counts| counts.get("count"));
    if let Some(count) = unchecked.filter(|count| **count > 0.0) {
        return Err(format!("{count} {UNCHECKED_RESPONSES}"));
    }
    Ok(Made {
        requests: figures.completed,
        seconds: figures.duration_ns as f64 / 1e9,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The output of a wrk run that did not check the responses.
    fn wrk() -> String {
        let text = include_str!("../../../crates/external/tests/captured/wrk-sizes.txt");
        text.replace("[0,96561,0,0,0]", "[]")
    }

    fn read_wrk(text: &str) -> Result<Made, String> {
        made(&figures(Generator::Wrk, text)?)
    }

    #[test]
    fn clean_runs_are_read() {
        let wrk = read_wrk(&wrk()).unwrap();
        assert_eq!((wrk.requests, wrk.seconds), (96_561, 1.100_055));
        let h2load = read_h2load(Protocol::Http1, include_str!("samples/h2load.txt"));
        assert_eq!(
            h2load,
            Ok(Made {
                requests: 98_222,
                seconds: 1.0
            })
        );
        let tls = read_h2load(Protocol::Tls, include_str!("samples/h2load-tls.txt"));
        assert!(tls.is_ok_and(|made| made.requests == 19_073));
        let http2 = read_h2load(
            Protocol::Http2 { streams: 10 },
            include_str!("samples/h2load-h2c.txt"),
        );
        // This is one response more than h2load counts as succeeded, because the last bytes of that
        // response arrived after the end.
        assert!(http2.is_ok_and(|made| made.requests == 65_363));
    }

    #[test]
    fn other_statuses_and_errors_do_not_count() {
        let clean = wrk();
        let statuses = clean.replace("above\":0", "above\":87621");
        let expected = format!("87621 {UNCHECKED_RESPONSES}");
        assert_eq!(read_wrk(&statuses), Err(expected));
        let errors = clean.replace("\"read\":0", "\"read\":3003");
        assert_eq!(read_wrk(&errors), Err("3003 read".into()));
        assert!(read_wrk("").is_err());
        let clean = include_str!("samples/h2load.txt");
        let h2load = |text: &str| read_h2load(Protocol::Http1, text);
        let statuses = clean.replace("98222 2xx, 0 3xx, 0 4xx", "0 2xx, 0 3xx, 98222 4xx");
        assert_eq!(h2load(&statuses), Err("98222 4xx".into()));
        let timed_out = clean.replace("0 timeout", "4 timeout");
        assert_eq!(h2load(&timed_out), Err("4 timeout".into()));
        assert!(h2load("").is_err());
    }

    #[test]
    fn other_protocols_do_not_count() {
        let clean = include_str!("samples/h2load.txt");
        let http2 = read_h2load(Protocol::Http2 { streams: 1 }, clean);
        assert_eq!(http2, Err("used http/1.1, not h2c".into()));
        let tls = read_h2load(Protocol::Tls, clean);
        assert!(tls.is_err_and(|error| error.contains("TLS Protocol")));
    }

    #[test]
    fn arguments_name_files_by_their_paths() {
        let folder = Folder::new().unwrap();
        let load = Load {
            url: "https://127.0.0.1:8443/status/200?a=/b",
            headers: json!({"Content-Type": "application/json"}),
            body: Some("{\"text\":\"x\"}".into()),
            connections: 3,
            seconds: 2,
            script: None,
        };
        let wrk = load.arguments(Generator::Wrk, &folder).unwrap().join(" ");
        let script = folder.path("scenario.lua");
        let expected = format!(
            "--threads 1 --connections 3 --duration 2s --timeout 2s --script {} https://127.0.0.1:8443",
            script.display()
        );
        assert_eq!(wrk, expected);
        let script = std::fs::read_to_string(script).unwrap();
        assert!(script.contains("wrk.path = \"/status/200?a=/b\""));
        assert!(!script.contains("function response") && !script.contains("function request"));
        let h2load = load.arguments(Generator::H2load, &folder).unwrap();
        let body = format!("--data={}", folder.path("body").display());
        assert!(h2load.contains(&"--h1".to_owned()) && h2load.contains(&body));
        assert_eq!(h2load.last().unwrap(), load.url);
    }
}
