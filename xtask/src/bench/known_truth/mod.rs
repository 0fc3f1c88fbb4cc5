//! Does `gatebench ab` say what is true? The reference gateway is slowed by known shares of the processor time
//! that it needs, while a compiler runs beside it, and what the comparison says is counted.
//!
//! One long run is recorded, with every variant in each block: the gateway, itself under another name, and itself
//! slowed by 3 and by 5 %. The procedure of `gatebench ab` is then played on every contiguous segment of it that is
//! as long as the time of one comparison allows, A/A in both directions, which shows how often it is right; and
//! `gatebench ab` itself is run a few times, which shows that it is that procedure.

mod compile;
mod live;
mod plan;
mod record;
mod segments;

use std::path::Path;

use self::compile::Compile;
use self::plan::Plan;
use self::record::Recorded;
use super::programs::Programs;

/// Records, replays, runs live, and prints the table.
pub fn run(words: &[&str], root: &Path) -> Result<(), String> {
    let plan = Plan::read(words)?;
    let folder = plan.folder()?;
    let recorded = match &plan.from {
        Some(run) => Recorded::read(run)?,
        None => {
            let programs = Programs::build(root)?;
            let _noise = Compile::begin(root, &folder.join("compile"))?;
            record::make(&plan, &programs, root, &folder)?
        }
    };
    let blocks = plan.blocks_of_a_comparison(&recorded);
    println!(
        "{} blocks recorded, {:.1} s each; a comparison has at most {blocks}",
        recorded.blocks, recorded.block_seconds
    );
    println!("\n{}", segments::table(&recorded, blocks)?);
    if plan.live > 0 {
        let programs = Programs::build(root)?;
        let _noise = Compile::begin(root, &folder.join("compile"))?;
        println!("\n{}", live::table(&plan, &programs, root, &folder)?);
    }
    Ok(())
}
