//! Whole runs on disk that can be compared with each other.

use std::path::Path;

use gatebench_store::{Manifest, Run, RunWriter};
use gatebench_studies::across_runs::{RunSummary, summarize};

use super::{Made, RATE, SECONDS, made, manifest};

/// Writes a run with this number of blocks, after changes to the manifest and to each trial.
pub fn write_run(
    dir: &Path,
    blocks: u32,
    describe: impl Fn(&mut Manifest),
    change: impl Fn(&mut Made),
) {
    let mut manifest = manifest(blocks);
    describe(&mut manifest);
    let status = manifest.status;
    let mut writer = RunWriter::create(dir, manifest.clone()).unwrap();
    for trial in &manifest.plan.trials {
        let mut made = made(&manifest, trial);
        change(&mut made);
        let open = writer.begin_trial(trial).unwrap();
        std::fs::write(open.gateway_folder().join("nginx.conf"), "events {}").unwrap();
        open.finish(made.record, &made.intervals, &made.rows)
            .unwrap();
    }
    writer.set_status(status).unwrap();
}

pub fn read_run(dir: &Path) -> RunSummary {
    let name = dir.file_name().unwrap().to_string_lossy();
    summarize(name, &Run::open(dir).unwrap()).unwrap()
}

/// Sets a gateway's CPU time per request at the fixed rate to `factor` times 18 µs, with an
/// increase of up to 0.4 % that differs between blocks.
pub fn slower(made: &mut Made, variant: &str, factor: f64) {
    if made.is(variant) {
        let wobble = 1.0 + 0.002 * f64::from(made.record.trial.block % 3);
        let cpu_ns = (18_000.0 * factor * wobble * (RATE * SECONDS) as f64) as u64;
        made.used("steady", "gateway").cpu_ns = cpu_ns;
    }
}
