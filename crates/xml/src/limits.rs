//! Limits on documents and on the work on them.

/// Exceeding a limit ends the work with a message that names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The size of a message's body, after decompression.
    pub body_bytes: usize,
    /// The size of a document: a body, the result of a transformation, or a definition.
    pub document_bytes: usize,
    /// The nesting depth of elements. libxml2's own limit is 256.
    pub depth: u16,
    /// The number of elements, attributes, namespace declarations, comments and processing
    /// instructions.
    pub nodes: u32,
    /// The number of attributes and namespace declarations per element.
    pub attributes: u16,
    /// The size of an attribute's value.
    pub attribute_bytes: usize,
    /// The number of namespaces in scope at any element.
    pub namespaces: u16,
    /// The length of a namespace's name.
    pub namespace_bytes: usize,
    /// The nesting depth of a transformation's instructions.
    pub transform_depth: u16,
    /// The number of instructions that a transformation executes. The same limit applies separately
    /// to the steps of the XPath expressions in a transformation, and to those of each route's
    /// expression.
    pub operations: u32,
    /// The sum of the squared lengths of all rows in the input of a transformation or expression. A
    /// row consists of text nodes, comments and processing instructions without an element between
    /// them.
    pub rows: u32,
    /// The number of nodes that one `xsl:apply-templates` or `xsl:for-each` sorts.
    pub sorted: u16,
    /// The number of bytes that the libraries hold at any time for one chain.
    pub held_bytes: usize,
    /// The CPU time of one chain; `None` for definitions, which the operator has written.
    pub time_ms: Option<u32>,
}

/// The maximum size of the bodies that [`Limits::MESSAGES`] is intended for.
const BODY_BYTES: usize = 1 << 20;

impl Limits {
    /// The usual limits for messages with bodies of at most 1 MiB.
    pub const MESSAGES: Self = Self {
        body_bytes: BODY_BYTES,
        document_bytes: 8 << 20,
        depth: 200,
        nodes: 50_000,
        attributes: 256,
        attribute_bytes: 1 << 20,
        namespaces: 64,
        namespace_bytes: 512,
        transform_depth: 3_000,
        operations: 4_000_000,
        rows: 4_000_000,
        sorted: 4_000,
        held_bytes: 32 << 20,
        time_ms: Some(110),
    };

    /// The limits for WSDLs, schemas and stylesheets.
    pub const DEFINITIONS: Self = Self {
        document_bytes: 16 << 20,
        nodes: 2_000_000,
        namespaces: 256,
        namespace_bytes: 4 << 10,
        held_bytes: 1 << 30,
        time_ms: None,
        ..Self::MESSAGES
    };

    /// Returns the usual limits for messages whose bodies may have this number of bytes, before and
    /// after decompression. Limits that depend on the size of a message are scaled with it.
    #[must_use]
    pub fn for_bodies_of(body_bytes: usize) -> Self {
        let usual = Self::MESSAGES;
        let times = body_bytes.div_ceil(BODY_BYTES).max(1);
        let times_32 = u32::try_from(times).unwrap_or(u32::MAX);
        Self {
            body_bytes,
            document_bytes: usual.document_bytes.saturating_mul(times),
            nodes: usual.nodes.saturating_mul(times_32),
            rows: usual.rows.saturating_mul(times_32),
            held_bytes: usual.held_bytes.saturating_mul(times),
            time_ms: usual.time_ms.map(|ms| ms.saturating_mul(times_32)),
            ..usual
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::MESSAGES
    }
}
