//! Stands in for the `gatebench` command in this crate's tests: a run starts this program as the
//! supervisor, the upstream or the gateway.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gatebench_gateway::GatewayConfig;
use gatebench_upstream::{Kind, UpstreamConfig};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let part = words.next().unwrap_or_default();
    match part.to_str() {
        Some("supervise") => gatebench_testbed::supervise(words),
        Some("upstream") => upstream(
            words
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
        ),
        Some("gateway") => gateway(words.next().unwrap_or_default().as_ref()),
        Some("--version") => {
            println!("gatebench 0.0.0");
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}

/// Runs `upstream KIND --listen ADDR:PORT --json --cores LIST` until a signal ends it.
fn upstream(words: Vec<String>) -> ExitCode {
    let after = |option: &str| words.iter().skip_while(|word| *word != option).nth(1);
    let cores = after("--cores").map_or(Vec::new(), |list| {
        list.split(',')
            .filter_map(|core| core.parse().ok())
            .collect()
    });
    let config = UpstreamConfig {
        kind: words
            .first()
            .and_then(|word| Kind::from_name(word))
            .unwrap_or(Kind::Ping),
        listen: after("--listen")
            .and_then(|address| address.parse().ok())
            .unwrap_or(([127, 0, 0, 1], 0).into()),
        cores,
        backend: None,
        tls: None,
        streams: gatebench_upstream::STREAMS,
    };
    let served = gatebench_upstream::serve(config, Arc::new(AtomicBool::new(false)), |address| {
        println!("{{\"listening\":\"{address}\"}}");
    });
    exit_code(served.map_err(|error| error.to_string()))
}

/// Runs `gateway FILE` until a signal ends it.
fn gateway(file: &std::path::Path) -> ExitCode {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let served = GatewayConfig::parse(&text)
        .map_err(|mistakes| {
            let all = mistakes.all().iter().map(|mistake| mistake.message.clone());
            all.collect::<Vec<_>>().join("\n")
        })
        .and_then(|config| {
            let stop = Arc::new(AtomicBool::new(false));
            gatebench_gateway::serve(&config, &[], None, stop, |_| {})
                .map(drop)
                .map_err(|error| error.to_string())
        });
    exit_code(served)
}

fn exit_code(served: Result<(), String>) -> ExitCode {
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
