//! Checks that comments and prose have at most 100 columns, because rustfmt does not wrap comments.

use super::{Finding, SourceFile};

const COLUMNS_MAX: usize = 100;

/// A line without a space after this column is exempt, because it ends with a path or a URL and
/// cannot be wrapped well.
const BREAKABLE_FROM: usize = 60;

/// Checks the prose of a file (see [`SourceFile::prose`]). Comments after code are not checked,
/// because rustfmt breaks the code before them.
pub(crate) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut in_fence = false;
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        let Some(prose) = file.prose(line) else {
            in_fence = false;
            continue;
        };
        if prose.starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence && !is_exempt(prose) && is_wide(line) {
            let columns = line.chars().count();
            let message = format!("{columns} columns; wrap the text at {COLUMNS_MAX}");
            findings.push(Finding::new(file, number, message));
        }
    }
    findings
}

/// Reports whether a line is a row of a table, a heading, or nothing but a link.
fn is_exempt(prose: &str) -> bool {
    let item = prose.trim_start_matches("- ");
    let target = item.split_once("](").map(|(_, target)| target);
    let is_link = item.starts_with('[')
        && target.is_some_and(|target| target.ends_with(')') && !target.contains(' '));
    is_link || prose.starts_with(['|', '#'])
}

fn is_wide(line: &str) -> bool {
    line.chars().count() > COLUMNS_MAX && line.chars().skip(BREAKABLE_FROM).any(|c| c == ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile {
            path: path.into(),
            text: text.into(),
        };
        check(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn wide_comments_are_found_and_wide_code_is_not() {
        let words = "word ".repeat(20);
        let long = "x".repeat(100);
        let text = format!(
            "//! {words}x\nlet a = \"{words}\";\n    // {words}x\n/// <https://{long}>\n/// ```text\n/// {words}x\n/// ```\n/// {words}x\n"
        );
        assert_eq!(lines_found("crates/net/src/a.rs", &text), [1, 3, 8]);
    }

    #[test]
    fn wide_prose_is_found_outside_of_tables_code_headings_and_links() {
        let words = "word ".repeat(20);
        let text = format!(
            "# {words}x\n{words}\n- {words}\n| {words} |\n```\n{words}x\n```\n- [{words}](a.md)\n"
        );
        assert_eq!(lines_found("docs/a.md", &text), [3]);
        let exact = format!("{}\n", "é ".repeat(50));
        assert!(lines_found("docs/a.md", &exact).is_empty());
    }
}
