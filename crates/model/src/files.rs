//! The files that a scenario names. They are read together with the scenario and become part of it,
//! so that the plan in a manifest contains everything that is sent.

use std::ops::Range;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatebench_config::{Data, Entry, Node, Problem, ReadFile};

use crate::data::Rows;
use crate::rows::{self, Table};
use crate::soap::SoapChain;

/// The largest file that a scenario may name, because every manifest contains it.
const FILE_BYTES_MAX: usize = 16 << 20;

/// Rows that were read for the source with this name.
pub(crate) type Attachment = (String, Rows);

/// Replaces the paths of files by their contents. Rows are returned separately; the tree gets only
/// their columns.
pub(crate) fn resolve(
    root: &mut Node,
    read: ReadFile<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Attachment> {
    let mut files = Files { read, problems };
    for request in root.list_mut("requests") {
        files.body(request);
    }
    for group in root.list_mut("groups") {
        for request in group.list_mut("requests") {
            files.body(request);
        }
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
                Data::Map(vec![entry("base64", base64, &path.span)])
            }
        };
        if let Data::Map(entries) = &mut request.data
            && entries.iter().all(|entry| entry.key != "body")
        {
            entries.push(entry("body", data, &path.span));
        }
    }

    /// Reads the files that the parity cases and the policies of all routes name.
    fn cases_and_policies(&mut self, of: &mut Node) {
        for case in of.list_mut("parity") {
            if let Some(request) = case.get_mut("request") {
                self.body(request);
            }
        }
        for route in of.list_mut("routes") {
            for policy in route.list_mut("policies") {
                if let Some(soap) = policy.get_mut("soap") {
                    self.definitions(soap);
                }
                if let Some(stylesheet) = policy
                    .get_mut("response_xslt")
                    .and_then(|settings| settings.get_mut("stylesheet"))
                {
                    self.definition(stylesheet);
                }
                if let Some(document) = policy
                    .get_mut("openapi")
                    .and_then(|settings| settings.get_mut("document"))
                {
                    self.document(document);
                }
            }
        }
    }

    /// Reads the definitions of both directions.
    fn definitions(&mut self, soap: &mut Node) {
        for direction in ["request", "response"] {
            let Some(chain) = soap.get_mut(direction) else {
                continue;
            };
            for key in SoapChain::DEFINITIONS {
                if let Some(definition) = chain.get_mut(key) {
                    self.definition(definition);
                }
            }
            for include in chain.mapping_mut("includes") {
                self.definition(&mut include.value);
            }
        }
    }

    /// Text that begins like XML is the definition itself; other text is the path of a file.
    fn definition(&mut self, node: &mut Node) {
        let is_text = |text: &str| {
            let text = text.trim_start_matches('\u{feff}');
            text.trim_start().starts_with('<')
        };
        let help = "name a schema, a WSDL or a stylesheet, in UTF-8";
        self.text(node, is_text, "this file is not XML in UTF-8", help);
    }

    /// Text that has several lines, or begins like JSON, is the document itself; other text is the
    /// path of a file.
    fn document(&mut self, node: &mut Node) {
        let is_text = |text: &str| text.trim_start().starts_with('{') || text.trim().contains('\n');
        let message = "this file is not an OpenAPI document in UTF-8";
        self.text(node, is_text, message, "name one in JSON or YAML");
    }

    /// Replaces the path of a file by its text, unless the node contains the text itself.
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
        let (kind, parse): (_, fn(&str) -> _) = match entries.as_slice() {
            [only] if only.key == "csv" => (&mut entries[0], rows::csv),
            [only] if only.key == "json_lines" => (&mut entries[0], rows::json_lines),
            _ => return None,
        };
        let path = kind.value.get("file")?.clone();
        let table = self.table(&path, parse)?;
        kind.key = "list".into();
        if let Data::Map(settings) = &mut kind.value.data {
            settings.retain(|setting| setting.key != "file");
            let text = |text: &String| Node {
                span: path.span.clone(),
                data: Data::Text(text.clone()),
            };
            let columns: Vec<Node> = table.columns.iter().map(text).collect();
            let stub = vec![Node {
                span: path.span.clone(),
                data: Data::List(columns.clone()),
            }];
            settings.push(entry("columns", Data::List(columns), &path.span));
            settings.push(entry("values", Data::List(stub), &path.span));
        }
        Some(table.rows)
    }

    fn table(
        &mut self,
        path: &Node,
        parse: fn(&str) -> Result<Table, rows::RowsError>,
    ) -> Option<Table> {
        let name = path.text()?;
        let bytes = self.bytes(path)?;
        let message = match std::str::from_utf8(&bytes).map(parse) {
            Ok(Ok(table)) => return Some(table),
            Ok(Err(wrong)) => format!("line {} of {name}: {}", wrong.line, wrong.message),
            Err(_) => format!("{name} is not text in UTF-8"),
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
                let message = format!("{name} is larger than {} MiB", FILE_BYTES_MAX >> 20);
                (message, "name a smaller file")
            }
            Err(error) => {
                let message = format!("{name} cannot be read: {error}");
                (
                    message,
                    "check the path, which is relative to this file, and its permissions",
                )
            }
        };
        self.problems.push(path.problem(message, help));
        None
    }
}

fn entry(key: &str, data: Data, span: &Range<usize>) -> Entry {
    Entry {
        key: key.into(),
        key_span: span.clone(),
        value: Node {
            span: span.clone(),
            data,
        },
    }
}
