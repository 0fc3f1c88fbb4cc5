//! The schemas of a body's content, tried in order.

use super::fault::Culprit;
use super::wsdl::{self, Actions};
use crate::document::{Document, Node};
use crate::errors::Complaints;
use crate::imports::Files;
use crate::limits::Limits;
use crate::schema::Schema;

/// A compiled WSDL or schema.
#[derive(Debug)]
pub(crate) struct Api {
    /// One entry for each schema, in order.
    pub schemas: Vec<Result<Schema, Complaints>>,
    /// Absent if it is not a WSDL 1.1.
    pub actions: Option<Actions>,
}

impl Api {
    /// # Errors
    /// It is not well-formed, or lacks what makes it a WSDL.
    pub fn compile(
        text: &[u8],
        location: Option<&str>,
        files: &dyn Files,
        limits: &Limits,
    ) -> Result<Self, Complaints> {
        let document = Document::parse_definition(text, limits, location)?;
        let Some(root) = document.root() else {
            return Err(Complaints::own(0, "The document is empty"));
        };
        if wsdl::is_wsdl(root) {
            return wsdl::read(document, location, files, limits);
        }
        // Any other document has no schema for a message.
        let is_schema = wsdl::is_schema(root);
        let schema = is_schema.then(|| Schema::compile(document, files));
        Ok(Self {
            schemas: schema.into_iter().collect(),
            actions: None,
        })
    }

    /// The mistakes in its schemas.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let none = "There is no schema in it; write a WSDL with types, or an XSD";
        let none = self.schemas.is_empty().then(|| none.to_owned());
        let schemas = self.schemas.iter();
        let failed = schemas.filter_map(|schema| schema.as_ref().err());
        failed.map(Complaints::to_string).chain(none)
    }

    /// Validates an element with the first schema that declares it.
    ///
    /// # Errors
    /// The mistake, and whether the message or the definition contains it.
    pub fn validate(&self, document: &Document, node: Node<'_>) -> Result<(), (Culprit, String)> {
        let mut why = "Unable to find a suitable Schema to validate the SOAP/XML".to_owned();
        for schema in &self.schemas {
            let schema = schema
                .as_ref()
                .map_err(|why| (Culprit::Server, format!("Invalid XSD schema. {why}")))?;
            match schema.validate_element(document, node) {
                Ok(()) => return Ok(()),
                Err(wrong) if wrong.is_wrong_schema() => why = wrong.to_string(),
                Err(wrong) => return Err((Culprit::Client, wrong.to_string())),
            }
        }
        Err((Culprit::Client, why))
    }
}
