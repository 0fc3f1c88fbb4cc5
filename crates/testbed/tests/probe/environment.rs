//! Tests that the facts about this machine are read and serialized.

use gatebench_testbed::probe::EnvironmentFacts;

#[test]
fn the_description_of_this_machine_is_serialized_without_loss() {
    let facts = EnvironmentFacts::read();
    assert!(facts.kernel.release.is_some());
    assert!(facts.memory.total_bytes.unwrap() > 0);
    assert!(facts.cpu.online.is_some());
    assert!(facts.sysctls.contains_key("net.core.somaxconn"));
    let text = serde_json::to_string(&facts).unwrap();
    assert_eq!(
        serde_json::from_str::<EnvironmentFacts>(&text).unwrap(),
        facts
    );
}
