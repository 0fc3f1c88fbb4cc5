//! Requests of parity cases are sent literally, so a template that stands for two braces is
//! replaced by two braces.

use gatebench_config::{Data, Node};

use crate::template::Template;

pub(crate) fn as_sent(root: &mut Node) {
    if let Some(later) = root.get_mut("later") {
        cases_as_sent(later);
    }
    cases_as_sent(root);
}

fn cases_as_sent(parent: &mut Node) {
    for case in parent.list_mut("parity") {
        let Some(request) = case.get_mut("request") else {
            continue;
        };
        for key in ["path", "body"] {
            if let Some(node) = request.get_mut(key) {
                constant(node);
            }
        }
        for header in request.mapping_mut("headers") {
            constant(&mut header.value);
        }
    }
}

/// Values in a parity case were already reported.
fn constant(node: &mut Node) {
    if let Data::Text(text) = &mut node.data
        && let Ok(template) = Template::parse(text)
        && let Some(constant) = template.constant()
    {
        *text = constant.into();
    }
}
