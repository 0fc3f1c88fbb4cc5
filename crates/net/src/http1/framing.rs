//! The length of a body, and the persistence of the connection (RFC 9112 6.3 and 9.3).

use std::net::Ipv6Addr;

use super::ProtocolError;

/// The rule that determines the end of a body (RFC 9112 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    #[default]
    None,
    /// A body of this number of bytes, which may be 0.
    Length(u64),
    /// A body in chunks (RFC 9112 7.1).
    Chunked,
    /// A body that lasts until the peer closes the connection; responses only.
    UntilClose,
}

#[derive(Debug, Default)]
pub(super) struct FieldFacts {
    ignore_length: bool,
    content_length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    /// True if the Connection field has options other than `close` and `keep-alive`.
    pub(super) lists_fields: bool,
    host: bool,
    expects_continue: bool,
}

impl FieldFacts {
    /// Begins the record of a response's fields. `bodyless` is true if the response cannot have a
    /// body, regardless of its fields (RFC 9112 6.3 item 1).
    pub(super) fn of_response(bodyless: bool) -> Self {
        Self {
            ignore_length: bodyless,
            ..Self::default()
        }
    }

    /// Records a field if it determines the length of the body or the end of the connection.
    #[inline]
    pub(super) fn note(&mut self, name: &str, value: &[u8]) -> Result<(), ProtocolError> {
        match name.len() {
            14 if !self.ignore_length && name.eq_ignore_ascii_case("content-length") => {
                self.note_content_length(value)
            }
            17 if !self.ignore_length && name.eq_ignore_ascii_case("transfer-encoding") => {
                self.note_transfer_encoding(value)
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                self.note_connection(value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Records a field of a request: Host, Expect, or one of the fields that [`FieldFacts::note`]
    /// records.
    #[inline]
    pub(super) fn note_in_request(
        &mut self,
        name: &str,
        value: &[u8],
    ) -> Result<(), ProtocolError> {
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => self.note_host(value),
            6 if name.eq_ignore_ascii_case("expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
                Ok(())
            }
            _ => self.note(name, value),
        }
    }

    fn note_content_length(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        if let Some(length) = decimal(value) {
            return self.set_content_length(length);
        }
        for element in elements(value) {
            let length = decimal(element).ok_or(ProtocolError::ContentLength)?;
            self.set_content_length(length)?;
        }
        Ok(())
    }

    fn set_content_length(&mut self, length: u64) -> Result<(), ProtocolError> {
        match self.content_length.replace(length) {
            Some(earlier) if earlier != length => Err(ProtocolError::ContentLengthsDiffer),
            _ => Ok(()),
        }
    }

    fn note_transfer_encoding(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        for coding in elements(value) {
            if coding.is_empty() {
                return Err(ProtocolError::Encoding);
            }
            if self.chunked {
                return Err(ProtocolError::ChunkedNotLast);
            }
            if !coding.eq_ignore_ascii_case(b"chunked") {
                return Err(ProtocolError::EncodingUnsupported);
            }
            self.chunked = true;
        }
        Ok(())
    }

    fn note_connection(&mut self, value: &[u8]) {
        // The value is almost always this single word, which need not be searched for commas.
        if value.eq_ignore_ascii_case(b"keep-alive") {
            self.keep_alive = true;
            return;
        }
        for option in elements(value) {
            let (closes, keeps) = (
                option.eq_ignore_ascii_case(b"close"),
                option.eq_ignore_ascii_case(b"keep-alive"),
            );
            self.close |= closes;
            self.keep_alive |= keeps;
            self.lists_fields |= !(closes || keeps);
        }
    }

    fn note_host(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        if self.host {
            return Err(ProtocolError::HostRepeated);
        }
        // The value may be empty if the target has no authority (RFC 9110 7.2).
        if !(value.is_empty() || is_host(value)) {
            return Err(ProtocolError::Host);
        }
        self.host = true;
        Ok(())
    }

    /// The framing of a request (RFC 9112 6.3 items 3 to 7). An HTTP/1.1 request without Host is an
    /// error.
    pub(super) fn request_framing(&self, version_minor: u8) -> Result<Framing, ProtocolError> {
        if version_minor == 1 && !self.host {
            return Err(ProtocolError::HostMissing);
        }
        let announced = self.announced_framing(version_minor)?;
        Ok(announced.unwrap_or(Framing::None))
    }

    /// The framing of a response (RFC 9112 6.3 items 1, 3 to 6 and 8).
    pub(super) fn response_framing(&self, version_minor: u8) -> Result<Framing, ProtocolError> {
        if self.ignore_length {
            return Ok(Framing::None);
        }
        let announced = self.announced_framing(version_minor)?;
        Ok(announced.unwrap_or(Framing::UntilClose))
    }

    fn announced_framing(&self, version_minor: u8) -> Result<Option<Framing>, ProtocolError> {
        match (self.chunked, self.content_length) {
            (true, Some(_)) => Err(ProtocolError::LengthAndEncoding),
            (true, None) if version_minor == 0 => Err(ProtocolError::EncodingInHttp10),
            (true, None) => Ok(Some(Framing::Chunked)),
            (false, Some(length)) => Ok(Some(Framing::Length(length))),
            (false, None) => Ok(None),
        }
    }

    /// Reports whether the connection persists (RFC 9112 9.3).
    pub(super) fn persists(&self, version_minor: u8, framing: Framing) -> bool {
        framing != Framing::UntilClose && !self.close && (version_minor == 1 || self.keep_alive)
    }

    /// Reports whether the client waits for `100 Continue`; always false for HTTP/1.0 (RFC 9110
    /// 10.1.1).
    pub(super) fn expects_continue(&self, version_minor: u8) -> bool {
        self.expects_continue && version_minor == 1
    }
}

/// The elements of a comma-separated list (RFC 9110 5.6.1), including empty ones.
pub(super) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// Returns the number that the digits represent, or `None` if there are no digits, if there is
/// another character, such as a sign, or if the number exceeds 64 bits.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Reports whether `value` is a host with an optional port (RFC 9110 7.2): a name, an IPv4 address,
/// or an IPv6 address in brackets. Names may contain only unreserved characters. RFC 3986 3.2.2
/// also allows percent-encodings, commas and other delimiters, but host names do not contain them,
/// and other programs may read such a name as several hosts or as another host.
pub fn is_host(value: &[u8]) -> bool {
    let port = match value.strip_prefix(b"[") {
        Some(rest) => {
            let Some(end) = rest.iter().position(|&byte| byte == b']') else {
                return false;
            };
            let address = std::str::from_utf8(&rest[..end]).unwrap_or_default();
            if address.parse::<Ipv6Addr>().is_err() {
                return false;
            }
            &rest[end + 1..]
        }
        None => {
            let in_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
            let length = value.iter().take_while(in_name).count();
            if length == 0 {
                return false;
            }
            &value[length..]
        }
    };
    match port.split_first() {
        None => true,
        Some((b':', digits)) => digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    }
}
