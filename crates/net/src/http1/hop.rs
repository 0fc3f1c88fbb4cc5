//! Fields that concern one connection and are not forwarded (RFC 9110 7.6.1).

use super::framing::elements;
use super::head::{Field, Head};

/// The fields that RFC 9110 7.6.1 names in addition to those that Connection lists, and `Trailer`,
/// because this crate ignores trailer fields.
const HOP_BY_HOP: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Reports whether two names are the same to programs that replace the punctuation in field names,
/// such as CGI, WSGI and PHP: for example, `X_User` and `X-User` both become `HTTP_X_USER` (RFC
/// 3875 4.1.18). Case is ignored.
pub fn is_alike(name: &[u8], known: &[u8]) -> bool {
    name.len() == known.len()
        && name.iter().zip(known).all(|(byte, wanted)| {
            let are_marks = !wanted.is_ascii_alphanumeric() && !byte.is_ascii_alphanumeric();
            byte.eq_ignore_ascii_case(wanted) || are_marks
        })
}

/// Reports whether a field concerns only one connection, or may be mistaken by other programs for
/// one that does. `connection_options` are the values of the message's Connection fields: a proxy
/// does not forward the fields that they list either.
pub fn is_hop_by_hop<'c>(
    name: impl AsRef<[u8]>,
    connection_options: impl IntoIterator<Item = &'c [u8]>,
) -> bool {
    let name = name.as_ref();
    HOP_BY_HOP.iter().any(|hop| is_alike(name, hop.as_bytes()))
        || connection_options
            .into_iter()
            .flat_map(elements)
            .any(|option| is_alike(name, option))
}

/// Returns the values of a message's Connection fields, not split into options.
pub fn connection_options<'a>(head: &Head<'a>) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
    head.raw_fields()
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"connection"))
        .map(|(_, value)| value)
}

/// The fields that a proxy forwards, in wire order: all except the hop-by-hop fields and
/// Content-Length, which the functions that write a head derive from their `body`.
pub fn forwarded<'a>(head: &Head<'a>) -> impl Iterator<Item = Field<'a>> + use<'a> {
    let options = connection_options(head);
    head.fields().filter(move |field| {
        !is_alike(field.name.as_bytes(), b"content-length")
            && !is_hop_by_hop(field.name, options.clone())
    })
}
