//! Imports inputs, reads the resulting folders, and compares strings with golden files.

use std::fs;
use std::path::{Path, PathBuf};

use gatebench_config::parse_with_files;
use gatebench_import::{Folder, ImportError, Options, TextKind, import};
use gatebench_model::Scenario;

pub fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs")
}

pub fn imported(kind: TextKind, file: &str, text: &str) -> Folder {
    import(kind, text, &Options::new(file, "mine")).unwrap_or_else(|error| match error {
        ImportError::Mistakes(mistakes) => panic!("{}", mistakes.render(false, 100)),
        other => panic!("{other}"),
    })
}

/// Returns a scenario of a folder, with the files that it names.
pub fn scenario(folder: &Folder, path: &str) -> Scenario {
    let text = text(folder, path);
    let read = |wanted: &Path| {
        let mut files = folder.files.iter();
        let file = files.find(|file| Path::new(&file.path) == wanted);
        Ok(file
            .map(|file| file.text.clone().into_bytes())
            .unwrap_or_default())
    };
    parse_with_files(path, text, &read).unwrap()
}

pub fn text<'f>(folder: &'f Folder, path: &str) -> &'f str {
    let mut files = folder.files.iter();
    let file = files.find(|file| file.path == path);
    &file
        .unwrap_or_else(|| panic!("the folder has no {path}"))
        .text
}

/// Compares a string with its golden file. `GATEBENCH_BLESS=1` rewrites the file.
pub fn assert_golden(path: &Path, found: &str) {
    if std::env::var_os("GATEBENCH_BLESS").is_some() {
        fs::write(path, found).unwrap();
    }
    let golden = fs::read_to_string(path).unwrap_or_default();
    assert!(
        golden == found,
        "{}: run with GATEBENCH_BLESS=1 to accept this text:\n{found}",
        path.display()
    );
}
