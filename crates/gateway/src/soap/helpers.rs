//! The helpers that run XSLT 2.0 and 3.0, shared by all policies of the process.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gatebench_xml::saxon::{Bounds, Saxon};

use crate::config::ConfigError;

const HELPERS_MAX: usize = 16;

/// Returns the helpers, and starts them if none are running. They exit when the last policy that
/// uses them is dropped.
pub(crate) fn helpers() -> Result<Arc<Saxon>, ConfigError> {
    static SHARED: Mutex<Weak<Saxon>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = shared.upgrade() {
        return Ok(running);
    }
    let folder = folder().filter(|folder| folder.is_dir()).ok_or_else(|| {
        let message = "saxon is not supported here, because SaxonC-HE is not installed";
        ConfigError::new(message, "install it: make saxon")
    })?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // One more helper than there are cores (but at most the maximum), so that enough helpers remain
    // while one restarts.
    let count = (cores + 1).min(HELPERS_MAX);
    let started = Saxon::start(folder, Bounds::default(), count)
        .map_err(|why| ConfigError::new(format!("saxon: {why}"), "install it again: make saxon"))?;
    *shared = Arc::downgrade(&started);
    Ok(started)
}

/// Returns the directory where `make saxon` installs the Python package: `gatebench/saxonche` in
/// XDG_DATA_HOME [default: `~/.local/share`].
fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let data =
        absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("gatebench/saxonche"))
}
