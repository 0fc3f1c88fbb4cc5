//! Converts YAML text to a [`Node`]. The text must be a single document whose keys are scalars. Its
//! size, its nesting depth and the nodes that aliases add are limited.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use saphyr::Scalar;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use crate::diagnostic::{Diagnostics, Problem};
use crate::node::{Data, Entry, Node};

/// The maximum nesting depth, except for the values that aliases add. Together with
/// [`ALIAS_NODES_MAX`], it limits the recursion of code that walks the tree.
const DEPTH_MAX: usize = 32;
/// The maximum number of nodes that aliases may add, so that a few lines cannot expand to
/// gigabytes. It also limits the nesting depth of aliases, because n levels cost about n²/2 nodes.
const ALIAS_NODES_MAX: usize = 10_000;
const TEXT_BYTES_MAX: usize = 4 << 20;

/// Parses the only document in a text. Mistakes that do not prevent building a tree, such as a
/// duplicate key, are returned together with the tree. `help` is the remedy for an empty text.
///
/// # Errors
/// Returns the first mistake that prevents building a tree, and the duplicate keys before it.
pub(crate) fn root(
    file: &str,
    text: &str,
    help: impl Into<String>,
) -> Result<(Node, Vec<Problem>), Diagnostics> {
    let (root, mut problems) = load(text);
    if let Some(root) = root {
        return Ok((root, problems));
    }
    if problems.is_empty() {
        problems.push(Problem::new(0..0, "the file is empty", help));
    }
    Err(Diagnostics::new(file, text, problems))
}

/// Parses the only document in a text, and returns its tree, if one can be built, with its
/// mistakes. Stops at the first mistake that prevents building a tree.
pub(crate) fn load(text: &str) -> (Option<Node>, Vec<Problem>) {
    if text.len() > TEXT_BYTES_MAX {
        let help = "give the path of a smaller file";
        let problem = Problem::new(0..0, "the file is larger than 4 MiB", help);
        return (None, vec![problem]);
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut builder = Builder::new(body, text.len() - body.len());
    for event in Parser::new_from_str(body) {
        let taken = match event {
            Ok((event, span)) => {
                builder.take(event, builder.bytes(span.start)..builder.bytes(span.end))
            }
            Err(error) => Err(syntax_problem(builder.bytes(*error.marker()), error.info())),
        };
        if let Err(problem) = taken {
            builder.problems.push(problem);
            return (None, builder.problems);
        }
    }
    (builder.root, builder.problems)
}

fn syntax_problem(at: usize, info: &str) -> Problem {
    let help = if info.contains("tab") {
        "indent with spaces; YAML does not allow tabs there"
    } else if info.contains("mapping values are not allowed") {
        "put text that contains ': ' in quotes, and check the indentation"
    } else {
        "check the indentation, quotes and brackets here and on the line before"
    };
    Problem::new(at..at + 1, format!("this is not YAML: {info}"), help)
}

/// A collection whose end has not been reached.
struct Open {
    start: usize,
    anchor: usize,
    data: Data,
    /// In a mapping, the key whose value has not been read yet.
    key: Option<(String, Range<usize>)>,
}

/// Assembles the tree from the parser's events, without recursion.
struct Builder<'a> {
    text: &'a str,
    /// Number of bytes before `text` in the file.
    base: usize,
    /// Byte offset in the file of each character, and of the end.
    offsets: Vec<usize>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    alias_nodes: usize,
    root: Option<Node>,
    problems: Vec<Problem>,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str, base: usize) -> Self {
        let starts = text.char_indices().map(|(at, _)| at);
        let offsets = starts.chain([text.len()]).map(|at| at + base);
        Self {
            text,
            base,
            offsets: offsets.collect(),
            open: Vec::new(),
            anchors: HashMap::new(),
            alias_nodes: 0,
            root: None,
            problems: Vec::new(),
        }
    }

    /// Converts a parser position, which counts characters, to a byte offset in the file.
    fn bytes(&self, marker: Marker) -> usize {
        let end = self.base + self.text.len();
        *self.offsets.get(marker.index()).unwrap_or(&end)
    }

    fn take(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), Problem> {
        let is_key = self.awaits_key();
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                let help = "keep only one document in each file";
                refuse(span, "a second document begins here", help)
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if is_key => {
                let help = "write a plain word as the key";
                refuse(span, "a key is a list or a mapping", help)
            }
            Event::Alias(_) if is_key => refuse(span, "a key is an alias", "write the key itself"),
            Event::Scalar(text, ..) if is_key => {
                self.key(text.into_owned(), span);
                Ok(())
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(Data::List(Vec::new()), anchor, tag, span)
            }
            Event::MappingStart(anchor, tag) => {
                self.begin(Data::Map(Vec::new()), anchor, tag, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Scalar(text, style, anchor, tag) => self.scalar(text, style, anchor, tag, span),
            Event::Alias(anchor) => self.alias(anchor, span),
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        data: Data,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        span: Range<usize>,
    ) -> Result<(), Problem> {
        refuse_tag(tag.as_deref(), &span)?;
        if self.open.len() == DEPTH_MAX {
            let message = format!("this is nested more than {DEPTH_MAX} levels deep");
            let help = "no gatebench file needs that many; check the brackets";
            return refuse(span, message, help);
        }
        self.open.push(Open {
            start: span.start,
            anchor,
            data,
            key: None,
        });
        Ok(())
    }

    fn end(&mut self, span: Range<usize>) -> Result<(), Problem> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let last_end = match &open.data {
            Data::List(items) => items.last().map(|item| item.span.end),
            Data::Map(entries) => entries.last().map(|entry| entry.value.span.end),
            _ => None,
        };
        // The parser reports the end of a block at the next token, which may be many lines later.
        // Only a closing bracket or brace has an exact position.
        let end = match self.text.as_bytes().get(open.start - self.base) {
            Some(b'[' | b'{') => span.end,
            _ => last_end.unwrap_or(open.start),
        };
        let span = open.start..end.max(open.start);
        self.put(span, open.data, open.anchor);
        Ok(())
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        span: Range<usize>,
    ) -> Result<(), Problem> {
        refuse_tag(tag.as_deref(), &span)?;
        let data = match Scalar::parse_from_cow_and_metadata(text, style, tag.as_ref()) {
            Some(Scalar::Null) => Data::Null,
            Some(Scalar::Boolean(flag)) => Data::Bool(flag),
            Some(Scalar::Integer(integer)) => Data::Integer(integer),
            Some(Scalar::FloatingPoint(float)) if float.is_finite() => {
                Data::Float(float.into_inner())
            }
            Some(Scalar::FloatingPoint(_)) => {
                return refuse(span, "this number is not finite", "write a finite number");
            }
            Some(Scalar::String(text)) => Data::Text(text.into_owned()),
            None => return refuse(span, "the value does not match its tag", "remove the tag"),
        };
        self.put(span, data, anchor);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Range<usize>) -> Result<(), Problem> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            let help = "write the value out";
            return refuse(
                span,
                "this alias is part of the value that it repeats",
                help,
            );
        };
        self.alias_nodes += node.size();
        if self.alias_nodes > ALIAS_NODES_MAX {
            let message = format!("aliases add more than {ALIAS_NODES_MAX} values");
            return refuse(span, message, "write the values out");
        }
        self.put(span, node.data, 0);
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| matches!(open.data, Data::Map(_)) && open.key.is_none())
    }

    fn key(&mut self, key: String, span: Range<usize>) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        if let Data::Map(entries) = &open.data
            && entries.iter().any(|entry| entry.key == key)
        {
            let message = format!("the key `{key}` is given twice");
            let help = "keep one of the two, or put both values under one key";
            self.problems
                .push(Problem::new(span.clone(), message, help));
        }
        open.key = Some((key, span));
    }

    fn put(&mut self, span: Range<usize>, data: Data, anchor: usize) {
        let value = Node { span, data };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(value);
            return;
        };
        match (&mut open.data, open.key.take()) {
            (Data::List(items), _) => items.push(value),
            // If a key is duplicated, the first value is used.
            (Data::Map(entries), Some((key, key_span)))
                if entries.iter().all(|entry| entry.key != key) =>
            {
                entries.push(Entry {
                    key,
                    key_span,
                    value,
                });
            }
            _ => {}
        }
    }
}

fn refuse(
    span: Range<usize>,
    message: impl Into<String>,
    help: &'static str,
) -> Result<(), Problem> {
    Err(Problem::new(span, message, help))
}

/// Refuses a tag that does not belong to the core schema. Tags of the core schema, such as `!!str`,
/// determine how a scalar is parsed.
fn refuse_tag(tag: Option<&Tag>, span: &Range<usize>) -> Result<(), Problem> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema() => {
            let message = format!("the tag `{tag}` has no meaning here");
            refuse(span.clone(), message, "remove the tag")
        }
        _ => Ok(()),
    }
}
