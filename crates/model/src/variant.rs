//! Gateway folders as variants of other folders.

use std::ops::Range;
use std::path::Path;

use gatebench_config::{Data, Node, Problem, ReadFile, tree};

use crate::contract::upgrade;

/// Completes a gateway folder, in the form of the current contract, with everything from the folder
/// that it extends; nothing if that folder cannot be read.
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
                    // The variant may have a section for something that its base lacks.
                    features.retain(|it| root.get(&it.key).is_none());
                }
                add_missing(&mut root, base, true);
            }
            Err((message, help)) => {
                // Without its base, the rest would only appear to be wrong.
                problems.push(place.problem(message, help));
                return Vec::new();
            }
        }
    }
    vec![root]
}

/// The tree of a base, in which every position is that of its name. Mistakes of the base are
/// reported as mistakes of the name.
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
        return Err((
            message,
            "name a folder next to this one, or an embedded gateway",
        ));
    };
    if base.get("extends").is_some() {
        let message = format!("`{name}` extends another folder itself");
        return Err((message, "extend that folder"));
    }
    upgrade(&mut base);
    move_to(&mut base, place);
    Ok(base)
}

fn move_to(node: &mut Node, place: &Range<usize>) {
    node.span = place.clone();
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| move_to(item, place)),
        Data::Map(entries) => {
            for entry in entries {
                entry.key_span = place.clone();
                move_to(&mut entry.value, place);
            }
        }
        _ => {}
    }
}

/// Adds the entries that a mapping lacks; with `inside`, also those that its mappings lack.
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
