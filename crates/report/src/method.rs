//! Sections of docs/METHOD.md for the page, so that a report explains its figures without network
//! access.

use serde::Serialize;

use crate::svg::escape;

const DOCUMENT: &str = include_str!("../../../docs/METHOD.md");

/// A section of docs/METHOD.md, converted to HTML.
#[derive(Debug, Serialize)]
pub struct Section {
    pub title: String,
    pub anchor: String,
    /// The text of the section, without its heading.
    pub html: String,
}

/// Returns the sections with these headings, in this order. Unknown headings are ignored.
pub fn sections(titles: &[&str]) -> Vec<Section> {
    let named = |title: &&str| {
        Some(Section {
            title: (*title).to_owned(),
            anchor: anchor(title),
            html: html(body(title)?),
        })
    };
    titles.iter().filter_map(named).collect()
}

pub fn anchor(title: &str) -> String {
    let title = title.to_lowercase();
    let words = title.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|it| !it.is_empty());
    format!("method-{}", Vec::from_iter(words).join("-"))
}

fn body(title: &str) -> Option<&'static str> {
    let heading = format!("\n## {title}\n");
    let begin = DOCUMENT.find(&heading)? + heading.len();
    let rest = &DOCUMENT[begin..];
    Some(rest.find("\n## ").map_or(rest, |end| &rest[..end]))
}

/// Converts the subset of Markdown that docs/METHOD.md uses: paragraphs, lists and tables, and the
/// styles that [`inline`] converts.
fn html(markdown: &str) -> String {
    let mut out = String::new();
    let blocks = markdown.split("\n\n").map(str::trim);
    for block in blocks.filter(|it| !it.is_empty()) {
        if block.starts_with('|') {
            out.push_str(&table(block));
        } else if let Some(list) = block.strip_prefix("- ") {
            let items = list
                .split("\n- ")
                .map(|it| format!("<li>{}</li>\n", inline(it)));
            out.push_str(&format!("<ul>\n{}</ul>\n", items.collect::<String>()));
        } else {
            out.push_str(&format!("<p>{}</p>\n", inline(block)));
        }
    }
    out
}

fn table(block: &str) -> String {
    let is_rule = |line: &&str| line.trim_matches(['|', '-', ':', ' ']).is_empty();
    let row = |line: &str| {
        let cells = line.trim().trim_matches('|').split('|');
        let cells = cells.map(|cell| format!("<td>{}</td>", inline(cell.trim())));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let rows: String = block.lines().filter(|it| !is_rule(it)).map(row).collect();
    format!("<div class=\"scroll\"><table class=\"method\"><tbody>\n{rows}</tbody></table></div>\n")
}

/// Converts emphasis and code, and replaces each link with its text.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            out.push_str(&format!("<code>{}</code>", escape(part)));
        } else {
            let strong = between(&escape(&without_links(part)), "**", "b");
            out.push_str(&between(&strong, "*", "i"));
        }
    }
    out
}

/// Wraps the text between each pair of marks in an element. If the marks do not pair up, returns
/// the text unchanged.
fn between(text: &str, mark: &str, element: &str) -> String {
    let parts: Vec<&str> = text.split(mark).collect();
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let part = |(index, part): (usize, &&str)| match index % 2 {
        0 => (*part).to_owned(),
        _ => format!("<{element}>{part}</{element}>"),
    };
    parts.iter().enumerate().map(part).collect()
}

fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        match after
            .split_once("](")
            .and_then(|(words, tail)| Some((words, tail.split_once(')')?.1)))
        {
            Some((words, tail)) => {
                out.push_str(words);
                rest = tail;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_well_formed_html() {
        let text = "A **strong** and *soft* word, `a < b`,\n[a page](X.md) & 2 * 3.\n\n- one\n- two\n\n| a | b |\n|--|--:|\n| 1 | 2 |";
        assert_eq!(
            html(text),
            "<p>A <b>strong</b> and <i>soft</i> word, <code>a &lt; b</code>,\na page &amp; 2 * 3.</p>\n\
             <ul>\n<li>one</li>\n<li>two</li>\n</ul>\n\
             <div class=\"scroll\"><table class=\"method\"><tbody>\n<tr><td>a</td><td>b</td></tr>\n<tr><td>1</td><td>2</td></tr>\n\
             </tbody></table></div>\n"
        );
    }

    #[test]
    fn sections_are_found_by_their_headings() {
        let found = sections(&["CPU per request", "No such heading"]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].anchor, "method-cpu-per-request");
        assert!(
            found[0].html.starts_with("<p>CPU per request"),
            "{}",
            found[0].html
        );
    }
}
