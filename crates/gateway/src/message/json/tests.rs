use gatebench_model::policy::JsonEdits;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn plan(edits: Value) -> Plan {
    Plan::new(&serde_json::from_value(edits).unwrap()).unwrap()
}

fn edited(edits: Value, text: &str) -> Result<String, NotJson> {
    let mut out = Vec::new();
    edit(&plan(edits), text.as_bytes(), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn good(edits: Value, text: &str) -> String {
    edited(edits, text).unwrap()
}

#[test]
fn each_edit_applies() {
    let text = r#"{"a": 1, "b": {"c": [1, 2]}, "d": null}"#;
    for (edits, expected) in [
        (
            json!({"remove": ["/a"]}),
            r#"{ "b": {"c": [1, 2]}, "d": null}"#,
        ),
        (json!({"remove": ["/d", "/b"]}), r#"{"a": 1}"#),
        (
            json!({"rename": {"/a": "z"}}),
            r#"{"z": 1, "b": {"c": [1, 2]}, "d": null}"#,
        ),
        (
            json!({"add": {"/a": 7, "/e": "x"}}),
            r#"{"a": 7, "b": {"c": [1, 2]}, "d": null,"e":"x"}"#,
        ),
        (
            json!({"default": {"/d": 7, "/e": true}}),
            r#"{"a": 1, "b": {"c": [1, 2]}, "d": null,"e":true}"#,
        ),
        (
            json!({"remove": ["/b/c/0"]}),
            r#"{"a": 1, "b": {"c": [ 2]}, "d": null}"#,
        ),
        (
            json!({"add": {"/b/x": []}}),
            r#"{"a": 1, "b": {"c": [1, 2],"x":[]}, "d": null}"#,
        ),
    ] {
        assert_eq!(good(edits, text), expected);
    }
    let edits = json!({"default": {"/Hello": "World"}});
    assert_eq!(good(edits, "{}"), r#"{"Hello":"World"}"#);
}

#[test]
fn edits_of_absent_members_change_nothing() {
    let text = r#"{"a": 1, "b": [1]}"#;
    for edits in [
        json!({"remove": ["/x", "/a/x", "/b/1", "/b/00", "/b/-"]}),
        json!({"rename": {"/x": "y", "/b/0": "y"}}),
        json!({"add": {"/x/y": 1, "/a/b": 1, "/b/2": 1, "/b/01": 1}}),
        json!({"default": {"/a": 2, "/b/0": 2}}),
        json!({}),
    ] {
        assert_eq!(good(edits, text), text);
    }
    assert_eq!(good(json!({"add": {"/a": 1}}), " 5 "), "5");
}

#[test]
fn items_are_inserted_before_and_after() {
    let text = "[1,2]";
    assert_eq!(good(json!({"add": {"/0": 0}}), text), "[0,1,2]");
    assert_eq!(good(json!({"add": {"/1": 0, "/-": 9}}), text), "[1,0,2,9]");
    assert_eq!(good(json!({"add": {"/2": 3, "/-": 9}}), text), "[1,2,3,9]");
    assert_eq!(good(json!({"remove": ["/0", "/1"]}), text), "[]");
    assert_eq!(good(json!({"add": {"/0": 1}}), "[]"), "[1]");
}

#[test]
fn a_renamed_member_replaces_another() {
    let rename = json!({"rename": {"/a": "b"}});
    let swap = json!({"rename": {"/a": "b", "/b": "a"}});
    let with_default = json!({"rename": {"/a": "b"}, "default": {"/b": 9}});
    let to_itself = json!({"rename": {"/a": "a"}});
    for (edits, text, expected) in [
        (&rename, r#"{"a":1,"b":2}"#, r#"{"b":1}"#),
        (&rename, r#"{"b":2,"a":1}"#, r#"{"b":1}"#),
        (&rename, r#"{"b":2}"#, r#"{"b":2}"#),
        (&swap, r#"{"a":1,"b":2}"#, r#"{"b":1,"a":2}"#),
        (&with_default, r#"{"a":1}"#, r#"{"b":1}"#),
        (&to_itself, r#"{"a":1}"#, r#"{"a":1}"#),
    ] {
        assert_eq!(good(edits.clone(), text), expected);
    }
}

#[test]
fn escaped_names_match_by_meaning() {
    for (edits, text, expected) in [
        (
            json!({"remove": ["/a\"b"]}),
            r#"{"a\"b":1,"c":2}"#,
            r#"{"c":2}"#,
        ),
        (
            json!({"remove": ["/ä"]}),
            r#"{"\u00e4":1,"c":2}"#,
            r#"{"c":2}"#,
        ),
        (
            json!({"remove": ["/a~1b", "/~0"]}),
            r#"{"a/b":1,"~":2}"#,
            "{}",
        ),
        (json!({"rename": {"/a": "\n"}}), r#"{"a":1}"#, r#"{"\n":1}"#),
        (
            json!({"remove": ["/x"]}),
            r#"{"\ud800":1}"#,
            r#"{"\ud800":1}"#,
        ),
    ] {
        assert_eq!(good(edits, text), expected);
    }
}

#[test]
fn numbers_and_duplicates_are_unchanged() {
    let text = r#"{"n": 1.000000000000000000000000001e400, "a": 1, "a": 2}"#;
    assert_eq!(good(json!({"remove": ["/x"]}), text), text);
}

#[test]
fn an_edited_member_occurs_once() {
    let twice = r#"{"a": 1, "b": 2, "\u0061": 3}"#;
    for edits in [
        json!({"remove": ["/a"]}),
        json!({"rename": {"/a": "c"}}),
        json!({"add": {"/a": 1}}),
        json!({"default": {"/a": 1}}),
        json!({"remove": ["/a/b"]}),
    ] {
        assert_eq!(edited(edits, twice), Err(NotJson));
    }
    let inside = r#"{"a": {"b": 1, "b": 2}}"#;
    assert!(edited(json!({"remove": ["/a/b"]}), inside).is_err());
    assert_eq!(good(json!({"remove": ["/b"]}), inside), inside);
}

#[test]
fn invalid_json_is_an_error() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "]",
        "{]",
        "[1,]",
        "{,}",
        "[,1]",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{a:1}"#,
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "tru",
        "nul",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "1 2",
        "{} {}",
        r#"{"a":1 "b":2}"#,
        "[1 2]",
        r#"{"time": "now""#,
    ] {
        assert!(edited(json!({"remove": ["/a"]}), text).is_err(), "{text}");
    }
    let mut out = Vec::new();
    assert!(edit(&Plan::default(), b"\"\xff\"", &mut out).is_err());
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(edited(json!({}), &deep(128)).is_ok());
    assert!(edited(json!({}), &deep(129)).is_err());
    assert!(edited(json!({}), &"[".repeat(1_000_000)).is_err());
}

#[test]
fn contradictory_edits_are_refused() {
    for edits in [
        json!({"remove": [""]}),
        json!({"remove": ["a"]}),
        json!({"remove": ["/a"], "add": {"/a": 1}}),
        json!({"remove": ["/a"], "add": {"/a/b": 1}}),
        json!({"add": {"/a/b": 1}, "default": {"/a": 1}}),
        json!({"rename": {"/a": "x", "/b": "x"}}),
    ] {
        let edits: JsonEdits = serde_json::from_value(edits).unwrap();
        assert!(Plan::new(&edits).is_err(), "{edits:?}");
    }
}

/// Applies the edits to a parsed document, to compute the expected result.
fn slowly(plan: &Plan, value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(object_slowly(plan, members)),
        Value::Array(items) => {
            let at = |number| {
                plan.places
                    .iter()
                    .filter(move |place| place.index == Some(Index::At(number)))
            };
            let mut out = Vec::new();
            for (number, item) in items.iter().enumerate() {
                match at(number).map(|place| &place.edit).next() {
                    Some(Edit::Remove) => {}
                    Some(Edit::Add(json)) => {
                        out.extend([serde_json::from_slice(json).unwrap(), item.clone()])
                    }
                    Some(Edit::Inside(inner)) => out.push(slowly(inner, item)),
                    _ => out.push(item.clone()),
                }
            }
            let end = plan
                .places
                .iter()
                .filter(|place| place.index == Some(Index::End));
            for place in at(items.len()).chain(end) {
                if let Edit::Add(json) | Edit::Default(json) = &place.edit {
                    out.push(serde_json::from_slice(json).unwrap());
                }
            }
            Value::Array(out)
        }
        other => other.clone(),
    }
}

fn object_slowly(plan: &Plan, members: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    let renames: Vec<(&str, &str)> = plan
        .places
        .iter()
        .filter_map(|place| match &place.edit {
            Edit::Rename { to, .. } if members.contains_key(&place.name) && *to != place.name => {
                Some((place.name.as_str(), to.as_str()))
            }
            _ => None,
        })
        .collect();
    let is_target = |name: &str| renames.iter().any(|(_, to)| *to == name);
    for (name, value) in members {
        let place = plan.places.iter().find(|place| place.name == *name);
        match place.map(|place| &place.edit) {
            Some(Edit::Rename { to, .. }) => drop(out.insert(to.clone(), value.clone())),
            _ if is_target(name) => {}
            Some(Edit::Remove) => {}
            Some(Edit::Add(json)) => {
                drop(out.insert(name.clone(), serde_json::from_slice(json).unwrap()))
            }
            Some(Edit::Inside(inner)) => drop(out.insert(name.clone(), slowly(inner, value))),
            Some(Edit::Default(_)) | None => drop(out.insert(name.clone(), value.clone())),
        }
    }
    for place in &plan.places {
        if let Edit::Add(json) | Edit::Default(json) = &place.edit
            && !members.contains_key(&place.name)
            && !is_target(&place.name)
        {
            out.insert(place.name.clone(), serde_json::from_slice(json).unwrap());
        }
    }
    out
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a\"\\\\ä\n]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[abc\"0]", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn edits() -> impl Strategy<Value = JsonEdits> {
    let pointer = || "(/[abc\"01-]){1,3}";
    let values = || proptest::collection::btree_map(pointer(), document(), 0..3);
    (
        proptest::collection::vec(pointer(), 0..3),
        proptest::collection::btree_map(pointer(), "[abc\"]", 0..3),
        values(),
        values(),
    )
        .prop_map(|(remove, rename, add, default)| JsonEdits {
            remove,
            rename,
            add,
            default,
        })
}

proptest! {
    #[test]
    fn text_edits_equal_tree_edits(document in document(), edits in edits(), is_pretty: bool) {
        if let Ok(plan) = Plan::new(&edits) {
            let text = if is_pretty { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
            let mut out = Vec::new();
            edit(&plan, text.as_bytes(), &mut out).unwrap();
            let found: Value = serde_json::from_slice(&out).unwrap();
            prop_assert_eq!(found, slowly(&plan, &document));
        }
    }

    #[test]
    fn it_accepts_the_json_that_serde_accepts(text in "[\\[\\]{}:,\"0-9eE+. truefalsn\\\\u-]{0,12}") {
        let plan = plan(json!({"remove": ["/a"], "rename": {"/b": "c"}}));
        let taken = edit(&plan, text.as_bytes(), &mut Vec::new()).is_ok();
        // Unlike `Value`, `IgnoredAny` accepts numbers outside the range of f64 and unpaired
        // surrogates, as the editor does.
        let expected = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(taken, expected, "{}", text);
    }

    #[test]
    fn no_input_panics(text in proptest::collection::vec(any::<u8>(), 0..60), edits in edits()) {
        if let Ok(plan) = Plan::new(&edits) {
            let _ = edit(&plan, &text, &mut Vec::new());
        }
    }
}
