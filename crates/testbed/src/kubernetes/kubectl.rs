//! The user's `kubectl`, with its contexts, credentials and proxies.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::thread;

use gatebench_model::Namespace;
use serde_json::{Deserializer, Value as Json};

use super::complaint;
use crate::error::{DriverError, RemoteError};

const REQUEST_TIMEOUT: &str = "--request-timeout=20s";

/// `kubectl` with a context and a namespace.
#[derive(Clone, Debug)]
pub struct Kubectl {
    namespace: Namespace,
}

impl Kubectl {
    pub fn new(namespace: &Namespace) -> Self {
        Self {
            namespace: namespace.clone(),
        }
    }

    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Returns a kubectl command with its context and namespace, but without a subcommand. Ctrl-C
    /// at the terminal does not reach the command.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new("kubectl");
        if let Some(context) = &self.namespace.context {
            command.args(["--context", context]);
        }
        command.args(["--namespace", &self.namespace.name]);
        command.process_group(0);
        command
    }

    /// Returns the command that runs a program in a container and forwards its input and output.
    pub(crate) fn exec(&self, pod: &str, container: &str) -> Command {
        let mut command = self.command();
        command.args(["exec", "--stdin", "--quiet", pod]);
        command.args(["--container", container, "--"]);
        command
    }

    /// Runs kubectl with `input` as its standard input, and returns its output. `what` is the
    /// purpose, which follows `cannot` in the error message.
    pub(super) fn run<W: AsRef<OsStr>>(
        &self,
        what: &str,
        words: impl IntoIterator<Item = W>,
        input: Option<String>,
    ) -> Result<String, DriverError> {
        let mut command = self.command();
        command.arg(REQUEST_TIMEOUT).args(words);
        let output = output_of(&mut command, input)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(self.failed(what, &stderr).into())
    }

    fn failed(&self, what: &str, stderr: &str) -> RemoteError {
        self.explained(
            &format!("cannot {what} in the namespace {}", self.namespace),
            stderr,
        )
    }

    /// Returns the error for a kubectl command that failed. The error's message begins with `what`.
    pub(crate) fn explained(&self, what: &str, stderr: &str) -> RemoteError {
        complaint::of(&self.namespace, what, stderr)
    }

    /// Creates objects, and returns them as the API server stored them.
    ///
    /// # Errors
    /// kubectl fails. Some of the objects may have been created nevertheless.
    pub(super) fn create(&self, what: &str, objects: &[Json]) -> Result<Vec<Json>, DriverError> {
        let documents = objects.iter().map(Json::to_string);
        let input = Vec::from_iter(documents).join("\n---\n");
        // kubectl's own validation of the fields would require rights outside the namespace.
        let words = [
            "create",
            "--filename=-",
            "--output=json",
            "--validate=ignore",
        ];
        let output = self.run(&format!("create {what}"), words, Some(input))?;
        self.objects(&output)
    }

    pub(super) fn list(&self, kinds: &str, label: &str) -> Result<Vec<Json>, DriverError> {
        let label = format!("--selector={label}");
        let words = ["get", kinds, &label, "--output=json"];
        let output = self.run(&format!("list {kinds}"), words, None)?;
        self.objects(&output)
    }

    /// Parses the output of kubectl, which contains objects one after another or a list of objects.
    pub(super) fn objects(&self, output: &str) -> Result<Vec<Json>, DriverError> {
        let mut objects = Vec::new();
        for object in Deserializer::from_str(output).into_iter::<Json>() {
            let mut object = object.map_err(|error| {
                let what = format!("cannot parse the output of kubectl: {error}");
                RemoteError::environment(
                    what,
                    "use kubectl 1.28 or later; `kubectl version` prints the version",
                )
            })?;
            match object["items"].take() {
                Json::Array(items) => objects.extend(items),
                _ => objects.push(object),
            }
        }
        Ok(objects)
    }
}

/// Runs a command to completion. The input is written while the output is read.
fn output_of(command: &mut Command, input: Option<String>) -> Result<Output, DriverError> {
    let stdin = match input {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    };
    let streams = command.stdin(stdin).stdout(Stdio::piped());
    let mut child = streams.stderr(Stdio::piped()).spawn().map_err(not_found)?;
    let stdin = child.stdin.take();
    let writer = stdin.zip(input).map(|(mut stdin, input)| {
        // A failed write is ignored, because a kubectl that ends early states the reason.
        thread::spawn(move || drop(stdin.write_all(input.as_bytes())))
    });
    let output = child.wait_with_output();
    drop(writer.map(thread::JoinHandle::join));
    output.map_err(DriverError::io("wait for kubectl"))
}

/// Returns the error for a kubectl that cannot be started.
pub(crate) fn not_found(error: io::Error) -> DriverError {
    match error.kind() {
        io::ErrorKind::NotFound => DriverError::Remote(RemoteError::environment(
            "there is no program `kubectl` on PATH",
            "install kubectl: https://kubernetes.io/docs/tasks/tools/",
        )),
        _ => DriverError::io("start kubectl")(error),
    }
}
