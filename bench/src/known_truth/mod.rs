//! Measures how often the verdicts of `gatebench ab` are correct. This benchmark compares the
//! reference gateway with itself, and with itself slowed by a known amount of extra work, each time
//! with fresh processes, on the default scenario. It counts every verdict.
//!
//! Comparisons are independent: no two share a block. Each result is appended to a file, so the
//! command can resume an earlier run or add comparisons to it. The size of the extra work is
//! measured independently of gatebench, as the CPU time that the system charges to a process that
//! does nothing else.
//!
//! Comparisons with other scenarios, metrics or effect sizes are only simulated, by replaying a
//! recording of equal gateways with an added effect ([`replay`]).

mod comparison;
mod handicap;
mod plan;
mod record;
mod replay;
mod results;

use std::path::Path;

use self::comparison::Outcome;
use self::handicap::Handicap;
pub use self::plan::Plan;
use self::results::Results;
use super::programs::Programs;

/// Runs comparisons until each truth has the requested number, records blocks if requested, and
/// prints the results.
pub fn run(plan: &Plan, root: &Path) -> Result<(), String> {
    let folder = plan.folder()?;
    let mut results = Results::open(&folder)?;
    if plan.comparisons > 0 {
        let programs = Programs::build(root)?;
        let handicap = Handicap::of_folder(&folder, root, &programs)?;
        while let Some(truth) = results.next(plan.comparisons) {
            let number = results.next_number();
            eprintln!("comparison {number}: {}", truth.title());
            let outcome = Outcome::of(truth, number, &handicap, plan, &programs, &folder)?;
            eprintln!("  {}", outcome.in_words());
            results.add(outcome)?;
        }
    }
    println!("{}", results.table());
    if plan.record > 0 {
        record::make(plan, &Programs::build(root)?, &folder)?;
    }
    if let Some(recorded) = record::read(&folder)? {
        println!("\n{}", replay::table(&recorded)?);
    }
    Ok(())
}
