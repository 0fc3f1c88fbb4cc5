//! Tests that every example on the reference gateway's documentation page works as described, and
//! that the settings, keywords and default timeouts on the page are those of the gateway.

use std::collections::BTreeSet;
use std::process::Command;

use crate::common::{backends, upstream, while_serving};
use gatebench_gateway::{Document, GatewayConfig};
use gatebench_upstream::Kind;
use serde_json::Value;

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/REFERENCE-GATEWAY.md"
);

/// A configuration from the page, with the commands that follow it.
struct Example {
    line: usize,
    configuration: String,
    /// The commands, each with its expected output.
    commands: Vec<(String, String)>,
}

/// Returns the page's YAML blocks, each with the commands of the console block that follows it.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut kind = None;
    for (line, text) in (1..).zip(page.lines()) {
        match (kind, text) {
            (None, "```yaml") => examples.push(Example {
                line,
                configuration: String::new(),
                commands: Vec::new(),
            }),
            (Some("yaml"), text) if text != "```" => {
                let configuration = &mut examples.last_mut().unwrap().configuration;
                *configuration += &format!("{text}\n");
            }
            (Some("console"), text) if text != "```" => {
                let commands = &mut examples.last_mut().unwrap().commands;
                match text.strip_prefix("$ ") {
                    Some(command) => commands.push((command.into(), String::new())),
                    None => commands.last_mut().unwrap().1 += &format!("{text}\n"),
                }
            }
            _ => {}
        }
        kind = match text.strip_prefix("```") {
            Some("") => None,
            Some(word) => Some(word),
            None => kind,
        };
    }
    examples
}

/// Completes an example's configuration with the parts that the page states only once, and replaces
/// the ports.
fn whole(example: &Example, origin: u16) -> String {
    let mut text = example.configuration.clone();
    if !text.contains("listen:") {
        text += "listen: [\"127.0.0.1:8080\"]\n";
    }
    if !text.contains("upstreams:") {
        let target = "[{address: 127.0.0.1, port: 9000}]";
        text += &format!("upstreams:\n  - {{name: origin, keepalive: 64, targets: {target}}}\n");
    }
    text.replace("127.0.0.1:8080", "127.0.0.1:0")
        .replace("9000", &origin.to_string())
}

fn printed(command: &str) -> String {
    let output = Command::new("sh").args(["-c", command]).output().unwrap();
    assert!(output.stderr.is_empty(), "{command}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap().replace('\r', "");
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    text + end
}

#[test]
fn every_example_works_as_the_page_states() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let examples = examples(&page);
    assert!(examples.len() > 10 && examples.iter().all(|one| !one.commands.is_empty()));
    let backend = backends()[0];
    let origin = upstream(Kind::Httpbin, backend);
    for example in examples {
        let text = whole(&example, origin.address.port());
        // `Document::check` checks the file as `gatebench gateway --check` does.
        let document = Document::check("page.yaml", &text)
            .unwrap_or_else(|wrong| panic!("line {}: {:?}", example.line, wrong.all()));
        while_serving(backend, &document.config, |_, address| {
            for (command, expected) in &example.commands {
                let command = command.replace("127.0.0.1:8080", &address.to_string());
                assert_eq!(
                    &printed(&command),
                    expected,
                    "line {}: {command}",
                    example.line
                );
            }
        });
    }
}

/// Returns the settings that the page names in backticks and their defaults, which follow in
/// parentheses.
fn documented_defaults(page: &str) -> Vec<(&str, u64)> {
    let parts: Vec<&str> = page.split('`').collect();
    let pairs = parts.windows(2).filter_map(|two| {
        let number = two[1].trim_start().strip_prefix('(')?;
        let digits = number.find(|c: char| !c.is_ascii_digit())?;
        Some((two[0], number[..digits].parse().ok()?))
    });
    pairs.collect()
}

#[test]
fn defaults_match_the_page() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let schema = GatewayConfig::json_schema();
    let timeouts = schema["$defs"]["Timeouts"]["properties"]
        .as_object()
        .unwrap();
    let documented = documented_defaults(&page);
    for (name, setting) in timeouts {
        let expected = setting["default"].as_u64().unwrap();
        assert!(
            documented.contains(&(name.as_str(), expected)),
            "{name} ({expected}) in {documented:?}"
        );
    }
}

/// Every setting and keyword that the page names in backticks exists.
#[test]
fn setting_names_match_the_page() {
    fn names(schema: &Value, found: &mut BTreeSet<String>) {
        match schema {
            Value::Object(map) => {
                if let Some(Value::Object(properties)) = map.get("properties") {
                    found.extend(properties.keys().cloned());
                }
                found.extend(map.get("const").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|value| names(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }
    let mut known = BTreeSet::new();
    names(&GatewayConfig::json_schema(), &mut known);
    // Claims of tokens and formats of OpenAPI, which are not settings of the gateway.
    let others = ["exp", "nbf", "iss", "aud", "sub", "int32", "int64", "byte"];
    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut is_block = false;
    for (number, line) in (1..).zip(page.lines()) {
        is_block ^= line.starts_with("```");
        let words = line
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|_| !is_block && !line.starts_with("```"));
        let is_word = |word: &&str| {
            word.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        for word in words.filter(is_word) {
            assert!(
                known.contains(word) || others.contains(&word),
                "line {number}: the setting or keyword `{word}` does not exist"
            );
        }
    }
}
