//! Rules for templates and their values.

use std::collections::BTreeMap;
use std::ops::Range;

use gatebench_config::suggest::{did_you_mean, listed};
use gatebench_config::{Node, Problem};

use crate::data::Rows;
use crate::repeat::INDEX;
use crate::template::{LITERAL, Reference, Template};

struct Known<'n> {
    columns: Vec<&'n str>,
    rows: Option<Rows>,
}

/// The sources of a scenario, and the text that contains the templates.
pub(super) struct Sources<'n> {
    text: &'n str,
    known: BTreeMap<&'n str, Known<'n>>,
}

/// The place of a template, which determines the permitted values.
#[derive(Clone, Copy)]
enum Place {
    Path,
    Header,
    Body,
}

impl Place {
    fn allows(self, value: &str) -> bool {
        let mut bytes = value.bytes();
        match self {
            Self::Path => bytes.all(|byte| byte.is_ascii_graphic()),
            Self::Header => bytes.all(|byte| matches!(byte, b'\t' | b' '..=b'~')),
            Self::Body => true,
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Path => ("a path", "percent-encode it in the data"),
            Self::Header => ("a header", "use visible ASCII characters"),
            Self::Body => ("a body", ""),
        }
    }
}

impl<'n> Sources<'n> {
    pub(super) fn of(root: &'n Node, text: &'n str, attachments: &[(String, Rows)]) -> Self {
        let entries = root.mapping("data");
        let known = |source: &'n Node, name: &str| {
            let list = source.get("list");
            let columns = list.map_or(&[][..], |list| list.list("columns"));
            let attached = attachments.iter().find(|(of, _)| of == name);
            let written = || serde_json::from_value(list?.get("values")?.to_json()).ok();
            Known {
                columns: columns.iter().filter_map(Node::text).collect(),
                rows: attached.map(|(_, rows)| rows.clone()).or_else(written),
            }
        };
        Self {
            text,
            known: entries
                .iter()
                .map(|entry| (entry.key.as_str(), known(&entry.value, &entry.key)))
                .collect(),
        }
    }

    pub(super) fn request(&self, request: &Node, problems: &mut Vec<Problem>) {
        for (node, place) in templates(request) {
            match template(node) {
                None => {}
                Some(Err(error)) => {
                    let span = self.culprit(node, &error.span);
                    problems.push(Problem::new(span, error.message, error.help));
                }
                Some(Ok(template)) => {
                    for reference in template.references() {
                        self.reference(node, reference, place, problems);
                    }
                }
            }
        }
        for check in request.list("checks") {
            self.check(check, problems);
        }
    }

    /// Checks a request of a parity case, which must not contain values of `data`.
    pub(super) fn known_request(&self, request: &Node, problems: &mut Vec<Problem>) {
        for (node, _) in templates(request) {
            let (span, message) = match template(node) {
                None => continue,
                Some(Err(error)) => (error.span, error.message),
                Some(Ok(template)) => match template.references().next() {
                    None => continue,
                    Some(first) => {
                        let message =
                            "a parity case sends one known request, without values of `data`";
                        (first.span.clone(), message.to_owned())
                    }
                },
            };
            let help = format!("write the value itself; {LITERAL}");
            problems.push(Problem::new(self.culprit(node, &span), message, help));
        }
    }

    fn reference(&self, node: &Node, it: &Reference, place: Place, problems: &mut Vec<Problem>) {
        let (message, help) = match self.known.get(it.source.as_str()) {
            None if it.source == INDEX => (
                "`{{ index }}` has a value only in a repeated item".into(),
                "add `repeat:` next to it, or name a source".into(),
            ),
            None => (
                format!("no source of `data` is called `{}`", it.source),
                self.no_source(it),
            ),
            Some(known) => match column_of(known, it) {
                Err(wrong) => wrong,
                Ok(column) => match known.value_against(column, place) {
                    None => return,
                    Some((row, value)) => {
                        let (place, help) = place.words();
                        let (row, source) = (row + 1, &it.source);
                        let message = format!(
                            "{value:?} in row {row} of `{source}` cannot be used in {place}"
                        );
                        (message, format!("{help}, or send it in the body"))
                    }
                },
            },
        };
        problems.push(Problem::new(self.culprit(node, &it.span), message, help));
    }

    fn no_source(&self, it: &Reference) -> String {
        let names = || self.known.keys().copied();
        did_you_mean(&it.source, names(), || match self.known.is_empty() {
            true => format!("add `data:` with a source of this name; {LITERAL}"),
            false => format!("the sources are {}; {LITERAL}", listed(names(), "and")),
        })
    }

    fn check(&self, check: &Node, problems: &mut Vec<Problem>) {
        let texts = [
            check.at(&["header", "equals"]),
            check.get("body_equals"),
            check.get("body_contains"),
            check.at(&["json", "equals"]),
        ];
        for node in texts.into_iter().flatten() {
            let Some(Ok(template)) = template(node) else {
                continue;
            };
            let mut references = template.references();
            let of_data = references
                .find(|it| self.known.contains_key(it.source.as_str()) || it.source == INDEX);
            if let Some(it) = of_data {
                let message =
                    "a check is the same for every response, so it cannot use values of `data`";
                let help = "check what all responses have in common";
                problems.push(Problem::new(self.culprit(node, &it.span), message, help));
            }
        }
    }

    /// Returns the position of a part of a node's text, or the position of the node if the file
    /// does not contain that part literally.
    fn culprit(&self, node: &Node, part: &Range<usize>) -> Range<usize> {
        let written = self.text.get(node.span.clone()).unwrap_or_default();
        let part = node.text().and_then(|text| text.get(part.clone()));
        let found = part.and_then(|part| Some((written.find(part)?, part.len())));
        match found {
            Some((at, length)) => node.span.start + at..node.span.start + at + length,
            None => node.span.clone(),
        }
    }
}

impl Known<'_> {
    /// Returns the first value of a column that is not permitted in this place, with its row.
    fn value_against(&self, column: usize, place: Place) -> Option<(usize, &str)> {
        let rows = self.rows.as_ref()?;
        (0..rows.len())
            .filter_map(|row| Some((row, rows.get(row, column)?)))
            .find(|(_, value)| !place.allows(value))
    }
}

fn column_of(known: &Known<'_>, it: &Reference) -> Result<usize, (String, String)> {
    let columns = || known.columns.iter().copied();
    match &it.column {
        None if known.columns.len() <= 1 => Ok(0),
        None => {
            let (source, first) = (&it.source, known.columns[0]);
            let all = listed(columns(), "or");
            let help = format!("name one, as in `{{{{ {source}.{first} }}}}`: {all}");
            Err((format!("`{source}` has several columns"), help))
        }
        Some(column) => columns().position(|known| known == column).ok_or_else(|| {
            let help = did_you_mean(column, columns(), || match known.columns.is_empty() {
                true => format!("write `{{{{ {} }}}}`", it.source),
                false => format!("the columns are {}", listed(columns(), "and")),
            });
            (format!("`{}` has no column `{column}`", it.source), help)
        }),
    }
}

fn template(node: &Node) -> Option<Result<Template, crate::template::TemplateError>> {
    Some(Template::parse(node.text()?))
}

fn templates(request: &Node) -> impl Iterator<Item = (&Node, Place)> {
    let headers = request.mapping("headers").iter();
    let path = request.get("path").map(|node| (node, Place::Path));
    let body = request.get("body").map(|node| (node, Place::Body));
    path.into_iter()
        .chain(headers.map(|header| (&header.value, Place::Header)))
        .chain(body)
}
