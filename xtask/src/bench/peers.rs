//! The load tools that are compared.

use super::{Binaries, Settings};

/// A load tool.
pub struct Peer {
    pub name: &'static str,
    pub words: Vec<String>,
    pub environment: &'static [(&'static str, &'static str)],
    pub requests: fn(&str) -> Option<u64>,
}

/// Ours first, then every peer that is installed.
pub fn all(settings: &Settings, binaries: &Binaries, url: &str) -> Vec<Peer> {
    let connections = settings.connections.to_string();
    let seconds = settings.seconds.to_string();
    let ours = |name, environment| Peer {
        name,
        words: vec![
            binaries.client.display().to_string(),
            url.into(),
            connections.clone(),
            seconds.clone(),
        ],
        environment,
        requests: json_requests,
    };
    let peer = |name, words: &[&str], requests| Peer {
        name,
        words: words.iter().map(|word| (*word).into()).collect(),
        environment: &[],
        requests,
    };
    let wrk_connections = format!("-c{connections}");
    let wrk_seconds = format!("-d{seconds}");
    let mut peers = vec![
        ours(
            "gatebench (io_uring)",
            &[("GATEBENCH_BACKEND", "io_uring")][..],
        ),
        ours("gatebench (epoll)", &[("GATEBENCH_BACKEND", "epoll")][..]),
        peer(
            "wrk",
            &[
                "wrk",
                "-t1",
                &wrk_connections,
                &wrk_seconds,
                "--latency",
                url,
            ],
            wrk_requests,
        ),
        peer(
            "ab -k",
            &[
                "ab",
                "-q",
                "-k",
                "-t",
                &seconds,
                "-n",
                "100000000",
                "-c",
                &connections,
                url,
            ],
            ab_requests,
        ),
        peer(
            "h2load",
            &[
                "h2load",
                "--h1",
                "-t1",
                "-c",
                &connections,
                "-D",
                &seconds,
                url,
            ],
            h2load_requests,
        ),
    ];
    peers.retain(|peer| peer.words[0].contains('/') || installed(&peer.words[0]));
    peers
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
