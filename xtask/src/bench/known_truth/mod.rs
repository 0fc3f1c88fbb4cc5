//! Does `gatebench ab` say what is true? It compares the reference gateway with itself, and with itself made to do a
//! known amount of work more, each time with fresh processes, on the default scenario; and every verdict is counted.
//!
//! Each comparison stands alone: no two share a block. Its result is appended to a file, so that the command goes
//! on where it was stopped, and adds comparisons to those that there are. The size of the added work is measured
//! apart from gatebench, as the processor time that the system accounts to a process that does nothing else.
//!
//! Other cells (scenarios, metrics, sizes) are simulated, by replaying a recording of equal gateways with an effect
//! put in ([`replay`]).

mod comparison;
mod handicap;
mod plan;
mod record;
mod replay;
mod results;

use std::path::Path;

use self::comparison::Outcome;
use self::handicap::Handicap;
use self::plan::Plan;
use self::results::Results;
use super::programs::Programs;

/// Compares until there are as many as asked for of each truth, and prints what came of it.
pub fn run(words: &[&str], root: &Path) -> Result<(), String> {
    let plan = Plan::read(words)?;
    let folder = plan.folder()?;
    let mut results = Results::open(&folder)?;
    if plan.comparisons > 0 {
        let programs = Programs::build(root)?;
        let handicap = Handicap::of_folder(&folder, root, &programs)?;
        while let Some(truth) = results.next(plan.comparisons) {
            let number = results.next_number();
            eprintln!("comparison {number}: {}", truth.title());
            let outcome = Outcome::of(truth, number, &handicap, (&plan, &programs, &folder))?;
            eprintln!("  {}", outcome.in_words());
            results.add(outcome)?;
        }
    }
    println!("{}", results.table());
    if plan.record > 0 {
        record::make(&plan, &Programs::build(root)?, &folder)?;
    }
    if let Some(recorded) = record::read(&folder)? {
        println!("\n{}", replay::table(&recorded)?);
    }
    Ok(())
}
