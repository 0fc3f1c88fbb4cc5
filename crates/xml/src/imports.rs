//! The one source of what definitions import: texts in memory, lent to a thread while it compiles.
//!
//! libxml2 and libxslt know one loader per process. Ours hands out what the compiling thread has lent and
//! nothing else, so a document that names a file or a URL gets nothing: while requests are served nothing
//! is lent.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::rc::Rc;

use crate::document::Document;
use crate::errors::{Complaint, Complaints};
use crate::limits::Limits;
use crate::precheck::REFUSED;

/// Where definitions come from, by location: a path as the configuration names it, or the address in an
/// import.
pub trait Files {
    /// The bytes at a location.
    ///
    /// # Errors
    /// Why there are none.
    fn read(&self, location: &str) -> Result<Vec<u8>, String>;
}

/// Nothing can be imported.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, location: &str) -> Result<Vec<u8>, String> {
        Err(format!("{location} is not among the included definitions"))
    }
}

/// Texts by location.
impl Files for HashMap<String, String> {
    fn read(&self, location: &str) -> Result<Vec<u8>, String> {
        self.get(location)
            .map(|text| text.clone().into_bytes())
            .ok_or_else(|| format!("{location} is not among the included definitions"))
    }
}

type Reader<'a> = dyn Fn(&str) -> Option<Vec<u8>> + 'a;

#[derive(Default)]
struct Lent {
    /// The reader of the innermost `lend`.
    reader: Option<Rc<Reader<'static>>>,
    /// What was handed out; the library reads it after `fetch` has returned.
    handed_out: Vec<Box<[u8]>>,
    /// Why something was not handed out that is there.
    refused: Option<Complaints>,
}

thread_local! {
    static LENT: RefCell<Lent> = RefCell::default();
}

/// Imports handed out during one compilation; more is a loop or an attack.
const IMPORTS_MAX: usize = 1_000;

/// Runs `compile` with what `files` has at hand.
///
/// # Errors
/// What is imported exceeds a limit of definitions, which the libraries' own parsers do not have.
pub(crate) fn lend<T>(files: &dyn Files, compile: impl FnOnce() -> T) -> Result<T, Complaints> {
    let read = |location: &str| files.read(location).ok();
    let read: Rc<Reader<'_>> = Rc::new(read);
    // SAFETY: only the lifetime is widened. `Return` takes the reader back before `files` ends, also when
    // `compile` panics, and no clone of it leaves `fetch`.
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

/// The loader that the shim calls.
pub(crate) extern "C" fn fetch(location: *const c_char, length: *mut usize) -> *const c_char {
    // SAFETY: the shim passes a text that ends with a zero byte.
    let location = unsafe { CStr::from_ptr(location) };
    let found = location.to_str().ok().and_then(read);
    match found {
        Some((bytes, count)) => {
            // SAFETY: the shim passes the address of a variable of its own.
            unsafe { *length = count };
            bytes
        }
        None => std::ptr::null(),
    }
}

fn read(location: &str) -> Option<(*const c_char, usize)> {
    let reader = LENT.with_borrow(|lent| lent.reader.clone())?;
    let bytes = reader(location)?.into_boxed_slice();
    if let Some(why) = refusal(location, &bytes) {
        LENT.with_borrow_mut(|lent| lent.refused = Some(why));
        return None;
    }
    LENT.with_borrow_mut(|lent| {
        if lent.handed_out.len() >= IMPORTS_MAX {
            return None;
        }
        let place = (bytes.as_ptr().cast(), bytes.len());
        lent.handed_out.push(bytes);
        Some(place)
    })
}

/// The limit that an import exceeds, if any. What else is wrong with it the library says itself.
fn refusal(location: &str, bytes: &[u8]) -> Option<Complaints> {
    let read = Document::parse_definition(bytes, &Limits::DEFINITIONS, Some(location));
    let mut why = read.err()?;
    why.0.retain(|complaint| complaint.code == REFUSED);
    let place = Complaint::own(0, format!("{location} cannot be imported"));
    (!why.0.is_empty()).then(|| {
        why.0.insert(0, place);
        why
    })
}
