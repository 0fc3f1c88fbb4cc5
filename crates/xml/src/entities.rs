//! Computes the size of a definition's expanded entities before any of them is expanded.

use std::collections::HashMap;
use std::rc::Rc;

/// The maximum nesting depth of entities, which is also libxml2's limit.
const DEPTH_MAX: u32 = 40;

/// The maximum number of bytes that the entity references of one definition may expand to in total.
pub(crate) const EXPANDED_BYTES_MAX: usize = 64 << 10;

/// The kinds of entities. Entities of different kinds may have the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Referred to as `&name;`.
    General,
    /// Referred to as `%name;`, between declarations. The declarations in its text are parsed, and
    /// therefore counted, separately.
    Parameter,
}

#[derive(Debug)]
pub(crate) struct Entities {
    general: HashMap<Vec<u8>, Entity>,
    parameter_bytes: HashMap<Vec<u8>, usize>,
    bytes_left: usize,
}

#[derive(Debug)]
struct Entity {
    content: Rc<[u8]>,
    /// The size of the text plus the expanded sizes of all entities that it refers to, in bytes. It
    /// is unknown until the first reference, because an entity may refer to one that is declared
    /// later.
    expanded_bytes: Option<usize>,
}

impl Entities {
    pub fn with_budget(bytes: usize) -> Self {
        Self {
            general: HashMap::new(),
            parameter_bytes: HashMap::new(),
            bytes_left: bytes,
        }
    }

    /// As in XML, the first declaration of a name counts. Returns false if the text itself, with
    /// its references unexpanded, is larger than the remaining budget.
    pub fn declare(&mut self, kind: Kind, name: &[u8], content: &[u8]) -> bool {
        if content.len() > self.bytes_left {
            return false;
        }
        match kind {
            Kind::Parameter => {
                let bytes = self.parameter_bytes.entry(name.to_vec());
                bytes.or_insert(content.len());
            }
            Kind::General => {
                let entity = self.general.entry(name.to_vec());
                entity.or_insert_with(|| Entity {
                    content: content.into(),
                    expanded_bytes: None,
                });
            }
        }
        true
    }

    /// Deducts a reference from the budget, or returns false if the budget is too small. Unknown
    /// and predefined names cost nothing.
    pub fn refer(&mut self, kind: Kind, name: &[u8]) -> bool {
        let bytes = match kind {
            Kind::General => self.expanded(name, 0),
            Kind::Parameter => self.parameter_bytes.get(name).copied().unwrap_or(0),
        };
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.unwrap_or(self.bytes_left);
        left.is_some()
    }

    fn expanded(&mut self, name: &[u8], depth: u32) -> usize {
        let Some(entity) = self.general.get(name) else {
            return 0;
        };
        if let Some(bytes) = entity.expanded_bytes {
            return bytes;
        }
        if depth > DEPTH_MAX {
            return usize::MAX;
        }
        let content = Rc::clone(&entity.content);
        let mut bytes = content.len();
        for within in references(&content) {
            bytes = bytes.saturating_add(self.expanded(within, depth + 1));
            // The size already exceeds every limit, so further references change nothing.
            if bytes == usize::MAX {
                break;
            }
        }
        if let Some(entity) = self.general.get_mut(name) {
            entity.expanded_bytes = Some(bytes);
        }
        bytes
    }
}

fn references(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let after = content.split(|&byte| byte == b'&').skip(1);
    after.filter_map(|rest| rest.split(|&byte| byte == b';').next())
}

#[cfg(test)]
mod tests {
    use super::Kind::{General, Parameter};
    use super::*;

    #[test]
    fn expansion_is_exact_and_counts_forward_references() {
        let mut entities = Entities::with_budget(100);
        entities.declare(General, b"a", b"xx&b;&b;");
        entities.declare(General, b"b", b"0123456789");
        entities.declare(General, b"b", b"ignored, since b is declared");
        assert_eq!(entities.expanded(b"a", 0), 8 + 20);
        for _ in 0..3 {
            assert!(entities.refer(General, b"a"));
        }
        assert!(!entities.refer(General, b"a"), "16 bytes are left");
        assert!(entities.refer(General, b"b") && entities.refer(General, b"lt"));
    }

    #[test]
    fn billion_laughs_and_loops_exceed_every_budget() {
        let mut entities = Entities::with_budget(usize::MAX - 1);
        entities.declare(General, b"l0", b"ha");
        for i in 1..=30 {
            let content = format!("&l{};", i - 1).repeat(10);
            entities.declare(General, format!("l{i}").as_bytes(), content.as_bytes());
        }
        assert!(!entities.refer(General, b"l30"));
        entities.declare(General, b"p", b"&q;");
        entities.declare(General, b"q", b"&p;");
        assert!(!entities.refer(General, b"p"));
    }

    #[test]
    fn entities_beyond_the_budget_are_not_kept() {
        for kind in [General, Parameter] {
            let mut entities = Entities::with_budget(100);
            assert!(!entities.declare(kind, b"long", &[b'x'; 101]));
            assert!(entities.general.is_empty() && entities.parameter_bytes.is_empty());
            assert!(entities.declare(kind, b"fits", &[b'x'; 100]));
            assert!(entities.refer(kind, b"fits") && !entities.refer(kind, b"fits"));
        }
    }

    #[test]
    fn entities_of_both_kinds_may_share_a_name() {
        for (first, second) in [(General, Parameter), (Parameter, General)] {
            let mut entities = Entities::with_budget(100);
            entities.declare(first, b"a", b"x");
            entities.declare(second, b"a", &[b'y'; 60]);
            assert!(entities.refer(first, b"a") && entities.refer(second, b"a"));
            assert!(!entities.refer(second, b"a"), "39 bytes are left");
            assert!(entities.refer(first, b"a"));
        }
    }
}
