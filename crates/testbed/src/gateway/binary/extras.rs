//! Extras: parts of a gateway that features need in addition to its program. An extra must be where
//! the program is: on this machine, on the remote host, or in the image.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gatebench_model::gateway::Extra;

use super::{of_program, set_environment};
use crate::gateway::folder::Folder;
use crate::system::command;
use crate::system::installed;

/// The value of `place` for this machine. It is unambiguous, because no image has an empty ID.
const HERE: &str = "";

/// The timeout of a test on this machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The extras that were found, each with the reason why it cannot be used, if there is one.
pub(super) type FoundExtras = BTreeMap<String, Option<String>>;

/// Returns the folder's extras that are on this machine. A relative path is below gatebench's data
/// folder.
pub(super) fn on_this_machine(folder: &Folder, gateway: &Path) -> FoundExtras {
    let data = installed::data_folder().unwrap_or_default();
    let has = |path: &str| Ok(data.join(path).exists());
    let run = |words: &[String]| {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut test = Command::new(program);
        set_environment(test.args(arguments), gateway, &folder.spec.binary)?;
        let finished = command::run(&mut test, TEST_TIMEOUT)?;
        Ok((finished.status.success(), finished.output))
    };
    found(folder, HERE, gateway, has, run).unwrap_or_default()
}

/// Returns the folder's extras in a place, which is [`HERE`] or an image. `has` looks for a file
/// there; `run` runs a command there and returns whether it succeeded, and its output.
pub(super) fn found(
    folder: &Folder,
    place: &str,
    program: &Path,
    has: impl Fn(&str) -> io::Result<bool>,
    run: impl Fn(&[String]) -> io::Result<(bool, String)>,
) -> io::Result<FoundExtras> {
    let mut found = BTreeMap::new();
    for (name, extra) in folder.spec.extras() {
        if has(&of_program(&extra.path, program).map_err(io::Error::other)?)? {
            found.insert(name.to_owned(), tested(extra, place, program, &run));
        }
    }
    Ok(found)
}

/// The tests that succeeded, by place and command. They are remembered because each lookup of a
/// program tests its extras.
static SUCCEEDED: Mutex<BTreeSet<(String, Vec<String>)>> = Mutex::new(BTreeSet::new());

/// Runs the test of an extra, unless it already succeeded in this process. Returns the reason why
/// the extra cannot be used, usually the last line that a failed test printed; none if the extra
/// can be used. A failed test runs again, because `gatebench install` may have repaired the extra
/// in the meantime.
fn tested(
    extra: &Extra,
    place: &str,
    program: &Path,
    run: impl Fn(&[String]) -> io::Result<(bool, String)>,
) -> Option<String> {
    if extra.test.is_empty() {
        return None;
    }
    let succeeded = || SUCCEEDED.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |words: Vec<String>| -> io::Result<(bool, String)> {
        let test = (place.to_owned(), words);
        if succeeded().contains(&test) {
            return Ok((true, String::new()));
        }
        let (is_usable, output) = run(&test.1)?;
        if is_usable {
            succeeded().insert(test);
        }
        Ok((is_usable, output))
    };
    let words = extra.test.iter().map(|word| of_program(word, program));
    let words: Result<Vec<String>, _> = words.collect();
    match words.map_err(io::Error::other).and_then(run) {
        Ok((true, _)) => None,
        Ok((false, output)) => {
            let last = output.trim_end().lines().next_back().map(str::trim);
            let last = last.unwrap_or("its test failed and printed nothing");
            Some(last.to_owned())
        }
        Err(error) => Some(format!("its test could not be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Looks up an extra three times, and returns the number of times that its test ran.
    fn runs(name: &str, place: &str, outcome: bool) -> u32 {
        let extra = Extra {
            path: "/".into(),
            test: vec![name.into(), "{{ binary }}".into()],
            install: String::new(),
        };
        let runs = Cell::new(0);
        let run = |words: &[String]| {
            assert_eq!(words, [name, "/bin/gw"]);
            runs.set(runs.get() + 1);
            Ok((outcome, "why".into()))
        };
        let expected = (!outcome).then_some("why");
        for _ in 0..3 {
            let found = tested(&extra, place, Path::new("/bin/gw"), run);
            assert_eq!(found.as_deref(), expected);
        }
        runs.get()
    }

    #[test]
    fn a_test_that_succeeded_is_not_run_again_in_the_same_place() {
        assert_eq!(runs("works", HERE, true), 1);
        assert_eq!(runs("works", HERE, true), 0);
        assert_eq!(runs("works", "image:1", true), 1);
        assert_eq!(runs("fails", HERE, false), 3);
    }
}
