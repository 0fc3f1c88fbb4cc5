//! Emphasizes text with ANSI escape sequences if the terminal shows colors.

/// The role of a piece of text, which determines how the text is emphasized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// Headings and names.
    Strong,
    /// Ranges, rules and explanations.
    Soft,
    /// A remedy or a good result.
    Good,
    /// A limited figure, a caution or a verdict without a clear result.
    Fair,
    /// An invalid figure, a failure or the verdict *worse*.
    Bad,
}

/// Applies styles if the terminal shows colors.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    color: bool,
}

impl Paint {
    pub fn new(color: bool) -> Self {
        Self { color }
    }

    /// Applies the style to the text. Measure the text before styling it, because escape sequences
    /// take up no columns but count as characters.
    pub fn with(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => "",
            Style::Strong => "1",
            Style::Soft => "2",
            Style::Good => "32",
            Style::Fair => "33",
            Style::Bad => "31",
        };
        if !self.color || code.is_empty() || text.trim().is_empty() {
            return text.into();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
