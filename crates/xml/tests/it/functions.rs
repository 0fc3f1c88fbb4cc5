//! Tests the XPath functions that replace those of libxml2 and libxslt. They must return the
//! standard results without taking quadratic time.

use std::time::Duration;

use crate::common::processor::cpu_of;
use gatebench_xml::{Document, Limits, NoFiles, Parameters, Stylesheet, XPath};

/// Limits without a time limit, so that nothing ends slow functions.
const UNTIMED: Limits = Limits {
    time_ms: None,
    ..Limits::MESSAGES
};

/// Returns the result of an expression in a stylesheet, or the reason why it fails.
fn evaluated(expression: &str, message: &str) -> Result<String, String> {
    let text = format!(
        "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">\
         <xsl:key name=\"k\" match=\"i\" use=\"@k\"/><xsl:template match=\"/\"><r>\
         <xsl:value-of select=\"{expression}\"/></r></xsl:template></xsl:stylesheet>"
    );
    let style = Stylesheet::parse(text.as_bytes(), None, &NoFiles, &Limits::DEFINITIONS).unwrap();
    let mut input = Document::parse(message.as_bytes(), &UNTIMED).unwrap();
    let made = style
        .apply(&mut input, &Parameters::default(), &UNTIMED)
        .map_err(|why| why.to_string())?;
    Ok(made.root().unwrap().text())
}

/// Asserts that an expression has the expected text, both in a stylesheet and in a context without
/// one.
fn assert_text(expression: &str, message: &str, expected: &str) {
    assert_eq!(
        evaluated(expression, message).as_deref(),
        Ok(expected),
        "{expression}"
    );
    let same = format!("string({expression}) = '{expected}'");
    assert!(holds(&same, message), "{expression}");
}

/// Reports whether an expression is true, in a context without a stylesheet.
fn holds(expression: &str, message: &str) -> bool {
    let document = Document::parse(message.as_bytes(), &UNTIMED).unwrap();
    let xpath = XPath::compile(&format!("/*[{expression}]/@held"), &[]).unwrap();
    let text = xpath.first_text(&document, &UNTIMED).unwrap();
    text.as_deref() == Some("yes")
}

/// Returns a message with texts that an expression can refer to by name.
fn texts(all: &[(&str, &str)]) -> String {
    let each: String = all
        .iter()
        .map(|(name, text)| format!("<{name}>{text}</{name}>"))
        .collect();
    format!("<a held='yes'>{each}</a>")
}

fn assert_translated(text: &str, from: &str, to: &str, expected: &str) {
    let message = texts(&[("t", text), ("f", from), ("o", to), ("e", expected)]);
    let made = evaluated("translate(//t, //f, //o)", &message);
    assert_eq!(made.as_deref(), Ok(expected), "{text} {from} {to}");
    assert!(
        holds("translate(t, f, o) = string(e)", &message),
        "{text} {from} {to}"
    );
}

#[test]
fn characters_are_replaced_or_removed() {
    for (text, from, to, expected) in [
        // The examples of XPath 1.0, section 4.2.
        ("bar", "abc", "ABC", "BAr"),
        ("--aaa--", "abc-", "ABC", "AAA"),
        ("", "a", "b", ""),
        ("abc", "", "xyz", "abc"),
        ("abc", "", "", "abc"),
        ("abc", "abc", "", ""),
        ("abcd", "abc", "", "d"),
        // Surplus characters of the second list are ignored.
        ("abc", "a", "xyz", "xbc"),
        // If a character is listed more than once, its first occurrence applies, even if that
        // occurrence removes the character.
        ("aba", "aab", "xyz", "xzx"),
        ("aba", "baa", "x", "x"),
        ("\u{e9}\u{e8}", "\u{e9}\u{e9}\u{e8}", "xyz", "xz"),
        // Either list may contain characters of one to four bytes.
        ("aou", "aou", "\u{e4}\u{f6}\u{fc}", "\u{e4}\u{f6}\u{fc}"),
        ("Gr\u{fc}\u{df}e", "\u{fc}\u{df}", "us", "Gruse"),
        ("1\u{20ac}2", "\u{20ac}", "", "12"),
        (
            "\u{e9}\u{20ac}\u{1d11e}a",
            "a\u{1d11e}\u{e9}\u{20ac}",
            "\u{20ac}\u{e9}\u{1d11e}a",
            "\u{1d11e}a\u{e9}\u{20ac}",
        ),
        (
            "\u{80}\u{7ff}\u{800}\u{fffd}\u{10000}\u{10ffff}",
            "\u{10ffff}\u{10000}\u{fffd}\u{800}\u{7ff}\u{80}",
            "123456",
            "654321",
        ),
        // Characters that begin or end with the same bytes are distinguished.
        ("\u{df}\u{ff}", "\u{c3}\u{bf}\u{9f}", "xyz", "\u{df}\u{ff}"),
        (
            "\u{100}\u{200}\u{1000}",
            "\u{10000}\u{200}",
            "xy",
            "\u{100}y\u{1000}",
        ),
    ] {
        assert_translated(text, from, to, expected);
    }
}

/// Computes the result of `translate` according to the XPath 1.0 recommendation.
fn translated(text: &str, from: &[char], to: &[char]) -> String {
    let replaced = |c: char| match from.iter().position(|&one| one == c) {
        Some(at) => to.get(at).copied(),
        None => Some(c),
    };
    text.chars().filter_map(replaced).collect()
}

#[test]
fn any_texts_are_translated_as_recommended() {
    const ALPHABET: [char; 10] = [
        'a',
        'b',
        'A',
        '-',
        '\u{e9}',
        '\u{fc}',
        '\u{7ff}',
        '\u{20ac}',
        '\u{10000}',
        '\u{10001}',
    ];
    let mut state = 1_u64;
    let mut roll = |sides: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % sides
    };
    for _ in 0..300 {
        let mut some = || -> Vec<char> {
            let count = roll(9);
            (0..count).map(|_| ALPHABET[roll(10)]).collect()
        };
        let (text, from, to) = (some(), some(), some());
        let [text, listed, put] = [&text, &from, &to].map(|all| all.iter().collect::<String>());
        assert_translated(&text, &listed, &put, &translated(&text, &from, &to));
    }
}

#[test]
fn arguments_are_converted_as_usual() {
    let message = "<a held='yes' n=''><i>ab</i><i>ba</i><k>b</k></a>";
    for (expression, expected) in [
        ("translate(12.5, '.', ',')", "12,5"),
        ("translate(true(), 'tr', 'T')", "Tue"),
        ("translate(//i, //k, 'x')", "ax"),
        ("translate(//none, 'a', 'b')", ""),
        ("translate('a1', 1, 2)", "a2"),
        ("contains(true(), 'ru')", "true"),
        ("contains(//i, //k)", "true"),
        ("contains('', '')", "true"),
        ("contains('a', '')", "true"),
        ("contains('', 'a')", "false"),
        ("contains('aab', 'ab')", "true"),
        ("contains('ab', 'ba')", "false"),
        ("substring-before('1999/04/01', '/')", "1999"),
        ("substring-before('\u{e9}a\u{e9}', 'a')", "\u{e9}"),
        ("substring-before('abc', '')", ""),
        ("substring-before('abc', 'd')", ""),
        ("substring-before(12, 2)", "1"),
        ("substring-after('1999/04/01', '/')", "04/01"),
        ("substring-after('1999/04/01', '19')", "99/04/01"),
        ("substring-after('abc', '')", "abc"),
        ("substring-after('abc', 'd')", ""),
        ("substring-after('abc', 'c')", ""),
    ] {
        assert_text(expression, message, expected);
    }
    for expression in [
        "translate('a', 'b')",
        "translate('a', 'b', 'c', 'd')",
        "contains('a')",
        "substring-before('a')",
        "substring-after('a', 'b', 'c')",
        "id()",
        "key('k')",
    ] {
        assert!(evaluated(expression, message).is_err(), "{expression}");
    }
    let document = Document::parse(message.as_bytes(), &UNTIMED).unwrap();
    let key = XPath::compile("key('k', '1')", &[]).unwrap();
    let why = key.first_text(&document, &UNTIMED).unwrap_err().to_string();
    assert!(why.contains("nregistered function"), "{why}");
}

#[test]
fn nodes_are_found_once_by_ids_and_by_keys() {
    let message = "<a held='yes'><i k='1' xml:id='p'>A</i><i k='2' xml:id='q'>B</i><i k='1' xml:id='r'>C</i>\
                   <j r=' q p  q&#9;none'/><j r='p'/><v>2</v><v>1</v><v>1</v><v>3</v></a>";
    for (expression, expected) in [
        ("count(id('q p  q none'))", "2"),
        ("id('q p')", "A"),
        ("count(id(//j/@r))", "2"),
        ("id(//j[2]/@r)", "A"),
        ("count(id(''))", "0"),
        ("count(id(//none))", "0"),
        ("count(id('r')/preceding-sibling::i)", "2"),
    ] {
        assert_text(expression, message, expected);
    }
    for (expression, expected) in [
        ("count(key('k', '1'))", "2"),
        ("count(key('k', 1))", "2"),
        ("count(key('k', //v))", "3"),
        ("key('k', //v)", "A"),
        ("count(key('k', //none))", "0"),
        ("count(key('none', //v))", "0"),
        ("count(key('k', //v)[. = 'C'])", "1"),
        ("key(concat('k', ''), //v[1])", "B"),
    ] {
        assert_eq!(
            evaluated(expression, message).as_deref(),
            Ok(expected),
            "{expression}"
        );
    }
}

/// The functions of libxml2 and libxslt take quadratic time.
#[test]
fn long_texts_and_many_nodes_take_time_in_proportion() {
    if cfg!(feature = "plain-memory") {
        // Times under Valgrind are meaningless.
        return;
    }
    let all: String = (0..50_000_u32)
        .filter_map(|n| char::from_u32(0x800 + n))
        .collect();
    let often = all.repeat(5);
    let (text, sought) = ("a".repeat(700_000), "a".repeat(300_000) + "b");
    let many = format!("<a>{}</a>", "<i k='1'/>".repeat(4_000));
    for (expression, message, expected) in [
        (
            "string-length(translate(//t, //f, //o))",
            texts(&[("t", often.as_str()), ("f", all.as_str()), ("o", "x")]),
            "5",
        ),
        (
            "contains(//t, //f)",
            texts(&[("t", text.as_str()), ("f", sought.as_str())]),
            "false",
        ),
        ("count(key('k', //i/@k))", many, "4000"),
    ] {
        let mut made = Err(String::new());
        let time = cpu_of(|| made = evaluated(expression, &message));
        assert_eq!(made.as_deref(), Ok(expected), "{expression}");
        assert!(time < Duration::from_secs(2), "{expression}: {time:?}");
    }
}
