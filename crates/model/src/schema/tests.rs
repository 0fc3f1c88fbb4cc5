use serde_json::Value;

use super::{FileKind, schema};

/// The keywords that `gatebench-config` uses to check the structure of a file.
const UNDERSTOOD: [&str; 15] = [
    "$ref",
    "anyOf",
    "oneOf",
    "enum",
    "const",
    "type",
    "properties",
    "aliases",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "pattern",
    "minimum",
    "maximum",
];
/// The keywords that do not affect the structure: names, descriptions, formats and messages.
const DESCRIPTIVE: [&str; 7] = [
    "$schema",
    "$defs",
    "title",
    "description",
    "default",
    "format",
    "patternErrorMessage",
];
/// The keyword next to `oneOf` that forbids keys other than those of the mapping and of the chosen
/// branch.
const IMPLIED: [&str; 1] = ["unevaluatedProperties"];

fn check_keywords(schema: &Value) {
    let Some(object) = schema.as_object() else {
        return;
    };
    for (keyword, value) in object {
        let word = keyword.as_str();
        assert!(
            UNDERSTOOD.contains(&word) || DESCRIPTIVE.contains(&word) || IMPLIED.contains(&word),
            "gatebench-config does not know the keyword `{word}`"
        );
        match (word, value) {
            ("properties" | "$defs", Value::Object(children)) => {
                children.values().for_each(check_keywords)
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => branches.iter().for_each(check_keywords),
            ("items" | "additionalProperties", _) => check_keywords(value),
            ("pattern", _) => drop(regex_lite::Regex::new(value.as_str().unwrap()).unwrap()),
            _ => {}
        }
    }
    if let Some(Value::Array(branches)) = object.get("oneOf") {
        let words = branches.iter().all(|branch| branch.get("const").is_some());
        let tagged = branches.iter().all(|branch| {
            branch["properties"]
                .as_object()
                .is_some_and(|p| p.len() == 1)
        });
        assert!(
            words || tagged,
            "`oneOf` may contain only words or tagged settings"
        );
    }
}

fn types_of<'s>(schema: &'s Value, root: &'s Value) -> Vec<&'s str> {
    if let Some(pointer) = schema["$ref"].as_str() {
        return types_of(root.pointer(&pointer[1..]).unwrap(), root);
    }
    match (&schema["anyOf"], &schema["oneOf"], &schema["type"]) {
        (Value::Array(forms), ..) => forms.iter().flat_map(|form| types_of(form, root)).collect(),
        (_, Value::Array(branches), _) => types_of(&branches[0], root),
        (_, _, Value::Array(names)) => names.iter().map(|name| name.as_str().unwrap()).collect(),
        (_, _, name) => vec![name.as_str().unwrap()],
    }
}

/// Checks that the forms of `anyOf` have different types.
fn check_forms(schema: &Value, root: &Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("anyOf") {
                let mut types = types_of(schema, root);
                let count = types.len();
                types.sort_unstable();
                types.dedup();
                assert_eq!(types.len(), count, "{schema}");
            }
            object.values().for_each(|value| check_forms(value, root));
        }
        Value::Array(items) => items.iter().for_each(|value| check_forms(value, root)),
        _ => {}
    }
}

#[test]
fn the_config_crate_knows_every_keyword_of_the_file_schemas() {
    for kind in [
        FileKind::Scenario,
        FileKind::Load,
        FileKind::Suite,
        FileKind::Specification,
        FileKind::Published,
        FileKind::Gateway,
    ] {
        check_keywords(&schema(kind));
        check_forms(&schema(kind), &schema(kind));
    }
}

#[test]
fn every_schema_is_valid_and_has_a_name() {
    for kind in FileKind::ALL {
        let schema = schema(kind);
        assert!(jsonschema::meta::is_valid(&schema), "{kind}");
        jsonschema::validator_for(&schema).unwrap();
    }
}
