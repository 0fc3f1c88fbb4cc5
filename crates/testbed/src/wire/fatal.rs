//! Lines on standard error in which a program reports that it will not serve requests.

/// Parts of these lines, as OpenResty, nginx, Kong, Rust, Go, the JVM and the C library print them.
const MARKS: [&str; 8] = [
    "[emerg]",
    "worker initialization error",
    "this node must be restarted",
    "panicked at",
    "panic: ",
    "fatal error: ",
    "java.lang.OutOfMemoryError",
    "Segmentation fault",
];

/// The first fatal line. A program may write one and still serve requests, so the line only
/// explains why a request has no response.
pub(crate) fn fatal_line(log: &str) -> Option<&str> {
    let is_fatal = |line: &&str| MARKS.iter().any(|mark| line.contains(mark));
    log.lines().find(is_fatal).map(str::trim)
}
