//! The definition of an API, which is a WSDL or a schema. The definition provides the schemas for
//! the content of bodies, which are tried in order, and the operations' SOAPActions.

use std::collections::HashMap;

use super::envelope::Version;
use super::fault::Culprit;
use crate::document::{Document, Node};
use crate::errors::Complaints;
use crate::imports::{Files, Unreadable};
use crate::limits::Limits;
use crate::schema::Schema;

const SCHEMA: &str = "http://www.w3.org/2001/XMLSchema";
const SOAP_BINDING: &str = "http://schemas.xmlsoap.org/wsdl/soap/";
const SOAP12_BINDING: &str = "http://schemas.xmlsoap.org/wsdl/soap12/";

/// The maximum total number of WSDLs that one WSDL may import.
const IMPORTS_MAX: usize = 100;

#[derive(Debug)]
pub(crate) struct Api {
    /// The schemas in order. A schema that cannot be compiled is replaced with the reasons.
    schemas: Vec<Result<Schema, Complaints>>,
    /// The SOAPActions; `None` if the definition is not a WSDL 1.1.
    pub actions: Option<Actions>,
}

impl Api {
    /// # Errors
    /// Fails if the text is not well-formed, or if it is a WSDL that has no types or an unusable
    /// import.
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
        if is_wsdl(root) {
            return read(document, location, files, limits);
        }
        // A document of any other kind contains no schema for messages.
        let is_schema = is_schema(root);
        let schema = is_schema.then(|| Schema::compile(document, files));
        Ok(Self {
            schemas: schema.into_iter().collect(),
            actions: None,
        })
    }

    /// Returns the mistakes in the schemas.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let none = "The definition contains no schema; write a WSDL with types, or an XSD";
        let none = self.schemas.is_empty().then(|| none.to_owned());
        let schemas = self.schemas.iter();
        let failed = schemas.filter_map(|schema| schema.as_ref().err());
        failed.map(Complaints::to_string).chain(none)
    }

    /// Validates an element with the first schema that declares it.
    ///
    /// # Errors
    /// Returns the mistake, and the culprit: the message or the definition.
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

/// The SOAPActions of a WSDL 1.1, by SOAP version.
#[derive(Debug)]
pub(crate) struct Actions {
    soap11: Binding,
    soap12: Binding,
}

#[derive(Debug)]
pub(crate) struct Binding {
    pub by_operation: HashMap<String, Action>,
    /// The prefix that the WSDL uses for this binding.
    pub prefix: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    /// The SOAPAction, which is never empty.
    pub value: String,
    pub is_required: bool,
}

impl Actions {
    fn new() -> Self {
        let binding = |prefix: &str| Binding {
            by_operation: HashMap::new(),
            prefix: prefix.into(),
        };
        Self {
            soap11: binding("soap"),
            soap12: binding("soap12"),
        }
    }

    pub fn of(&self, version: Version) -> &Binding {
        match version {
            Version::Soap11 => &self.soap11,
            Version::Soap12 => &self.soap12,
        }
    }

    fn read(&mut self, definitions: Node<'_>) {
        for binding in named(definitions, "binding") {
            for operation in named(binding, "operation") {
                let Some(name) = operation.attribute("name") else {
                    continue;
                };
                for node in named(operation, "operation") {
                    self.add(&name, node);
                }
            }
        }
    }

    fn add(&mut self, name: &str, node: Node<'_>) {
        let binding = match node.namespace() {
            Some(SOAP_BINDING) => &mut self.soap11,
            Some(SOAP12_BINDING) => &mut self.soap12,
            _ => return,
        };
        binding.prefix = node.prefix().unwrap_or_default().to_owned();
        let value = node.attribute("soapAction").unwrap_or_default();
        if !value.is_empty() {
            let required = node.attribute("soapActionRequired");
            let is_required = matches!(required.as_deref(), Some("true" | "1"));
            let action = Action { value, is_required };
            binding.by_operation.insert(name.to_owned(), action);
        }
    }
}

fn is_wsdl(root: Node<'_>) -> bool {
    matches!(root.name(), "definitions" | "description")
}

fn is_schema(root: Node<'_>) -> bool {
    root.is(SCHEMA, "schema")
}

/// Compiles a WSDL and its imports.
///
/// # Errors
/// Fails if the WSDL has no types, or if an import cannot be read or is neither a WSDL nor a
/// schema.
fn read(
    document: Document,
    location: Option<&str>,
    files: &dyn Files,
    limits: &Limits,
) -> Result<Api, Complaints> {
    let parts = with_imports(document, location, files, limits)?;
    let mut schemas = Vec::new();
    let mut actions = Actions::new();
    let mut has_types = false;
    let mut is_1_1 = false;
    for part in &parts {
        let Some(root) = part.document.root() else {
            continue;
        };
        is_1_1 |= root.name() == "definitions";
        actions.read(root);
        if let Some(types) = named(root, "types").next() {
            has_types = true;
            let found = types.elements().filter(|node| is_schema(*node));
            schemas.extend(found.map(|node| (node, part.location.as_deref())));
        }
    }
    if !has_types {
        return Err(Complaints::own(0, "Unable to find the '< wsdl:types >'"));
    }
    Ok(Api {
        schemas: compile(&schemas, files),
        actions: is_1_1.then_some(actions),
    })
}

struct Part {
    document: Document,
    location: Option<String>,
}

fn with_imports(
    document: Document,
    location: Option<&str>,
    files: &dyn Files,
    limits: &Limits,
) -> Result<Vec<Part>, Complaints> {
    let mut parts = vec![Part {
        document,
        location: location.map(str::to_owned),
    }];
    let mut next = 0;
    while let Some(part) = parts.get(next) {
        let base = part.location.as_deref();
        let imports = part.document.root().into_iter();
        let imports = imports.flat_map(|root| named(root, "import"));
        let wanted = imports.filter_map(|node| Some(resolve(base, &node.attribute("location")?)));
        for location in wanted.collect::<Vec<_>>() {
            let mut known = parts.iter().map(|part| part.location.as_deref());
            if known.any(|known| known == Some(&*location)) {
                continue;
            }
            // Without all imports, messages would be checked against only part of the definition.
            if parts.len() > IMPORTS_MAX {
                let message = format!("More than {IMPORTS_MAX} WSDLs are imported");
                return Err(Complaints::own(0, message));
            }
            parts.push(import(location, files, limits)?);
        }
        next += 1;
    }
    Ok(parts)
}

fn import(location: String, files: &dyn Files, limits: &Limits) -> Result<Part, Complaints> {
    let bytes = files.read(&location).map_err(|why| {
        let message = format!("Failed to load the WSDL at '{location}': {why}");
        Complaints::own(0, message)
    })?;
    let document = Document::parse_definition(&bytes, limits, Some(&location))?;
    let root = document.root();
    if !root.is_some_and(|root| is_wsdl(root) || is_schema(root)) {
        let message = "The root node of the imported WSDL definition is not <wsdl:definitions> nor <wsdl:description>";
        return Err(Complaints::own(0, message));
    }
    Ok(Part {
        document,
        location: Some(location),
    })
}

/// Resolves a location relative to the document at `base`.
fn resolve(base: Option<&str>, location: &str) -> String {
    match base.and_then(|base| base.rsplit_once('/')) {
        Some((folder, _)) if !location.contains("://") && !location.starts_with('/') => {
            format!("{folder}/{location}")
        }
        _ => location.to_owned(),
    }
}

/// Compiles each schema. A schema may import another one of the same WSDL by namespace alone, in
/// which case the import gets a generated location.
fn compile(
    schemas: &[(Node<'_>, Option<&str>)],
    files: &dyn Files,
) -> Vec<Result<Schema, Complaints>> {
    let neighbors = Neighbors::of(schemas, files);
    (0..schemas.len())
        .map(|index| {
            let document = neighbors.document(index);
            let document =
                document.ok_or_else(|| Complaints::own(0, "There is not enough memory"))?;
            Schema::compile(document, &neighbors)
        })
        .collect()
}

struct Neighbors<'a> {
    files: &'a dyn Files,
    /// The location and the target namespace of each schema.
    places: Vec<(String, Option<String>)>,
    /// The documents by location, with the locations of their imports inserted. The map is complete
    /// before any document is compiled.
    texts: HashMap<String, Vec<u8>>,
    originals: Vec<Document>,
}

impl<'a> Neighbors<'a> {
    fn of(schemas: &[(Node<'_>, Option<&str>)], files: &'a dyn Files) -> Self {
        let place = |(index, (node, base)): (usize, &(Node<'_>, Option<&str>))| {
            let location = format!("{}#types-{index}", base.unwrap_or("wsdl"));
            (location, node.attribute("targetNamespace"))
        };
        let places: Vec<_> = schemas.iter().enumerate().map(place).collect();
        let originals = schemas.iter().zip(&places);
        let originals = originals
            .filter_map(|((node, _), (location, _))| Document::of(*node, Some(location)))
            .collect();
        let mut neighbors = Self {
            files,
            places,
            texts: HashMap::new(),
            originals,
        };
        for index in 0..neighbors.originals.len() {
            let mut text = Vec::new();
            if let Some(document) = neighbors.document(index)
                && document
                    .write_canonical(&mut text, &Limits::DEFINITIONS)
                    .is_ok()
            {
                let location = neighbors.places[index].0.clone();
                neighbors.texts.insert(location, text);
            }
        }
        neighbors
    }

    /// Returns a copy of a schema with the locations of its imports.
    fn document(&self, index: usize) -> Option<Document> {
        let root = self.originals.get(index)?.root()?;
        let mut document = Document::of(root, Some(&self.places[index].0))?;
        document.set_attributes("schemaLocation", |node| {
            if !node.is(SCHEMA, "import") || node.attribute("schemaLocation").is_some() {
                return None;
            }
            let namespace = node.attribute("namespace");
            let found = self.places.iter().find(|(_, target)| *target == namespace);
            found.map(|(location, _)| location.clone())
        });
        Some(document)
    }
}

impl Files for Neighbors<'_> {
    fn read(&self, location: &str) -> Result<Vec<u8>, Unreadable> {
        match self.texts.get(location) {
            Some(text) => Ok(text.clone()),
            None => self.files.read(location),
        }
    }
}

fn named<'a>(node: Node<'a>, name: &'a str) -> impl Iterator<Item = Node<'a>> {
    node.elements().filter(move |child| child.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_resolved_against_the_importing_document() {
        assert_eq!(resolve(Some("a/b.wsdl"), "c.wsdl"), "a/c.wsdl");
        assert_eq!(resolve(Some("b.wsdl"), "c.wsdl"), "c.wsdl");
        assert_eq!(resolve(None, "c.wsdl"), "c.wsdl");
        assert_eq!(resolve(Some("http://h/a"), "/x"), "/x");
        assert_eq!(resolve(Some("a/b"), "http://h/c"), "http://h/c");
    }
}
