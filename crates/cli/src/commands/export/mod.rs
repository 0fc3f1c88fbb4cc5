//! `gatebench export`: a scenario as a script for another tool, a run as metrics, and a dashboard.

mod metrics;

use clap::{Args, Subcommand, ValueEnum};
use gatebench_outputs::dashboard;
use gatebench_runner::scenario_and_load;

use self::metrics::{Influxdb, PROMETHEUS, Recorded};
use super::values::Overlay;
use crate::failure::Failure;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  gatebench export k6 api-key > api-key.js
  gatebench export prometheus gatebench-runs/tour-20260102T030405Z > run.om
  gatebench export prometheus RUN --to http://127.0.0.1:9090/api/v1/write
  gatebench export influxdb RUN --to http://127.0.0.1:8086/k6
  gatebench export grafana > dashboard.json";

/// Print a scenario as a k6 script, a run as metrics, or a Grafana dashboard
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    K6(Script),
    /// Print a run as OpenMetrics text, or send it to a Prometheus server
    #[command(after_help = PROMETHEUS)]
    Prometheus(Recorded),
    Influxdb(Influxdb),
    Grafana(Grafana),
}

impl Export {
    pub fn run(self) -> Result<(), Failure> {
        match self.what {
            What::K6(command) => command.run(),
            What::Prometheus(recorded) => recorded.prometheus(),
            What::Influxdb(command) => command.run(),
            What::Grafana(command) => command.run(),
        }
    }
}

const SCRIPT_EXAMPLES: &str = "\
Examples:
  gatebench export k6 api-key > api-key.js
  gatebench export k6 ./mine.yaml --load ./peak.yaml --url http://gateway:8080 > mine.js
  k6 run -e GATEBENCH_URL=http://127.0.0.1:8080 mine.js

The differences between the script and gatebench are printed on standard error.";

/// Print a scenario as a script for k6 (https://k6.io)
#[derive(Debug, Args)]
#[command(after_help = SCRIPT_EXAMPLES)]
struct Script {
    /// The scenario: a name (see `gatebench list`) or file
    #[arg(value_name = "SCENARIO")]
    scenario: String,
    /// Use this load profile (name or file) [default: the load of the tour]
    #[arg(long, value_name = "NAME|FILE")]
    load: Option<String>,
    /// The URL to which the script sends its requests if GATEBENCH_URL is not set
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    #[command(flatten)]
    overlay: Overlay,
}

impl Script {
    fn run(self) -> Result<(), Failure> {
        let library = self.overlay.scenarios();
        let (scenario, load) = scenario_and_load(&self.scenario, self.load.as_deref(), &library)?;
        let exported = gatebench_external::export(&scenario, &load.phases, &self.url);
        let (script, limits) = exported
            .map_err(|refusal| Failure::words("the load", refusal.message, refusal.remedy))?;
        for what in &limits.not_expressed {
            let words = format!("warning: the script differs from gatebench: {what}");
            terminal::complain(&words);
        }
        terminal::say_data(script.trim_end())
    }
}

/// Print a dashboard for Grafana: added latency, CPU per request, validity and the gateway's own
/// metrics
#[derive(Debug, Args)]
struct Grafana {
    /// The data source
    #[arg(value_enum, default_value = "prometheus")]
    source: Source,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Source {
    /// Prometheus with PromQL
    Prometheus,
    /// InfluxDB with InfluxQL
    Influxdb,
}

impl Grafana {
    fn run(&self) -> Result<(), Failure> {
        terminal::say_json(&match self.source {
            Source::Prometheus => dashboard::prometheus(),
            Source::Influxdb => dashboard::influxdb(),
        })
    }
}
