//! Compares edits of the tree with edits of the text.

use super::*;

const LIMITS: Limits = Limits::MESSAGES;

/// A seeded generator, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn element(dice: &mut Dice, depth: u32, out: &mut String) {
    let prefix = if dice.roll(5) == 0 { "p:" } else { "" };
    let default = match dice.roll(4) {
        0 => " xmlns=\"\"",
        1 => " xmlns=\"urn:u\"",
        2 => " xmlns=\"urn:v\"",
        _ => "",
    };
    let attribute = match dice.roll(6) {
        0 => " a=\" xmlns=\"",
        1 => " p:a='&quot; xmlns=&quot;&quot;'",
        _ => "",
    };
    out.push_str(&format!("<{prefix}e{default}{attribute}>"));
    for _ in 0..dice.roll(4) {
        match dice.roll(9) {
            0 => out.push_str("text &lt; "),
            1 if dice.roll(4) == 0 => out.push_str("a xmlns=\"\" b"),
            2 => out.push_str("<!--c-->"),
            3 if dice.roll(4) == 0 => out.push_str("<!-- xmlns=\"\"-->"),
            4 => out.push_str("<?p i?>"),
            _ if depth > 0 => element(dice, depth - 1, out),
            _ => {}
        }
    }
    out.push_str(&format!("</{prefix}e>"));
}

fn canonical(document: &Document) -> String {
    let mut out = Vec::new();
    document.write_canonical(&mut out, &LIMITS).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_edited_tree_is_the_parsed_text_without_empty_namespaces() {
    let (mut edited, mut left) = (0, 0);
    for seed in 1..3_000_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut text = String::from("<p:r xmlns:p=\"urn:w\">");
        element(&mut dice, 4, &mut text);
        text.push_str("</p:r>");

        let mut tree = Document::parse(text.as_bytes(), &LIMITS).unwrap();
        let before = canonical(&tree);
        let wanted = before.replace(" xmlns=\"\"", "");
        if tree.drop_empty_namespaces() {
            edited += 1;
            assert_eq!(canonical(&tree), wanted, "seed {seed}: {text}");
            let parsed = Document::parse(wanted.as_bytes(), &LIMITS).unwrap();
            assert_eq!(names(&tree), names(&parsed), "seed {seed}: {text}");
        } else {
            left += 1;
            assert_eq!(canonical(&tree), before, "seed {seed}: {text}");
        }
    }
    assert!(
        edited > 1_500 && left > 100,
        "{edited} trees were edited, and {left} require an edit of the text"
    );
}

fn names(document: &Document) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut open: Vec<_> = document.root().into_iter().collect();
    while let Some(node) = open.pop() {
        found.push((node.name().to_owned(), node.namespace().map(str::to_owned)));
        open.extend(node.elements());
    }
    found
}

#[test]
fn superfluous_declarations_stay_in_the_text() {
    let text = r#"<a xmlns="u"><x xmlns=""><b xmlns="u"></b></x></a>"#;
    let mut tree = Document::parse(text.as_bytes(), &LIMITS).unwrap();
    assert!(!tree.drop_empty_namespaces());
}

#[test]
fn text_is_edited_in_place() {
    let mut text =
        br#"<a xmlns=""><b xmlns="u" c="" xmlns=""/>  xmlns="" xmlns=""</a> xmlns="#.to_vec();
    remove_empty_namespaces(&mut text);
    assert_eq!(text, br#"<a><b xmlns="u" c=""/> </a> xmlns="#.to_vec());
}
