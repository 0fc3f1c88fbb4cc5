//! Tracks which variables of a script are declared and which get other values.

use super::{Kind, Log, Token, Walker};

/// The operators after a variable that change its value.
const ASSIGNMENTS: [&str; 10] = ["=", "+=", "-=", "*=", "/=", "||=", "&&=", "??=", "++", "--"];

impl Walker<'_> {
    /// Reports whether the token is a variable that gets another value.
    pub(super) fn is_changed(&self, at: usize) -> bool {
        let is_member = at > 0 && self.word(at - 1) == ".";
        !is_member && ASSIGNMENTS.contains(&self.word(at + 1))
    }

    /// Forgets the value of the variable at a token, because it gets another one.
    pub(super) fn forget(&mut self, at: usize) {
        let name = self.word(at).to_owned();
        self.responses.remove(&name);
        self.constants.forget(&name);
    }

    /// Declares the variables after `const`, `let` or `var`, up to the first one with a value.
    /// Returns the index of the next token to process.
    pub(super) fn declaration(&mut self, mut at: usize, log: &mut Log<'_>) -> usize {
        loop {
            let name = self.word(at + 1).to_owned();
            self.responses.remove(&name);
            if self.word(at + 2) == "=" {
                return self.constant(at, log);
            }
            self.declare_unknown(at + 1, self.depth);
            if self.word(at + 2) != "," {
                return at + 1;
            }
            at += 2;
        }
    }

    /// Declares the parameters in the parentheses that begin at `open`. They belong to the block
    /// that follows. Returns the index of the token after the parentheses.
    pub(super) fn parameters(&mut self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.word(at) {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ if matches!(self.word(at - 1), "(" | "," | "{" | "[" | "...") => {
                    self.declare_unknown(at, self.depth + 1);
                }
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }

    /// Declares the parameters of an arrow function with a block.
    pub(super) fn arrow(&mut self, arrow: usize) {
        let mut depth = 0_usize;
        for at in (0..arrow).rev() {
            match self.word(at) {
                ")" => depth += 1,
                "(" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                match self.word(at) {
                    "(" => {
                        self.parameters(at);
                    }
                    // A single parameter needs no parentheses.
                    _ => self.declare_unknown(at, self.depth + 1),
                }
                return;
            }
        }
    }

    /// Declares the variable at a token in a block at a depth. Its value is known only when the
    /// script runs.
    fn declare_unknown(&mut self, at: usize, depth: usize) {
        let is_name = |it: &&Token| it.kind == Kind::Word;
        if let Some(token) = self.tokens.get(at).filter(is_name) {
            let name = &self.text[token.span.clone()];
            self.constants.declare(depth, name, None, Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{COMPUTED, read};
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let script = read(text, &mut Log::new("k6.js", text));
        let paths = script.requests.iter().map(|(_, it)| it.path.clone());
        paths.collect()
    }

    #[test]
    fn variables_have_the_value_of_their_block() {
        let text = "const base = '/a'; let token = 't';
            export function setup() { const base = f(); token = f(); http.get(`${base}/s`) }
            export default function () { http.get(`${base}/${token}`) }";
        assert_eq!(paths(text), ["/s".to_owned(), format!("/a/{COMPUTED}")]);
    }

    #[test]
    fn an_inner_variable_leaves_the_outer_one_known() {
        for inner in [
            "export function setup() { let path; path = f(); }",
            "export function setup() { let other, path; path += '/x'; }",
            "function login(path) { path = path || '/x' }",
            "function login({ id, path }, [rest] = []) { path = f() }",
            "const login = (id, path) => { path = f() };",
            "const login = async path => { path ??= f() };",
        ] {
            let text = format!(
                "const path = '/a'; {inner} export default function () {{ http.get(path) }}"
            );
            assert_eq!(paths(&text), ["/a"], "{inner}");
        }
    }

    #[test]
    fn a_parameter_hides_the_outer_constant() {
        let text = "const id = 1; function f(id) { http.get(`/a/${id}`) } http.get(`/b/${id}`)";
        assert_eq!(paths(text), [format!("/a/{COMPUTED}"), "/b/1".to_owned()]);
    }

    #[test]
    fn a_changed_variable_is_unknown() {
        for change in [
            "id = f()",
            "id += f()",
            "id -= 1",
            "id *= 2",
            "id /= 2",
            "id ||= 2",
            "id++",
            "--id",
        ] {
            let text = format!("let id = 1; {change}; http.get(`/a/${{id}}`)");
            assert_eq!(paths(&text), [format!("/a/{COMPUTED}")], "{change}");
        }
        let member = "let id = 1; x.id++; http.get(`/a/${id}`)";
        assert_eq!(paths(member), ["/a/1"]);
    }

    #[test]
    fn a_function_with_an_object_parameter_contains_its_requests() {
        let text = "export function buy({ id }) { http.get('/a') }";
        let script = read(text, &mut Log::new("k6.js", text));
        assert_eq!(script.requests[0].0, "buy");
    }
}
