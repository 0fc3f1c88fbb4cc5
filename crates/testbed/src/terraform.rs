//! Runs Terraform or OpenTofu, which creates and destroys the hosts of a run.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tempfile::TempDir;

use crate::error::{DriverError, RemoteError};
use crate::process::last_lines;
use crate::system::installed::path_folders;

const PROGRAMS: [&str; 2] = ["terraform", "tofu"];

/// The exit code of `plan -detailed-exitcode` if there are changes.
const CHANGES: i32 = 2;

const PLAN: &str = "plan";

/// Terraform or OpenTofu, with the folder of a configuration.
#[derive(Clone, Debug)]
pub struct Terraform {
    program: &'static str,
    folder: PathBuf,
}

/// The reason for a plan: to create the hosts of a run, or to destroy them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Create,
    Destroy,
}

/// A plan in a temporary folder, which is private because a plan may contain secrets.
#[derive(Debug)]
pub struct SavedPlan {
    private: TempDir,
}

impl Terraform {
    /// # Errors
    /// The program or the folder is missing.
    pub fn find(folder: &Path) -> Result<Self, DriverError> {
        if !folder.is_dir() {
            let message = format!("there is no folder {}", folder.display());
            let remedy = "name the folder of a Terraform configuration: --hosts terraform:DIR";
            return Err(DriverError::bad_file(folder, message, remedy));
        }
        let is_there = |program: &&str| {
            let mut folders = path_folders().into_iter();
            folders.any(|folder| folder.join(program).is_file())
        };
        let program = PROGRAMS.into_iter().find(is_there).ok_or_else(|| {
            let what = "there is neither `terraform` nor `tofu` on PATH";
            let remedy = "install one of them, or pass a file with saved outputs: --hosts FILE";
            RemoteError::environment(what, remedy)
        })?;
        Ok(Self {
            program,
            folder: folder.to_owned(),
        })
    }

    /// Returns the command that a user would type, up to the subcommand.
    pub fn shown(&self) -> String {
        format!("{} -chdir={}", self.program, self.folder.display())
    }

    /// Returns the outputs as JSON, including sensitive ones.
    ///
    /// # Errors
    /// The program cannot be started, or it fails.
    pub fn outputs(&self) -> Result<String, DriverError> {
        let mut command = self.command(&["output", "-json", "-no-color"]);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(DriverError::io(format!("start {}", self.program)))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = last_lines(&String::from_utf8_lossy(&output.stderr));
        Err(self.failed("output -json", &said).into())
    }

    /// Runs `init`, which downloads the configuration's providers and modules. The program's output
    /// goes to standard error.
    ///
    /// # Errors
    /// The program cannot be started, or it fails.
    pub fn init(&self) -> Result<(), DriverError> {
        let status = self.shown_to_user(&["init", "-input=false"])?;
        self.must_succeed("init", status)
    }

    /// Shows the plan and saves it. Returns `None` if there is nothing to change.
    ///
    /// # Errors
    /// No temporary folder can be created, or the program cannot be started or fails.
    pub fn plan(&self, purpose: Purpose) -> Result<Option<SavedPlan>, DriverError> {
        let private = tempfile::tempdir();
        let private = private.map_err(DriverError::io("create a temporary folder"))?;
        let out = format!("-out={}", private.path().join(PLAN).display());
        let mut words = vec!["plan", "-input=false", "-detailed-exitcode", &out];
        words.extend((purpose == Purpose::Destroy).then_some("-destroy"));
        let status = self.shown_to_user(&words)?;
        if status.code() == Some(CHANGES) {
            return Ok(Some(SavedPlan { private }));
        }
        self.must_succeed("plan", status).map(|()| None)
    }

    /// # Errors
    /// The program cannot be started, or it fails. Some of the changes may have been made.
    pub fn apply(&self, plan: &SavedPlan) -> Result<(), DriverError> {
        let file = plan.private.path().join(PLAN).display().to_string();
        let status = self.shown_to_user(&["apply", "-input=false", &file])?;
        self.must_succeed("apply", status)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command
            .arg(format!("-chdir={}", self.folder.display()))
            .args(words);
        command
    }

    /// Runs the program with its output on standard error, because standard output is for the
    /// results of the run.
    fn shown_to_user(&self, words: &[&str]) -> Result<ExitStatus, DriverError> {
        let stderr = io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.map_err(DriverError::io("write to standard error"))?;
        let mut command = self.command(words);
        let status = command.stdin(Stdio::null()).stdout(stderr).status();
        status.map_err(DriverError::io(format!("start {}", self.program)))
    }

    fn must_succeed(&self, what: &str, status: ExitStatus) -> Result<(), DriverError> {
        match status.success() {
            true => Ok(()),
            false => Err(self
                .failed(what, &format!("{status}; its messages are above"))
                .into()),
        }
    }

    fn failed(&self, what: &str, said: &str) -> RemoteError {
        let shown = self.shown();
        RemoteError::environment(
            format!("`{shown} {what}` failed: {said}"),
            format!("fix the problem that the message reports; to try again, run: {shown} {what}"),
        )
    }
}
