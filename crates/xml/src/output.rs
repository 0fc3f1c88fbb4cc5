//! Trees as bytes.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::document::Document;
use crate::errors::{Collector, Complaints};
use crate::ffi;

/// Appends to the `Vec<u8>` that `data` is.
pub(crate) extern "C" fn append(data: *mut c_void, bytes: *const c_char, length: c_int) -> c_int {
    let Ok(count) = usize::try_from(length) else {
        return -1;
    };
    // SAFETY: every call of the shim that takes this function is given a vector that lives during the
    // call and is used by no one else meanwhile; `bytes` are `length` readable ones.
    unsafe {
        let out = &mut *data.cast::<Vec<u8>>();
        out.extend_from_slice(std::slice::from_raw_parts(bytes.cast(), count));
    }
    length
}

// The canonicalizer of libxml2 clears a static namespace for each element, and only ever reads it cleared:
// threads that canonicalize at once write zeros over zeros.

impl Document {
    /// Appends Canonical XML 1.0 with comments, which has no XML declaration.
    ///
    /// # Errors
    /// The tree has no canonical form: a namespace name is relative, or there is no memory.
    pub fn write_canonical(&self, out: &mut Vec<u8>) -> Result<(), Complaints> {
        let mut collector = Collector::default();
        // SAFETY: the document lives; the vector is what `append` expects, and lives during the call.
        let written = collector.listen(|_| unsafe {
            ffi::shim_canonical(self.raw(), append, std::ptr::from_mut(out).cast())
        });
        if written != 0 {
            return Ok(());
        }
        let complaints = collector.complaints;
        Err(complaints.or("Unable to dump the canonized image of the XML document"))
    }
}
