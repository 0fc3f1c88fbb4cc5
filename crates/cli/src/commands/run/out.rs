//! The default directory of a run.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

const FOLDER: &str = "gatebench-runs";

/// Returns `gatebench-runs/SUITE-20260102T030405Z`, with a number appended if that exists.
pub fn default_dir(suite: &str) -> PathBuf {
    let name = format!("{suite}-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    free(&Path::new(FOLDER).join(name))
}

fn free(dir: &Path) -> PathBuf {
    let numbered = (2..).map(|number| PathBuf::from(format!("{}-{number}", dir.display())));
    std::iter::once(dir.to_owned())
        .chain(numbered)
        .find(|dir| !dir.exists())
        .unwrap_or_else(|| dir.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_second_run_in_the_same_second_has_its_own_directory() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("tour");
        assert_eq!(free(&dir), dir);
        std::fs::create_dir(&dir).unwrap();
        assert_eq!(free(&dir), parent.path().join("tour-2"));
    }
}
