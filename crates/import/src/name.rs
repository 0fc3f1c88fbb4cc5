//! Names in gatebench files: lower-case letters, digits and hyphens.

use std::collections::BTreeSet;

/// The longest name that is derived from a string.
const CHARS_MAX: usize = 60;

/// A name that resembles a string.
pub(crate) fn slug(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
        if name.len() == CHARS_MAX {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    match name.is_empty() {
        true => "imported".to_owned(),
        false => name.to_owned(),
    }
}

/// The names used so far, so that each is used once.
#[derive(Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// A name that resembles a string, with a number if the name is taken.
    pub(crate) fn unique(&mut self, text: &str) -> String {
        let name = slug(text);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut all = std::iter::once(name.clone()).chain(numbered);
        let free = all.find(|it| !self.0.contains(it)).unwrap_or(name);
        self.0.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_name() {
        assert_eq!(slug("My API (v2)"), "my-api-v2");
        assert_eq!(slug("_x_"), "x");
        assert_eq!(slug("2nd"), "2nd");
        assert_eq!(slug("é"), "imported");
        let mut names = Names::default();
        let all = ["a b", "a-b", "A.B"].map(|text| names.unique(text));
        assert_eq!(all, ["a-b", "a-b-2", "a-b-3"]);
    }
}
