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

/// The first fatal line. A program may write one and serve all the same, so the line only explains
/// a request without a response.
pub fn fatal_line(log: &str) -> Option<&str> {
    log.lines()
        .find(|line| MARKS.iter().any(|mark| line.contains(mark)))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_says_so_is_found() {
        let kong = "2026/01/01 [warn] 1#0: slow\n 2026/01/01 [crit] 1#0: worker initialization error: \
                    failed to load plugin; this node must be restarted\n[emerg] later\n";
        let expected = "2026/01/01 [crit] 1#0: worker initialization error: failed to load plugin; \
                        this node must be restarted";
        assert_eq!(fatal_line(kong), Some(expected));
        assert_eq!(
            fatal_line("[ALERT] backend 'b' has no server available!\n"),
            None
        );
    }
}
