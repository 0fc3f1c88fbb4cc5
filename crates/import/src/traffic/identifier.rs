//! Recognizes path segments that are identifiers, so that they can be replaced with made-up values.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Number,
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
    /// At least [`HASH_CHARS_MIN`] hexadecimal digits.
    Hash,
    /// Year, month and day.
    Date,
    /// A string with at least [`DIGITS_MIN`] digits, or a long string of random characters.
    Token,
    Mail,
    /// Any other string that is not kept, such as one of many in the same position.
    Text,
}

impl Kind {
    /// All kinds in the order of their declaration, each with the name of its data source.
    pub(super) const ALL: [(Self, &str); 7] = [
        (Self::Number, "number"),
        (Self::Uuid, "uuid"),
        (Self::Hash, "hash"),
        (Self::Date, "date"),
        (Self::Token, "token"),
        (Self::Mail, "mail"),
        (Self::Text, "text"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

const HASH_CHARS_MIN: usize = 16;
const TOKEN_CHARS_MIN: usize = 20;
/// The minimum number of digits, among other characters, that make a string an identifier.
const DIGITS_MIN: usize = 4;

/// Returns the kind of identifier, or `None` if the segment seems to be a name.
pub(super) fn kind_of(segment: &str) -> Option<Kind> {
    let bytes = segment.as_bytes();
    let digits = bytes.iter().filter(|it| it.is_ascii_digit()).count();
    if bytes.contains(&b'@') || segment.contains("%40") {
        return Some(Kind::Mail);
    }
    if digits == 0 {
        return is_letters_at_random(bytes).then_some(Kind::Token);
    }
    if digits == bytes.len() {
        return Some(Kind::Number);
    }
    if is_shaped(bytes, &[8, 4, 4, 4, 12], u8::is_ascii_hexdigit) {
        return Some(Kind::Uuid);
    }
    if is_shaped(bytes, &[4, 2, 2], u8::is_ascii_digit) {
        return Some(Kind::Date);
    }
    if bytes.len() >= HASH_CHARS_MIN && bytes.iter().all(u8::is_ascii_hexdigit) {
        return Some(Kind::Hash);
    }
    (digits >= DIGITS_MIN || is_token(bytes)).then_some(Kind::Token)
}

/// Reports whether the segment consists of groups of allowed bytes with these lengths, joined by
/// hyphens.
fn is_shaped(bytes: &[u8], lengths: &[usize], allowed: fn(&u8) -> bool) -> bool {
    let mut groups = bytes.split(|byte| *byte == b'-');
    let is_group = |group: &[u8], length| group.len() == length && group.iter().all(allowed);
    let fits = |length: &usize| groups.next().is_some_and(|it| is_group(it, *length));
    lengths.iter().all(fits) && groups.next().is_none()
}

/// Reports whether the segment has at least [`TOKEN_CHARS_MIN`] bytes, contains uppercase and
/// lowercase letters, and consists only of letters, digits and the characters `-_=+.~%`.
fn is_token(bytes: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=+.~%".contains(byte);
    bytes.len() >= TOKEN_CHARS_MIN
        && bytes.iter().all(allowed)
        && bytes.iter().any(u8::is_ascii_uppercase)
        && bytes.iter().any(u8::is_ascii_lowercase)
}

/// Reports whether the segment is a token (see `is_token`) in which an uppercase letter is followed
/// by a character other than an uppercase letter at least once per four bytes. Joined words, as in
/// `getCustomerOrderHistory`, usually have fewer such places.
fn is_letters_at_random(bytes: &[u8]) -> bool {
    let changes = bytes.windows(2).filter(|it| {
        it[0].is_ascii_uppercase() && it[1].is_ascii_uppercase() != it[0].is_ascii_uppercase()
    });
    is_token(bytes) && changes.count() * 4 >= bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_recognized_and_names_are_not() {
        for (segment, kind) in [
            ("42", Some(Kind::Number)),
            ("123e4567-e89b-12d3-a456-426614174000", Some(Kind::Uuid)),
            ("9b74c9897bac770ffc029102a200c5de", Some(Kind::Hash)),
            ("2025-01-31", Some(Kind::Date)),
            ("dGhpcyBpcyBhIHRva2Vu1A", Some(Kind::Token)),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0", Some(Kind::Token)),
            ("ORD-2025-1", Some(Kind::Token)),
            ("someone@example.com", Some(Kind::Mail)),
            ("someone%40example.com", Some(Kind::Mail)),
            ("QwErTyUiOpAsDfGhJkLz", Some(Kind::Token)),
            ("users", None),
            ("v2", None),
            ("oauth2", None),
            ("getCustomerOrderHistory", None),
            ("app.js", None),
            ("", None),
        ] {
            assert_eq!(kind_of(segment), kind, "{segment}");
        }
    }
}
