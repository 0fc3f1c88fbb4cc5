//! A table for readers: aligned for a terminal, or Markdown for the documentation.

/// Rows of cells under one header; the first `left` columns contain text, the others numbers.
pub struct Table {
    head: Vec<String>,
    left: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(left: usize, head: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            head: head.into_iter().map(Into::into).collect(),
            left,
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub fn render(&self, markdown: bool) -> String {
        if markdown {
            self.markdown()
        } else {
            self.aligned()
        }
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<String> = (0..self.head.len())
            .map(|column| if column < self.left { "---" } else { "--:" }.into())
            .collect();
        let rows = self.rows.iter().map(|row| line(row));
        [line(&self.head), line(&rule)]
            .into_iter()
            .chain(rows)
            .collect()
    }

    fn aligned(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for row in lines() {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| {
                    if column < self.left {
                        format!("{cell:<width$}")
                    } else {
                        format!("{cell:>width$}")
                    }
                });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// Formats nanoseconds as milliseconds with two decimals.
pub fn ms(ns: f64) -> String {
    format!("{:.2}", ns / 1e6)
}

pub fn ms_or_dash(ns: Option<f64>) -> String {
    ns.map_or("–".into(), ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_rendered_for_a_terminal_and_as_markdown() {
        let mut table = Table::new(1, ["case", "p50"]);
        table.row(["stall".to_owned(), ms(5_012_345.0)]);
        table.row(["x".to_owned(), ms_or_dash(None)]);
        assert_eq!(
            table.render(false),
            "case    p50\nstall  5.01\nx         –\n"
        );
        let markdown = "| case | p50 |\n| --- | --: |\n| stall | 5.01 |\n| x | – |\n";
        assert_eq!(table.render(true), markdown);
    }
}
