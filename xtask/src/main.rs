//! `cargo xtask WORD`.

mod bench;

use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
Tasks of the project itself:
  cargo xtask tidy    checks the rules of the house; `cargo test` does the same";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["bench", ref rest @ ..] => bench::run(rest, root()),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}\n\n{}", bench::HELP);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("error: there is no task '{}'\n{HELP}", words.join(" "));
            ExitCode::from(2)
        }
    }
}

fn tidy() -> ExitCode {
    match xtask::tidy::check(root()) {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: the tree cannot be read: {error}");
            ExitCode::from(3)
        }
    }
}

/// The repository: the parent of this crate.
fn root() -> &'static Path {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().unwrap_or(crate_dir)
}
