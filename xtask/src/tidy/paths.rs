//! Finds the names that Rust code uses from the root of its crate.

use std::ops::Range;

use super::scan::Code;

/// The code of a file without comments, literals and test-only items.
pub(crate) struct Product {
    code: String,
    /// The modules that the file declares only for tests.
    pub test_modules: Vec<String>,
}

/// A path with its segments as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Path<'a> {
    segments: Vec<&'a str>,
    /// The name given by `as`.
    renamed: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// `::`
    Separator,
    Open,
    Close,
    Other,
}

const FOR_TESTS: &str = "#[cfg(test)]";

impl Product {
    pub(crate) fn of(source: &str) -> Self {
        let code = Code::of(&with_paths_of_attributes(source)).text;
        let mut product = Self {
            code: String::with_capacity(code.len()),
            test_modules: Vec::new(),
        };
        let mut end = 0;
        for item in items_for_tests(&code) {
            product.code.push_str(&code[end..item.start]);
            let tokens = tokens(&code[item.clone()]);
            let declared = tokens.windows(2).find_map(|pair| match pair {
                [Token::Word("mod"), Token::Word(name)] => Some((*name).to_owned()),
                _ => None,
            });
            product.test_modules.extend(declared);
            end = item.end;
        }
        product.code.push_str(&code[end..]);
        product
    }

    /// Returns the names that the code uses from the root of the crate. `module` is the path of the
    /// file's module.
    pub(crate) fn names_of_root(&self, module: &[String]) -> Vec<String> {
        let tokens = tokens(&self.code);
        let mut names = Vec::new();
        // For each open brace, true if it begins a module.
        let mut open = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            match tokens[at] {
                Token::Open => open.push(at >= 2 && tokens[at - 2] == Token::Word("mod")),
                Token::Close => drop(open.pop()),
                Token::Word("crate" | "super" | "self")
                    if tokens.get(at + 1) == Some(&Token::Separator)
                        && (at == 0 || tokens[at - 1] != Token::Separator) =>
                {
                    let inner = open.iter().filter(|is_module| **is_module).count();
                    let mut paths = Vec::new();
                    at = read_paths(&tokens, at, &Path::default(), &mut paths);
                    let depth = module.len() + inner;
                    names.extend(paths.iter().filter_map(|path| path.name_of_root(depth)));
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        names
    }

    /// Returns the names that the root of a crate imports, each with the module that it comes from.
    pub(crate) fn imports_of_root(&self) -> Vec<(String, String)> {
        let tokens = tokens(&self.code);
        let mut paths = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if *token == Token::Word("use") {
                read_paths(&tokens, at + 1, &Path::default(), &mut paths);
            }
        }
        let import = |path: &Path<'_>| {
            let segments = match path.segments.as_slice() {
                ["crate" | "self", segments @ ..] => segments,
                segments => segments,
            };
            let last = segments.iter().rfind(|segment| **segment != "self")?;
            let name = path.renamed.unwrap_or(last);
            Some((name.to_owned(), (*segments.first()?).to_owned()))
        };
        paths.iter().filter_map(import).collect()
    }
}

impl Path<'_> {
    /// Returns the first name below the root of the crate, if the path leads to the root from a
    /// module at this depth.
    fn name_of_root(&self, mut depth: usize) -> Option<String> {
        for segment in &self.segments {
            match *segment {
                "crate" => depth = 0,
                "super" => depth = depth.checked_sub(1)?,
                "self" => {}
                name => return (depth == 0).then(|| name.to_owned()),
            }
        }
        None
    }
}

/// Parses the path at `at`, or the paths of a group, each with `prefix` before it, and returns the
/// position after them.
fn read_paths<'a>(
    tokens: &[Token<'a>],
    at: usize,
    prefix: &Path<'a>,
    paths: &mut Vec<Path<'a>>,
) -> usize {
    match tokens.get(at) {
        Some(Token::Word(word)) => {
            let mut path = prefix.clone();
            path.segments.push(word);
            if tokens.get(at + 1) == Some(&Token::Separator)
                && matches!(tokens.get(at + 2), Some(Token::Word(_) | Token::Open))
            {
                return read_paths(tokens, at + 2, &path, paths);
            }
            let mut end = at + 1;
            if let [Token::Word("as"), Token::Word(name), ..] = tokens[end..] {
                path.renamed = Some(name);
                end += 2;
            }
            paths.push(path);
            end
        }
        Some(Token::Open) => {
            let mut at = at + 1;
            while at < tokens.len() && tokens[at] != Token::Close {
                at = read_paths(tokens, at, prefix, paths);
            }
            at + 1
        }
        _ => at + 1,
    }
}

/// Returns the positions of the items that are compiled only for tests, with their attributes.
pub(crate) fn items_for_tests(code: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut end = 0;
    while let Some(at) = code[end..].find(FOR_TESTS) {
        let start = end + at;
        let item = start + FOR_TESTS.len();
        end = item + item_end(&code[item..]);
        found.push(start..end);
    }
    found
}

/// Returns the length in bytes of the item at the beginning of the code.
fn item_end(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' => depth -= 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(c) = rest.chars().next() {
        let (token, length) = if is_word(c) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (Token::Word(&rest[..length]), length)
        } else if rest.starts_with("::") {
            (Token::Separator, 2)
        } else {
            let token = match c {
                '{' => Token::Open,
                '}' => Token::Close,
                _ => Token::Other,
            };
            (token, c.len_utf8())
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Returns the text without the quotes around paths, as in `schema_with = "crate::text::name"`,
/// because these paths are code.
fn with_paths_of_attributes(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    let begins = |rest: &str| {
        let starts = ["= \"crate::", "= \"super::"];
        starts.iter().filter_map(|start| rest.find(start)).min()
    };
    while let Some(at) = begins(rest) {
        let quoted = at + "= ".len();
        text.push_str(&rest[..quoted]);
        rest = &rest[quoted + 1..];
        let end = rest.find('"').unwrap_or(rest.len());
        text.push_str(&rest[..end]);
        rest = rest.get(end + 1..).unwrap_or("");
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str, module: &[&str]) -> Vec<String> {
        let module: Vec<String> = module.iter().map(ToString::to_string).collect();
        Product::of(source).names_of_root(&module)
    }

    #[test]
    fn groups_and_renames_are_read_to_the_end() {
        let source = "use crate::{a::{B, c::D}, E as F, g};\nuse crate::h::*;\nfn f() { crate::i::<u8>() }\n";
        assert_eq!(names(source, &["m"]), ["a", "a", "E", "g", "h", "i"]);
    }

    #[test]
    fn super_leads_to_the_root_only_from_a_top_level_module() {
        let source = "use super::a;\nuse self::b;\nmod inner {\n    use super::c;\n    use super::super::d;\n}\nuse super::e;\n";
        assert_eq!(names(source, &["m"]), ["a", "d", "e"]);
        assert_eq!(names(source, &["m", "n"]), [""; 0]);
        assert_eq!(names("use super::super::a;\n", &["m", "n"]), ["a"]);
        assert_eq!(names("use self::a;\n", &[]), ["a"]);
    }

    #[test]
    fn paths_in_attributes_are_code_and_other_texts_are_not() {
        let source = "// crate::a\n#[serde(with = \"crate::b::c\")]\nconst D: &str = \"see crate::e\";\npub(crate) fn f() {}\n";
        assert_eq!(names(source, &["m"]), ["b"]);
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let source = "use crate::a;\n#[cfg(test)]\nuse crate::b;\n#[cfg(test)]\npub mod c;\n#[cfg(test)]\n\
                      #[allow(dead_code)]\nfn d(e: [u8; 2]) { crate::f() }\n#[cfg(test)]\nmod tests { use crate::g; }\nuse crate::h;\n";
        assert_eq!(names(source, &["m"]), ["a", "h"]);
        assert_eq!(Product::of(source).test_modules, ["c", "tests"]);
    }

    #[test]
    fn imports_of_the_root_have_names_and_modules() {
        let imports =
            Product::of("pub use a::{self, B, c::D as E};\nuse crate::f::G;\n").imports_of_root();
        let pairs: Vec<(&str, &str)> = imports
            .iter()
            .map(|(name, module)| (name.as_str(), module.as_str()))
            .collect();
        assert_eq!(pairs, [("a", "a"), ("B", "a"), ("E", "a"), ("G", "f")]);
    }
}
