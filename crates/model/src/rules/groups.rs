//! Rules of groups, and of what may be repeated.

use gatebench_config::{Node, Problem};

use super::load;

/// The requests of the load, whether in groups or not.
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
                let message = "`{{ index }}` stands for a number only in what is repeated";
                let help = "add `repeat:` beside the name, or write it out";
                problems.push(Problem::new(name.span.clone(), message, help));
            }
        }
    }
}

fn requests_or_groups(root: &Node, problems: &mut Vec<Problem>) {
    match (root.get("requests"), root.entry("groups")) {
        (None, None) => {
            let help = "add `requests:` (The requests of the load), or `groups:` of them";
            let message = "the scenario has no `requests`";
            problems.push(Problem::new(root.head(), message, help));
        }
        (Some(_), Some(groups)) => {
            let message = "`requests` and `groups` exclude each other";
            let help = "put the requests into a group, or remove the groups";
            problems.push(Problem::new(groups.key_span.clone(), message, help));
        }
        _ => {}
    }
    if let (Some(order), Some(_)) = (root.entry("order"), root.entry("groups")) {
        let message = "`order` is that of `requests`, and there are `groups`";
        let help = "write it in each group that it is meant for";
        problems.push(Problem::new(order.key_span.clone(), message, help));
    }
}

/// Either all groups that share the phase's load say their share, or none does.
fn shares(groups: &[Node], problems: &mut Vec<Problem>) {
    let (own, sharing): (Vec<&Node>, Vec<&Node>) =
        groups.iter().partition(|group| group.get("load").is_some());
    for share in own.iter().filter_map(|group| group.entry("share")) {
        let message = "`share` and `load` exclude each other";
        let help = "give the group a part of the phase's load, or one of its own";
        problems.push(Problem::new(share.key_span.clone(), message, help));
    }
    let said = sharing
        .iter()
        .filter(|group| group.get("share").is_some())
        .count();
    if said == 0 {
        return;
    }
    for group in sharing.iter().filter(|group| group.get("share").is_none()) {
        let message = "this group says no `share`, and others do";
        let help = "add `share:`, or remove it from all groups, which makes them equal";
        problems.push(Problem::new(group.head(), message, help));
    }
}
