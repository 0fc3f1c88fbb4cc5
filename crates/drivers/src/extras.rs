//! Extras: parts that policies of a gateway need in addition to its program, and the ones that can
//! be used. They are looked for where the program is: on this machine, on the host that asks, or in
//! the image.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gatebench_model::gateway::Extra;
use minijinja::{Environment, context};
use serde::{Deserialize, Serialize};

use crate::command;
use crate::folder::Folder;
use crate::installed;

/// A test loads a library or two.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// An extra that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FoundExtra {
    /// It can be used.
    Usable,
    /// Its test failed, with this last line of output.
    Unusable(String),
}

/// The extras of a folder that are on this machine. A path that is not absolute is of gatebench's data folder.
pub(crate) fn on_this_machine(folder: &Folder, program: &Path) -> BTreeMap<String, FoundExtra> {
    let data = installed::data_folder().unwrap_or_default();
    let has = |path: &str| Ok(data.join(path).exists());
    let run = |words: &[String]| {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let finished = command::run(Command::new(program).args(arguments), TEST_TIMEOUT)?;
        Ok((finished.status.success(), finished.output))
    };
    found(folder, program, has, run).unwrap_or_default()
}

/// The extras of a folder that are in an image: `has` looks for a file in it, and `run` runs a
/// command there and returns its success and output. No image has a data folder of gatebench.
pub(crate) fn in_image(
    folder: &Folder,
    program: &Path,
    has: impl Fn(&str) -> io::Result<bool>,
    run: impl Fn(&[String]) -> io::Result<(bool, String)>,
) -> io::Result<BTreeMap<String, FoundExtra>> {
    let has = |path: &str| Ok(Path::new(path).is_absolute() && has(path)?);
    found(folder, program, has, run)
}

fn found(
    folder: &Folder,
    program: &Path,
    has: impl Fn(&str) -> io::Result<bool>,
    run: impl Fn(&[String]) -> io::Result<(bool, String)>,
) -> io::Result<BTreeMap<String, FoundExtra>> {
    let mut found = BTreeMap::new();
    for (name, extra) in &folder.spec.extras {
        if has(&extra.path)? {
            found.insert(name.clone(), tested(extra, program, &run));
        }
    }
    Ok(found)
}

fn tested(
    extra: &Extra,
    program: &Path,
    run: impl Fn(&[String]) -> io::Result<(bool, String)>,
) -> FoundExtra {
    if extra.test.is_empty() {
        return FoundExtra::Usable;
    }
    let binary = program.display().to_string();
    let templates = Environment::new();
    let word = |word: &String| templates.render_str(word, context! { binary => &binary });
    let words: Result<Vec<String>, _> = extra.test.iter().map(word).collect();
    match words
        .map_err(io::Error::other)
        .and_then(|words| run(&words))
    {
        Ok((true, _)) => FoundExtra::Usable,
        Ok((false, output)) => {
            let mut lines = output
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty());
            let last = lines
                .next_back()
                .unwrap_or("its test failed and printed nothing");
            FoundExtra::Unusable(last.to_owned())
        }
        Err(error) => FoundExtra::Unusable(format!("its test could not be run: {error}")),
    }
}
