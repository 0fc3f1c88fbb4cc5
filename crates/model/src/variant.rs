//! Gateway folders that are variants of other folders.

use std::ops::Range;
use std::path::Path;

use gatebench_config::{Data, Node, Problem, ReadFile, tree};

use crate::contract::upgrade;

/// Upgrades a gateway folder to the current contract, completes it from the folder that it extends,
/// and returns it as a list of one tree. If the extended folder cannot be read or itself extends
/// another, reports a problem and returns an empty list.
pub(crate) fn expand(
    mut root: Node,
    read_file: ReadFile<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Node> {
    upgrade(&mut root);
    let base = root.get("extends").cloned();
    if let Some((place, name)) = base.as_ref().and_then(|node| Some((node, node.text()?))) {
        match base_of(name, &place.span, read_file) {
            Ok(mut base) => {
                if let Some(Data::Map(features)) = base.get_mut("features").map(|it| &mut it.data) {
                    // A section of the variant replaces what the base states about the feature of
                    // the same name.
                    features.retain(|it| root.get(&it.key).is_none());
                }
                add_missing(&mut root, base, true);
            }
            Err((message, help)) => {
                // Without its base, the rest of the folder would be reported as incomplete.
                problems.push(place.problem(message, help));
                return Vec::new();
            }
        }
    }
    vec![root]
}

/// Returns the tree of a base. Every position in it is `place`, so that mistakes in the base are
/// reported where the variant names the base.
fn base_of(
    name: &str,
    place: &Range<usize>,
    read_file: ReadFile<'_>,
) -> Result<Node, (String, &'static str)> {
    let path = Path::new("..").join(name).join("gateway.yaml");
    let text = read_file(&path)
        .ok()
        .and_then(|it| String::from_utf8(it).ok());
    let Some(mut base) = text.and_then(|text| tree(&text)) else {
        let message = format!("there is no gateway folder `{name}` to extend");
        let help = "name a folder next to this one, or an embedded gateway";
        return Err((message, help));
    };
    if base.get("extends").is_some() {
        let message = format!("`{name}` itself extends another folder");
        return Err((message, "extend that folder instead"));
    }
    upgrade(&mut base);
    base.for_each_mut(&mut |node| {
        node.span = place.clone();
        if let Data::Map(entries) = &mut node.data {
            let keys = entries.iter_mut().map(|entry| &mut entry.key_span);
            keys.for_each(|key_span| key_span.clone_from(place));
        }
    });
    Ok(base)
}

/// Adds the entries of `base` that `own` lacks. If `inside` is true, also completes the mappings
/// that both have.
fn add_missing(own: &mut Node, base: Node, inside: bool) {
    let (Data::Map(entries), Data::Map(others)) = (&mut own.data, base.data) else {
        return;
    };
    for other in others {
        match entries.iter_mut().find(|entry| entry.key == other.key) {
            Some(entry) if inside => add_missing(&mut entry.value, other.value, false),
            Some(_) => {}
            None => entries.push(other),
        }
    }
}
