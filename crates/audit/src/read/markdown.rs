//! Parses Markdown tables (GitHub Flavored Markdown 0.29, section 4.10).

use crate::table::Table;

pub(super) fn tables(text: &str) -> Vec<Table> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut tables, mut title) = (Vec::new(), "");
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim();
        if line.starts_with('#') {
            title = line.trim_start_matches('#').trim();
        }
        let begins = line.contains('|') && lines.get(at + 1).is_some_and(|next| is_delimiter(next));
        if !begins {
            at += 1;
            continue;
        }
        // Lines are numbered from 1, and the delimiter row is between the headings and the first
        // row of cells.
        let rows = lines[at + 2..].iter().take_while(|it| it.contains('|'));
        let rows: Vec<_> = (at + 3..).zip(rows.map(|row| cells(row))).collect();
        let end = at + 2 + rows.len();
        tables.push(Table {
            line: at + 1,
            ..Table::of(title, &cells(line), rows)
        });
        at = end;
    }
    tables
}

/// Reports whether this is the line between headings and rows, which consists of bars, dashes and,
/// for alignment, colons.
fn is_delimiter(line: &str) -> bool {
    let line = line.trim();
    line.contains('-') && line.contains('|') && line.chars().all(|it| "|:- \t".contains(it))
}

/// An escaped bar, `\|`, does not end a cell.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    for it in row.chars() {
        match it {
            '|' if !is_escaped => cells.push(String::new()),
            _ => {
                let last = cells.len() - 1;
                cells[last].push(it);
            }
        }
        is_escaped = it == '\\' && !is_escaped;
    }
    // Empty text after the last bar is not a cell.
    if cells.last().is_some_and(|it| it.trim().is_empty()) && cells.len() > 1 {
        cells.pop();
    }
    cells
        .into_iter()
        .map(|it| it.trim().replace("\\|", "|"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_table_is_the_heading_above_it() {
        let text = "# Title\n\ntext | text\n\n## Sizing\n|a|RPS|\n|:--|--:|\n|one \\| two|7 rps\n|three|8 rps|\n\nend";
        let [table] = &tables(text)[..] else {
            panic!("not exactly one table");
        };
        assert_eq!(table.title, "Sizing");
        let rows = table.rows.iter().map(|it| (it.line, it.name.as_str()));
        assert!(rows.eq([(8, "one | two"), (9, "three")]));
        assert_eq!(table.rows[1].figure(1).map(|it| it.value), Some(8.0));
    }
}
