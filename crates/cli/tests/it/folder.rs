//! Runs `gatebench` in a folder, with its data below that folder.

use std::path::Path;
use std::process::{Command, Output};

pub fn gatebench(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gatebench"))
        .args(words)
        .current_dir(folder)
        .env("XDG_DATA_HOME", folder.join("data"))
        .output()
        .unwrap()
}
