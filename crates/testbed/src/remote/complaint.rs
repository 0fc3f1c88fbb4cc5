//! Error messages of `ssh` and of the host's shell, with their remedies.

use crate::error::DriverError;
use crate::process::last_lines;
use gatebench_model::Culprit;

/// Parts of error messages with their remedies, in which `HOST` stands for the host. The first
/// match is used.
const REMEDIES: [(&str, &str); 13] = [
    (
        "No space left on device",
        "free space on HOST; gatebench is stored there in ~/.cache/gatebench",
    ),
    (
        "error while loading shared libraries",
        "install on HOST the library that the message names; on Debian: apt-get install libxml2 libxslt1.1",
    ),
    (
        "Exec format error",
        "use a host with a processor like this machine's: gatebench sends itself there",
    ),
    (
        "Could not resolve hostname",
        "name the host as `ssh` knows it: USER@HOST, or a Host of ~/.ssh/config",
    ),
    (
        "Host key verification failed",
        "log in once by hand, `ssh HOST`, and make sure that the key it shows is that host's",
    ),
    (
        "Permission denied (",
        "make sure that `ssh HOST true` works without a password: a key of yours in your agent or in ~/.ssh, and its public half in ~/.ssh/authorized_keys of HOST",
    ),
    (
        "Connection refused",
        "make sure that sshd runs on HOST, and check its port: `ssh HOST true`",
    ),
    (
        "timed out",
        "make sure that HOST is up and that a firewall lets SSH through: `ssh HOST true`",
    ),
    (
        "No route to host",
        "make sure that HOST is up and can be reached from here: `ssh HOST true`",
    ),
    (
        "Read-only file system",
        "give the user on HOST a home directory that it can write to, or set XDG_CACHE_HOME there",
    ),
    (
        "Permission denied",
        "give the user on HOST a home directory that it can write to and run programs in, or set XDG_CACHE_HOME there",
    ),
    (
        "cannot create directory",
        "give the user on HOST a home directory that it can write to and run programs in, or set XDG_CACHE_HOME there",
    ),
    ("not found", "find out what is missing on HOST: `ssh HOST`"),
];

/// The error for a host that cannot be used, or no longer.
pub(super) fn of(host: &str, what: &str, stderr: &str) -> DriverError {
    let said = last_lines(stderr);
    let known = REMEDIES.iter().find(|(words, _)| said.contains(words));
    let remedy = known.map_or("check the output of `ssh HOST true`", |(_, remedy)| remedy);
    DriverError::Remote {
        culprit: Culprit::Environment,
        message: format!("{what}{}{said}", if said.is_empty() { "" } else { ": " }),
        remedy: remedy.replace("HOST", host),
        is_missing: false,
    }
}

#[cfg(test)]
mod tests {
    use gatebench_model::Blame;

    use super::*;

    #[test]
    fn a_refused_key_and_a_folder_that_may_not_be_written_differ() {
        let remedy = |stderr| of("me@far", "cannot", stderr).remedy();
        assert!(remedy("me@far: Permission denied (publickey).\n").contains("`ssh me@far true`"));
        assert!(remedy("mkdir: cannot create directory: Permission denied").contains("a home"));
        assert!(remedy("head: error writing: No space left on device").contains("free space"));
        assert_eq!(remedy(""), "check the output of `ssh me@far true`");
        let error = of("h", "h cannot be reached", "ssh: x\n");
        assert_eq!(error.to_string(), "h cannot be reached: ssh: x");
    }
}
