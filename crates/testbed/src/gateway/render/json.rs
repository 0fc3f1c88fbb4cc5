//! Lets templates write JSON with a comma after every item of a list or object, even the last one.

use minijinja::{Error, ErrorKind};
use serde::de::IgnoredAny;

/// `{% filter json %}…{% endfilter %}`: the same text without the commas before closing brackets
/// and braces, because a loop in a template cannot easily omit them. The result must be JSON.
pub(crate) fn json(text: &str) -> Result<String, Error> {
    let text = without_last_commas(text);
    serde_json::from_str::<IgnoredAny>(&text).map_err(|error| {
        let line = text.lines().nth(error.line().saturating_sub(1));
        let line = line.unwrap_or_default().trim();
        let message = format!("the text in the filter `json` is not JSON: {error}: `{line}`");
        Error::new(ErrorKind::InvalidOperation, message)
    })?;
    Ok(text)
}

fn without_last_commas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped) = (false, false);
    // The position of the last comma in `out`, if only whitespace has followed it.
    let mut comma = None;
    for c in text.chars() {
        if in_string {
            in_string = c != '"' || is_escaped;
            is_escaped = c == '\\' && !is_escaped;
        } else {
            match c {
                ',' => comma = Some(out.len()),
                ']' | '}' => {
                    if let Some(at) = comma.take() {
                        out.remove(at);
                    }
                }
                _ if c.is_whitespace() => {}
                _ => {
                    in_string = c == '"';
                    comma = None;
                }
            }
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_before_a_closing_bracket_is_left_out() {
        for (text, expected) in [
            (r#"[1, 2, ]"#, "[1, 2 ]"),
            ("{\"a\": [{}, {},\n],\n}\n", "{\"a\": [{}, {}\n]\n}\n"),
            (r#"["a,]", "b\",}", ",",]"#, r#"["a,]", "b\",}", ","]"#),
        ] {
            assert_eq!(json(text).unwrap(), expected);
        }
    }

    #[test]
    fn text_that_is_not_json_is_an_error_with_its_line() {
        let error = json("{\n  \"a\": 1\n  \"b\": 2\n}")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("line 3") && error.contains("`\"b\": 2`"),
            "{error}"
        );
        assert!(json("[1,, 2]").is_err());
    }
}
