//! Finds the route of a path by prefix: a path belongs to the longest prefix that ends where a
//! segment ends.

use std::collections::HashMap;

/// Maps prefixes to route numbers.
///
/// `/json` matches `/json` and `/json/x`, not `/jsonx`; `/json/` matches `/json/` and `/json/x`,
/// not `/json`; `/` matches every path that begins with `/`.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    by_prefix: HashMap<Box<[u8]>, usize>,
    longest_bytes: usize,
}

impl RouteTable {
    pub(crate) fn new<'a>(prefixes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut table = Self::default();
        for (route, prefix) in prefixes.into_iter().enumerate() {
            table.add(prefix.as_bytes(), route);
        }
        table
    }

    /// Adds a prefix, unless an earlier route has it.
    pub(crate) fn add(&mut self, prefix: &[u8], route: usize) {
        self.longest_bytes = self.longest_bytes.max(prefix.len());
        self.by_prefix.entry(prefix.into()).or_insert(route);
    }

    /// Finds the route of a path (without its query).
    pub(crate) fn find(&self, path: &[u8]) -> Option<usize> {
        let mut end = path.len();
        if end > self.longest_bytes {
            // No prefix is longer than `longest_bytes`, so no match ends later.
            end = self.longest_bytes;
            let ends_segment = path[end] == b'/' || end > 0 && path[end - 1] == b'/';
            if !ends_segment {
                end = last_boundary(path, end)?;
            }
        }
        loop {
            if let Some(&route) = self.by_prefix.get(&path[..end]) {
                return Some(route);
            }
            end = last_boundary(path, end)?;
        }
    }
}

/// Returns the last position before `end` where a segment ends: after a slash, or before one.
fn last_boundary(path: &[u8], end: usize) -> Option<usize> {
    let slash = path[..end].iter().rposition(|&byte| byte == b'/')?;
    if slash + 1 < end {
        Some(slash + 1)
    } else {
        (slash > 0).then_some(slash)
    }
}

/// Removes a prefix from a path, which may have a query. The rest begins with `/` or `?`, or is
/// empty.
pub(crate) fn strip<'a>(path: &'a str, prefix: &str) -> &'a str {
    path.get(prefix.trim_end_matches('/').len()..)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the route according to the definition, without the shortcuts.
    fn find_slowly(prefixes: &[String], path: &str) -> Option<usize> {
        let matches = |prefix: &str| {
            path.starts_with(prefix)
                && (prefix.ends_with('/')
                    || path.len() == prefix.len()
                    || path.as_bytes()[prefix.len()] == b'/')
        };
        let fitting = prefixes
            .iter()
            .enumerate()
            .filter(|(_, prefix)| matches(prefix));
        fitting
            .max_by_key(|(_, prefix)| prefix.len())
            .map(|(at, _)| at)
    }

    #[test]
    fn prefixes_end_where_segments_end() {
        let table = RouteTable::new(["/json", "/json/deep/er", "/dir/"]);
        for (path, expected) in [
            ("/json", Some(0)),
            ("/json/", Some(0)),
            ("/json/x", Some(0)),
            ("/json/deep/er", Some(1)),
            ("/json/deep/er/x", Some(1)),
            ("/json/deep/erx", Some(0)),
            ("/jsonx", None),
            ("/dir", None),
            ("/dir/", Some(2)),
            ("/dir/x/y", Some(2)),
            ("/", None),
            ("", None),
            ("*", None),
        ] {
            assert_eq!(table.find(path.as_bytes()), expected, "{path}");
        }
        let all = RouteTable::new(["/"]);
        assert_eq!(
            (all.find(b"/a/b"), all.find(b"/"), all.find(b"*")),
            (Some(0), Some(0), None)
        );
        assert_eq!(RouteTable::new([]).find(b"/a"), None);
    }

    #[test]
    fn stripping_leaves_a_path() {
        assert_eq!(strip("/json/x/y", "/json"), "/x/y");
        assert_eq!(strip("/json", "/json"), "");
        assert_eq!(strip("/dir/x", "/dir/"), "/x");
        assert_eq!(strip("/x", "/"), "/x");
    }

    proptest::proptest! {
        #[test]
        fn the_table_agrees_with_the_definition(
            prefixes in proptest::collection::hash_set("/([ab]{0,2}/?){0,3}", 0..6),
            path in "/([ab]{0,2}/?){0,5}",
        ) {
            let prefixes: Vec<String> = prefixes.into_iter().collect();
            let table = RouteTable::new(prefixes.iter().map(String::as_str));
            proptest::prop_assert_eq!(table.find(path.as_bytes()), find_slowly(&prefixes, &path));
        }
    }
}
