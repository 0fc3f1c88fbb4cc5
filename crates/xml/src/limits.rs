//! The limits of a document and of the work on it.

/// Bounds on parsing and evaluation. Each one ends the work with a message that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a message's body, after un-gzip.
    pub body_bytes: usize,
    /// Bytes of a document: a body, the result of a transformation, or a definition.
    pub document_bytes: usize,
    /// Nesting of elements; libxml2 itself stops at 256.
    pub depth: u16,
    /// Elements, attributes, namespace declarations, comments and processing instructions.
    pub nodes: u32,
    /// Attributes and namespace declarations of one element.
    pub attributes: u16,
    /// Bytes of one attribute's value.
    pub attribute_bytes: usize,
    /// Namespaces in scope at one element.
    pub namespaces: u16,
    /// Bytes of one namespace's name.
    pub namespace_bytes: usize,
    /// Nested instructions of a transformation.
    pub transform_depth: u16,
    /// Instructions of a transformation, and steps of its or a route's XPath expressions.
    pub operations: u32,
    /// The sum of the squares of the numbers of texts, comments and processing instructions in each
    /// row without an element between them, when a transformation or an expression works on them.
    pub rows: u32,
    /// Nodes that one `xsl:apply-templates` or `xsl:for-each` sorts.
    pub sorted: u16,
    /// Bytes that the libraries hold at a time for one chain.
    pub held_bytes: usize,
    /// Processor time of one chain in milliseconds; none for definitions, which the operator has
    /// written.
    pub time_ms: Option<u32>,
}

/// The size of the bodies for which [`Limits::MESSAGES`] are meant.
const BODY_BYTES: usize = 1 << 20;

impl Limits {
    /// The usual limits for messages, whose bodies have 1 MiB at most.
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

    /// The usual limits for messages whose bodies may have that many bytes, before and after
    /// un-gzip. A limit that grows with a message may be as many times larger as that is larger
    /// than usual.
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
