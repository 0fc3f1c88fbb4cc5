//! Records paths as a tree of segments. If a node has too many names, they are merged.

use std::collections::HashMap;

use super::Hit;
use super::identifier::{Kind, kind_of};
use super::sizes::Sizes;

/// The maximum number of names in one position, and of queries after one path. If a position has
/// more names, all of them are treated as identifiers. If a path has more queries, the further ones
/// are dropped.
pub(super) const NAMES_MAX: usize = 100;

/// The maximum number of segments in a path. The last segment contains the rest of a longer path.
const DEPTH_MAX: usize = 16;

/// The number of nodes at which a tree begins to treat new names as identifiers and to drop new
/// queries.
const NODES_MAX: usize = 20_000;

const ROOT: usize = 0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Name(Box<str>),
    Identifier(Kind),
    /// The query, which is the last segment.
    Query(Box<str>),
}

/// The number of requests with a method and a status, and their sizes.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) method: usize,
    pub(super) status: u16,
    pub(super) count: u64,
    pub(super) responses: Sizes,
    pub(super) requests: Sizes,
}

#[derive(Debug, Default)]
struct Node {
    names: HashMap<Box<str>, usize>,
    /// The children for identifiers, by kind.
    identifiers: [Option<usize>; Kind::ALL.len()],
    /// The children for queries, which have no further children.
    queries: HashMap<Box<str>, usize>,
    tallies: Vec<Tally>,
    /// True if names are no longer kept.
    is_collapsed: bool,
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The total length of the identifiers in bytes, and their number, by kind.
    lengths: [(u64, u64); Kind::ALL.len()],
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
            lengths: Default::default(),
        }
    }
}

/// A path, with the requests of one method and status that were recorded for it.
pub(super) struct Entry {
    pub(super) segments: Vec<Segment>,
    pub(super) tally: Tally,
}

impl Tree {
    pub(super) fn add(&mut self, method: usize, target: &str, keeps_queries: bool, hit: &Hit<'_>) {
        let target = target.split('#').next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut at = ROOT;
        for segment in path[1..].splitn(DEPTH_MAX, '/') {
            at = self.child(at, segment);
        }
        if !query.is_empty() {
            at = self.query_child(at, query, keeps_queries);
        }
        let tallies = &mut self.nodes[at].tallies;
        let is_it = |it: &Tally| it.method == method && it.status == hit.status;
        let place = tallies.iter().position(is_it).unwrap_or_else(|| {
            tallies.push(Tally {
                method,
                status: hit.status,
                ..Tally::default()
            });
            tallies.len() - 1
        });
        let tally = &mut tallies[place];
        tally.count += 1;
        if let Some(size) = hit.response_bytes {
            tally.responses.add(size);
        }
        if let Some(size) = hit.request_bytes {
            tally.requests.add(size);
        }
    }

    fn child(&mut self, at: usize, segment: &str) -> usize {
        if let Some(kind) = kind_of(segment) {
            return self.identifier_child(at, kind, segment);
        }
        let node = &self.nodes[at];
        if let Some(known) = node.names.get(segment) {
            return *known;
        }
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"';
        let is_odd = !segment.bytes().all(is_plain);
        if node.is_collapsed || is_odd || self.nodes.len() >= NODES_MAX {
            return self.identifier_child(at, Kind::Text, segment);
        }
        if node.names.len() >= NAMES_MAX {
            self.collapse(at);
            return self.identifier_child(at, Kind::Text, segment);
        }
        let new = self.new_node();
        self.nodes[at].names.insert(segment.into(), new);
        new
    }

    fn identifier_child(&mut self, at: usize, kind: Kind, segment: &str) -> usize {
        let (chars, count) = &mut self.lengths[kind as usize];
        *chars += segment.len() as u64;
        *count += 1;
        self.identifier_node(at, kind)
    }

    fn identifier_node(&mut self, at: usize, kind: Kind) -> usize {
        if let Some(known) = self.nodes[at].identifiers[kind as usize] {
            return known;
        }
        let new = self.new_node();
        self.nodes[at].identifiers[kind as usize] = Some(new);
        new
    }

    /// Returns the child for a query, or the node itself if the query is dropped. Keeps either the
    /// whole query or only the names of its parameters.
    fn query_child(&mut self, at: usize, query: &str, keeps_queries: bool) -> usize {
        let text: Box<str> = match keeps_queries {
            true => query.into(),
            false => names_of(query).into(),
        };
        if text.is_empty() {
            return at;
        }
        if let Some(known) = self.nodes[at].queries.get(&text) {
            return *known;
        }
        if self.nodes[at].queries.len() >= NAMES_MAX || self.nodes.len() >= NODES_MAX {
            return at;
        }
        let new = self.new_node();
        self.nodes[at].queries.insert(text, new);
        new
    }

    fn new_node(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    /// Merges all names of a node into one identifier.
    fn collapse(&mut self, at: usize) {
        let names = std::mem::take(&mut self.nodes[at].names);
        self.nodes[at].is_collapsed = true;
        // Sort the names, because the result must not depend on the order of a hash map.
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        for (name, child) in names {
            let into = self.identifier_child(at, Kind::Text, &name);
            self.merge(into, child);
        }
    }

    /// Moves everything in and below one node to another.
    fn merge(&mut self, into: usize, from: usize) {
        let node = std::mem::take(&mut self.nodes[from]);
        for tally in node.tallies {
            self.add_tally(into, tally);
        }
        for (name, child) in node.names {
            match self.nodes[into].names.get(&name) {
                Some(&known) => self.merge(known, child),
                None if self.nodes[into].is_collapsed => {
                    let known = self.identifier_node(into, Kind::Text);
                    self.merge(known, child);
                }
                None => drop(self.nodes[into].names.insert(name, child)),
            }
        }
        for (query, child) in node.queries {
            match self.nodes[into].queries.get(&query) {
                Some(&known) => self.merge(known, child),
                None => drop(self.nodes[into].queries.insert(query, child)),
            }
        }
        for (kind, child) in node.identifiers.into_iter().enumerate() {
            match (self.nodes[into].identifiers[kind], child) {
                (Some(known), Some(child)) => self.merge(known, child),
                (None, child) => self.nodes[into].identifiers[kind] = child,
                (Some(_), None) => {}
            }
        }
        let target = &mut self.nodes[into];
        target.is_collapsed |= node.is_collapsed;
        let is_late = target.is_collapsed && !target.names.is_empty();
        if is_late || target.names.len() > NAMES_MAX {
            self.collapse(into);
        }
    }

    fn add_tally(&mut self, at: usize, tally: Tally) {
        let tallies = &mut self.nodes[at].tallies;
        let same = |it: &&mut Tally| it.method == tally.method && it.status == tally.status;
        match tallies.iter_mut().find(same) {
            Some(known) => {
                known.count += tally.count;
                known.responses.merge(&tally.responses);
                known.requests.merge(&tally.requests);
            }
            None => tallies.push(tally),
        }
    }

    /// Merges the names of every node that has more than `names_max` names, and removes the queries
    /// of every node that has more than `names_max` queries.
    pub(super) fn coarsen(&mut self, names_max: usize) {
        // A merge may leave another node with too many names.
        while self.coarsen_once(names_max) {}
    }

    fn coarsen_once(&mut self, names_max: usize) -> bool {
        let mut is_changed = false;
        for at in (0..self.nodes.len()).rev() {
            if self.nodes[at].names.len() > names_max {
                self.collapse(at);
                is_changed = true;
            }
            if self.nodes[at].queries.len() > names_max {
                let queries = std::mem::take(&mut self.nodes[at].queries);
                for child in queries.into_values() {
                    for tally in std::mem::take(&mut self.nodes[child].tallies) {
                        self.add_tally(at, tally);
                    }
                }
                is_changed = true;
            }
        }
        is_changed
    }

    /// Returns an entry for each combination of path, method and status.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut open = vec![(ROOT, Vec::new())];
        while let Some((at, segments)) = open.pop() {
            let node = &self.nodes[at];
            for tally in &node.tallies {
                let (segments, tally) = (segments.clone(), tally.clone());
                entries.push(Entry { segments, tally });
            }
            let with = |segment: Segment| {
                let mut longer: Vec<Segment> = segments.clone();
                longer.push(segment);
                longer
            };
            for (name, child) in &node.names {
                open.push((*child, with(Segment::Name(name.clone()))));
            }
            for (query, child) in &node.queries {
                open.push((*child, with(Segment::Query(query.clone()))));
            }
            for (kind, _) in Kind::ALL {
                if let Some(child) = node.identifiers[kind as usize] {
                    open.push((child, with(Segment::Identifier(kind))));
                }
            }
        }
        entries
    }

    /// Returns the mean length of the identifiers of a kind, in bytes.
    pub(super) fn length_of(&self, kind: Kind) -> usize {
        let (chars, count) = self.lengths[kind as usize];
        usize::try_from(chars / count.max(1)).unwrap_or(1).max(1)
    }
}

/// Returns the parameters of a query with made-up values. Omits parameters without `=`, and those
/// whose names may themselves be values.
fn names_of(query: &str) -> String {
    let is_plain = |name: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-[]".contains(&byte);
        !name.is_empty() && name.len() <= 40 && name.bytes().all(allowed) && kind_of(name).is_none()
    };
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let names = pairs.map(|(name, _)| name).filter(|name| is_plain(name));
    let pairs: Vec<String> = names.map(|name| format!("{name}=x")).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(tree: &Tree) -> Vec<String> {
        let word = |segment: &Segment| match segment {
            Segment::Name(name) => format!("/{name}"),
            Segment::Identifier(kind) => format!("/<{}>", kind.name()),
            Segment::Query(text) => format!("?{text}"),
        };
        let path = |entry: &Entry| entry.segments.iter().map(word).collect::<String>();
        let mut paths: Vec<String> = tree.entries().iter().map(path).collect();
        paths.sort();
        paths
    }

    fn tree(targets: impl IntoIterator<Item = String>) -> Tree {
        let mut tree = Tree::default();
        let hit = Hit {
            status: 200,
            ..Hit::default()
        };
        for target in targets {
            tree.add(0, &target, false, &hit);
        }
        tree
    }

    #[test]
    fn identifiers_and_values_are_not_kept() {
        let all = [
            "/users/17/orders?from=2025-01-31&secret",
            "/users/18/orders?from=x",
            "/",
        ];
        let tree = tree(all.map(str::to_owned));
        assert_eq!(paths(&tree), ["/", "/users/<number>/orders?from=x"]);
    }

    #[test]
    fn many_names_in_one_position_become_one() {
        let many = (0..300).map(|it| {
            let name: String = format!("{it}")
                .bytes()
                .map(|b| char::from(b - b'0' + b'a'))
                .collect();
            format!("/people/{name}/photo")
        });
        let tree = tree(many);
        assert_eq!(paths(&tree), ["/people/<text>/photo"]);
        assert_eq!(tree.entries()[0].tally.count, 300);
    }

    #[test]
    fn a_coarser_tree_has_the_same_requests() {
        let mut tree = tree(["/a/x?p=1", "/a/y?q=2", "/b/z", "/a/x?q=1"].map(str::to_owned));
        assert_eq!(tree.entries().len(), 4);
        tree.coarsen(1);
        assert_eq!(
            paths(&tree),
            ["/<text>/<text>", "/<text>/<text>?q=2"].map(|it| it.replace("=2", "=x"))
        );
        let total: u64 = tree.entries().iter().map(|it| it.tally.count).sum();
        assert_eq!(total, 4);
    }
}
