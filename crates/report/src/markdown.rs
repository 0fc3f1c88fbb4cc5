//! A report in Markdown, for a pull request or a wiki.

use crate::chapter::{
    Block, Chapter, Entry, Fact, Lines, MARKDOWN, Note, Part, Place, Report, Span, TableBlock, Text,
};
use crate::table::{Cell, Column, Group, Row, Table};
use crate::text;

pub fn render<R: Report + ?Sized>(report: &R) -> String {
    let document = report.document(MARKDOWN);
    let chapters = &document.chapters;
    let shown = document.unfolded.unwrap_or(usize::MAX);
    let (shown, folded) = chapters.split_at(shown.min(chapters.len()));
    let mut out: String = shown.iter().map(chapter).collect();
    let folded: String = folded.iter().map(chapter).collect();
    if !folded.is_empty() {
        out.push_str("<details><summary>All findings and figures</summary>\n\n");
        out.push_str(&folded);
        out.push_str("</details>\n\n");
    }
    if !document.foot.spans.is_empty() {
        out.push_str(&format!("<sub>{}</sub>\n", words(&document.foot)));
    }
    out
}

/// Writes a chapter, starting with its heading unless the first block is a heading.
fn chapter(chapter: &Chapter) -> String {
    let mut text = String::new();
    blocks(&mut text, &chapter.blocks);
    if chapter.heading.is_empty() || text.is_empty() || text.starts_with("### ") {
        return text;
    }
    format!("### {}\n\n{text}", escape(&chapter.heading))
}

fn blocks(out: &mut String, all: &[Block]) {
    for block in all {
        match &block.part {
            Part::Title(title) => paragraph(out, "## ", title),
            Part::Heading(heading) => paragraph(out, "### ", &heading.text),
            Part::Headline(Fact { text, .. })
            | Part::Lead(text)
            | Part::Sentence(text)
            | Part::Foot(text) => paragraph(out, "", text),
            Part::Facts { facts, .. } => {
                let lines = facts.iter().map(|it| format!("- {}\n", words(&it.text)));
                list(out, lines);
            }
            Part::Table(table) => out.push_str(&whole(table)),
            Part::Lines(lines) => out.push_str(&table_of_words(lines)),
            Part::Files { files, .. } => {
                for file in files {
                    let (title, text) = (escape(&file.title), escape(&file.text));
                    out.push_str(&format!("[{title}]({}): {text}\n\n", file.file));
                }
            }
            Part::Notes { notes } => list(out, notes.iter().map(note)),
            Part::Card { blocks: inner, .. } | Part::Row { blocks: inner, .. } => {
                blocks(out, inner);
            }
            Part::Fold(fold) if fold.markdown.is_empty() => blocks(out, &fold.blocks),
            Part::Fold(fold) => {
                let summary = escape(&fold.markdown);
                out.push_str(&format!("<details><summary>{summary}</summary>\n\n"));
                blocks(out, &fold.blocks);
                out.push_str("</details>\n\n");
            }
            Part::Charts { .. }
            | Part::Terms { .. }
            | Part::Code(_)
            | Part::Cases(_)
            | Part::Records { .. } => {}
        }
    }
}

fn paragraph(out: &mut String, sign: &str, text: &Text) {
    out.push_str(&format!("{sign}{}\n\n", words(text)));
}

fn list(out: &mut String, items: impl Iterator<Item = String>) {
    let lines: String = items.collect();
    if !lines.is_empty() {
        out.push_str(&format!("{lines}\n"));
    }
}

fn words(text: &Text) -> String {
    let span = |it: &Span| match it.is_strong {
        true => format!("**{}**", escape(&it.text)),
        false => escape(&it.text),
    };
    text.spans.iter().map(span).collect()
}

fn note(note: &Note) -> String {
    let remedy = escape(&note.remedy);
    let places = note.places.iter();
    let Some(reason) = &note.reason else {
        let places = places.map(|it| format!("  - {}\n", escape(&it.sentence())));
        let places: String = places.collect();
        return format!("- **{}**: {remedy}\n{places}", note.word);
    };
    let reason = escape(reason);
    let place = |it: &Place| {
        let [subject, place, message] = [&it.subject, &it.place, &it.message].map(|it| escape(it));
        format!("- **{subject}**, {place}: {message}: {reason} *{remedy}*\n")
    };
    places.map(place).collect()
}

fn table_of_words(table: &Lines) -> String {
    let mut out = String::from("|");
    for head in &table.heads {
        let words = format!(" {}", escape(&head.words));
        out.push_str(&format!("{} |", words.trim_end()));
    }
    out.push_str("\n|");
    for head in &table.heads {
        out.push_str(if head.is_text { ":--|" } else { "--:|" });
    }
    out.push('\n');
    let entry = |it: &Entry| it.words.iter().map(words).collect::<Vec<_>>().join(" ");
    for line in &table.lines {
        let name = std::iter::once(words(&line.name));
        let cells: Vec<String> = name.chain(line.cells.iter().map(entry)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out + "\n"
}

fn whole(block: &TableBlock) -> String {
    let table = &block.table;
    let mut out = head(table, block.first);
    for row in &table.rows {
        out.push_str(&table_row(row, table));
    }
    if table.has_limits() && !block.is_summary {
        out.push_str("\n\\* limited: see *Validity*.\n");
    }
    out + "\n"
}

fn head(table: &Table, first: &str) -> String {
    let cell = |group: &Group, column: &Column| {
        let name = escape(column.head.join(" ").trim());
        let phase = match group.phase.as_str() {
            "" => String::new(),
            phase => format!(" ({})", escape(phase)),
        };
        let comma = if column.scale.unit.is_empty() {
            ""
        } else {
            ", "
        };
        format!(" {name}{phase}{comma}{} |", column.scale.unit)
    };
    let mut names = format!("| {first} |");
    let mut rule = String::from("|:--|");
    for group in &table.groups {
        for column in &group.columns {
            names.push_str(&cell(group, column));
            rule.push_str("--:|");
        }
    }
    format!("{names}\n{rule}\n")
}

fn table_row(row: &Row, table: &Table) -> String {
    let note = row.note.map_or(String::new(), |it| format!(" ({it})"));
    let mut line = format!("| **{}**{note} |", escape(&row.name));
    if let Some(absence) = &row.absence {
        let columns = table.groups.iter().map(|group| group.columns.len());
        let rest = columns.sum::<usize>();
        line.push_str(&format!(" *{}* |", escape(absence)));
        line.push_str(&" |".repeat(rest.saturating_sub(1)));
        return line + "\n";
    }
    for cell in row.cells.iter().flatten() {
        line.push_str(&format!(" {} |", cell_text(cell)));
    }
    line + "\n"
}

fn cell_text(cell: &Cell) -> String {
    let mark = cell.mark().replace('*', "\\*");
    match cell.range() {
        "" => mark,
        range => format!("{mark} ({range})"),
    }
}

fn escape(plain: &str) -> String {
    let mut out = String::new();
    for character in text::clean(plain).chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => {
                out.push('\\');
                out.push(character);
            }
            c => out.push(c),
        }
    }
    out
}
