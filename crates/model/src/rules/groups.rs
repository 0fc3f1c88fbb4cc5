//! Rules for groups and repeated items.

use gatebench_config::{Node, Problem};

use super::load;

pub(super) fn requests(root: &Node) -> impl Iterator<Item = &Node> {
    let groups = root.list("groups").iter();
    let grouped = groups.flat_map(|group| group.list("requests"));
    root.list("requests").iter().chain(grouped)
}

pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    requests_or_groups(root, problems);
    shares(root.list("groups"), problems);
    for group in root.list("groups") {
        if let Some(own) = group.get("load") {
            load::shape(own, problems);
        }
    }
    for list in ["routes", "consumers", "groups"] {
        for name in root.list(list).iter().filter_map(|item| item.get("name")) {
            if name.text().is_some_and(|text| text.contains("{{")) {
                let message = "`{{ index }}` has a value only in a repeated item";
                let help = "add `repeat:` next to the name, or write the name without it";
                problems.push(name.problem(message, help));
            }
        }
    }
}

fn requests_or_groups(root: &Node, problems: &mut Vec<Problem>) {
    match (root.get("requests"), root.entry("groups")) {
        (None, None) => {
            let help =
                "add `requests:` with the requests of the load, or `groups:` that contain them";
            let message = "the scenario has no `requests`";
            problems.push(Problem::new(root.head(), message, help));
        }
        (Some(_), Some(groups)) => {
            let help = "put the requests into a group, or remove the groups";
            problems.push(groups.problem("`requests` and `groups` are mutually exclusive", help));
        }
        _ => {}
    }
    if let (Some(order), Some(_)) = (root.entry("order"), root.entry("groups")) {
        let message = "`order` applies to `requests`, but there are `groups`";
        problems.push(order.problem(message, "write it in each group to which it applies"));
    }
}

/// Checks that no group has both a `share` and a `load`, and that either all or none of the groups
/// that share the phase's load have a `share`.
fn shares(groups: &[Node], problems: &mut Vec<Problem>) {
    let (own, sharing): (Vec<&Node>, Vec<&Node>) =
        groups.iter().partition(|group| group.get("load").is_some());
    for share in own.iter().filter_map(|group| group.entry("share")) {
        let help = "give the group either a share of the phase's load or its own load";
        problems.push(share.problem("`share` and `load` are mutually exclusive", help));
    }
    let (with, without): (Vec<&Node>, Vec<&Node>) = sharing
        .iter()
        .partition(|group| group.get("share").is_some());
    for group in without.iter().filter(|_| !with.is_empty()) {
        let message = "this group has no `share`, but other groups have one";
        let help = "add `share:`, or remove it from all groups to make their shares equal";
        problems.push(Problem::new(group.head(), message, help));
    }
}
