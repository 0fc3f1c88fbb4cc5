//! Replaces the templates in the requests of parity cases with the literal text that they produce.

use gatebench_config::{Data, Node};

use crate::template::Template;

pub(crate) fn as_sent(root: &mut Node) {
    if let Some(later) = root.get_mut("later") {
        as_sent(later);
    }
    for case in root.list_mut("parity") {
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

/// Replaces a template without values with its text. Templates with values have already been
/// reported.
fn constant(node: &mut Node) {
    if let Data::Text(text) = &mut node.data
        && let Ok(template) = Template::parse(text)
        && let Some(constant) = template.constant()
    {
        *text = constant.into();
    }
}
