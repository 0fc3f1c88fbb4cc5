//! Measures the accuracy of the load generator. In each case, it sends requests at a fixed rate,
//! with default settings otherwise, to an upstream whose true latency distribution is known by
//! construction. The quantiles that it prints are compared with the true ones. Three more cells
//! ([`cells`]) test other properties.
//!
//! There are two references. *Truth* is computed from the case and the schedule alone. *Ledger* is
//! the upstream's record: the time from when the n-th arrival was due until the n-th request ended.
//! The load generator must print the truth, unless there is evidence that the machine stalled and
//! delayed requests or responses. The ledger contains most of this delay, so a quantile may then
//! agree with the ledger instead.

mod case;
mod cells;
mod external;
mod judge;
mod origin;
mod tool;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;

use self::case::{CASES, Case};
use self::judge::Verdict;
use crate::programs::Programs;
use crate::table::Table;

/// The maximum number of attempts at a case while the machine is too noisy for a verdict.
const TRIES: usize = 3;

/// The options of the command.
#[derive(Args)]
pub struct Options {
    /// A cell to measure; may be repeated [default: all cells]
    #[arg(long = "cell", value_name = "NAME", value_parser = PossibleValuesParser::new(cell_names()))]
    cells: Vec<String>,
    /// Shortens the cases and `evenness` from 14 s to 3 s, and `one-connection` from 7 pairs of 3 s
    /// to 3 pairs of 1 s
    #[arg(long)]
    quick: bool,
    /// Prints tables as Markdown
    #[arg(long)]
    markdown: bool,
    /// Runs no external load generators
    #[arg(long)]
    no_external: bool,
}

impl Options {
    fn wants(&self, cell: &str) -> bool {
        self.cells.is_empty() || self.cells.iter().any(|wanted| wanted == cell)
    }
}

fn cell_names() -> impl Iterator<Item = &'static str> {
    let cases = CASES.iter().map(|case| case.name);
    cases.chain(cells::NAMES)
}

struct Bench<'a> {
    programs: &'a Programs,
    options: &'a Options,
}

/// Runs the requested cells. The exit code is 1 if a cell is wrong. Otherwise, it is 4 if the
/// machine was too noisy to judge a cell, and 0 if it was not.
pub fn run(options: &Options, root: &Path) -> Result<ExitCode, String> {
    let programs = Programs::build(root)?;
    let bench = Bench {
        programs: &programs,
        options,
    };
    let mut verdicts = bench.cases()?;
    verdicts.extend(cells::run(&bench)?);
    for (name, verdict) in &verdicts {
        println!("{name}: {verdict}");
    }
    let any = |wanted: fn(&Verdict) -> bool| verdicts.iter().any(|(_, it)| wanted(it));
    Ok(if any(|it| matches!(it, Verdict::Wrong(_))) {
        ExitCode::FAILURE
    } else if any(|it| matches!(it, Verdict::Noisy(_))) {
        ExitCode::from(4)
    } else {
        ExitCode::SUCCESS
    })
}

impl Bench<'_> {
    fn cases(&self) -> Result<Vec<(&'static str, Verdict)>, String> {
        let wanted = |case: &&Case| self.options.wants(case.name);
        let mut verdicts = Vec::new();
        let (mut truths, mut others) = (judge::table(), None);
        for case in CASES.iter().filter(wanted) {
            let trial = self.settled(case)?;
            trial.write(&mut truths);
            if !self.options.no_external {
                let external = external::installed(self.programs);
                let table = others.get_or_insert_with(|| external::table(&external));
                external::compare(self, case, &trial, &external, table)?;
            }
            verdicts.push((case.name, trial.verdict));
        }
        if !verdicts.is_empty() {
            self.print("The load generator compared with the truth", &truths);
        }
        if let Some(table) = others {
            self.print(
                "The figures of each load generator, in milliseconds",
                &table,
            );
        }
        Ok(verdicts)
    }

    fn settled(&self, case: &Case) -> Result<judge::Trial, String> {
        let mut trial = self.attempt(case)?;
        for _ in 1..TRIES {
            if !matches!(trial.verdict, Verdict::Noisy(_)) {
                break;
            }
            eprintln!("{}: {}; trying again", case.name, trial.verdict);
            trial = self.attempt(case)?;
        }
        Ok(trial)
    }

    fn attempt(&self, case: &Case) -> Result<judge::Trial, String> {
        let job = case.job(self.options.quick);
        eprintln!("{}: {job}", case.name);
        let origin = origin::Origin::start(self.programs)?;
        origin.begin(&job, job.warm_up())?;
        let said = tool::gatebench(self.programs, &origin.url(&job.target), &job)?;
        judge::Trial::new(case, job, said, origin.account()?)
    }

    fn print(&self, title: &str, table: &Table) {
        println!("{title}\n\n{}", table.render(self.options.markdown));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::Parser as _;

    use super::*;
    use crate::{Benchmark, Words};

    fn read(words: &str) -> Result<Options, String> {
        let words = format!("bench accuracy {words}");
        match Words::try_parse_from(words.split_whitespace()) {
            Ok(Words {
                benchmark: Benchmark::Accuracy(options),
            }) => Ok(options),
            Ok(_) => Err("another benchmark".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn options_are_read_and_cells_are_known() {
        let options = read("--quick --cell stall").unwrap();
        assert!(options.quick && !options.no_external && !options.markdown);
        assert!(options.wants("stall") && !options.wants("cap"));
        assert!(read("").unwrap().wants("cap"));
        assert!(read("--cell stal").is_err_and(|it| it.contains("evenness")));
        assert!(read("--cell").is_err());
    }
}
