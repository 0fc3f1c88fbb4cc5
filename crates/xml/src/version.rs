//! The versions of libxml2 and libxslt. The libraries are part of the system, so their versions are
//! conditions of a measurement, and determine which of their defects apply.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use crate::process;

// SAFETY: these match native/shim.h exactly.
unsafe extern "C" {
    fn shim_libxml2_version() -> *const c_char;
    fn shim_libxslt_version() -> *const c_char;
}

/// Returns the names and loaded versions of the libraries.
pub fn library_versions() -> [(&'static str, String); 2] {
    process::start();
    // SAFETY: each returns a string of its library that is never changed and is NUL-terminated.
    let (xml, xslt) = unsafe {
        (
            CStr::from_ptr(shim_libxml2_version()),
            CStr::from_ptr(shim_libxslt_version()),
        )
    };
    [("libxml2", xml), ("libxslt", xslt)]
        .map(|(name, version)| (name, in_words(&version.to_string_lossy())))
}

/// Formats `20914` as `2.9.14`, and keeps a vendor's suffix.
fn in_words(version: &str) -> String {
    let end = version.find(|c: char| !c.is_ascii_digit());
    let (number, rest) = version.split_at(end.unwrap_or(version.len()));
    match number.parse::<u32>() {
        Ok(number) => format!(
            "{}.{}.{}{rest}",
            number / 10_000,
            number / 100 % 100,
            number % 100
        ),
        Err(_) => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_their_usual_form() {
        assert_eq!(in_words("20914"), "2.9.14");
        assert_eq!(in_words("21505-GITv2.15.5"), "2.15.5-GITv2.15.5");
        assert_eq!(in_words("unknown"), "unknown");
    }

    #[test]
    fn the_libraries_report_their_versions() {
        let [(xml, xml_version), (xslt, xslt_version)] = library_versions();
        assert_eq!((xml, xslt), ("libxml2", "libxslt"));
        assert!(xml_version.starts_with("2."), "{xml_version}");
        assert!(xslt_version.starts_with("1."), "{xslt_version}");
    }
}
