//! Turns error messages of `ssh` and of the host's shell into errors with remedies.

use crate::error::RemoteError;
use crate::process::last_lines;

/// Parts of error messages, each with a remedy. In a remedy, `HOST` stands for the host. The first
/// match is used.
const REMEDIES: [(&str, &str); 13] = [
    (
        "No space left on device",
        "free up space on HOST, in ~/.cache/gatebench or in the folder for temporary files",
    ),
    (
        "error while loading shared libraries",
        "on HOST, install the library that the message names; on Debian: apt-get install libxml2 libxslt1.1",
    ),
    (
        "Exec format error",
        "use a host with the same processor architecture as this machine: gatebench copies its own program to the host",
    ),
    (
        "Could not resolve hostname",
        "name the host as for `ssh`: [USER@]NAME, or a Host in ~/.ssh/config",
    ),
    (
        "Host key verification failed",
        "log in once by hand with `ssh HOST`, and make sure that the key shown is the key of that host; if its key was replaced on purpose, first remove the old one from ~/.ssh/known_hosts",
    ),
    (
        "Permission denied (",
        "make sure that `ssh HOST true` works without a password: put a private key into your agent or ~/.ssh, and its public key into ~/.ssh/authorized_keys on HOST",
    ),
    (
        "Connection refused",
        "make sure that sshd runs on HOST, on the port that `ssh` uses; `ssh HOST true` must succeed",
    ),
    (
        "timed out",
        "make sure that HOST is up and that no firewall blocks SSH; `ssh HOST true` must succeed",
    ),
    (
        "No route to host",
        "make sure that HOST is up and can be reached from this machine; `ssh HOST true` must succeed",
    ),
    (
        "Read-only file system",
        "give the user on HOST a writable home directory, or set XDG_CACHE_HOME there",
    ),
    (
        "Permission denied",
        "give the user on HOST a writable home directory that allows running programs, or set XDG_CACHE_HOME there",
    ),
    (
        "cannot create directory",
        "give the user on HOST a writable home directory that allows running programs, or set XDG_CACHE_HOME there",
    ),
    (
        "not found",
        "log in with `ssh HOST`, and install the missing program there",
    ),
];

/// Returns the error for a host that cannot be used, or can no longer be used.
pub(super) fn of(host: &str, what: &str, stderr: &str) -> RemoteError {
    let remedy = remedy(stderr).unwrap_or("check the output of `ssh HOST true`");
    error(what, stderr, &remedy.replace("HOST", host))
}

/// Returns the error for this machine in the role of a host, which gatebench uses without SSH.
pub(super) fn of_here(what: &str, stderr: &str) -> RemoteError {
    // gatebench copies nothing to ~/.cache on this machine.
    let elsewhere = ["ssh", "~/.cache", "XDG_CACHE_HOME"];
    let remedy = remedy(stderr).filter(|it| !elsewhere.iter().any(|word| it.contains(word)));
    let remedy = remedy.unwrap_or(
        "make sure that gatebench can start processes here, and create folders in $TMPDIR (or in /tmp), which must have free space",
    );
    error(what, stderr, &remedy.replace("HOST", "this machine"))
}

fn remedy(stderr: &str) -> Option<&'static str> {
    let said = last_lines(stderr);
    let known = REMEDIES.iter().find(|(words, _)| said.contains(words));
    known.map(|(_, remedy)| *remedy)
}

fn error(what: &str, stderr: &str, remedy: &str) -> RemoteError {
    let said = last_lines(stderr);
    let separator = if said.is_empty() { "" } else { ": " };
    RemoteError::environment(format!("{what}{separator}{said}"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_key_and_an_unwritable_folder_have_different_remedies() {
        let remedy = |stderr| of("me@far", "cannot", stderr).remedy;
        assert!(remedy("me@far: Permission denied (publickey).\n").contains("`ssh me@far true`"));
        assert!(
            remedy("mkdir: cannot create directory: Permission denied").contains("a writable home")
        );
        assert!(remedy("head: error writing: No space left on device").contains("free up space"));
        assert_eq!(remedy(""), "check the output of `ssh me@far true`");
        let error = of("h", "h cannot be reached", "ssh: x\n");
        assert_eq!(error.to_string(), "h cannot be reached: ssh: x");
    }

    #[test]
    fn no_remedy_for_this_machine_concerns_a_host() {
        let unknown = of_here("the agent ended", "");
        assert!(unknown.remedy.contains("$TMPDIR"), "{unknown:?}");
        for (words, _) in REMEDIES {
            let remedy = of_here("the agent ended", words).remedy;
            assert!(
                !["ssh", "HOST", "cache", "home"]
                    .iter()
                    .any(|it| remedy.contains(it)),
                "{remedy}"
            );
        }
        let full = of_here("the agent ended", "No space left on device").remedy;
        assert!(full.contains("free space"), "{full}");
    }
}
