//! Parses the documents of a YAML stream, with their positions in the whole text.

use gatebench_config::{Node, read_tree};

use crate::error::ImportError;

/// Parses all documents except empty ones.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Node>, ImportError> {
    let mut nodes = Vec::new();
    let mut start = 0;
    for end in ends(text) {
        let document = &text[start..end];
        let has_content = document.lines().any(|line| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with(['#', '%']) && line != "---" && line != "..."
        });
        if has_content {
            // The blank text before the document keeps positions relative to the whole text.
            let mut padded = blank(&text[..start]);
            padded.push_str(document);
            nodes.push(read_tree(file, &padded).map_err(Box::new)?);
        }
        start = end;
    }
    Ok(nodes)
}

/// Returns the end of each document: the beginning of the next marker, or the end of the text.
fn ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let word = line.trim_end();
        if at > 0 && (word == "---" || word.starts_with("--- ")) {
            ends.push(at);
        }
        at += line.len();
    }
    ends.push(text.len());
    ends
}

/// Replaces all bytes except line endings with spaces, so that positions stay the same.
fn blank(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_positions_in_the_stream() {
        let text = "# none\n---\nkind: a\n---\n\n--- # c\nkind: b\n";
        let nodes = read("x.yaml", text).unwrap();
        let kinds: Vec<&str> = nodes
            .iter()
            .map(|it| &text[it.get("kind").unwrap().span.clone()])
            .collect();
        assert_eq!(kinds, ["a", "b"]);
        let error = read("x.yaml", "kind: a\n---\nkind: [\n").unwrap_err();
        assert!(matches!(error, ImportError::Mistakes(it) if it.all()[0].line >= 3));
    }
}
