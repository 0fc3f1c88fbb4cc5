//! Tests that a fatal line is found on a gateway's standard error.

use gatebench_testbed::Wire;

fn fatal_line(stderr: &str) -> Option<String> {
    let log = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(log.path(), stderr).unwrap();
    let wire = Wire::plain("127.0.0.1:1".parse().unwrap());
    wire.explained_by(Some(log.path().into())).fatal_line()
}

#[test]
fn the_first_fatal_line_is_found() {
    let kong = "2026/01/01 [warn] 1#0: slow\n 2026/01/01 [crit] 1#0: worker initialization error: \
                failed to load plugin; this node must be restarted\n[emerg] later\n";
    let expected = "2026/01/01 [crit] 1#0: worker initialization error: failed to load plugin; \
                    this node must be restarted";
    assert_eq!(fatal_line(kong).as_deref(), Some(expected));
    assert_eq!(
        fatal_line("[ALERT] backend 'b' has no server available!\n"),
        None
    );
}
