//! What the entities of one document expand to, known before any of them is expanded.

use std::collections::HashMap;
use std::rc::Rc;

/// Nesting of entities; libxml2 itself stops at 40.
const DEPTH_MAX: u32 = 40;

/// Entities declared in one document.
const DECLARATIONS_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Entities {
    declared: HashMap<Vec<u8>, Entity>,
    bytes_left: usize,
}

#[derive(Debug)]
struct Entity {
    content: Rc<[u8]>,
    /// With all references within replaced; not known before the first reference, since an entity may
    /// refer to one that is declared later.
    expanded_bytes: Option<usize>,
}

impl Entities {
    pub fn with_budget(bytes: usize) -> Self {
        Self {
            bytes_left: bytes,
            ..Self::default()
        }
    }

    /// Whether there may be one more. The first declaration of a name holds, as in XML.
    pub fn declare(&mut self, name: &[u8], content: &[u8]) -> bool {
        if self.declared.len() >= DECLARATIONS_MAX {
            return false;
        }
        // One that no budget is left for need not be looked into.
        let is_beyond = content.len() > self.bytes_left;
        self.declared
            .entry(name.to_vec())
            .or_insert_with(|| match is_beyond {
                true => Entity {
                    content: Rc::default(),
                    expanded_bytes: Some(usize::MAX),
                },
                false => Entity {
                    content: content.into(),
                    expanded_bytes: None,
                },
            });
        true
    }

    /// Whether the document can afford this reference. Unknown and predefined names cost nothing.
    pub fn refer(&mut self, name: &[u8]) -> bool {
        let bytes = self.expanded(name, 0);
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => {
                self.bytes_left = left;
                true
            }
            None => false,
        }
    }

    fn expanded(&mut self, name: &[u8], depth: u32) -> usize {
        let Some(entity) = self.declared.get(name) else {
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
            // No budget is as large: what else it refers to changes nothing.
            if bytes == usize::MAX {
                break;
            }
        }
        if let Some(entity) = self.declared.get_mut(name) {
            entity.expanded_bytes = Some(bytes);
        }
        bytes
    }
}

/// Names between `&` and `;`.
fn references(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content
        .split(|&byte| byte == b'&')
        .skip(1)
        .filter_map(|rest| rest.split(|&byte| byte == b';').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansion_is_exact_and_counts_forward_references() {
        let mut entities = Entities::with_budget(100);
        assert!(entities.declare(b"a", b"xx&b;&b;"));
        assert!(entities.declare(b"b", b"0123456789"));
        assert!(entities.declare(b"b", b"ignored, since b is declared"));
        assert_eq!(entities.expanded(b"a", 0), 8 + 20);
        assert!(entities.refer(b"a") && entities.refer(b"a") && entities.refer(b"a"));
        assert!(!entities.refer(b"a"), "16 bytes are left");
        assert!(entities.refer(b"b") && entities.refer(b"lt"));
    }

    #[test]
    fn billion_laughs_and_loops_are_beyond_every_budget() {
        let mut entities = Entities::with_budget(usize::MAX - 1);
        entities.declare(b"l0", b"ha");
        for i in 1..=30 {
            let content = format!("&l{};", i - 1).repeat(10);
            entities.declare(format!("l{i}").as_bytes(), content.as_bytes());
        }
        assert!(!entities.refer(b"l30"));
        entities.declare(b"p", b"&q;");
        entities.declare(b"q", b"&p;");
        assert!(!entities.refer(b"p"));
    }

    #[test]
    fn what_is_beyond_the_budget_is_not_kept() {
        let mut entities = Entities::with_budget(100);
        assert!(entities.declare(b"long", &[b'&'; 101]));
        assert!(entities.declared[&b"long"[..]].content.is_empty());
        assert!(!entities.refer(b"long"));
        entities.declare(b"of_long", b"&long;&long;");
        assert!(!entities.refer(b"of_long") && entities.refer(b"lt"));
    }
}
