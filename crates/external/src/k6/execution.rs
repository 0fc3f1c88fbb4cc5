//! What a user's script says of its own load, as `k6 inspect` tells it.

use std::time::Duration;

use serde_json::Value;

/// The load of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Users at the most.
    pub users_max: u32,
    /// How long it takes at the most, the wait at its end included.
    pub takes: Duration,
}

/// What k6 tells of a script cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the output of k6 inspect: {0}")]
pub struct ScriptError(String);

/// The keys of a script's options that say something of its load.
const LOAD_KEYS: [&str; 5] = ["vus", "duration", "iterations", "stages", "scenarios"];

/// Whether a script says anything of its load: what `k6 inspect` prints.
///
/// # Errors
/// It is not JSON.
pub fn has_own_load(text: &str) -> Result<bool, ScriptError> {
    let told = options(text)?;
    Ok(LOAD_KEYS.iter().any(|key| !told[*key].is_null()))
}

/// The load of a script, which k6 fills in where it says nothing: what
/// `k6 inspect --execution-requirements` prints.
///
/// # Errors
/// It is not JSON, or says not how long the script takes.
pub fn read_execution(text: &str) -> Result<Execution, ScriptError> {
    let told = options(text)?;
    let takes = told["totalDuration"].as_str().and_then(go_duration);
    let users = told["maxVUs"]
        .as_u64()
        .and_then(|users| u32::try_from(users).ok());
    match (takes, users) {
        (Some(takes), Some(users)) => Ok(Execution {
            users_max: users.max(1),
            takes,
        }),
        _ => Err(ScriptError("totalDuration or maxVUs is missing".into())),
    }
}

/// The options; warnings of k6 may stand around them.
fn options(text: &str) -> Result<Value, ScriptError> {
    let json = text.find('{').zip(text.rfind('}'));
    let json = json
        .and_then(|(from, to)| text.get(from..=to))
        .unwrap_or_default();
    serde_json::from_str(json).map_err(|error| ScriptError(error.to_string()))
}

/// A duration as Go writes it: `1h0m0.5s`, `300ms`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let seconds = match &rest[..letters] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "µs" | "us" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = &rest[letters..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        assert_eq!(go_duration("3s"), Some(Duration::from_secs(3)));
        assert_eq!(
            go_duration("1h0m0.5s"),
            Some(Duration::from_millis(3_600_500))
        );
        assert_eq!(go_duration("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(go_duration("300ms"), Some(Duration::from_millis(300)));
        for wrong in ["", "s", "3", "3x", "1.2.3s"] {
            assert_eq!(go_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_script_with_and_without_a_load_of_its_own() {
        let none = r#"{"vus": null, "scenarios": null, "maxRedirects": 3}"#;
        assert_eq!(has_own_load(none), Ok(false));
        let own = r#"level=warning msg=x {"scenarios": {"a": {}}, "vus": null}"#;
        assert_eq!(has_own_load(own), Ok(true));
        let filled = r#"{"scenarios": {"a": {}}, "totalDuration": "10m30s", "maxVUs": 3}"#;
        let execution = Execution {
            users_max: 3,
            takes: Duration::from_secs(630),
        };
        assert_eq!(read_execution(filled), Ok(execution));
        assert!(read_execution("{}").is_err());
        for wrong in ["", "no", "}{", "{"] {
            assert!(has_own_load(wrong).is_err(), "{wrong}");
        }
    }
}
