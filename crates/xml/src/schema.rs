//! Validates documents against XML Schema 1.0.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::document::{Document, Node};
use crate::errors::{Collector, Complaint, Complaints, NOT_PARSED};
use crate::ffi;
use crate::imports::{Files, lend};
use crate::limits::Limits;
use crate::pool::Pool;

/// A compiled schema with all its imports.
#[derive(Debug)]
pub struct Schema {
    // Dropped first, because validators refer to the schema.
    idle: Pool<Validator>,
    compiled: Compiled,
}

#[derive(Debug)]
struct Compiled {
    raw: NonNull<ffi::RawSchema>,
    /// Never accessed, but must outlive the schema.
    _document: Document,
}

// SAFETY: after compilation, a schema is only read. Validation keeps its state, its dictionary and
// its identity-constraint tables in the validator. Content models and patterns are automata; the
// position in each is kept in an execution context of the validator, and compilation has computed
// whether each is deterministic. A validator adds the schemas that a document names by
// xsi:schemaLocation only if it was created without a schema. The built-in types are created by
// `process::start`.
unsafe impl Send for Compiled {}
// SAFETY: as above.
unsafe impl Sync for Compiled {}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: this value owns the schema, and the validators have been dropped.
        unsafe { ffi::xmlSchemaFree(self.raw.as_ptr()) }
    }
}

#[derive(Debug)]
struct Validator(NonNull<ffi::Validator>);

// SAFETY: a validator refers to its schema and to nothing of the thread that created it.
unsafe impl Send for Validator {}

impl Drop for Validator {
    fn drop(&mut self) {
        // SAFETY: this value owns the validator, and the schema is still valid, since the pool is
        // dropped before it.
        unsafe { ffi::xmlSchemaFreeValidCtxt(self.0.as_ptr()) }
    }
}

impl Schema {
    /// Compiles the text of a schema at `location`. Imports and includes come from `files`.
    ///
    /// # Errors
    /// Returns the mistakes in the schema or its imports.
    pub fn parse(
        text: &[u8],
        location: Option<&str>,
        files: &dyn Files,
        limits: &Limits,
    ) -> Result<Self, Complaints> {
        match Document::parse_definition(text, limits, location) {
            Ok(document) => Self::compile(document, files),
            Err(mut complaints) => {
                // libxml2 adds this message if it parses a schema from memory itself and fails.
                let message = "Failed to parse the XML resource 'in_memory_buffer'.";
                complaints.0.push(Complaint::own(NOT_PARSED, message));
                Err(complaints)
            }
        }
    }

    /// # Errors
    /// See [`parse`](Self::parse).
    pub fn compile(document: Document, files: &dyn Files) -> Result<Self, Complaints> {
        let mut collector = Collector::default();
        let compiled = lend(files, || {
            // SAFETY: the document is ours and outlives the schema; the report outlives the call.
            let raw =
                collector.listen(|report| unsafe { ffi::shim_schema(document.raw(), report) });
            NonNull::new(raw).map(|raw| Self {
                idle: Pool::default(),
                compiled: Compiled {
                    raw,
                    _document: document,
                },
            })
        })?;
        compiled.ok_or_else(|| collector.complaints.or("The schema cannot be compiled"))
    }

    /// # Errors
    /// Fails if the document is invalid, or if its validation cannot be completed.
    pub fn validate(&self, document: &Document) -> Result<(), Complaints> {
        let root = document.root().map_or(std::ptr::null(), Node::raw);
        self.run(document, std::ptr::null(), root)
    }

    /// Validates an element of `document` as if it were a separate document.
    ///
    /// # Errors
    /// Fails if the document is invalid, or if its validation cannot be completed.
    pub fn validate_element(&self, document: &Document, node: Node<'_>) -> Result<(), Complaints> {
        self.run(document, node.raw(), node.raw())
    }

    fn run(
        &self,
        document: &Document,
        element: *const ffi::RawNode,
        root: *const ffi::RawNode,
    ) -> Result<(), Complaints> {
        let Some(validator) = self.idle.take().or_else(|| self.validator()) else {
            return Err(Complaints::own(
                0,
                "There is not enough memory to validate the message",
            ));
        };
        let mut collector = Collector {
            root: root.cast::<c_void>(),
            ..Collector::default()
        };
        // SAFETY: the validator is used only by this call and refers to this schema; the document
        // and its node are valid; validation changes only marks in the tree and, at the time limit,
        // temporarily the links between nodes; no other thread can use the tree meanwhile, since a
        // document is not Sync.
        let result = collector.listen(|report| unsafe {
            ffi::shim_validate(validator.0.as_ptr(), document.raw(), element, report)
        });
        if result >= 0 {
            self.idle.give(validator);
        }
        if result == 0 {
            return Ok(());
        }
        Err(collector.complaints.or("The document cannot be validated"))
    }

    fn validator(&self) -> Option<Validator> {
        // SAFETY: the schema outlives the pool to which the validator is returned.
        NonNull::new(unsafe { ffi::shim_validator(self.compiled.raw.as_ptr()) }).map(Validator)
    }
}
