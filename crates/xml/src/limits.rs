//! What a document, and the work on it, may cost.

/// Bounds on parsing and evaluation. Each one ends the work with a message that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message's body, after un-gzip.
    pub body_bytes: usize,
    /// Bytes of a document: a body, what a transformation has made of one, or a definition.
    pub document_bytes: usize,
    /// Nesting of elements; libxml2 itself stops at 256.
    pub depth: u16,
    /// Attributes and namespace declarations of one element.
    pub attributes: u16,
    /// Bytes of one attribute's value.
    pub attribute_bytes: usize,
    /// Namespaces in scope at one element.
    pub namespaces: u16,
    /// Bytes that all references to entities of one document expand to together.
    pub entity_bytes: usize,
    /// Nested instructions of a transformation.
    pub transform_depth: u16,
    /// Instructions of a transformation, and steps of its or a route's XPath expressions.
    pub operations: u32,
    /// Bytes that one chain may allocate in the libraries, counted whether freed or not.
    pub allocated_bytes: usize,
}

impl Limits {
    /// The usual limits for messages whose bodies may have so many bytes, before and after un-gzip. A document may be as
    /// large, and is never held to less than a definition is.
    #[must_use]
    pub fn for_bodies_of(body_bytes: usize) -> Self {
        let usual = Self::default();
        Self {
            body_bytes,
            document_bytes: usual.document_bytes.max(body_bytes),
            ..usual
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            document_bytes: 16 << 20,
            depth: 200,
            attributes: 256,
            attribute_bytes: 1 << 20,
            namespaces: 256,
            entity_bytes: 64 << 10,
            transform_depth: 3_000,
            operations: 10_000_000,
            allocated_bytes: 1 << 30,
        }
    }
}
