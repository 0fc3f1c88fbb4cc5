//! `gatebench kubernetes from-testrun`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use gatebench_import::{Options, TestRunFile, read_testruns};
use gatebench_runner::known_suite;

use crate::commands::import::{finish, text_of};
use crate::commands::values::Overlay;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// Turn TestRuns of the k6 operator into a folder that can be run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  gatebench kubernetes from-testrun k6/testrun.yaml
  gatebench kubernetes from-testrun k6/*.yaml --suite gravitee --dir ours
  gatebench run ./ours --kubernetes bench --agents 4 --dry-run

Each TestRun becomes a scenario with the load of its script or its arguments. gatebench reads the
script from a ConfigMap in the same file, or from a separate file in the same folder. A script
contains no policies. With --suite, gatebench therefore uses a scenario of that suite: the one that
a label of the TestRun names, or else the one whose first request matches the script's. gatebench
prints the number of runners, their nodes and their limits as options of `gatebench run`. The folder
also contains the scripts, for --engine k6.")]
pub struct FromTestrun {
    /// Files that contain TestRun resources
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Use the scenarios and gateways of this suite (name or file)
    #[arg(long, value_name = "NAME|FILE")]
    suite: Option<String>,
    /// Write to this folder, which must not exist [default: the name of the first file without its
    /// extension]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    overlay: Overlay,
}

impl FromTestrun {
    pub fn run(self) -> Result<Exit, Failure> {
        let stem = self.files[0].file_stem().unwrap_or_default();
        let dir = self.dir.clone().unwrap_or_else(|| stem.into());
        if dir.exists() {
            return Err(Failure::words(
                dir.display().to_string(),
                "already exists",
                "choose another folder with --dir, or remove this one",
            ));
        }
        let texts: Vec<(String, String)> = self
            .files
            .iter()
            .map(|file| Ok((file.display().to_string(), text_of(file)?)))
            .collect::<Result<_, Failure>>()?;
        let files = texts.iter().map(|(name, text)| TestRunFile { name, text });
        let library = self.overlay.scenarios();
        let known = self.suite.as_ref().map(|word| known_suite(word, &library));
        let known = known.transpose()?;
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let source = match &texts[..] {
            [(only, _)] => only.clone(),
            [(first, _), more @ ..] => format!("{first} and {} more", more.len()),
            [] => String::new(),
        };
        let options = Options::new(source, name);
        let files = Vec::from_iter(files);
        let read = |name: &str| self.script(name);
        let runs = read_testruns(&files, &read, known.as_ref(), &options)?;
        finish(&runs.folder, &dir)?;
        let here = if dir.is_absolute() { "" } else { "./" };
        let words = runs.words.join(" ");
        terminal::say(&format!(
            "  → in a cluster: gatebench run {here}{} --kubernetes NAMESPACE {words}",
            dir.display()
        ))?;
        Ok(Exit::Fine)
    }

    /// Reads a script from the first of the files' folders that contains it.
    fn script(&self, name: &str) -> Option<String> {
        let mut folders = self.files.iter().filter_map(|file| file.parent());
        folders.find_map(|folder| fs::read_to_string(folder.join(Path::new(name))).ok())
    }
}
