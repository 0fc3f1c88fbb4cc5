//! Colours, where there are any.

use console::Style;

/// Paints text for standard output.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    colors: bool,
}

impl Paint {
    /// Paints, or leaves text as it is.
    pub fn new(colors: bool) -> Self {
        Self { colors }
    }

    fn style(self) -> Style {
        Style::new().force_styling(self.colors)
    }

    /// What is as it should be.
    pub fn good(self, text: &str) -> String {
        self.style().green().apply_to(text).to_string()
    }

    /// What is not.
    pub fn bad(self, text: &str) -> String {
        self.style().red().apply_to(text).to_string()
    }

    /// What has to be thought of.
    pub fn caution(self, text: &str) -> String {
        self.style().yellow().apply_to(text).to_string()
    }

    /// Titles.
    pub fn title(self, text: &str) -> String {
        self.style().bold().apply_to(text).to_string()
    }

    /// What is less important.
    pub fn soft(self, text: &str) -> String {
        self.style().dim().apply_to(text).to_string()
    }

    /// Bars.
    pub fn bar(self, text: &str) -> String {
        self.style().cyan().apply_to(text).to_string()
    }
}
