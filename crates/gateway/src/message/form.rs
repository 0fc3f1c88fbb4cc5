//! Determines the form of a body from the head of its message. [`Body::of`] fails if the head has
//! two Content-Types or two Content-Encodings, because a policy could use one value and the
//! recipient the other.

use gatebench_net::http1::{Framing, Head};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// The type is `application/json` or `text/json`, or ends with `+json` (RFC 6839).
    Json,
    /// The type is `text/xml` or `application/xml`.
    Xml,
    #[default]
    Other,
}

/// The type and the coding of a message's body, as stated by the head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) content_type: Option<&'a [u8]>,
    /// True if the body has a content coding other than `identity`, such as gzip.
    pub(crate) is_coded: bool,
}

impl<'a> Body<'a> {
    pub(crate) fn of(head: &Head<'a>) -> Result<Self, String> {
        let coding = once(head, "Content-Encoding")?;
        Ok(Self {
            content_type: once(head, "Content-Type")?,
            is_coded: coding.is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity")),
        })
    }

    /// Like [`Self::of`], but also fails if the Content-Type is not a single media type, because
    /// other readers may use a different item of a list.
    pub(crate) fn of_request(head: &Head<'a>) -> Result<Self, String> {
        let body = Self::of(head)?;
        match body.content_type {
            Some(value) if !is_media_type(value) => {
                Err("the Content-Type is not a media type (RFC 9110 8.3.1)".into())
            }
            _ => Ok(body),
        }
    }

    /// Returns the form of the body as sent.
    pub(crate) fn form(&self) -> Form {
        if self.is_coded {
            Form::Other
        } else {
            self.decoded_form()
        }
    }

    /// Returns the form of the body after decoding.
    pub(crate) fn decoded_form(&self) -> Form {
        let essence = essence(self.content_type.unwrap_or_default());
        let is = |word: &str| essence.eq_ignore_ascii_case(word);
        if is_json(essence) {
            Form::Json
        } else if is("text/xml") || is("application/xml") {
            Form::Xml
        } else {
            Form::Other
        }
    }
}

/// Returns the form of a body as sent. A head that contradicts itself yields [`Form::Other`].
pub(crate) fn form_of(head: &Head<'_>) -> Form {
    Body::of(head).map_or(Form::Other, |body| body.form())
}

/// Reports whether the head shows that the message has no body.
pub(crate) fn is_empty(head: &Head<'_>) -> bool {
    matches!(head.framing(), Framing::None | Framing::Length(0))
}

/// Reports whether a Content-Type without its parameters denotes JSON.
pub(crate) fn is_json(essence: &str) -> bool {
    let suffix = essence.as_bytes().last_chunk::<5>();
    essence.eq_ignore_ascii_case("application/json")
        || essence.eq_ignore_ascii_case("text/json")
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json"))
}

/// Returns the media type of a Content-Type, without its parameters; empty if it is not UTF-8.
pub(crate) fn essence(content_type: &[u8]) -> &str {
    let text = std::str::from_utf8(content_type).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim()
}

/// Returns the value of a field, if there is one; fails if the field occurs more than once.
pub(crate) fn once<'a>(head: &Head<'a>, name: &str) -> Result<Option<&'a [u8]>, String> {
    let fields = head.raw_fields();
    let mut named = fields.filter(|(other, _)| other.eq_ignore_ascii_case(name.as_bytes()));
    let first = named.next().map(|(_, value)| value);
    match named.next() {
        None => Ok(first),
        Some(_) => Err(format!("the field {name} appears more than once")),
    }
}

/// Reports whether a string is a token (RFC 9110 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// Reports whether this is one media type with its parameters: a token, a slash and a token, and
/// commas only in quotes.
fn is_media_type(value: &[u8]) -> bool {
    let names = essence(value).split_once('/');
    let (mut is_quoted, mut is_escaped) = (false, false);
    let has_comma = value.iter().any(|&byte| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match byte {
            _ if was_escaped => {}
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => return true,
            _ => {}
        }
        false
    });
    names.is_some_and(|(class, kind)| is_token(class) && is_token(kind)) && !has_comma
}

#[cfg(test)]
mod tests {
    use gatebench_net::http1::{Decoder, Event, Limits};

    use super::*;

    fn with_head<T>(fields: &str, check: impl FnOnce(&Head<'_>) -> T) -> T {
        let request = format!("POST / HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
        let mut decoder = Decoder::requests(Limits::default());
        let mut input = request.as_bytes();
        match decoder.next(&mut input).unwrap() {
            Some(Event::Head(head)) => check(&head),
            other => panic!("no head but {other:?}"),
        }
    }

    fn form_and_coding(fields: &str) -> Option<(Form, bool)> {
        with_head(fields, |head| {
            let body = Body::of_request(head).ok()?;
            let expected = if body.is_coded {
                Form::Other
            } else {
                body.decoded_form()
            };
            assert_eq!(body.form(), expected);
            Some((body.decoded_form(), body.is_coded))
        })
    }

    #[test]
    fn the_content_type_determines_the_form() {
        for (value, expected) in [
            ("application/json", Form::Json),
            ("Application/JSON; charset=utf-8", Form::Json),
            ("application/problem+json;a=\"b,c\"", Form::Json),
            ("text/json", Form::Json),
            ("text/xml", Form::Xml),
            ("application/xml ; a", Form::Xml),
            ("text/plain", Form::Other),
            ("application/jsonp", Form::Other),
            ("a/b;c=\"\\\",\"", Form::Other),
        ] {
            let fields = format!("Content-Type: {value}\r\n");
            assert_eq!(form_and_coding(&fields), Some((expected, false)), "{value}");
        }
        assert_eq!(form_and_coding(""), Some((Form::Other, false)));
        let coded = "Content-Type: text/xml\r\nContent-Encoding: gzip\r\n";
        assert_eq!(form_and_coding(coded), Some((Form::Xml, true)));
        let identity = "Content-Encoding: Identity\r\n";
        assert_eq!(form_and_coding(identity), Some((Form::Other, false)));
    }

    #[test]
    fn a_contradictory_head_has_no_form() {
        for fields in [
            "Content-Type: text/plain\r\nContent-Type: application/json\r\n",
            "Content-Type: application/json\r\ncontent-type: application/json\r\n",
            "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n",
            "Content-Type: text/plain, application/json\r\n",
            "Content-Type: text/plain;a=b, application/json\r\n",
            "Content-Type: text/plain;a=\"b\", application/json\r\n",
            "Content-Type: application\r\n",
            "Content-Type: application/\r\n",
            "Content-Type: application /json\r\n",
            "Content-Type: \"application/json\"\r\n",
            "Content-Type: a/b/c\r\n",
            "Content-Type:\r\n",
        ] {
            assert_eq!(form_and_coding(fields), None, "{fields}");
        }
    }
}
