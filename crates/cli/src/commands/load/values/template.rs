//! Templates in URLs and paths, which cannot contain blanks.

use gatebench_model::template::{Piece, Template, TemplateError};

/// Removes the blanks inside the templates of a string: `/a/{{ users.id }}` becomes
/// `/a/{{users.id}}`.
///
/// # Errors
/// Fails if the string contains an invalid template.
pub fn without_blanks(text: &str) -> Result<String, TemplateError> {
    let template = Template::parse(text)?;
    let pieces = template.pieces().iter().map(|piece| match piece {
        Piece::Text(text) => quoted(text),
        Piece::Value(value) => match &value.column {
            Some(column) => format!("{{{{{}.{column}}}}}", value.source),
            None => format!("{{{{{}}}}}", value.source),
        },
    });
    Ok(pieces.collect())
}

/// Quotes literal braces again, because they and the text after them could form a template.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, braces) = rest.split_at(at);
        let end = braces.find(|c| c != '{').unwrap_or(braces.len());
        out.push_str(before);
        out.push_str(&format!("{{{{'{}'}}}}", &braces[..end]));
        rest = &braces[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_blanks_in_braces_are_removed() {
        let read = |text| without_blanks(text).unwrap();
        assert_eq!(read("/a/{{ users.id }}?b={{x}}"), "/a/{{users.id}}?b={{x}}");
        assert_eq!(read("/a b"), "/a b");
        assert_eq!(read("/{{ \"{{\" }}}}"), "/{{'{{'}}}}");
        assert!(without_blanks("/{{ a b }}").is_err());
        assert!(without_blanks("/{{ a").is_err());
    }

    proptest! {
        #[test]
        fn the_meaning_stays_the_same(text in "[a-c{}\"' .]{0,16}") {
            if let Ok(template) = Template::parse(&text) {
                let again = without_blanks(&text).unwrap();
                let meaning = |it: &Template| it.pieces().iter().map(|piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Value(value) => format!("<{}.{:?}>", value.source, value.column),
                }).collect::<String>();
                prop_assert_eq!(meaning(&Template::parse(&again).unwrap()), meaning(&template));
            }
        }
    }
}
