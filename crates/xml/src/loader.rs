//! The only loader of both libraries, which returns documents that are lent to a thread while it
//! compiles a definition.
//!
//! libxml2 and libxslt have one loader per process. If a message refers to a file or a URL, nothing
//! is loaded, because nothing is lent to the threads that process messages.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::rc::Rc;

use crate::errors::Complaints;

/// Reads the text at a location. The error is the reason why an existing text is withheld, or
/// `None` if there is no text.
pub(crate) type Reader<'a> = dyn Fn(&str) -> Result<Vec<u8>, Option<Complaints>> + 'a;

#[derive(Default)]
struct Lent {
    /// The reader of the innermost `lend`.
    reader: Option<Rc<Reader<'static>>>,
    /// The texts that the library reads after `fetch` has returned.
    handed_out: Vec<Box<[u8]>>,
    /// The reason why an existing text was not returned.
    refused: Option<Complaints>,
}

thread_local! {
    static LENT: RefCell<Lent> = RefCell::default();
}

/// The maximum number of imports during one compilation; more indicates a loop or an attack.
const IMPORTS_MAX: usize = 1_000;

/// Runs `compile` with the documents that `read` provides.
///
/// # Errors
/// Returns the reason why `read` most recently withheld a document.
pub(crate) fn lend<T>(read: Rc<Reader<'_>>, compile: impl FnOnce() -> T) -> Result<T, Complaints> {
    // SAFETY: only the lifetime is extended. `Return` takes the reader back before its borrow ends,
    // even if `compile` panics, and no clone of it leaves `fetch`.
    let read: Rc<Reader<'static>> = unsafe { std::mem::transmute(read) };
    let before = LENT.with_borrow_mut(|lent| lent.reader.replace(read));
    let _return = Return(before);
    let compiled = compile();
    match LENT.with_borrow_mut(|lent| lent.refused.take()) {
        None => Ok(compiled),
        Some(why) => Err(why),
    }
}

struct Return(Option<Rc<Reader<'static>>>);

impl Drop for Return {
    fn drop(&mut self) {
        LENT.with_borrow_mut(|lent| {
            lent.reader = self.0.take();
            if lent.reader.is_none() {
                lent.handed_out.clear();
                lent.refused = None;
            }
        });
    }
}

pub(crate) extern "C" fn fetch(location: *const c_char, length: *mut usize) -> *const c_char {
    // SAFETY: the shim passes a NUL-terminated string.
    let location = unsafe { CStr::from_ptr(location) };
    let found = location.to_str().ok().and_then(read);
    match found {
        Some((bytes, count)) => {
            // SAFETY: the shim passes the address of one of its own variables.
            unsafe { *length = count };
            bytes
        }
        None => std::ptr::null(),
    }
}

fn read(location: &str) -> Option<(*const c_char, usize)> {
    let reader = LENT.with_borrow(|lent| lent.reader.clone())?;
    let bytes = match reader(location) {
        Ok(bytes) => bytes.into_boxed_slice(),
        Err(None) => return None,
        Err(why) => {
            LENT.with_borrow_mut(|lent| lent.refused = why);
            return None;
        }
    };
    LENT.with_borrow_mut(|lent| {
        if lent.handed_out.len() >= IMPORTS_MAX {
            return None;
        }
        let place = (bytes.as_ptr().cast(), bytes.len());
        lent.handed_out.push(bytes);
        Some(place)
    })
}
