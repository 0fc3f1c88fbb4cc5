//! Words with a style, and tables of them.

use serde::Serialize;

use crate::method::anchor;

/// Words, some of them with a style.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Text {
    /// The parts, in order.
    pub spans: Vec<Span>,
    /// The anchor of the method on the page, or empty.
    method: String,
}

/// Words of one style.
#[derive(Clone, Debug, Serialize)]
pub struct Span {
    /// The text.
    pub text: String,
    /// True if they are strong.
    pub is_strong: bool,
    /// The class of their style on the page, or empty.
    pub class: String,
}

/// A table of text.
#[derive(Default, Serialize)]
pub struct Lines {
    /// Its name for a screen reader.
    pub label: String,
    /// The class of its layout on the page, or empty.
    pub class: &'static str,
    /// The heads of the columns, that of the names first.
    pub heads: Vec<Head>,
    pub lines: Vec<Line>,
    /// The place of the column of plots with their axis below it; none without plots.
    pub axis: Option<(usize, String)>,
}

/// The head of a column.
#[derive(Serialize)]
pub struct Head {
    pub words: String,
    /// True if the column has text, and false if it has numbers.
    pub is_text: bool,
    /// The class of the colour that is shown before it, or empty.
    pub class: String,
}

/// A line of a table of text.
#[derive(Default, Serialize)]
pub struct Line {
    /// The words over this line and those that follow, or nothing. A terminal and Markdown have no
    /// room for them.
    pub above: Text,
    /// The head of the line.
    pub name: Text,
    /// The class of its colour, or empty.
    pub class: String,
    /// The line as a sentence, which appears when it is pointed at, or empty.
    pub hint: String,
    /// True if the verdict rests on it.
    pub decides: bool,
    pub cells: Vec<Entry>,
    /// The cells for a terminal, which has no room for heads. Without any it shows the heads and
    /// the other cells.
    #[serde(skip)]
    pub brief: Vec<Text>,
    /// The cells that have separate lines on a terminal.
    #[serde(skip)]
    pub more: Vec<String>,
}

/// A cell of a table of text.
#[derive(Default, Serialize)]
pub struct Entry {
    /// The text, a paragraph each.
    pub words: Vec<Text>,
    /// The drawing in their place, or empty.
    pub svg: String,
}

impl Head {
    /// The head of a column of text.
    pub fn text(words: impl Into<String>) -> Self {
        let (words, class) = (words.into(), String::new());
        Self {
            words,
            is_text: true,
            class,
        }
    }

    /// The head of a column of numbers.
    pub fn number(words: impl Into<String>) -> Self {
        Self::coloured(words, String::new())
    }

    /// The head of a column of numbers after the colour of a class.
    pub fn coloured(words: impl Into<String>, class: String) -> Self {
        let words = words.into();
        Self {
            words,
            is_text: false,
            class,
        }
    }

    /// The heads in a line such as `gateway | > ratio`, in which `>` marks a column of numbers.
    pub fn row(line: &str) -> Vec<Self> {
        let head = |words: &str| match words.trim().strip_prefix('>') {
            Some(words) => Self::number(words.trim()),
            None => Self::text(words.trim()),
        };
        line.split('|').map(head).collect()
    }

    /// The heads of columns of numbers after one of names.
    pub fn numbers<'a>(first: &str, heads: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let numbers = heads.into_iter().map(Self::number);
        std::iter::once(Self::text(first)).chain(numbers).collect()
    }
}

impl Lines {
    /// A table with the usual layout and without plots.
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

    /// The table in the layout of a class.
    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

impl Line {
    /// A line with a name and cells alone.
    pub fn new(name: impl Into<Text>, cells: Vec<Entry>) -> Self {
        Self {
            name: name.into(),
            cells,
            ..Self::default()
        }
    }

    /// A line for a terminal.
    pub fn brief(name: impl Into<Text>, brief: Vec<Text>) -> Self {
        Self {
            brief,
            ..Self::new(name, Vec::new())
        }
    }

    /// The line in the colour of a class.
    pub fn class(self, class: String) -> Self {
        Self { class, ..self }
    }
}

impl Entry {
    /// A drawing.
    pub fn plot(svg: String) -> Self {
        let words = Vec::new();
        Self { words, svg }
    }

    /// The text of all paragraphs.
    pub fn plain(&self) -> String {
        let words: Vec<String> = self.words.iter().map(Text::plain).collect();
        words.join(" ")
    }
}

impl<T: Into<Text>> From<T> for Entry {
    fn from(words: T) -> Self {
        let svg = String::new();
        let words = vec![words.into()];
        Self { words, svg }
    }
}

impl Text {
    /// Strong text.
    pub fn strong(words: &str) -> Self {
        Self::default().and_strong(words)
    }

    /// Words in the style of a class on the page.
    pub fn styled(class: &str, words: &str) -> Self {
        Self::default().and_styled(class, words)
    }

    /// A verdict in the colour of its class.
    pub fn chip(class: &str, words: &str) -> Self {
        Self::styled(&format!("chip {class}"), words)
    }

    /// The same text, followed by more.
    pub fn and(self, words: &str) -> Self {
        self.with(words, false, "")
    }

    /// The same text, followed by strong text.
    pub fn and_strong(self, words: &str) -> Self {
        self.with(words, true, "")
    }

    /// The same text, followed by text in the style of a class.
    pub fn and_styled(self, class: &str, words: &str) -> Self {
        self.with(words, false, class)
    }

    fn with(mut self, words: &str, is_strong: bool, class: &str) -> Self {
        let (text, class) = (words.to_owned(), class.to_owned());
        if !text.is_empty() {
            self.spans.push(Span {
                text,
                is_strong,
                class,
            });
        }
        self
    }

    /// Words with strong ones among them.
    pub fn with_strong(before: &str, strong: &str, after: &str) -> Self {
        Self::from(before).and_strong(strong).and(after)
    }

    /// The same text, all of it strong if `is_strong`.
    pub fn strong_if(mut self, is_strong: bool) -> Self {
        self.spans
            .iter_mut()
            .for_each(|it| it.is_strong |= is_strong);
        self
    }

    /// The same text with a link to a section of docs/METHOD.md.
    pub fn computed_as(mut self, method: &str) -> Self {
        if !method.is_empty() {
            self.method = anchor(method);
        }
        self
    }

    /// The text without style.
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
