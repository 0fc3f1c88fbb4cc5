//! The container that a supervisor watches.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use super::engine::Engine;
use super::exec::divide;
use super::spec::{ContainerSpec, ContainerState};
use crate::system::owner::Owner;

/// A started container. Dropping it ends and removes the container.
pub(crate) struct ContainerMain {
    engine: Engine,
    id: String,
    /// The container's exit code, or the reason why the wait for its end failed.
    ended: Arc<OnceLock<Result<i32, String>>>,
    logs: Option<JoinHandle<()>>,
}

impl ContainerMain {
    /// Removes the containers of supervisors that no longer run, then creates and starts the
    /// container. When the container ends, or the wait for its end fails, a byte is written to
    /// `bell`.
    pub(crate) fn start(
        spec: &ContainerSpec,
        command: &[OsString],
        cores: &[usize],
        nofile: u64,
        bell: UnixStream,
    ) -> io::Result<Self> {
        let engine = Engine::at(&spec.socket);
        engine.remove_where(Owner::is_gone)?;
        let words = |word: &OsString| word.to_string_lossy().into_owned();
        let command: Vec<String> = command.iter().map(words).collect();
        let label = Owner::this()?.to_string();
        let id = engine.create(&spec.create(&command, cores, nofile, &label))?;
        let mut container = Self {
            engine,
            id,
            ended: Arc::default(),
            logs: None,
        };
        let (engine, id) = (&container.engine, &container.id);
        engine.start(id)?;
        let state = ContainerState {
            pid: engine.pid(id)?,
            id: id.clone(),
        };
        // The file is renamed into place, so no reader finds a partial file.
        let new = spec.state.with_extension("new");
        fs::write(&new, serde_json::to_string(&state)?)?;
        fs::rename(&new, &spec.state)?;
        let logs = engine.logs(id)?;
        container.wait_for_end(bell);
        container.logs = Some(thread::spawn(move || {
            // If the engine ends, the stream is cut off, and there is no more output to pass on.
            let _ = divide(logs, io::stdout(), io::stderr());
        }));
        Ok(container)
    }

    fn wait_for_end(&self, mut bell: UnixStream) {
        let (engine, id) = (self.engine.clone(), self.id.clone());
        let ended = Arc::clone(&self.ended);
        thread::spawn(move || {
            let code = engine.wait(&id, None);
            let _ = ended.set(code.map_err(|error| error.to_string()));
            let _ = bell.write_all(&[1]);
        });
    }

    /// Returns the container's exit code; `None` while the container runs.
    pub(crate) fn ended(&self) -> io::Result<Option<i32>> {
        let ended = self.ended.get().cloned().transpose();
        ended.map_err(|why| io::Error::other(format!("cannot wait for the container: {why}")))
    }

    /// Ends the container if it is still running, removes it, and passes on its last output.
    pub(crate) fn remove(&mut self) -> io::Result<()> {
        let removed = self.engine.remove(&self.id);
        if let Some(logs) = self.logs.take() {
            let _ = logs.join();
        }
        removed.map_err(|error| {
            io::Error::other(format!("cannot remove the container {}: {error}", self.id))
        })
    }

    /// Sends a signal, named without `SIG`, to the container's first process.
    pub(crate) fn signal(&self, name: &str) -> io::Result<()> {
        match self.engine.signal(&self.id, name) {
            // The container may have ended in the meantime, which `wait_for_end` reports.
            Err(_) if self.engine.pid(&self.id).is_ok_and(|pid| pid == 0) => Ok(()),
            result => result,
        }
    }
}

impl Drop for ContainerMain {
    fn drop(&mut self) {
        // Callers that need the result have already called `remove`.
        let _ = self.remove();
    }
}
