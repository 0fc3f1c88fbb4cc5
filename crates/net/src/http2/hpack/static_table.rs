//! The static table (RFC 7541 Appendix A).

/// Name and value of entries 1 to 61; entry 0 does not exist.
pub(crate) const ENTRIES: [(&str, &str); 62] = [
    ("", ""),
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The part of a field that is in the table: the whole field, only the name, or nothing.
pub(crate) enum Found {
    Field(usize),
    Name(usize),
    Nothing,
}

/// Finds a field by linear search over the 61 entries. If `value` is empty, only the name is
/// searched for.
pub(crate) fn find(name: &str, value: &[u8]) -> Found {
    let named = (1..ENTRIES.len()).filter(|&index| ENTRIES[index].0 == name);
    let whole = named
        .clone()
        .find(|&index| !value.is_empty() && ENTRIES[index].1.as_bytes() == value);
    match (whole, named.min()) {
        (Some(index), _) => Found::Field(index),
        (None, Some(index)) => Found::Name(index),
        (None, None) => Found::Nothing,
    }
}
