//! The files that a scenario names. They are read together with the scenario and become part of it,
//! so the plan in a manifest contains all data that is sent.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatebench_config::{Data, Entry, Node, Problem, ReadFile};

use crate::data::{List, Rows};
use crate::rows;
use crate::soap::SoapChain;

/// The maximum size of a file that a scenario names, limited because the manifest of each run with
/// the scenario contains the file.
const FILE_BYTES_MAX: usize = 16 << 20;

/// The name of a source, and the rows that were read for it.
pub(crate) type Attachment = (String, Rows);

/// Adds the contents of the named files to the tree. Rows are returned separately. The tree gets
/// their columns, and the names of the columns as the only row.
pub(crate) fn resolve(
    root: &mut Node,
    read: ReadFile<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Attachment> {
    let mut files = Files { read, problems };
    files.bodies(root);
    for group in root.list_mut("groups") {
        files.bodies(group);
    }
    files.cases_and_policies(root);
    if let Some(later) = root.get_mut("later") {
        files.cases_and_policies(later);
    }
    let mut attachments = Vec::new();
    for source in root.mapping_mut("data") {
        if let Some(rows) = files.source(&mut source.value) {
            attachments.push((source.key.clone(), rows));
        }
    }
    attachments
}

struct Files<'f> {
    read: ReadFile<'f>,
    problems: &'f mut Vec<Problem>,
}

impl Files<'_> {
    fn bodies(&mut self, of: &mut Node) {
        for request in of.list_mut("requests") {
            self.body(request);
        }
    }

    fn body(&mut self, request: &mut Node) {
        let Some(path) = request.get("body_file").cloned() else {
            return;
        };
        let Some(bytes) = self.bytes(&path) else {
            return;
        };
        let data = match String::from_utf8(bytes) {
            Ok(text) => Data::Text(text),
            Err(error) => {
                let base64 = Data::Text(STANDARD.encode(error.as_bytes()));
                Data::Map(vec![Entry::new("base64", &path.span, base64)])
            }
        };
        if request.get("body").is_none() {
            request.push(Entry::new("body", &path.span, data));
        }
    }

    fn cases_and_policies(&mut self, of: &mut Node) {
        for case in of.list_mut("parity") {
            if let Some(request) = case.get_mut("request") {
                self.body(request);
            }
        }
        for route in of.list_mut("routes") {
            for policy in route.list_mut("policies") {
                for setting in policy.mapping_mut("soap") {
                    self.definitions(&mut setting.value);
                }
                for setting in policy.mapping_mut("response_xslt") {
                    if setting.key == "stylesheet" {
                        self.definition(&mut setting.value);
                    }
                }
                for setting in policy.mapping_mut("openapi") {
                    if setting.key == "document" {
                        self.document(&mut setting.value);
                    }
                }
            }
        }
    }

    fn definitions(&mut self, chain: &mut Node) {
        for key in SoapChain::DEFINITIONS {
            if let Some(definition) = chain.get_mut(key) {
                self.definition(definition);
            }
        }
        for include in chain.mapping_mut("includes") {
            self.definition(&mut include.value);
        }
    }

    /// Reads a definition. Text that starts like XML is the definition itself, and other text is
    /// the path of a file.
    fn definition(&mut self, node: &mut Node) {
        let is_text = |text: &str| {
            let text = text.trim_start_matches('\u{feff}');
            text.trim_start().starts_with('<')
        };
        let help = "give the path of a schema, WSDL or stylesheet encoded in UTF-8";
        self.text(node, is_text, "this file is not XML, or is not UTF-8", help);
    }

    /// Reads an OpenAPI document. Text that has several lines, or begins like JSON, is the document
    /// itself, and other text is the path of a file.
    fn document(&mut self, node: &mut Node) {
        let is_text = |text: &str| text.trim_start().starts_with('{') || text.trim().contains('\n');
        let message = "this file is not an OpenAPI document, or is not UTF-8";
        self.text(
            node,
            is_text,
            message,
            "give the path of an OpenAPI document in JSON or YAML",
        );
    }

    /// Replaces a path with the file's text, unless the node contains the text itself.
    fn text(&mut self, node: &mut Node, is_text: impl Fn(&str) -> bool, message: &str, help: &str) {
        if node.text().is_none_or(&is_text) {
            return;
        }
        let Some(bytes) = self.bytes(node) else {
            return;
        };
        match String::from_utf8(bytes) {
            Ok(text) if is_text(&text) => node.data = Data::Text(text),
            _ => self.problems.push(node.problem(message, help)),
        }
    }

    fn source(&mut self, source: &mut Node) -> Option<Rows> {
        let Data::Map(entries) = &mut source.data else {
            return None;
        };
        let [kind] = entries.as_mut_slice() else {
            return None;
        };
        let parse = match kind.key.as_str() {
            "csv" => rows::csv,
            "json_lines" => rows::json_lines,
            _ => return None,
        };
        let path = kind.value.get("file")?.clone();
        let list = self.list(&path, parse)?;
        kind.key = "list".into();
        kind.value.take("file");
        let text = |text: &String| Node::new(&path.span, Data::Text(text.clone()));
        let columns = Data::List(list.columns.iter().map(text).collect());
        let stub = Data::List(vec![Node::new(&path.span, columns.clone())]);
        kind.value.push(Entry::new("columns", &path.span, columns));
        kind.value.push(Entry::new("values", &path.span, stub));
        Some(list.values)
    }

    fn list(
        &mut self,
        path: &Node,
        parse: fn(&str) -> Result<List, rows::RowsError>,
    ) -> Option<List> {
        let name = path.text()?;
        let bytes = self.bytes(path)?;
        let message = match std::str::from_utf8(&bytes).map(parse) {
            Ok(Ok(list)) => return Some(list),
            Ok(Err(wrong)) => format!("line {} of {name}: {}", wrong.line, wrong.message),
            Err(_) => format!("{name} is not UTF-8 text"),
        };
        let help = "correct that file, or name another";
        self.problems.push(path.problem(message, help));
        None
    }

    fn bytes(&mut self, path: &Node) -> Option<Vec<u8>> {
        let name = path.text()?;
        let (message, help) = match (self.read)(Path::new(name)) {
            Ok(bytes) if bytes.len() <= FILE_BYTES_MAX => return Some(bytes),
            Ok(_) => {
                let max = FILE_BYTES_MAX >> 20;
                let message = format!("{name} is larger than {max} MiB");
                (message, "name a smaller file")
            }
            Err(error) => {
                let help = "check that the file exists and is readable; its path is relative to \
                            the scenario's file";
                (format!("{name} cannot be read: {error}"), help)
            }
        };
        self.problems.push(path.problem(message, help));
        None
    }
}
