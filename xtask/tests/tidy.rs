//! Tests that this repository follows its own rules, and that the rules find violations.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use xtask::tidy::{SourceFile, check, check_files};

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let findings: Vec<String> = check(root)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

fn messages(path: &str, text: &str) -> Vec<String> {
    let file = SourceFile {
        path: path.into(),
        text: text.into(),
    };
    check_files(&[file])
        .into_iter()
        .map(|finding| format!("{}: {}", finding.line, finding.message))
        .collect()
}

#[track_caller]
fn is_reported(path: &str, text: &str, line: usize, word: &str) {
    let found = messages(path, text);
    assert!(
        matches!(&found[..], [only] if only.starts_with(&format!("{line}: ")) && only.contains(word)),
        "{found:?}"
    );
}

#[test]
fn dependencies_point_downwards() {
    is_reported(
        "crates/stats/Cargo.toml",
        "[dependencies]\ngatebench-model.workspace = true\n",
        2,
        "stats must not depend on model",
    );
    is_reported(
        "crates/report/Cargo.toml",
        "[dependencies]\ngatebench-runner = { path = \"../runner\" }\n",
        2,
        "report must not",
    );
    is_reported(
        "crates/config/Cargo.toml",
        "[dependencies]\ngatebench-model.workspace = true\n",
        2,
        "config must not depend on model",
    );
    is_reported("crates/helpers/Cargo.toml", "[package]\n", 1, "no layer");
    let through = "[dependencies]\ngatebench-net.workspace = true\n[dev-dependencies]\ngatebench-cli.workspace = true\n";
    assert!(messages("crates/runner/Cargo.toml", through).is_empty());
}

#[test]
fn unsafe_is_allowed_in_two_crates() {
    is_reported(
        "crates/engine/src/a.rs",
        "fn f() { unsafe { g() } }\n",
        1,
        "net and xml",
    );
    assert!(messages("crates/net/src/a.rs", "fn f() { unsafe { g() } }\n").is_empty());
    assert!(messages("crates/engine/src/a.rs", "// unsafe\nlet a = \"unsafe\";\n").is_empty());
}

#[test]
fn libraries_must_not_print() {
    is_reported(
        "crates/runner/src/a.rs",
        "fn f() {\n    eprintln!(\"x\");\n}\n",
        2,
        "do not print",
    );
    assert!(messages("crates/cli/src/a.rs", "fn f() { println!(\"x\"); }\n").is_empty());
    assert!(messages("crates/runner/src/a.rs", "//! println!\nfn print() {}\n").is_empty());
}

#[test]
fn public_functions_of_libraries_have_typed_errors() {
    let text = "pub fn f<T: Fn(u8) -> u8>(\n    a: T,\n) -> Result<(T, String), String> {}\n";
    is_reported("crates/net/src/a.rs", text, 1, "typed error");
    assert!(messages("crates/cli/src/a.rs", text).is_empty());
    let inner = text.replace("pub fn", "pub(crate) fn");
    assert!(messages("crates/net/src/a.rs", &inner).is_empty());
    let typed = "pub fn f(a: String) -> Result<Vec<String>, Error> {}\n";
    assert!(messages("crates/net/src/a.rs", typed).is_empty());
}

#[test]
fn parameters_have_names() {
    let text = "\nfn f(at: (f64, f64), &(a, b): &(u8, u8)) {}\n";
    is_reported("crates/net/src/a.rs", text, 2, "instead of a pattern");
    let named = "fn f(a: impl Fn((u8, u8)), b: fn((u8, u8)) -> u8) { a(|(c, d)| c) }\n";
    assert!(messages("crates/net/src/a.rs", named).is_empty());
}

#[test]
fn long_files_are_refused() {
    is_reported("crates/net/src/a.rs", &"\n".repeat(601), 1, "601 lines");
}

#[test]
fn wide_comments_are_refused() {
    let words = "word ".repeat(20);
    let text = format!("fn f() {{}}\n/// {words}x\n");
    is_reported("crates/net/src/a.rs", &text, 2, "wrap the text at 100");
}

#[test]
fn crates_have_a_purpose_and_words_have_replacements() {
    is_reported("crates/net/src/lib.rs", "mod a;\n", 1, "//!");
    is_reported(
        "docs/a.md",
        "see /ho\u{6d}e/someone/notes\n",
        1,
        "relative to the repository",
    );
    is_reported(
        "crates/net/src/a.rs",
        "// a foreign engin\u{65}\n",
        1,
        "external load generator",
    );
    let string = "fn f() {\n    g(\"the server did not answer\");\n}\n";
    is_reported("crates/net/src/a.rs", string, 2, "respond");
    assert!(messages("crates/net/tests/a.rs", string).is_empty());
}

#[test]
fn downloads_are_pinned() {
    let pip = "set -eu\npython3 -m pip install \\\n    --target a \"b==1\"\n";
    is_reported("scripts/install-b", pip, 2, "--require-hashes");
    let pinned = pip.replace("\"b==1\"", "--require-hashes --requirement b.txt");
    assert!(messages("scripts/install-b", &pinned).is_empty());
    is_reported(
        "scripts/install-c",
        "cargo install c --version 1\n",
        1,
        "--locked",
    );
    is_reported(
        "scripts/install-d",
        "go install d@v1\n",
        1,
        "go mod download",
    );
    let list = "# c\na==1 \\\n    --hash=sha256:00\nb==2\n";
    is_reported("scripts/b.txt", list, 4, "--hash=sha256");
    assert!(messages("docs/b.md", "go install d@v1\n").is_empty());
}
