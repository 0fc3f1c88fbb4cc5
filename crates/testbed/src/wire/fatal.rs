//! Lines on standard error in which a program reports that it will not serve.

/// Parts of such lines: OpenResty and nginx, Kong, Rust, Go, the JVM, the C library.
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

/// The first fatal line. A program may write one and still serve, so the line only explains a
/// request without a response.
pub(crate) fn fatal_line(log: &str) -> Option<&str> {
    log.lines()
        .find(|line| MARKS.iter().any(|mark| line.contains(mark)))
        .map(str::trim)
}
