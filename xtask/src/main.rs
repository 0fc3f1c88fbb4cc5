//! The program behind `cargo xtask TASK`.

use std::path::Path;
use std::process::{Command, ExitCode};

const HELP: &str = "\
Tasks for developing gatebench:
  cargo xtask tidy     checks that the project follows its own rules, as `cargo test` does
  cargo xtask bench    runs a benchmark; `cargo xtask bench help` lists the benchmarks";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["bench", ref rest @ ..] => bench(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
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
            eprintln!("error: the source tree cannot be read: {error}");
            ExitCode::from(3)
        }
    }
}

/// Runs the package gatebench-bench, which is separate because it has far more dependencies, and
/// returns its exit code.
fn bench(words: &[&str]) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--package", "gatebench-bench", "--"])
        .args(words)
        .status();
    match status.map(|status| status.code()) {
        Ok(code) => {
            let code = code.and_then(|code| u8::try_from(code).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            eprintln!("error: cargo cannot be started: {error}");
            ExitCode::from(3)
        }
    }
}

fn root() -> &'static Path {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().unwrap_or(crate_dir)
}
