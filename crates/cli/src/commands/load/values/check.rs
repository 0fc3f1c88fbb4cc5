//! `--check`: requirements on each response.

use gatebench_model::Check;
use gatebench_model::request::{HeaderCheck, JsonCheck};
use http::HeaderName;

const FORMS: &str =
    "write status=200, header:NAME=VALUE, body=TEXT, contains=TEXT, bytes=N or json:/pointer=VALUE";

pub(crate) fn parse(text: &str) -> Result<Check, String> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}' is not a check: {FORMS}"))?;
    match key.split_once(':') {
        None if key == "status" => status(value),
        None if key == "body" => Ok(Check::BodyEquals(value.into())),
        None if key == "contains" && !value.is_empty() => Ok(Check::BodyContains(value.into())),
        None if key == "contains" => {
            Err("every body contains the empty string: write contains=TEXT".into())
        }
        None if key == "bytes" => bytes(value),
        Some(("header", name)) => header(name.trim(), value),
        Some(("json", path)) => json(path, value),
        _ => Err(format!("'{key}' cannot be checked: {FORMS}")),
    }
}

fn status(value: &str) -> Result<Check, String> {
    match value.trim().parse() {
        Ok(status) if (100..=599).contains(&status) => Ok(Check::Status(status)),
        _ => Err(format!(
            "'{value}' is not a status: write a number from 100 to 599, for example status=200"
        )),
    }
}

fn bytes(value: &str) -> Result<Check, String> {
    let bytes = value.trim().parse().map_err(|_| {
        format!(
            "'{value}' is not a length: write the size of the whole body, for example bytes=1048576"
        )
    })?;
    Ok(Check::BodyBytes(bytes))
}

fn header(name: &str, value: &str) -> Result<Check, String> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        format!(
            "'{name}' is not a header: write header:NAME=VALUE, for example \
             header:Content-Type=text/plain"
        )
    })?;
    Ok(Check::Header(HeaderCheck {
        name: name.into(),
        equals: value.trim().into(),
    }))
}

/// Parses the value as JSON or, failing that, as a string, so that `json:/name=Ada` needs no
/// quotes.
fn json(path: &str, value: &str) -> Result<Check, String> {
    if !path.is_empty() && !path.starts_with('/') {
        return Err(format!(
            "'{path}' is not a JSON Pointer: begin it with /, for example json:/items/0/name=Ada"
        ));
    }
    let equals = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok(Check::Json(JsonCheck {
        path: path.into(),
        equals,
    }))
}

/// Reports whether more than one check requires a status.
pub fn contradicts(checks: &[Check]) -> bool {
    let statuses = checks
        .iter()
        .filter(|check| matches!(check, Check::Status(_)));
    statuses.count() > 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_is_parsed() {
        assert_eq!(parse("status=204"), Ok(Check::Status(204)));
        assert_eq!(parse("body=a=b"), Ok(Check::BodyEquals("a=b".into())));
        assert_eq!(parse("bytes=12"), Ok(Check::BodyBytes(12)));
        assert_eq!(parse("body="), Ok(Check::BodyEquals(String::new())));
        assert_eq!(parse("contains=ok"), Ok(Check::BodyContains("ok".into())));
        let header = HeaderCheck {
            name: "X-A".into(),
            equals: "1=2".into(),
        };
        assert_eq!(parse("header:X-A=1=2"), Ok(Check::Header(header)));
        for (value, equals) in [
            ("7", json!(7)),
            ("Ada", json!("Ada")),
            ("\"7\"", json!("7")),
            ("true", json!(true)),
        ] {
            let path = "/a/0".into();
            assert_eq!(
                parse(&format!("json:/a/0={value}")),
                Ok(Check::Json(JsonCheck { path, equals }))
            );
        }
    }

    #[test]
    fn invalid_checks_are_explained() {
        for (text, said) in [
            ("200", "status=200"),
            ("status=2xx", "100 to 599"),
            ("status=99", "100 to 599"),
            ("stat=200", "'stat'"),
            ("header:A B=1", "'A B'"),
            ("json:a=1", "JSON Pointer"),
            ("contains=", "contains=TEXT"),
            ("bytes=1MiB", "bytes=1048576"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn one_response_has_one_status() {
        assert!(contradicts(&[Check::Status(200), Check::Status(201)]));
        assert!(!contradicts(&[
            Check::Status(200),
            Check::BodyContains("x".into())
        ]));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,30}") {
            let _ = parse(&text);
        }
    }
}
