//! Serves an upstream with the arguments that the remote end passes on.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gatebench_net::tls::{Identity, Pem, ServerSettings, self_signed};
use gatebench_upstream::{Kind, STREAMS, UpstreamConfig};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::say;

/// Prints the address as a line of JSON when the upstream listens, and serves until SIGINT or
/// SIGTERM arrives.
pub(crate) fn serve(words: Vec<String>) -> Result<(), String> {
    let config = config(words)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|it| it.to_string())?;
    }
    let mut said = Ok(());
    let announce = |address: SocketAddr| {
        said = say(&serde_json::json!({ "listening": address }).to_string());
    };
    gatebench_upstream::serve(config, stop, announce).map_err(|error| error.to_string())?;
    said
}

fn config(words: Vec<String>) -> Result<UpstreamConfig, String> {
    let mut words = words.into_iter();
    let kind = words.next().unwrap_or_default();
    let mut config = UpstreamConfig {
        kind: Kind::from_name(&kind).ok_or_else(|| format!("there is no upstream '{kind}'"))?,
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        cores: Vec::new(),
        backend: None,
        tls: None,
        streams: STREAMS,
    };
    let (mut has_tls, mut chain, mut key) = (false, None, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--json" => {}
            "--tls" => has_tls = true,
            "--listen" => config.listen = read(&word, &value()?)?,
            "--streams" => config.streams = read(&word, &value()?)?,
            "--cores" => {
                let cores = value()?;
                let cores = cores.split(',').map(|core| read(&word, core));
                config.cores = cores.collect::<Result<_, _>>()?;
            }
            "--cert" => chain = Some(pem(&value()?)?),
            "--key" => key = Some(pem(&value()?)?),
            _ => return Err(format!("there is no option {word}")),
        }
    }
    if has_tls {
        let identity = match chain.zip(key) {
            Some((chain, key)) => Identity { chain, key },
            None => self_signed(&["localhost"]).map_err(|error| error.to_string())?,
        };
        config.tls = Some(ServerSettings::new(identity));
    }
    Ok(config)
}

fn read<T: std::str::FromStr>(option: &str, word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("{option}: {word} is not a valid value"))
}

fn pem(path: &str) -> Result<Pem, String> {
    Pem::read(Path::new(path)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_the_remote_end_are_understood() {
        let words = "go-bench --json --cores 0,2 --streams 800 --listen 10.0.0.7:0";
        let config = config(words.split(' ').map(str::to_owned).collect()).unwrap();
        assert_eq!(config.kind, Kind::GoBench);
        assert_eq!((config.cores, config.streams), (vec![0, 2], 800));
        assert_eq!(config.listen.to_string(), "10.0.0.7:0");
        for (words, message) in [
            ("nothing", "there is no upstream 'nothing'"),
            ("ping --cores", "--cores needs a value"),
            ("ping --cores 0,x", "--cores: x is not a valid value"),
            ("ping --loud", "there is no option --loud"),
        ] {
            let words = words.split(' ').map(str::to_owned).collect();
            assert_eq!(super::config(words).unwrap_err(), message);
        }
    }
}
