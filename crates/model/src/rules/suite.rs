//! Rules of suites.

use super::unique;
use crate::diagnostic::Problem;
use crate::node::Node;

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    let again = "name it once; to set a gateway beside itself use `gatebench ab`";
    unique(root.list("gateways"), "gateways", again, problems);
    unique(
        root.list("scenarios"),
        "scenarios",
        "name it once",
        problems,
    );
    for gateway in root.list("gateways") {
        if gateway.text() == Some("floor") {
            let help = "remove it, and write `floor: true`";
            problems.push(Problem::new(
                gateway.span.clone(),
                "the floor is not a gateway",
                help,
            ));
        }
    }
}
