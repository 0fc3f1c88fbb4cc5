//! Checks that scripts pin the packages that they install, by digests and not only by versions.

use super::{Finding, SourceFile};

/// An installation command, the option that it requires (`None` if the command is never allowed),
/// and the remedy.
const INSTALLERS: [(&str, Option<&str>, &str); 3] = [
    (
        "pip install",
        Some("--require-hashes"),
        "pip installs whatever the index serves; use --require-hashes and a requirements file",
    ),
    (
        "cargo install",
        Some("--locked"),
        "cargo installs the newest dependencies; use --locked",
    ),
    (
        "go install",
        None,
        "go builds whatever the proxy serves; check the Sum of `go mod download -json`, then build that source",
    ),
];

pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("scripts")) {
        let is_list = file.path.extension().is_some_and(|ending| ending == "txt");
        for (line, command) in commands(&file.text) {
            let message = match is_list {
                true => unpinned(&command).then_some("add the digests: --hash=sha256:…"),
                false => wrong_way(&command),
            };
            findings.extend(message.map(|message| Finding::new(file, line, message)));
        }
    }
    findings
}

/// Returns the lines of a text except comments, each with its number and its continuation lines.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        match found.last_mut().filter(|_| goes_on) {
            Some((_, command)) => command.push_str(line),
            None => found.push((number, line.to_owned())),
        }
        goes_on = line.ends_with('\\');
    }
    found
}

fn unpinned(requirement: &str) -> bool {
    !requirement.trim().is_empty() && !requirement.contains("--hash=sha256:")
}

fn wrong_way(command: &str) -> Option<&'static str> {
    let wrong = INSTALLERS.iter().find(|(installer, needed, _)| {
        // The text `cargo install` also ends with `go install`.
        let is_word = |(at, _): (usize, &str)| !command[..at].ends_with(char::is_alphanumeric);
        let installs = command.match_indices(*installer).any(is_word);
        installs && needed.is_none_or(|needed| !command.contains(needed))
    });
    wrong.map(|(.., instead)| *instead)
}
