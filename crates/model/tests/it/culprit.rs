//! Tests the names of culprits.

use gatebench_model::Culprit;

#[test]
fn the_name_of_a_culprit_is_readable() {
    assert_eq!(
        Culprit::Gateway("nginx".into()).to_string(),
        "gateway nginx"
    );
    let file = |line| Culprit::File {
        path: "mine/gateway.yaml".into(),
        line,
    };
    assert_eq!(file(Some(7)).to_string(), "mine/gateway.yaml:7");
    assert_eq!(file(None).to_string(), "mine/gateway.yaml");
}
