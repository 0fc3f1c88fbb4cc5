//! `gatebench check`.

mod printer;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use gatebench_model::{Places, Scenario};
use gatebench_report::format::counted;
use gatebench_runner::{
    CheckOutcome, CheckRequest, CheckStep, Checked, Interrupt, Source, check_gateway,
    check_scenarios, find_gateway,
};
use gatebench_testbed::Testbed;
use indicatif::ProgressBar;

use super::values::{Overlay, launcher};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{signals, terminal};

/// Test that a gateway enforces the policies that its folder claims
#[derive(Debug, Args)]
pub struct Check {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Gateway(CheckGateway),
}

/// Start a gateway and test each policy that its folder claims
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gatebench check gateway ./mine
  gatebench check gateway nginx --scenario api-key
  gatebench check gateway kong@/opt/kong-3.9

For each scenario that the gateway supports, gatebench renders the configuration, starts the
gateway, sends the scenario's test cases, first one at a time and then concurrently, and stops the
gateway. The first scenario, `contract`, applies to every gateway, whatever its policies.

Exit code: 0 if the gateway passes all tested scenarios, 1 if it fails one, 130 if interrupted.")]
struct CheckGateway {
    /// The gateway: a name, NAME@VERSION, NAME@/PREFIX, or a folder
    #[arg(value_name = "GATEWAY")]
    gateway: String,
    /// Test only this scenario (name or file; repeatable)
    #[arg(long = "scenario", value_name = "NAME|FILE")]
    scenarios: Vec<String>,
    /// Keep rendered files and logs in this directory [default: ./gatebench-check/NAME]
    #[arg(long, alias = "out", value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    overlay: Overlay,
}

impl Check {
    pub fn run(self) -> Result<Exit, Failure> {
        let What::Gateway(check) = self.what;
        check.run()
    }
}

impl CheckGateway {
    fn run(self) -> Result<Exit, Failure> {
        let bar = terminal::spinner();
        bar.set_message(format!(
            "looking for {}",
            terminal::in_progress(&self.gateway)
        ));
        let testbed = Testbed::open(&launcher()?, None, &Places::default(), None)?;
        let gateway = find_gateway(&self.gateway, &self.overlay.catalogue(), &testbed)?;
        let scenarios = self.asked()?;
        let spec = &gateway.folder.spec;
        let version = &gateway.binary.version;
        let place = gateway.binary.place();
        let unproven = gateway.folder.unproven(version);
        let unproven = unproven.map_or(String::new(), |what| format!("{what}\n"));
        let title = format!("{} {version} ({place})\n{unproven}", spec.title);
        terminal::unless_closed(bar.suspend(|| terminal::say(&title)))?;
        let interrupt = Arc::new(Interrupt::new());
        let raised = Arc::clone(&interrupt);
        signals::on_signal(move || raised.raise())?;
        let out = self
            .dir
            .clone()
            .unwrap_or_else(|| PathBuf::from("gatebench-check").join(&spec.gateway));
        let request = CheckRequest {
            gateway: &gateway,
            scenarios: &scenarios,
            out: &out,
            testbed: &testbed,
            interrupt: &interrupt,
        };
        let mut unable = None;
        let mut printer = printer::Printer::default();
        let mut number = 0;
        let all = check_gateway(&request, |step| match step {
            CheckStep::Begun(scenario) => {
                number += 1;
                show(&bar, scenario, [number, scenarios.len()]);
                printer.begin(scenario);
            }
            CheckStep::Ended(checked) => {
                let text = printer.text(checked);
                let said = bar.suspend(|| terminal::say(&text));
                if let Err(failure) = terminal::unless_closed(said) {
                    interrupt.raise();
                    unable = Some(failure);
                }
            }
        })?;
        bar.finish_and_clear();
        unable.map_or(Ok(()), Err)?;
        self.summary(&spec.gateway, &all)
    }

    fn asked(&self) -> Result<Vec<Scenario>, Failure> {
        let library = self.overlay.scenarios();
        let all = check_scenarios(&library)?;
        let named = self.scenarios.iter().map(|word| {
            // The contract is not in the library, because it is not a load scenario.
            match all.iter().find(|it| it.scenario == *word) {
                Some(scenario) => Ok(scenario.clone()),
                None => Ok(gatebench_runner::scenario_and_load(word, None, &library)?.0),
            }
        });
        let named = named.collect::<Result<Vec<_>, Failure>>()?;
        Ok(if named.is_empty() { all } else { named })
    }

    fn summary(&self, gateway: &str, all: &[Checked]) -> Result<Exit, Failure> {
        let not_supported = |it: &&Checked| matches!(it.outcome, CheckOutcome::NotSupported(_));
        if all.iter().any(|it| it.outcome == CheckOutcome::Interrupted) {
            return Ok(Exit::Interrupted);
        }
        let lacking = all.iter().filter(not_supported).count();
        let failing: Vec<&Checked> = all.iter().filter(|it| !it.holds()).collect();
        let asked = counted((all.len() - lacking) as u64, "scenario");
        let untested = match lacking {
            0 => String::new(),
            count => {
                format!("; {count} not tested, because the folder does not claim their features")
            }
        };
        let Some(first) = failing.first() else {
            let said = terminal::say(&format!("\n{gateway} passes all {asked}{untested}"));
            terminal::unless_closed(said)?;
            return Ok(Exit::Fine);
        };
        let said = terminal::say(&format!(
            "\n{gateway} fails {} of {asked}{untested}\n  → correct {}; the rendered files are in {}",
            failing.len(),
            self.mistaken(all),
            first.work.join("gateway").display()
        ));
        terminal::unless_closed(said)?;
        Ok(Exit::CheckFailed)
    }

    /// Names what may contain the mistake: the gateway's folder and, if cases of the user's own
    /// scenarios failed, the files of these scenarios.
    fn mistaken(&self, all: &[Checked]) -> String {
        let words = self.scenarios.iter().map(Some);
        let words = words.chain(std::iter::repeat(None));
        let own = all
            .iter()
            .zip(words)
            .filter_map(|(checked, word)| match &checked.outcome {
                CheckOutcome::Asked(record) if !record.holds() => {
                    self.own_file(&checked.scenario, word)
                }
                _ => None,
            });
        let own: Vec<String> = own.collect();
        match own.is_empty() {
            true => "its folder".into(),
            false => format!("{} or the gateway's folder", own.join(", ")),
        }
    }

    /// Returns the file of a scenario, or `None` if the scenario is embedded. `word` is the
    /// argument that selected the scenario, if there was one.
    fn own_file(&self, scenario: &str, word: Option<&String>) -> Option<String> {
        // The name of a scenario contains neither of these characters.
        if let Some(path) = word.filter(|word| word.contains(['/', '.'])) {
            return Some(path.clone());
        }
        let listed = self.overlay.scenarios().scenarios().ok()?;
        let mut listed = listed.into_iter();
        match listed.find(|it| it.document.scenario == scenario)?.source {
            Source::File(path) => Some(path.display().to_string()),
            Source::Embedded(_) => None,
        }
    }
}

fn show(bar: &ProgressBar, scenario: &Scenario, [number, of]: [usize; 2]) {
    let name = terminal::in_progress(&scenario.scenario);
    bar.set_message(format!("checking {name} ({number} of {of})"));
}
