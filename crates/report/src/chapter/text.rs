//! Styled text, and tables of styled text.

use serde::Serialize;

use crate::method::anchor;

/// Text that is styled in parts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Text {
    pub spans: Vec<Span>,
    /// The anchor of the page section that describes the method, or empty.
    method: String,
}

/// Text of a single style.
#[derive(Clone, Debug, Serialize)]
pub struct Span {
    pub text: String,
    /// True if the text is bold; on the page, only if `class` is empty.
    pub is_strong: bool,
    /// The CSS class on the page, or empty.
    pub class: String,
}

/// A table of text.
#[derive(Default, Serialize)]
pub struct Lines {
    /// The name for screen readers.
    pub label: String,
    /// The CSS class of the layout on the page, or empty.
    pub class: &'static str,
    /// The column headers. The first is the header of the names.
    pub heads: Vec<Head>,
    pub lines: Vec<Line>,
    /// The index of the column with plots, and the axis below it as an SVG element; `None` if there
    /// are no plots.
    pub axis: Option<(usize, String)>,
}

/// The header of a column.
#[derive(Serialize)]
pub struct Head {
    pub words: String,
    /// True for a column of text, false for a column of numbers.
    pub is_text: bool,
    /// The CSS class of the color of the mark before the text, or empty for no mark.
    pub class: String,
}

/// A line in a table of text.
#[derive(Default, Serialize)]
pub struct Line {
    /// A heading for this line and those that follow, or empty. Only the page shows it.
    pub above: Text,
    pub name: Text,
    /// The CSS class of the color, or empty.
    pub class: String,
    /// The line as a sentence for the page's tooltip, or empty.
    pub hint: String,
    /// True if the verdict is based on the line.
    pub decides: bool,
    pub cells: Vec<Entry>,
    /// The cells that a terminal shows. If any line of the table has such cells, the terminal shows
    /// neither the headers nor `cells`.
    #[serde(skip)]
    pub brief: Vec<Text>,
    /// Cells that a terminal shows on separate lines after the `brief` cells.
    #[serde(skip)]
    pub more: Vec<String>,
}

/// A cell of a table of text.
#[derive(Default, Serialize)]
pub struct Entry {
    /// The paragraphs of the text.
    pub words: Vec<Text>,
    /// The drawing that replaces the text, or empty.
    pub svg: String,
}

impl Head {
    pub fn text(words: impl Into<String>) -> Self {
        let is_text = true;
        Self {
            is_text,
            ..Self::number(words)
        }
    }

    pub fn number(words: impl Into<String>) -> Self {
        Self::colored(words, String::new())
    }

    /// Creates the header of a number column, preceded by a mark in the color of a CSS class.
    pub fn colored(words: impl Into<String>, class: String) -> Self {
        Self {
            words: words.into(),
            is_text: false,
            class,
        }
    }

    /// Parses headers from a line such as `gateway | > ratio`, where `>` marks a column of numbers.
    pub fn row(line: &str) -> Vec<Self> {
        let head = |words: &str| match words.trim().strip_prefix('>') {
            Some(words) => Self::number(words.trim()),
            None => Self::text(words.trim()),
        };
        line.split('|').map(head).collect()
    }

    /// Creates the header of a column of names, followed by the headers of number columns.
    pub fn numbers<'a>(first: &str, heads: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let numbers = heads.into_iter().map(Self::number);
        std::iter::once(Self::text(first)).chain(numbers).collect()
    }
}

impl Lines {
    pub fn new(
        label: impl Into<String>,
        heads: Vec<Head>,
        lines: impl IntoIterator<Item = Line>,
    ) -> Self {
        Self {
            label: label.into(),
            heads,
            lines: lines.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

impl Line {
    pub fn new(name: impl Into<Text>, cells: Vec<Entry>) -> Self {
        Self {
            name: name.into(),
            cells,
            ..Self::default()
        }
    }

    /// Creates a line whose cells are shown only on a terminal.
    pub fn brief(name: impl Into<Text>, brief: Vec<Text>) -> Self {
        Self {
            brief,
            ..Self::new(name, Vec::new())
        }
    }

    pub fn class(self, class: String) -> Self {
        Self { class, ..self }
    }
}

impl Entry {
    pub fn plot(svg: String) -> Self {
        let words = Vec::new();
        Self { words, svg }
    }

    /// Returns the text of all paragraphs, joined with spaces.
    pub fn plain(&self) -> String {
        let words: Vec<String> = self.words.iter().map(Text::plain).collect();
        words.join(" ")
    }
}

impl<T: Into<Text>> From<T> for Entry {
    fn from(words: T) -> Self {
        Self {
            words: vec![words.into()],
            svg: String::new(),
        }
    }
}

impl Text {
    pub fn strong(words: &str) -> Self {
        Self::default().and_strong(words)
    }

    pub fn styled(class: &str, words: &str) -> Self {
        Self::default().and_styled(class, words)
    }

    /// Creates a short result, such as a verdict, in the color of its CSS class.
    pub fn chip(class: &str, words: &str) -> Self {
        Self::styled(&format!("chip {class}"), words)
    }

    pub fn and(self, words: &str) -> Self {
        self.with(words, false, "")
    }

    pub fn and_strong(self, words: &str) -> Self {
        self.with(words, true, "")
    }

    pub fn and_styled(self, class: &str, words: &str) -> Self {
        self.with(words, false, class)
    }

    fn with(mut self, words: &str, is_strong: bool, class: &str) -> Self {
        if !words.is_empty() {
            self.spans.push(Span {
                text: words.to_owned(),
                is_strong,
                class: class.to_owned(),
            });
        }
        self
    }

    pub fn with_strong(before: &str, strong: &str, after: &str) -> Self {
        Self::from(before).and_strong(strong).and(after)
    }

    pub fn strong_if(mut self, is_strong: bool) -> Self {
        for span in &mut self.spans {
            span.is_strong |= is_strong;
        }
        self
    }

    /// Adds a link to the section of docs/METHOD.md with this heading. An empty heading adds no
    /// link.
    pub fn computed_as(mut self, method: &str) -> Self {
        if !method.is_empty() {
            self.method = anchor(method);
        }
        self
    }

    pub fn plain(&self) -> String {
        self.spans.iter().map(|it| it.text.as_str()).collect()
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::default().and(words)
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::from(words.as_str())
    }
}
