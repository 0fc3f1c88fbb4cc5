//! Finds the path item for a path. A literal segment is preferred to one with a parameter (OpenAPI
//! 3.1 4.8.8.2).

use std::collections::HashMap;

use crate::config::ConfigError;

/// Path templates, as a tree of segments.
#[derive(Debug)]
pub(super) struct Paths {
    root: Node,
    items: Vec<Item>,
    /// Converts the literal texts of templates to the form that they have in paths.
    literal: fn(&str) -> String,
}

#[derive(Debug, Default)]
struct Node {
    written: HashMap<Box<str>, Node>,
    /// Segments with parameters, those with the most literal text first.
    open: Vec<(Segment, Node)>,
    /// The number of the path item that ends here.
    item: Option<usize>,
}

/// A segment with parameters, as the literal texts around them; `report.{format}` is `["report.",
/// ""]`.
#[derive(Debug, PartialEq, Eq)]
struct Segment(Vec<String>);

#[derive(Debug)]
struct Item {
    /// The names of the parameters, in the order of the template.
    names: Vec<String>,
    /// The methods in upper case, each with the number of its operation.
    methods: Vec<(String, usize)>,
}

/// A path item that matches a path, with the values of its parameters.
pub(super) struct Found<'a> {
    item: &'a Item,
    /// The names and still encoded values of the parameters, in the order of the template.
    pub(super) values: Vec<(&'a str, &'a str)>,
}

impl Found<'_> {
    pub(super) fn is_of_item(&self, other: &Self) -> bool {
        std::ptr::eq(self.item, other.item)
    }

    pub(super) fn operation(&self, method: &str) -> Option<usize> {
        let mut methods = self.item.methods.iter();
        methods
            .find(|(name, _)| name == method)
            .map(|(_, number)| *number)
    }

    /// Returns the methods as the value of an Allow field.
    pub(super) fn allow(&self) -> String {
        let names = self.item.methods.iter().map(|(name, _)| name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }
}

impl Paths {
    pub(super) fn new(literal: fn(&str) -> String) -> Self {
        Self {
            root: Node::default(),
            items: Vec::new(),
            literal,
        }
    }

    /// Adds a template; refuses an invalid one, and one that matches the same paths as an earlier
    /// one.
    pub(super) fn add(
        &mut self,
        template: &str,
        methods: Vec<(String, usize)>,
    ) -> Result<(), ConfigError> {
        let mut names = Vec::new();
        let mut node = &mut self.root;
        for segment in template.split('/').skip(1) {
            let parts = parts(segment, self.literal, &mut names)?;
            node = match parts {
                None => node
                    .written
                    .entry((self.literal)(segment).into())
                    .or_default(),
                Some(segment) => node.open(segment),
            };
        }
        let number = self.items.len();
        if node.item.replace(number).is_some() {
            return Err(ConfigError::new(
                "another path matches the same requests",
                "remove one of them",
            ));
        }
        self.items.push(Item { names, methods });
        Ok(())
    }

    /// Finds the path item that matches a path, which is still encoded.
    pub(super) fn find<'a>(&'a self, path: &'a str) -> Option<Found<'a>> {
        let mut values = Vec::new();
        let number = self.root.find(path.strip_prefix('/')?, &mut values)?;
        let item = &self.items[number];
        let names = item.names.iter().map(String::as_str);
        Some(Found {
            item,
            values: names.zip(values).collect(),
        })
    }
}

impl Node {
    fn open(&mut self, segment: Segment) -> &mut Node {
        let known = self.open.iter().position(|(other, _)| *other == segment);
        let at = known.unwrap_or_else(|| {
            let text = |segment: &Segment| segment.0.iter().map(String::len).sum::<usize>();
            let length = text(&segment);
            let at = self
                .open
                .partition_point(|(other, _)| text(other) >= length);
            self.open.insert(at, (segment, Node::default()));
            at
        });
        &mut self.open[at].1
    }

    fn find<'a>(&self, rest: &'a str, values: &mut Vec<&'a str>) -> Option<usize> {
        let (segment, after) = match rest.split_once('/') {
            Some((segment, after)) => (segment, Some(after)),
            None => (rest, None),
        };
        let onward = |node: &Self, values: &mut Vec<&'a str>| match after {
            None => node.item,
            Some(after) => node.find(after, values),
        };
        let written = self.written.get(segment);
        if let Some(number) = written.and_then(|node| onward(node, values)) {
            return Some(number);
        }
        self.open.iter().find_map(|(open, node)| {
            let before = values.len();
            let found = open
                .take(segment, values)
                .then(|| onward(node, values))
                .flatten();
            if found.is_none() {
                values.truncate(before);
            }
            found
        })
    }
}

impl Segment {
    /// Matches a segment and appends the values of its parameters, none of which may be empty.
    /// Returns false if the segment does not match.
    fn take<'a>(&self, segment: &'a str, values: &mut Vec<&'a str>) -> bool {
        let (first, others) = self
            .0
            .split_first()
            .map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
        let Some(mut rest) = segment.strip_prefix(first) else {
            return false;
        };
        for (at, text) in others.iter().enumerate() {
            let is_last = at + 1 == others.len();
            // The last parameter is as long as possible, the others as short as possible.
            let end = match is_last {
                true => rest.strip_suffix(text.as_str()).map(str::len),
                false => rest
                    .match_indices(text.as_str())
                    .map(|(at, _)| at)
                    .find(|at| *at > 0),
            };
            match end {
                Some(end) if end > 0 => {
                    values.push(&rest[..end]);
                    rest = &rest[end + text.len()..];
                }
                _ => return false,
            }
        }
        rest.is_empty()
    }
}

/// Parses a segment of a template and appends the names of its parameters to `names`; returns
/// `None` if the segment has no parameters.
fn parts(
    segment: &str,
    literal: fn(&str) -> String,
    names: &mut Vec<String>,
) -> Result<Option<Segment>, ConfigError> {
    let wrong = || {
        let message = format!("`{segment}` is not a segment of a path");
        ConfigError::new(message, "write parameters as {name}")
    };
    let mut texts = Vec::new();
    let mut rest = segment;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or_else(wrong)?;
        if name.is_empty() || name.contains('{') || before.contains('}') {
            return Err(wrong());
        }
        names.push(name.to_owned());
        texts.push(literal(before));
        rest = after;
    }
    if rest.contains('}') {
        return Err(wrong());
    }
    if texts.is_empty() {
        return Ok(None);
    }
    texts.push(literal(rest));
    if texts[1..texts.len() - 1].iter().any(String::is_empty) {
        let message = format!("two parameters of `{segment}` have no text between them");
        return Err(ConfigError::new(message, "put text between them"));
    }
    Ok(Some(Segment(texts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{encoded, normalized};

    fn found(templates: &[&str], path: &str) -> Option<(usize, String)> {
        found_by(encoded, templates, path)
    }

    fn found_by(
        literal: fn(&str) -> String,
        templates: &[&str],
        path: &str,
    ) -> Option<(usize, String)> {
        let mut paths = Paths::new(literal);
        for (number, template) in templates.iter().enumerate() {
            paths.add(template, vec![("GET".into(), number)]).unwrap();
        }
        let found = paths.find(path)?;
        let values = found.values.iter();
        let values: Vec<_> = values
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        Some((found.operation("GET")?, values.join(" ")))
    }

    #[test]
    fn literal_paths_precede_templates() {
        let templates = [
            "/a/{id}",
            "/a/mine",
            "/{x}/b/c",
            "/a/{id}/c",
            "/r.{f}",
            "/{all}",
            "/a/",
        ];
        for (path, expected) in [
            ("/a/7", Some((0, "id=7"))),
            ("/a/mine", Some((1, ""))),
            ("/a/b/c", Some((3, "id=b"))),
            ("/z/b/c", Some((2, "x=z"))),
            ("/a/d/c", Some((3, "id=d"))),
            ("/r.json", Some((4, "f=json"))),
            ("/r.", Some((5, "all=r."))),
            ("/z", Some((5, "all=z"))),
            ("/a/", Some((6, ""))),
            ("/", None),
            ("/a/7/", None),
            ("/a/7/c/d", None),
            ("a", None),
            ("*", None),
        ] {
            let expected = expected.map(|(number, values): (_, &str)| (number, values.to_owned()));
            assert_eq!(found(&templates, path), expected, "{path}");
        }
        for (path, expected) in [
            ("/1-2.3", Some("a=1 b=2 c=3")),
            ("/1--2.3.4", Some("a=1 b=-2 c=3.4")),
            ("/-2.3", None),
        ] {
            let expected = expected.map(|values| (0, values.to_owned()));
            assert_eq!(found(&["/{a}-{b}.{c}"], path), expected, "{path}");
        }
    }

    #[test]
    fn literal_texts_match_encoded_paths() {
        let templates = ["/größe", "/my file/{id}", "/a b{id}", "/c%20d", "/why?"];
        for (path, expected) in [
            ("/gr%C3%B6%C3%9Fe", Some((0, ""))),
            ("/my%20file/7", Some((1, "id=7"))),
            ("/a%20b7", Some((2, "id=7"))),
            ("/c%20d", Some((3, ""))),
            ("/c%2520d", None),
            ("/why%3F", Some((4, ""))),
        ] {
            let expected = expected.map(|(number, values): (_, &str)| (number, values.to_owned()));
            assert_eq!(found(&templates, path), expected, "{path}");
        }
    }

    #[test]
    fn literal_texts_match_normal_forms() {
        let templates = ["/gr%c3%b6%c3%9fe", "/%7Euser/{id}", "/%61%2d{id}"];
        for (path, expected) in [
            ("/gr%C3%B6%C3%9Fe", (0, "")),
            ("/~user/7", (1, "id=7")),
            ("/a-7", (2, "id=7")),
        ] {
            let expected = Some((expected.0, expected.1.to_owned()));
            assert_eq!(found_by(normalized, &templates, path), expected, "{path}");
        }
    }

    #[test]
    fn invalid_templates_are_refused() {
        let mut paths = Paths::new(encoded);
        for wrong in ["/{", "/}", "/{}", "/a{b", "/{a}{b}", "/{a{b}}"] {
            assert!(paths.add(wrong, Vec::new()).is_err(), "{wrong}");
        }
        paths.add("/{a}/x", Vec::new()).unwrap();
        assert!(paths.add("/{b}/x", Vec::new()).is_err());
    }
}
