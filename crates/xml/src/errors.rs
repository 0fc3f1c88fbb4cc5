//! The messages of libxml2 and libxslt, collected per call.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::fmt;

use crate::ffi;

/// libxml2's error code for a validation root that the schema does not declare.
pub const NO_DECLARATION: i32 = 1845;

/// libxml2's error code for a referenced document that cannot be parsed.
pub const NOT_PARSED: i32 = 3067;

/// The maximum number of messages kept per call. Further ones are dropped.
const MESSAGES_MAX: usize = 64;

/// A message of a library or of this crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// libxml2's error code; 0 for messages without one, such as those of libxslt.
    pub code: i32,
    /// The line number in the document or definition, from 1; 0 if unknown.
    pub line: u32,
    /// The local name of the element or attribute at fault, if known.
    pub node: Option<String>,
    /// The text, without a final newline.
    pub message: String,
    /// True if the message is about the element to be validated, not about a descendant of it.
    pub at_root: bool,
}

impl Complaint {
    /// Creates a message that does not come from a library.
    pub fn own(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            ..Self::default()
        }
    }
}

/// Writes `Error Node: X, Error code: N, Line: L, Message: ...`, without the node if it is unknown,
/// or only the text if there is no code.
impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code == 0 {
            return f.write_str(&self.message);
        }
        if let Some(node) = &self.node {
            write!(f, "Error Node: {node}, ")?;
        }
        write!(
            f,
            "Error code: {}, Line: {}, Message: {}",
            self.code, self.line, self.message
        )
    }
}

/// The reasons why a call failed. A returned error has at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaints(pub Vec<Complaint>);

impl Complaints {
    /// Creates a single message that does not come from a library.
    pub fn own(code: i32, message: impl Into<String>) -> Self {
        Self(vec![Complaint::own(code, message)])
    }

    /// Reports whether this schema does not declare the element to be validated. Another schema may
    /// declare it.
    pub fn is_wrong_schema(&self) -> bool {
        let mut all = self.0.iter();
        all.any(|complaint| complaint.code == NO_DECLARATION && complaint.at_root)
    }

    /// Adds `fallback` if there is no message, so that every failure has a reason.
    pub(crate) fn or(mut self, fallback: &str) -> Self {
        if self.0.is_empty() {
            self.0.push(Complaint::own(0, fallback));
        }
        self
    }
}

/// Writes all messages, joined with `. `.
impl fmt::Display for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<String> = self.0.iter().map(Complaint::to_string).collect();
        f.write_str(&messages.join(". "))
    }
}

impl std::error::Error for Complaints {}

/// Collects the messages of one call. A collector must not move while a library can access it, so
/// each one is created and used within a single function.
#[derive(Default)]
pub(crate) struct Collector {
    pub complaints: Complaints,
    /// The node that is being validated (see [`Complaint::at_root`]).
    pub root: *const c_void,
}

impl Collector {
    pub fn report(&mut self) -> ffi::Report {
        ffi::Report {
            sink: Some(collect),
            data: std::ptr::from_mut(self).cast(),
        }
    }

    /// Runs `work`, and collects the messages that the libraries report on this thread without a
    /// context.
    pub fn listen<T>(&mut self, work: impl FnOnce(&mut ffi::Report) -> T) -> T {
        let mut report = self.report();
        // SAFETY: the previous report is restored before `self` ends, even if `work` unwinds,
        // because `Restore` does so on drop.
        let before = unsafe { ffi::shim_listen(report) };
        let _restore = Restore(before);
        work(&mut report)
    }
}

struct Restore(ffi::Report);

impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: this report was in place before, so it is still valid.
        unsafe { ffi::shim_listen(self.0) };
    }
}

extern "C" fn collect(data: *mut c_void, message: *const ffi::Message) {
    // SAFETY: `data` is the collector of a report that is in place, used by only one thread during
    // the call; the message and its strings are valid until this returns.
    let (collector, message) = unsafe { (&mut *data.cast::<Collector>(), &*message) };
    let complaints = &mut collector.complaints.0;
    if complaints.len() >= MESSAGES_MAX {
        return;
    }
    let text = text_of(message.message).unwrap_or_default();
    let text = text.strip_suffix('\n').unwrap_or(&text);
    if text.is_empty() {
        return;
    }
    complaints.push(Complaint {
        code: message.code,
        line: u32::try_from(message.line).unwrap_or(0),
        node: text_of(message.node_name),
        message: text.to_owned(),
        at_root: !message.node.is_null() && message.node == collector.root,
    });
}

/// Copies a C string, and replaces bytes that are not UTF-8.
pub(crate) fn text_of(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the pointer is not null, and every string of the shim is NUL-terminated.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_form_of_the_contract() {
        let complaint = Complaint {
            node: Some("Add".into()),
            line: 4,
            ..Complaint::own(1871, "Element 'Add': Missing child element(s).")
        };
        let bare = Complaint::own(0, "compilation error");
        assert_eq!(
            Complaints(vec![complaint, bare]).to_string(),
            "Error Node: Add, Error code: 1871, Line: 4, Message: Element 'Add': Missing child element(s).. compilation error"
        );
    }
}
