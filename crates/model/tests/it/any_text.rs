//! Tests that no input makes the parser panic, and that the positions in its messages are within
//! the input.

use std::collections::HashMap;
use std::sync::LazyLock;

use gatebench_config::{Diagnostics, Document, parse};
use gatebench_model::{FileKind, GatewayFolder, LoadProfile, Published, Scenario, Suite, schema};
use proptest::prelude::*;
use serde::Serialize;

fn points_into(text: &str, mistakes: &Diagnostics) {
    assert!(!mistakes.all().is_empty());
    for mistake in mistakes.all() {
        let span = text
            .get(mistake.offset..mistake.offset + mistake.length)
            .expect("the span is inside the text");
        assert!(!span.contains('\n'), "the span is on one line");
        let line = text
            .split('\n')
            .nth(mistake.line - 1)
            .expect("the line is in the text");
        assert!(mistake.column <= line.chars().count() + 1);
        assert!(!mistake.message.is_empty() && !mistake.help.is_empty());
    }
    assert!(mistakes.render(false, 80).contains(&mistakes.to_string()));
}

static VALIDATORS: LazyLock<HashMap<&str, jsonschema::Validator>> = LazyLock::new(|| {
    let validator = |kind| jsonschema::validator_for(&schema(kind)).unwrap();
    FileKind::ALL
        .into_iter()
        .map(|kind| (kind.as_str(), validator(kind)))
        .collect()
});

/// Asserts that the mistakes of a refused input have positions in it, and that an accepted input
/// conforms to the published schema, according to an independent validator.
fn parses<T: Document + Serialize>(text: &str) {
    match parse::<T>("any.yaml", text) {
        Err(mistakes) => points_into(text, &mistakes),
        Ok(document) => {
            let json = serde_json::to_value(&document).unwrap();
            assert!(VALIDATORS[T::WORD].is_valid(&json), "{text}");
        }
    }
}

fn parses_as_everything(text: &str) {
    parses::<Scenario>(text);
    parses::<LoadProfile>(text);
    parses::<Suite>(text);
    parses::<Published>(text);
    parses::<GatewayFolder>(text);
}

const SEEDS: [&str; 10] = [
    include_str!("../../../../scenarios/policy/api-key.yaml"),
    include_str!("../../../../scenarios/scale/routes.yaml"),
    include_str!("../../../../scenarios/proxy/echo.yaml"),
    include_str!("../../../../scenarios/load/tour.yaml"),
    include_str!("../../../../scenarios/load/spike.yaml"),
    include_str!("../../../../scenarios/load/sweep.yaml"),
    include_str!("../../../../scenarios/fault/good-and-failing.yaml"),
    include_str!("../../../../scenarios/published/gravitee/table.yaml"),
    include_str!("../mistakes/scenario-data.yaml"),
    include_str!("../mistakes/gateway-folder.yaml"),
];

/// One of [`SEEDS`], with a part replaced by random text or by text that is hard to parse.
fn damaged() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z ]{0,8}",
        "[\\[\\]{}:,&*!|>'\"%@#\n\t -]{0,6}",
        "\\PC{0,4}",
        Just("*answer".to_owned()),
        Just("&a [*a]".to_owned()),
        Just(".inf".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("\r\n".to_owned()),
    ];
    (
        0..SEEDS.len(),
        any::<prop::sample::Index>(),
        0..30_usize,
        piece,
    )
        .prop_map(|(seed, at, length, piece)| {
            let characters: Vec<char> = SEEDS[seed].chars().collect();
            let start = at.index(characters.len());
            let end = (start + length).min(characters.len());
            let head: String = characters[..start].iter().collect();
            let tail: String = characters[end..].iter().collect();
            head + &piece + &tail
        })
}

proptest! {
    #[test]
    fn arbitrary_text(text in "(\\PC|[\n\t\r:{}\\[\\]&*-]){0,120}") {
        parses_as_everything(&text);
    }

    #[test]
    fn damaged_files(text in damaged()) {
        parses_as_everything(&text);
    }
}

#[test]
fn texts_that_expand_without_limit_are_refused() {
    let deep = "[".repeat(10_000);
    let mut laughs = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs += &format!("b{level}: &a{level} [{aliases}]\n");
    }
    let nested = "- ".repeat(10_000);
    for text in [
        deep.as_str(),
        laughs.as_str(),
        nested.as_str(),
        &"x".repeat(5 << 20),
    ] {
        let mistakes = parse::<Suite>("any.yaml", text).unwrap_err();
        points_into(text, &mistakes);
    }
}

#[test]
fn positions_count_characters_and_accept_windows_line_ends() {
    let text = "\u{feff}suite: s\r\ntitle: grün 🦀\r\ngateways: [a]\r\nscenarios: [a]\r\nload: l # ü\r\nblocks: 0\r\n";
    let mistakes = parse::<Suite>("any.yaml", text).unwrap_err();
    let [mistake] = mistakes.all() else {
        panic!("{mistakes:?}")
    };
    assert_eq!((mistake.line, mistake.column), (6, 9));
    assert_eq!(&text[mistake.offset..mistake.offset + mistake.length], "0");
}
