//! Declares the C shim (`native/shim.h`) and the few library functions that Rust calls directly.
//!
//! libxml2's objects are opaque here. Only the shim, which is compiled against the libraries'
//! headers, knows their layout.

use std::ffi::{c_char, c_int, c_long, c_longlong, c_ulong, c_void};

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub(crate) struct $name {
            _opaque: [u8; 0],
            _not_send: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// `xmlDoc`.
    Doc
    /// `xmlNode`.
    RawNode
    /// `xmlSchema`.
    RawSchema
    /// `xmlSchemaValidCtxt`.
    Validator
    /// `xsltStylesheet`.
    Style
    /// `xmlXPathCompExpr`.
    Expression
    /// `xmlXPathContext`.
    XPathContext
}

/// A message, whose pointers are valid until the sink returns.
#[repr(C)]
pub(crate) struct Message {
    pub domain: c_int,
    pub code: c_int,
    pub level: c_int,
    pub line: c_int,
    pub message: *const c_char,
    pub node: *const c_void,
    pub node_name: *const c_char,
}

pub(crate) type Sink = extern "C" fn(data: *mut c_void, message: *const Message);

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Report {
    pub sink: Option<Sink>,
    pub data: *mut c_void,
}

pub(crate) type Fetch = extern "C" fn(location: *const c_char, length: *mut usize) -> *const c_char;

pub(crate) type Write =
    extern "C" fn(data: *mut c_void, bytes: *const c_char, length: c_int) -> c_int;

#[repr(C)]
pub(crate) struct ParseOptions {
    pub report: Report,
    pub is_message: c_int,
    pub depth_max: c_int,
    pub nodes_max: c_int,
    pub attributes_max: c_int,
    pub namespaces_max: c_int,
    pub attribute_bytes_max: usize,
    pub namespace_bytes_max: usize,
    pub entity_declared: extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char) -> c_int,
    pub entity_referenced: extern "C" fn(*mut c_void, c_int, *const c_char) -> c_int,
}

#[repr(C)]
pub(crate) struct TransformLimits {
    pub depth_max: c_int,
    pub sorted_max: c_int,
    pub operations_max: c_ulong,
    pub rows_max: c_ulong,
}

#[repr(C)]
pub(crate) struct OutputFacts {
    pub text_or_html: c_int,
    pub omit_declaration: c_int,
    pub standalone: c_int,
    pub indent: c_int,
    pub version: *const c_char,
    pub encoding: *const c_char,
    pub media_type: *const c_char,
}

#[allow(unsafe_code)]
// SAFETY: these match native/shim.h exactly; the last seven are libxml2's and libxslt's own, with
// the parameter lists that all their versions have.
unsafe extern "C" {
    pub fn shim_start(fetch: Fetch) -> c_int;
    pub fn shim_listen(report: Report) -> Report;
    pub fn shim_budget_begin(held_bytes: usize, time_ns: c_longlong);
    pub fn shim_budget_end() -> c_int;

    pub fn shim_in_background();

    pub fn shim_parse(
        bytes: *const c_char,
        length: c_int,
        url: *const c_char,
        options: *const ParseOptions,
    ) -> *mut Doc;

    pub fn shim_node_is_element(node: *const RawNode) -> c_int;
    pub fn shim_node_name(node: *const RawNode) -> *const c_char;
    pub fn shim_node_namespace(node: *const RawNode) -> *const c_char;
    pub fn shim_node_prefix(node: *const RawNode) -> *const c_char;
    pub fn shim_node_first_element(node: *const RawNode) -> *const RawNode;
    pub fn shim_node_next_element(node: *const RawNode) -> *const RawNode;
    pub fn shim_node_attribute(
        node: *const RawNode,
        name: *const c_char,
        namespace: *const c_char,
    ) -> *mut c_char;
    pub fn shim_node_set_attribute(
        node: *mut RawNode,
        name: *const c_char,
        value: *const c_char,
    ) -> c_int;
    pub fn shim_node_content(node: *const RawNode) -> *mut c_char;
    pub fn shim_node_line(node: *const RawNode) -> c_long;
    pub fn shim_free(text: *mut c_char);
    pub fn shim_document_of(node: *const RawNode, url: *const c_char) -> *mut Doc;
    pub fn shim_drop_empty_namespaces(document: *mut Doc) -> c_int;
    pub fn shim_is_html(document: *const Doc) -> c_int;

    pub fn shim_schema(document: *mut Doc, report: *mut Report) -> *mut RawSchema;
    pub fn shim_validator(schema: *mut RawSchema) -> *mut Validator;
    pub fn shim_validate(
        validator: *mut Validator,
        document: *mut Doc,
        element: *const RawNode,
        report: *mut Report,
    ) -> c_int;
    pub fn shim_stylesheet(document: *mut Doc) -> *mut Style;
    pub fn shim_transform(
        style: *mut Style,
        document: *mut Doc,
        parameters: *const *const c_char,
        limits: *const TransformLimits,
        report: *mut Report,
    ) -> *mut Doc;
    pub fn shim_xpath(expression: *const c_char) -> *mut Expression;
    pub fn shim_xpath_context() -> *mut XPathContext;
    pub fn shim_xpath_namespace(
        context: *mut XPathContext,
        prefix: *const c_char,
        uri: *const c_char,
    ) -> c_int;
    pub fn shim_xpath_first(
        context: *mut XPathContext,
        expression: *mut Expression,
        document: *mut Doc,
        operations_max: c_ulong,
        rows_max: c_ulong,
        text: *mut *mut c_char,
        report: *const Report,
    ) -> c_int;

    pub fn shim_canonical(
        document: *mut Doc,
        write: Write,
        data: *mut c_void,
        report: *mut Report,
    ) -> c_int;
    pub fn shim_style_output(style: *mut Style, output: *mut OutputFacts);
    pub fn shim_save_result(
        result: *mut Doc,
        style: *mut Style,
        write: Write,
        data: *mut c_void,
    ) -> c_int;

    pub fn xmlDocGetRootElement(document: *const Doc) -> *mut RawNode;
    pub fn xmlFreeDoc(document: *mut Doc);
    pub fn xmlSchemaFree(schema: *mut RawSchema);
    pub fn xmlSchemaFreeValidCtxt(validator: *mut Validator);
    pub fn xsltFreeStylesheet(style: *mut Style);
    pub fn xmlXPathFreeCompExpr(expression: *mut Expression);
    pub fn xmlXPathFreeContext(context: *mut XPathContext);
}
