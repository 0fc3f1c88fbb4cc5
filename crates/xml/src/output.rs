//! Writes trees as bytes.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::document::Document;
use crate::errors::{Collector, Complaints};
use crate::ffi;
use crate::limits::Limits;

pub(crate) struct Sink<'a> {
    out: &'a mut Vec<u8>,
    bytes_left: usize,
    bytes_max: usize,
    is_full: bool,
}

impl<'a> Sink<'a> {
    pub fn new(out: &'a mut Vec<u8>, bytes_max: usize) -> Self {
        Self {
            out,
            bytes_left: bytes_max,
            bytes_max,
            is_full: false,
        }
    }

    /// Returns an error if the result was too long or could not be written.
    pub fn end(self, is_written: bool, complaints: Complaints) -> Result<(), Complaints> {
        if self.is_full {
            let message = format!("The result has more than {} bytes", self.bytes_max);
            return Err(Complaints::own(0, message));
        }
        match is_written {
            true => Ok(()),
            false => Err(complaints.or("The result cannot be written")),
        }
    }
}

/// Appends to the [`Sink`] that `data` points to. Returns a negative number if the sink is full.
pub(crate) extern "C" fn append(data: *mut c_void, bytes: *const c_char, length: c_int) -> c_int {
    let Ok(count) = usize::try_from(length) else {
        return -1;
    };
    // SAFETY: every shim call that takes this function is given a sink that outlives the call and
    // is not used elsewhere during it; `bytes` points to `length` readable bytes.
    let (sink, bytes) = unsafe {
        let sink = &mut *data.cast::<Sink<'_>>();
        (sink, std::slice::from_raw_parts(bytes.cast::<u8>(), count))
    };
    let Some(left) = sink.bytes_left.checked_sub(count) else {
        sink.is_full = true;
        return -1;
    };
    sink.bytes_left = left;
    sink.out.extend_from_slice(bytes);
    length
}

impl Document {
    /// Appends Canonical XML 1.0 with comments, which has no XML declaration.
    ///
    /// # Errors
    /// Fails if the tree has no canonical form because a namespace name is relative, if memory runs
    /// out, or if the text is longer than a document may be.
    pub fn write_canonical(&self, out: &mut Vec<u8>, limits: &Limits) -> Result<(), Complaints> {
        let mut collector = Collector::default();
        let mut sink = Sink::new(out, limits.document_bytes);
        // SAFETY: the document is valid; the sink is what `append` expects, and outlives the call.
        let written = collector.listen(|report| unsafe {
            let data = std::ptr::from_mut(&mut sink).cast();
            ffi::shim_canonical(self.raw(), append, data, report)
        });
        sink.end(written != 0, collector.complaints)
    }
}
