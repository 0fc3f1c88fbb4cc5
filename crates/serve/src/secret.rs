//! Random strings that cannot be guessed.

use std::fmt::Write as _;
use std::io;

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// 128 random bits as lowercase hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new() -> io::Result<Self> {
        let mut bytes = [0; 16];
        let mut filled = 0;
        while filled < bytes.len() {
            match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self(bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether a string is equal to this secret. The time that the comparison takes does
    /// not depend on where the two strings differ.
    pub(crate) fn is(&self, text: &str) -> bool {
        let differing = self.0.bytes().zip(text.bytes());
        let differing = differing.fold(0, |all, (own, other)| all | (own ^ other));
        differing == 0 && self.0.len() == text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_equals_only_itself() {
        let secret = Secret::new().unwrap();
        assert_eq!(secret.as_str().len(), 32);
        assert!(secret.is(secret.as_str()));
        assert!(!secret.is(Secret::new().unwrap().as_str()));
        assert!(!secret.is(&secret.as_str()[..31]) && !secret.is(""));
    }
}
