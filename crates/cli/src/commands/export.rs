//! `gatebench export`: a scenario in the words of another tool.

use clap::{Args, ValueEnum};
use gatebench_external::Limits;
use gatebench_runner::scenario_and_load;

use super::values::Overlay;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  gatebench export k6 api-key > api-key.js
  gatebench export k6 ./mine.yaml --load ./peak.yaml --url http://gateway:8080 > mine.js
  k6 run -e GATEBENCH_URL=http://127.0.0.1:8080 mine.js

Differences between the script and gatebench are printed on standard error.";

/// Print a scenario as a script for another load generator
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// The load generator
    tool: Tool,
    /// The scenario, a name (see `gatebench list`) or file
    #[arg(value_name = "SCENARIO")]
    scenario: String,
    /// Use this load profile, a name or file [default: the load of the tour]
    #[arg(long, value_name = "NAME|FILE")]
    load: Option<String>,
    /// Send requests to this URL if GATEBENCH_URL is not set
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    #[command(flatten)]
    overlay: Overlay,
}

/// A tool whose scripts can say all of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// JavaScript for k6 (https://k6.io)
    K6,
}

impl Export {
    /// Prints it.
    pub fn run(self) -> Result<Exit, Failure> {
        let library = self.overlay.scenarios();
        let (scenario, load) = scenario_and_load(&self.scenario, self.load.as_deref(), &library)?;
        let exported = match self.tool {
            Tool::K6 => gatebench_external::export(&scenario, &load.phases, &self.url),
        };
        let (script, limits) = exported
            .map_err(|refusal| Failure::words("the load", refusal.message, refusal.remedy))?;
        say_limits(&limits);
        terminal::say_data(script.trim_end())?;
        Ok(Exit::Fine)
    }
}

fn say_limits(limits: &Limits) {
    for what in &limits.not_expressed {
        terminal::complain(&format!(
            "warning: the script differs from gatebench: {what}"
        ));
    }
}
