//! A parsed document and its nodes.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::entities::{EXPANDED_BYTES_MAX, Entities, Kind};
use crate::errors::{Collector, Complaints, text_of};
use crate::limits::Limits;
use crate::{ffi, precheck, process};

/// An owned tree. It may be passed to another thread, but two threads must not use it at the same
/// time, because validation and transformation store marks in it.
#[derive(Debug)]
pub struct Document {
    raw: NonNull<ffi::Doc>,
}

// SAFETY: a tree refers to nothing of the thread that created it: its dictionary is its own or
// reference-counted under a lock, and the allocator is shared by the process.
unsafe impl Send for Document {}

impl Document {
    /// Parses a message in any encoding that libxml2 supports; if the message is larger than 16
    /// KiB, it must be in a common encoding. CDATA sections become text.
    ///
    /// # Errors
    /// Fails if the text is not well-formed, exceeds a limit, is in an unsupported encoding, or has
    /// a document type. SOAP 1.1 (section 3) and SOAP 1.2 (section 5) forbid document types.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, Complaints> {
        precheck::message(bytes, limits)?;
        Self::read(bytes, limits, None, true)
    }

    /// Parses a definition: a WSDL, a schema or a stylesheet. Its references are resolved relative
    /// to the location. Internal entities are replaced, and nothing outside `bytes` is read.
    ///
    /// # Errors
    /// Fails if the text is not well-formed, exceeds a limit, or is in an unsupported encoding.
    pub fn parse_definition(
        bytes: &[u8],
        limits: &Limits,
        location: Option<&str>,
    ) -> Result<Self, Complaints> {
        precheck::definition(bytes, limits)?;
        Self::read(bytes, limits, location, false)
    }

    fn read(
        bytes: &[u8],
        limits: &Limits,
        location: Option<&str>,
        is_message: bool,
    ) -> Result<Self, Complaints> {
        process::start();
        if bytes.is_empty() {
            return Err(empty());
        }
        let length = c_int::try_from(bytes.len())
            .map_err(|_| Complaints::own(0, "The document is larger than 2 GiB"))?;
        let location = location.and_then(|location| CString::new(location).ok());
        let mut parse = Parse {
            collector: Collector::default(),
            entities: Entities::with_budget(EXPANDED_BYTES_MAX),
        };
        let report = ffi::Report {
            sink: Some(on_message),
            data: std::ptr::from_mut(&mut parse).cast(),
        };
        let options = options(report, limits, is_message);
        let mut unheard = Collector::default();
        let url = pointer_to(location.as_deref());
        // SAFETY: the bytes, the location and the options with `parse` outlive the call; the
        // pointers to them are not kept, since the parser's context is freed within the call.
        let raw = unheard
            .listen(|_| unsafe { ffi::shim_parse(bytes.as_ptr().cast(), length, url, &options) });
        let Parse { collector, .. } = parse;
        let mut complaints = collector.complaints;
        complaints.0.append(&mut unheard.complaints.0);
        Self::own(raw).ok_or_else(|| complaints.or("The document cannot be parsed"))
    }

    /// Takes ownership of a document from the shim.
    pub(crate) fn own(raw: *mut ffi::Doc) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self { raw })
    }

    /// Gives up ownership. The receiver of the pointer must free the document.
    pub(crate) fn into_raw(self) -> *mut ffi::Doc {
        let raw = self.raw.as_ptr();
        std::mem::forget(self);
        raw
    }

    pub(crate) fn raw(&self) -> *mut ffi::Doc {
        self.raw.as_ptr()
    }

    /// Returns the root element, or `None` if the result of a transformation has none.
    pub fn root(&self) -> Option<Node<'_>> {
        // SAFETY: the document outlives the borrow that the node gets.
        unsafe { Node::from(ffi::xmlDocGetRootElement(self.raw())) }
    }

    /// Creates a document with a copy of `node`, in which all namespaces in scope are bound.
    pub(crate) fn of(node: Node<'_>, location: Option<&str>) -> Option<Self> {
        let location = location.and_then(|location| CString::new(location).ok());
        let url = pointer_to(location.as_deref());
        // SAFETY: the node is valid; the location is copied.
        Self::own(unsafe { ffi::shim_document_of(node.raw, url) })
    }

    /// Reports whether the document is HTML. Only the result of a transformation can be HTML.
    pub fn is_html(&self) -> bool {
        // SAFETY: the document is valid.
        unsafe { ffi::shim_is_html(self.raw()) != 0 }
    }

    /// Edits the tree as if every ` xmlns=""` were removed from its canonical text. Returns false,
    /// and leaves the tree unchanged, if only the text can represent the result.
    #[must_use]
    pub(crate) fn drop_empty_namespaces(&mut self) -> bool {
        // SAFETY: the borrow is exclusive, so no reference to any of its nodes exists.
        unsafe { ffi::shim_drop_empty_namespaces(self.raw()) != 0 }
    }

    /// Sets the attribute `name` of each element for which `value_of` returns a value. Returns
    /// `None` if the name contains a NUL.
    pub(crate) fn set_attributes(
        &mut self,
        name: &str,
        value_of: impl Fn(Node<'_>) -> Option<String>,
    ) -> Option<()> {
        let name = CString::new(name).ok()?;
        let mut open: Vec<Node<'_>> = self.root().into_iter().collect();
        while let Some(node) = open.pop() {
            if let Some(value) = value_of(node).and_then(|value| CString::new(value).ok()) {
                // SAFETY: the borrow of the document is exclusive; attributes are not children, so
                // setting them does not affect the walk; both strings are copied.
                unsafe {
                    ffi::shim_node_set_attribute(
                        node.raw.cast_mut(),
                        name.as_ptr(),
                        value.as_ptr(),
                    );
                }
            }
            open.extend(node.elements());
        }
        Some(())
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        // SAFETY: this value owns the document, and no node outlives its borrow of it.
        unsafe { ffi::xmlFreeDoc(self.raw()) }
    }
}

/// An element of a document.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    raw: *const ffi::RawNode,
    _document: PhantomData<&'a Document>,
}

impl<'a> Node<'a> {
    /// # Safety
    /// `raw` is null or an element of a document that is valid for `'a`.
    unsafe fn from(raw: *const ffi::RawNode) -> Option<Self> {
        // SAFETY: the pointer is read only if it is not null.
        if raw.is_null() || unsafe { ffi::shim_node_is_element(raw) } == 0 {
            return None;
        }
        Some(Self {
            raw,
            _document: PhantomData,
        })
    }

    pub(crate) fn raw(self) -> *const ffi::RawNode {
        self.raw
    }

    pub fn name(self) -> &'a str {
        // SAFETY: an element has a name, and the tree keeps it for `'a`.
        unsafe { borrowed(ffi::shim_node_name(self.raw)) }.unwrap_or_default()
    }

    pub fn namespace(self) -> Option<&'a str> {
        // SAFETY: the tree keeps it for `'a`.
        unsafe { borrowed(ffi::shim_node_namespace(self.raw)) }
    }

    pub fn prefix(self) -> Option<&'a str> {
        // SAFETY: the tree keeps it for `'a`.
        unsafe { borrowed(ffi::shim_node_prefix(self.raw)) }
    }

    pub fn is(self, namespace: &str, name: &str) -> bool {
        self.name() == name && self.namespace() == Some(namespace)
    }

    pub fn elements(self) -> impl Iterator<Item = Node<'a>> {
        // SAFETY: children and siblings are valid as long as their document.
        let first = unsafe { Self::from(ffi::shim_node_first_element(self.raw)) };
        std::iter::successors(first, |node| unsafe {
            // SAFETY: as above.
            Self::from(ffi::shim_node_next_element(node.raw))
        })
    }

    /// Returns the value of an attribute without a namespace.
    pub fn attribute(self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the node is valid; the name is read only during the call.
        owned(unsafe { ffi::shim_node_attribute(self.raw, name.as_ptr(), std::ptr::null()) })
    }

    /// Returns the text of the element and of its descendants.
    pub fn text(self) -> String {
        // SAFETY: the node is valid.
        owned(unsafe { ffi::shim_node_content(self.raw) }).unwrap_or_default()
    }

    /// Returns the line number of the start tag, from 1, or 0 if the element was not parsed from
    /// text.
    pub fn line(self) -> u32 {
        // SAFETY: the node is valid.
        u32::try_from(unsafe { ffi::shim_node_line(self.raw) }).unwrap_or(0)
    }
}

fn pointer_to(text: Option<&CStr>) -> *const c_char {
    text.map_or(std::ptr::null(), CStr::as_ptr)
}

/// # Safety
/// `text` is null, or is NUL-terminated and valid for `'a`. libxml2 keeps all strings in UTF-8.
unsafe fn borrowed<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// Copies a string that must be freed, and frees it.
pub(crate) fn owned(text: *mut c_char) -> Option<String> {
    let copy = text_of(text)?;
    // SAFETY: the string is not null, was allocated by libxml2, and is owned by this function.
    unsafe { ffi::shim_free(text) };
    Some(copy)
}

/// Returns libxml2's message for an empty document, for which it cannot create a context.
fn empty() -> Complaints {
    const DOCUMENT_EMPTY: i32 = 4;
    let mut complaints = Complaints::own(DOCUMENT_EMPTY, "Document is empty");
    for complaint in &mut complaints.0 {
        complaint.line = 1;
    }
    complaints
}

fn options(report: ffi::Report, limits: &Limits, is_message: bool) -> ffi::ParseOptions {
    ffi::ParseOptions {
        report,
        is_message: c_int::from(is_message),
        depth_max: c_int::from(limits.depth.min(250)),
        nodes_max: c_int::try_from(limits.nodes).unwrap_or(c_int::MAX),
        attributes_max: c_int::from(limits.attributes),
        namespaces_max: c_int::from(limits.namespaces),
        attribute_bytes_max: limits.attribute_bytes,
        namespace_bytes_max: limits.namespace_bytes,
        entity_declared: on_entity_declared,
        entity_referenced: on_entity_referenced,
    }
}

struct Parse {
    collector: Collector,
    entities: Entities,
}

/// # Safety
/// `data` is the `Parse` of a call to `shim_parse` that has not returned.
unsafe fn parse_of<'a>(data: *mut c_void) -> &'a mut Parse {
    // SAFETY: guaranteed by the caller; the parser calls back one at a time.
    unsafe { &mut *data.cast() }
}

extern "C" fn on_message(data: *mut c_void, message: *const ffi::Message) {
    // SAFETY: only `shim_parse` calls this, with the data it was given.
    let report = unsafe { parse_of(data) }.collector.report();
    if let Some(sink) = report.sink {
        sink(report.data, message);
    }
}

fn kind_of(is_parameter: c_int) -> Kind {
    match is_parameter {
        0 => Kind::General,
        _ => Kind::Parameter,
    }
}

extern "C" fn on_entity_declared(
    data: *mut c_void,
    is_parameter: c_int,
    name: *const c_char,
    content: *const c_char,
) -> c_int {
    // SAFETY: as for `on_message`; the strings are valid until this returns.
    let (parse, name, content) = unsafe { (parse_of(data), borrowed(name), borrowed(content)) };
    let name = name.unwrap_or_default().as_bytes();
    let content = content.unwrap_or_default().as_bytes();
    c_int::from(parse.entities.declare(kind_of(is_parameter), name, content))
}

extern "C" fn on_entity_referenced(
    data: *mut c_void,
    is_parameter: c_int,
    name: *const c_char,
) -> c_int {
    // SAFETY: as for `on_message`; the text is valid until this returns.
    let (parse, name) = unsafe { (parse_of(data), borrowed(name)) };
    let name = name.unwrap_or_default().as_bytes();
    c_int::from(parse.entities.refer(kind_of(is_parameter), name))
}
