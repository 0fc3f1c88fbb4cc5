//! Names in gatebench files, which consist of lowercase letters, digits and hyphens.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::log::Log;

/// The maximum length of a name that is derived from a string.
const CHARS_MAX: usize = 60;

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

/// Reports whether a scenario can have a client with this user name.
fn is_user_name(text: &str) -> bool {
    let mut characters = text.chars();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@+-".contains(c);
    !text.is_empty() && characters.all(plain)
}

pub(crate) fn check_user_name(name: &str, span: &Range<usize>, log: &mut Log<'_>) {
    if is_user_name(name) {
        return;
    }
    let message = format!("`{name}` is not a valid user name for a client");
    let help = "use only letters, digits and . _ @ + -; replace placeholders such as $USER before the import";
    log.problem(span, message, help);
}

/// Returns the name of an item among several with the same name: `name`, `name-2` and so on.
pub(crate) fn numbered(name: &str, index: usize) -> String {
    match index {
        0 => name.to_owned(),
        _ => format!("{name}-{}", index + 1),
    }
}

/// Returns the path and query of a URL, or an empty string if the URL has no path.
pub(crate) fn path_of_url(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("", |at| &rest[at..])
}

#[derive(Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// Returns a valid name derived from a string, with a number if the name is taken.
    pub(crate) fn unique(&mut self, text: &str) -> String {
        let name = slug(text);
        let mut all = (0..).map(|index| numbered(&name, index));
        let free = all.find(|it| self.0.insert(it.clone()));
        free.unwrap_or(name)
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
