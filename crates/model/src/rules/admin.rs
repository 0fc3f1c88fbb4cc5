//! Rules for admin interfaces.

use gatebench_config::{Node, Problem};

use super::not_zero;
use crate::route::path_matches;

/// Checks that the paths of the route before and after its update differ, and do not overlap other
/// routes. Otherwise, the effect of the calls could not be observed.
pub(super) fn check(root: &Node, problems: &mut Vec<Problem>) {
    let Some(admin) = root.get("admin") else {
        return;
    };
    not_zero(admin, "under_load_every", "250ms", problems);
    let created = admin.at(&["route", "path"]);
    let updated = admin.get("updated_path");
    for node in [created, updated].into_iter().flatten() {
        let path = node.text().unwrap_or_default();
        let mut prefixes = root.list("routes").iter();
        let taken = prefixes.find_map(|route| {
            let prefix = route.text_of("path")?;
            (path_matches(prefix, path) || path_matches(path, prefix)).then_some(prefix)
        });
        if let Some(prefix) = taken {
            let message = format!("`{path}` and the route `{prefix}` overlap");
            problems.push(node.problem(message, "write a path that overlaps no other route"));
        }
    }
    if let (Some(created), Some(updated)) = (created, updated)
        && created.text() == updated.text()
    {
        let message = "the update changes nothing";
        problems.push(updated.problem(message, "write a path other than the route's"));
    }
}
