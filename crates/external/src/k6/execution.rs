//! The load that a user's script defines, as `k6 inspect` prints it.

use std::time::Duration;

use serde_json::Value;

/// The load of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The largest number of users.
    pub users_max: u32,
    /// The longest time that it takes, including the wait at its end.
    pub takes: Duration,
}

/// The output of `k6 inspect` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the output of k6 inspect: {0}")]
pub struct ScriptError(String);

/// The keys of a script's options that define its load.
const LOAD_KEYS: [&str; 5] = ["vus", "duration", "iterations", "stages", "scenarios"];

/// Reports whether a script defines a load, according to the output of `k6 inspect`.
///
/// # Errors
/// It is not JSON.
pub fn has_own_load(text: &str) -> Result<bool, ScriptError> {
    let parsed = options(text)?;
    Ok(LOAD_KEYS.iter().any(|key| !parsed[*key].is_null()))
}

/// Reads the load of a script, including k6's defaults, from the output of `k6 inspect
/// --execution-requirements`.
///
/// # Errors
/// It is not JSON, or contains no duration of the script.
pub fn read_execution(text: &str) -> Result<Execution, ScriptError> {
    let parsed = options(text)?;
    let takes = parsed["totalDuration"].as_str().and_then(go_duration);
    let users = parsed["maxVUs"]
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

/// Reads the options; warnings of k6 may surround them.
fn options(text: &str) -> Result<Value, ScriptError> {
    let json = text.find('{').zip(text.rfind('}'));
    let json = json
        .and_then(|(from, to)| text.get(from..=to))
        .unwrap_or_default();
    serde_json::from_str(json).map_err(|error| ScriptError(error.to_string()))
}

/// Parses a duration in Go's format: `1h0m0.5s`, `300ms`.
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
