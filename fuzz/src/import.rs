//! Imports: no input may make a parser panic, and mistakes and notes must point into the input.

use std::path::Path;

use gatebench_import::{AccessLog, Files, ImportError, Options, TextKind, import, wire};

use crate::model::mistakes_of;

const FILE: &str = "any";

/// Imports text as an input of this kind, such as a configuration, an API description or a script.
pub fn text(kind: TextKind, data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match import(kind, text, &Options::new(FILE, "mine")) {
        Err(error) => refused(&error, text),
        Ok(folder) => {
            assert!(folder.files.iter().any(|file| file.path == "suite.yaml"));
            let lines = text.split('\n').count();
            for note in &folder.notes {
                assert!((1..=lines).contains(&note.line), "{note:?}");
            }
        }
    }
}

/// Imports text as a gateway's own configuration in the language that [`wire`] recognizes, if any.
/// Every change must point to a line of the input.
pub fn own_config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let files = Files {
        folder: Path::new("/"),
        read: &|_| Ok(Vec::new()),
        is_file: &|_| false,
    };
    match wire(FILE, text, &files) {
        Err(error) => refused(&error, text),
        Ok(None) => {}
        Ok(Some(own)) => {
            let lines = text.split('\n').count();
            for change in &own.changes {
                assert!((1..=lines).contains(&change.line), "{change:?}");
            }
        }
    }
}

/// Imports bytes as an access log, plain or compressed with gzip.
pub fn access_log(data: &[u8]) {
    let options = Options::new(FILE, "mine");
    let mut log = AccessLog::new(&options);
    let read = log.read(FILE, data, &mut |_| {});
    match read.and_then(|()| log.finish(&options)) {
        Err(error) => assert!(!error.remedy().is_empty()),
        Ok(folder) => assert!(folder.files.iter().any(|file| file.path == "load.yaml")),
    }
}

fn refused(error: &ImportError, text: &str) {
    match error {
        ImportError::Mistakes(mistakes) if mistakes.all()[0].file == FILE => {
            mistakes_of(mistakes, text);
        }
        error => assert!(!error.remedy().is_empty()),
    }
}
