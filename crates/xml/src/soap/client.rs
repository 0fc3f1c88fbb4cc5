//! The format that a client uses for requests and expects in responses.

/// The format of faults for a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Client {
    /// SOAP 1.1, which is also assumed if the format is unknown.
    #[default]
    Soap11,
    Soap12,
    Json,
}

impl Client {
    /// Derives the format from the Content-Type of the request.
    pub fn of(content_type: Option<&str>) -> Self {
        let begins = |word: &str| {
            let text = content_type.unwrap_or_default().trim_start().as_bytes();
            text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(word.as_bytes())
        };
        if begins("application/soap+xml") {
            Self::Soap12
        } else if begins("application/json") || begins("application/vnd.api+json") {
            Self::Json
        } else {
            Self::Soap11
        }
    }

    /// Returns the Content-Type of bodies that are generated for this client.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Soap11 => "text/xml; charset=utf-8",
            Self::Soap12 => "application/soap+xml; charset=utf-8",
            Self::Json => "application/json",
        }
    }
}

/// The form of a body, determined by its first non-whitespace character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Xml,
    Json,
    Unknown,
}

impl Form {
    pub fn of(body: &[u8]) -> Self {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        match body.trim_ascii_start().first() {
            Some(b'<') => Self::Xml,
            Some(b'{' | b'[') => Self::Json,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_recognized_by_their_content_type() {
        for (content_type, client) in [
            (None, Client::Soap11),
            (Some("text/xml; charset=utf-8"), Client::Soap11),
            (Some("text/plain"), Client::Soap11),
            (Some("  Application/SOAP+xml;action=x"), Client::Soap12),
            (Some("application/json"), Client::Json),
            (Some("application/vnd.api+json; v=1"), Client::Json),
        ] {
            assert_eq!(Client::of(content_type), client, "{content_type:?}");
        }
    }

    #[test]
    fn forms_are_recognized_by_their_first_character() {
        assert_eq!(Form::of(b" \t\n<a/>"), Form::Xml);
        assert_eq!(Form::of(b"\xef\xbb\xbf<a/>"), Form::Xml);
        assert_eq!(Form::of(b" [1]"), Form::Json);
        assert_eq!(Form::of(b"{}"), Form::Json);
        assert_eq!(Form::of(b"1"), Form::Unknown);
        assert_eq!(Form::of(b""), Form::Unknown);
    }
}
