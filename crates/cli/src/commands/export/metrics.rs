//! `gatebench export prometheus` and `influxdb`: print or send a recorded run as metrics.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use gatebench_outputs::{Duration, Encoder, Format, OpenMetrics};
use gatebench_runner::outputs::{Push, Target, replay};
use gatebench_store::Run;

use crate::commands::outputs::{refused, tag, target};
use crate::failure::Failure;
use crate::terminal;

pub const PROMETHEUS: &str = "\
Examples:
  gatebench export prometheus RUN --to http://127.0.0.1:9090/api/v1/write
  gatebench export prometheus RUN > run.om
  promtool tsdb create-blocks-from openmetrics run.om /var/lib/prometheus/metrics2

Prometheus accepts samples that are at most about an hour older than its newest sample; an empty
server accepts a run of any age. `promtool` converts the printed text to blocks, which a server
accepts regardless of their age.";

// The options that all kinds of servers share.
#[derive(Debug, Args)]
pub(super) struct Recorded {
    /// The run directory
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Send the run to this server, with the settings of `gatebench run --out KIND=URL`
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Add this label to every series (repeatable)
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = tag)]
    tags: Vec<(String, String)>,
}

impl Recorded {
    pub fn prometheus(self) -> Result<(), Failure> {
        self.send_or("prometheus", print_openmetrics)
    }

    /// Sends the run to the server that --to names. Without --to, calls `print` instead.
    fn send_or(
        self,
        kind: &str,
        print: impl FnOnce(&Run, &BTreeMap<String, String>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let run = Run::open(&self.run)?;
        let tags = BTreeMap::from_iter(self.tags);
        let Some(url) = self.to else {
            return print(&run, &tags);
        };
        let target = target(&format!("{kind}={url}"), "--to".into())?;
        let mut push = Push::begin(&target).map_err(|refusal| refused(&refusal))?;
        replay(&run, &tags, &mut |fact| push.take(fact))?;
        let bytes = push.end().map_err(|refusal| refused(&refusal))?;
        terminal::say(&format!(
            "sent to {target}: {bytes} bytes before compression"
        ))
    }
}

fn print_openmetrics(run: &Run, tags: &BTreeMap<String, String>) -> Result<(), Failure> {
    let stats = Target::trend_stats(&|name| std::env::var(name).ok());
    let stats = stats
        .map_err(|error| Failure::words("the environment", error.to_string(), error.remedy()))?;
    let mut text = OpenMetrics::new(stats, Duration::Response);
    replay(run, tags, &mut |fact| text.take(fact))?;
    terminal::say_data(text.finish().trim_end())
}

/// Print a run as InfluxDB line protocol, or send it to an InfluxDB server
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gatebench export influxdb RUN --to http://127.0.0.1:8086/k6
  gatebench export influxdb RUN > run.lp")]
pub struct Influxdb {
    #[command(flatten)]
    recorded: Recorded,
    /// Write one response-time point for every N requests [default: derived from the first second]
    #[arg(long, value_name = "N", conflicts_with = "to", value_parser = clap::value_parser!(u64).range(1..))]
    sampling: Option<u64>,
}

impl Influxdb {
    pub fn run(self) -> Result<(), Failure> {
        let sampling = self.sampling;
        self.recorded.send_or("influxdb", |run, tags| {
            let mut encoder = Encoder::new(&Format::Influx { sampling }, Duration::Response);
            let mut printed = Ok(());
            replay(run, tags, &mut |fact| {
                let lines = encoder.encode(fact);
                let text = String::from_utf8_lossy(&lines);
                if printed.is_ok() && !text.is_empty() {
                    printed = terminal::say_data(text.trim_end());
                }
            })?;
            printed
        })
    }
}
