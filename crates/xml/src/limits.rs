//! The limits of a document and of the work on it.

/// Limits of parsing and evaluation. Exceeding one ends the work with a message that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of a message's body in bytes, after decompression.
    pub body_bytes: usize,
    /// Size of a document in bytes: a body, the result of a transformation, or a definition.
    pub document_bytes: usize,
    /// Nesting depth of elements; libxml2 itself stops at 256.
    pub depth: u16,
    /// Number of elements, attributes, namespace declarations, comments and processing
    /// instructions.
    pub nodes: u32,
    /// Number of attributes and namespace declarations of one element.
    pub attributes: u16,
    /// Size of one attribute's value in bytes.
    pub attribute_bytes: usize,
    /// Number of namespaces in scope at one element.
    pub namespaces: u16,
    /// Length of one namespace's name in bytes.
    pub namespace_bytes: usize,
    /// Nesting depth of a transformation's instructions.
    pub transform_depth: u16,
    /// Number of instructions of a transformation, and of steps of XPath expressions in it or in a
    /// route.
    pub operations: u32,
    /// The sum of the squared lengths of all rows on which a transformation or an expression works.
    /// A row consists of text nodes, comments and processing instructions without an element
    /// between them.
    pub rows: u32,
    /// Number of nodes that one `xsl:apply-templates` or `xsl:for-each` sorts.
    pub sorted: u16,
    /// Number of bytes that the libraries hold at a time for one chain.
    pub held_bytes: usize,
    /// CPU time of one chain in milliseconds; none for definitions, which the operator has written.
    pub time_ms: Option<u32>,
}

/// The size of the bodies for which [`Limits::MESSAGES`] is intended.
const BODY_BYTES: usize = 1 << 20;

impl Limits {
    /// The usual limits for messages, whose bodies have at most 1 MiB.
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

    /// The usual limits for messages whose bodies may have this number of bytes, before and after
    /// decompression. A limit that depends on the size of a message is raised by the same factor as
    /// the size.
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
