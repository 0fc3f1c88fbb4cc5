//! The commands for the host's shell, which receives the program if the host lacks it, and then
//! executes it.

/// The prefix of the program's lines, because shells also print greetings.
pub(super) const READY: &str = "gatebench-remote: ";
/// The text after [`READY`] that requests the program.
pub(super) const SEND: &str = "send";

/// The command for `ssh`. The program is stored in the user's cache under its digest, so it is sent
/// only once. It is renamed into place, so a partial program never runs. The steps are one line
/// without single quotes, because any user's shell must pass them unchanged to `sh`.
pub(super) fn script(sha256: &str, length_bytes: u64, words: &[&str]) -> String {
    let words = words.join(" ");
    let steps = [
        "set -e",
        "f=\"${XDG_CACHE_HOME:-$HOME/.cache}/gatebench\"",
        &format!("p=\"$f/gatebench-{sha256}\""),
        "if [ -x \"$p\" ]; then :",
        "else mkdir -p \"$f\"",
        "n=\"$p.$$\"",
        "trap \"rm -f \\\"$n\\\"\" EXIT",
        &format!("echo \"{READY}{SEND}\""),
        &format!("head -c {length_bytes} > \"$n\""),
        &format!("[ \"$(wc -c < \"$n\")\" -eq {length_bytes} ]"),
        "chmod 700 \"$n\"",
        "mv \"$n\" \"$p\"",
        "trap - EXIT",
        "fi",
        &format!("exec \"$p\" {words}"),
    ];
    format!("exec sh -c '{}'", steps.join("; ").replace("else;", "else"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::process::{Command, Output, Stdio};

    use super::*;

    fn run(cache: &std::path::Path, program: &str, sent: &str) -> Output {
        let length = program.len() as u64;
        let mut shell = Command::new("sh")
            .args(["-c", &script("abc", length, &["one", "two"])])
            .env("XDG_CACHE_HOME", cache)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        // The write fails if the host already has the program and does not read it.
        let _ = stdin.write_all(sent.as_bytes());
        drop(stdin);
        shell.wait_with_output().unwrap()
    }

    #[test]
    fn a_program_is_received_once_and_executed() {
        let cache = tempfile::tempdir().unwrap();
        let program = "#!/bin/sh\necho \"ran $*\"\n";
        let first = run(cache.path(), program, program);
        let said = String::from_utf8(first.stdout).unwrap();
        assert_eq!(said, format!("{READY}{SEND}\nran one two\n"));
        let again = run(cache.path(), program, "");
        assert_eq!(again.stdout, b"ran one two\n");
    }

    #[test]
    fn a_full_disk_is_reported_and_nothing_is_kept() {
        let full = "mount -t tmpfs -o size=64k none \"$XDG_CACHE_HOME\" || exit 77; (eval \"$0\"); \
                    code=$?; ls -A \"$XDG_CACHE_HOME/gatebench\"; exit $code";
        let cache = tempfile::tempdir().unwrap();
        let mut shell = Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", full])
            .arg(script("abc", 1 << 20, &[]))
            .env("XDG_CACHE_HOME", cache.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The write fails because the shell ends before it has read the whole program.
        let _ = shell.stdin.take().unwrap().write_all(&vec![b'x'; 1 << 20]);
        let output = shell.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("No space left on device"), "{stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(stdout, format!("{READY}{SEND}\n"), "a file is left");
        assert!(!output.status.success());
    }

    #[test]
    fn a_partial_program_is_not_kept() {
        let cache = tempfile::tempdir().unwrap();
        let half = run(cache.path(), "#!/bin/sh\necho whole\n", "#!/bin/sh\n");
        assert!(!half.status.success());
        let kept = fs::read_dir(cache.path().join("gatebench")).unwrap();
        assert_eq!(kept.count(), 0);
    }
}
