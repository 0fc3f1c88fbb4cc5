//! The load tools that are compared.

use super::{Binaries, Settings};

/// A load tool.
#[derive(Clone)]
pub struct Peer {
    pub name: &'static str,
    pub words: Vec<String>,
    pub environment: &'static [(&'static str, &'static str)],
    pub requests: fn(&str) -> Option<u64>,
}

/// Ours first, then every peer that is installed.
pub fn all(settings: &Settings, binaries: &Binaries, url: &str) -> Vec<Peer> {
    let mut peers = ours(settings, binaries, url).to_vec();
    peers.extend(
        others(settings, url)
            .into_iter()
            .filter(|peer| installed(&peer.words[0])),
    );
    peers
}

fn ours(settings: &Settings, binaries: &Binaries, url: &str) -> [Peer; 2] {
    let (connections, seconds) = (
        settings.connections.to_string(),
        settings.seconds.to_string(),
    );
    let words = vec![
        binaries.client.display().to_string(),
        url.into(),
        connections,
        seconds,
    ];
    let on = |name, environment| Peer {
        name,
        words: words.clone(),
        environment,
        requests: json_requests,
    };
    [
        on("gatebench (io_uring)", &[("GATEBENCH_BACKEND", "io_uring")]),
        on("gatebench (epoll)", &[("GATEBENCH_BACKEND", "epoll")]),
    ]
}

fn others(settings: &Settings, url: &str) -> [Peer; 3] {
    let Settings {
        connections: c,
        seconds: s,
        ..
    } = settings;
    let peer = |name, line: String, requests| Peer {
        name,
        words: line.split(' ').map(Into::into).collect(),
        environment: &[],
        requests,
    };
    [
        peer(
            "wrk",
            format!("wrk -t1 -c{c} -d{s} --latency {url}"),
            wrk_requests,
        ),
        peer(
            "ab -k",
            format!("ab -q -k -t {s} -n 100000000 -c {c} {url}"),
            ab_requests,
        ),
        peer(
            "h2load",
            format!("h2load --h1 -t1 -c {c} -D {s} {url}"),
            h2load_requests,
        ),
    ]
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn json_requests(output: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(output.trim()).ok()?;
    let clean = ["errors", "dropped", "failing_checks"]
        .iter()
        .all(|field| value[field] == 0);
    value["requests"].as_u64().filter(|_| clean)
}

fn wrk_requests(output: &str) -> Option<u64> {
    number_before(output, " requests in ")
}

fn ab_requests(output: &str) -> Option<u64> {
    let line = output
        .lines()
        .find_map(|line| line.strip_prefix("Complete requests:"))?;
    line.trim().parse().ok()
}

fn h2load_requests(output: &str) -> Option<u64> {
    number_before(output, " succeeded")
}

/// The number that stands before `text`.
fn number_before(output: &str, text: &str) -> Option<u64> {
    let before = &output[..output.find(text)?];
    before
        .split(|c: char| !c.is_ascii_digit())
        .next_back()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_output_is_read() {
        assert_eq!(
            wrk_requests("  355706 requests in 3.01s, 50.54MB read"),
            Some(355_706)
        );
        assert_eq!(
            ab_requests("Concurrency Level: 64\nComplete requests:      12345\n"),
            Some(12_345)
        );
        let h2load = "requests: 99 total, 99 started, 99 done, 98 succeeded, 1 failed";
        assert_eq!(h2load_requests(h2load), Some(98));
        let ours = r#"{"requests":7,"errors":0,"dropped":0,"failing_checks":0}"#;
        assert_eq!(json_requests(ours), Some(7));
        assert_eq!(
            json_requests(&ours.replace("\"errors\":0", "\"errors\":1")),
            None
        );
    }
}
