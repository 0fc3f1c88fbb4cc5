//! Stores the constants of a script while its blocks are read.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::Value as Json;

/// The maximum memory in bytes for copies of constants. Each constant may be twice as large as the
/// one that it refers to, as in `b = a + a`.
const COPIES_BYTES_MAX: usize = 64 << 20;

/// The estimated memory, in bytes, that a value takes in addition to its text, or that a key in
/// `unknown` takes.
const VALUE_BYTES: usize = 72;

#[derive(Default)]
pub(super) struct Constants {
    values: BTreeMap<String, Constant>,
    /// The constants of blocks that have not ended, each with the depth of its block and the outer
    /// constant of the same name.
    hidden: Vec<(usize, String, Option<Constant>)>,
    copied_bytes: Cell<usize>,
    is_exhausted: Cell<bool>,
}

pub(super) struct Constant {
    pub(super) value: Json,
    /// The same as `unknown` of a `Reader`.
    pub(super) unknown: Vec<Vec<String>>,
    /// The memory for a copy.
    bytes: usize,
}

impl Constants {
    /// Declares a constant in a block at a depth, where 0 is the top level. `value` is `None` if it
    /// is known only when the script runs.
    pub(super) fn declare(
        &mut self,
        depth: usize,
        name: &str,
        value: Option<Json>,
        unknown: Vec<Vec<String>>,
    ) {
        let outer = self.values.remove(name);
        if depth > 0 {
            self.hidden.push((depth, name.to_owned(), outer));
        }
        if let Some(value) = value {
            let text = value.to_string();
            let values = text.matches(['[', '{', ',']).count();
            let keys = unknown.iter().map(Vec::len).sum::<usize>();
            let bytes = text.len() + (values + keys) * VALUE_BYTES;
            let constant = Constant {
                value,
                unknown,
                bytes,
            };
            self.values.insert(name.to_owned(), constant);
        }
    }

    /// Forgets the value of a variable that gets another one.
    pub(super) fn forget(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// Ends the blocks that are deeper than `depth`, which restores the outer constants.
    pub(super) fn leave(&mut self, depth: usize) {
        while let Some((_, name, outer)) = self.hidden.pop_if(|(of, ..)| *of > depth) {
            match outer {
                Some(outer) => self.values.insert(name, outer),
                None => self.values.remove(&name),
            };
        }
    }

    /// Reports whether a copy was refused because of [`COPIES_BYTES_MAX`].
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// Returns a constant to copy. Returns `None` if no constant has the name, or if all copies
    /// together would exceed [`COPIES_BYTES_MAX`].
    pub(super) fn get(&self, name: &str) -> Option<&Constant> {
        let constant = self.values.get(name)?;
        let copied = self.copied_bytes.get() + constant.bytes;
        if copied > COPIES_BYTES_MAX {
            self.is_exhausted.set(true);
            return None;
        }
        self.copied_bytes.set(copied);
        Some(constant)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::k6::lexer::tokens;
    use crate::k6::value::Reader;

    #[test]
    fn a_constant_of_a_block_hides_the_outer_one() {
        let mut constants = Constants::default();
        let known = |constants: &Constants| {
            let constant = constants.get("a");
            constant.map(|it| it.value.clone())
        };
        constants.declare(0, "a", Some(json!(1)), Vec::new());
        constants.declare(1, "a", None, Vec::new());
        constants.declare(2, "a", Some(json!(3)), Vec::new());
        assert_eq!(known(&constants), Some(json!(3)));
        constants.leave(1);
        assert_eq!(known(&constants), None);
        constants.leave(0);
        assert_eq!(known(&constants), Some(json!(1)));
        constants.forget("a");
        assert_eq!(known(&constants), None);
    }

    #[test]
    fn constants_that_double_become_unknown() {
        let mut constants = Constants::default();
        constants.declare(0, "x0", Some(json!("x".repeat(1024))), Vec::new());
        let doubled = |constants: &Constants, number: usize| {
            let text = format!("x{number} + x{number}");
            Reader::new(&text, &tokens(&text), 0, constants).expression()
        };
        let mut number = 0;
        while let Some(value) = doubled(&constants, number) {
            assert!(value.as_str().unwrap().len() <= COPIES_BYTES_MAX);
            number += 1;
            constants.declare(0, &format!("x{number}"), Some(value), Vec::new());
        }
        assert_eq!(number, 15);
        assert!(constants.is_exhausted());
    }
}
