//! Checks that links in the documents lead to existing files.

use std::path::Path;

use super::{Finding, SourceFile};

pub(crate) fn check(root: &Path, files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.path.extension().is_some_and(|ending| ending == "md"))
    {
        let folder = root.join(&file.path);
        let folder = folder.parent().unwrap_or(root);
        for (line, target) in targets(&file.text) {
            if !folder.join(target).exists() {
                let message = format!("the link leads to '{target}', which does not exist");
                findings.push(Finding::new(file, line, message));
            }
        }
    }
    findings
}

/// Targets of `[text](target)` and `src="target"` within the repository, without their anchors.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let links = line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'));
        let pictures = line
            .split("src=\"")
            .skip(1)
            .filter_map(|rest| rest.split_once('"'));
        for (target, _) in links.chain(pictures) {
            let target = target.split('#').next().unwrap_or(target);
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((number, target));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_into_the_repository_are_followed() {
        let text = "[a](docs/a.md#x) [b](https://example.org) [c](#here)\n```\n[d](no)\n```\n<img src=\"e.png\">\n";
        assert_eq!(targets(text), [(1, "docs/a.md"), (5, "e.png")]);
    }
}
