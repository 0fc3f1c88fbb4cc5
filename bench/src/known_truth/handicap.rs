//! The slowed gateway and the cost of its extra work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::record;
use crate::SERVER_CORE;
use crate::client;
use crate::programs::Programs;

/// The additional CPU time of the slowed gateway, as a share of the unslowed gateway's.
const SHARE: f64 = 0.05;

pub const NAME: &str = "handicapped";

/// The number of responses in one measurement of a handicap.
const RESPONSES: u64 = 500_000;

/// The numbers of loop iterations and of system calls per response in the runs that measure the
/// cost of one iteration and of one call.
const TRIED_SPINS: f64 = 1_000.0;
const TRIED_CALLS: f64 = 1.0;

/// The extra work for each response. It is the same for all comparisons whose results are in one
/// folder.
pub struct Handicap {
    /// The value of `--handicap`: loop iterations and system calls per response, such as `300,0.5`.
    word: String,
    /// The folder of the unslowed gateway. Both gateways start the same program, so only the
    /// handicap differs.
    pub baseline: PathBuf,
    /// The slowed gateway's folder.
    pub gateway: PathBuf,
}

impl Handicap {
    /// Returns the handicap that is stored in this folder. If there is none, fits one to the
    /// default scenario on this machine, and stores it.
    pub fn of_folder(folder: &Path, root: &Path, programs: &Programs) -> Result<Self, String> {
        let baseline = variant(root, folder, programs, record::GATEWAY, "")?;
        let file = folder.join("handicap");
        let word = match fs::read_to_string(&file) {
            Ok(word) => word.trim().to_owned(),
            Err(_) => {
                let word = fitting(folder, &baseline, programs)?;
                write(&file, &word)?;
                word
            }
        };
        let flags = format!(", --handicap, \"{word}\"");
        let gateway = variant(root, folder, programs, NAME, &flags)?;
        Ok(Self {
            word,
            baseline,
            gateway,
        })
    }

    /// Measures the handicap's cost per response, in nanoseconds of CPU time.
    pub fn added_ns(&self, programs: &Programs) -> Result<f64, String> {
        Ok(alone_ns(&self.word, programs)? - alone_ns("0,0", programs)?)
    }
}

/// Returns the handicap whose cost is [`SHARE`] of a request's cost, half of it in user code and
/// half in system calls.
fn fitting(folder: &Path, baseline: &Path, programs: &Programs) -> Result<String, String> {
    eprintln!("measuring the cost of a request, to fit the handicap");
    let needed_ns = record::cpu_per_request_ns(programs, folder, baseline)?;
    let none = alone_ns("0,0", programs)?;
    let spin_ns = (alone_ns(&format!("{TRIED_SPINS},0"), programs)? - none) / TRIED_SPINS;
    let call_ns = (alone_ns(&format!("0,{TRIED_CALLS}"), programs)? - none) / TRIED_CALLS;
    if spin_ns <= 0.0 || call_ns <= 0.0 {
        return Err(
            "a loop iteration or a system call appears to cost no CPU time; try again on an idle machine".into(),
        );
    }
    let half_ns = SHARE * needed_ns / 2.0;
    Ok(format!("{:.0},{:.3}", half_ns / spin_ns, half_ns / call_ns))
}

/// Measures the CPU time per response, in nanoseconds, of a process that does only the work of this
/// handicap, as the system charges it to the process.
fn alone_ns(word: &str, programs: &Programs) -> Result<f64, String> {
    let before = client::children_cpu_us();
    let status = Command::new("taskset")
        .args(["--cpu-list", SERVER_CORE])
        .arg(&programs.faulty)
        .args(["alone", word, &RESPONSES.to_string()])
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("taskset cannot be started: {error}"))?;
    if !status.success() {
        return Err(format!(
            "the handicap {word} failed when run alone: {status}"
        ));
    }
    Ok((client::children_cpu_us() - before) * 1e3 / RESPONSES as f64)
}

/// Copies the reference gateway's folder to `folder/name`. The copied gateway is called `name`, and
/// starts `gatebench-faulty`, with `flags` after its other arguments.
fn variant(
    root: &Path,
    folder: &Path,
    programs: &Programs,
    name: &str,
    flags: &str,
) -> Result<PathBuf, String> {
    let from = root.join("gateways/reference");
    let to = folder.join(name);
    let failed = |error: std::io::Error| format!("cannot create {}: {error}", to.display());
    fs::create_dir_all(&to).map_err(failed)?;
    for file in fs::read_dir(&from).map_err(failed)? {
        let file = file.map_err(failed)?;
        fs::copy(file.path(), to.join(file.file_name())).map_err(failed)?;
    }
    let program = programs.faulty.canonicalize().map_err(failed)?;
    let path = to.join("gateway.yaml");
    let text = fs::read_to_string(&path).map_err(failed)?;
    write(&path, &with_faults(&text, &program, name, flags)?)?;
    Ok(to)
}

fn with_faults(text: &str, program: &Path, name: &str, flags: &str) -> Result<String, String> {
    let start = "/gateway.json\" ]";
    let names = "names: [gatebench]";
    if [start, names]
        .iter()
        .any(|it| text.matches(it).count() != 1)
    {
        return Err("gateways/reference/gateway.yaml has changed; adapt this benchmark".into());
    }
    let named = text.replacen("gateway: reference", &format!("gateway: {name}"), 1);
    let named = named.replacen(names, &format!("names: [{program:?}]"), 1);
    let words = format!("/gateway.json\"{flags} ]");
    Ok(named.replacen(start, &words, 1))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_slowed_gateway_is_the_reference_gateway_with_a_handicap() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = fs::read_to_string(root.join("gateways/reference/gateway.yaml")).unwrap();
        let program = Path::new("/x/gatebench-faulty");
        let flags = ", --handicap, \"300,0.5\"";
        let slowed = with_faults(&text, program, NAME, flags).unwrap();
        assert!(slowed.starts_with("gateway: handicapped\n"));
        assert!(slowed.contains("names: [\"/x/gatebench-faulty\"]\n"));
        assert!(slowed.contains("gateway.json\", --handicap, \"300,0.5\" ]"));
        assert_eq!(slowed.lines().count(), text.lines().count());
        let baseline = with_faults(&text, program, record::GATEWAY, "").unwrap();
        assert!(baseline.starts_with("gateway: reference\n"));
        assert!(baseline.contains("gateway.json\" ]"));
    }
}
