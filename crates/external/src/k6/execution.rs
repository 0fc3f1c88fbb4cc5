//! The load that a user's script defines, as `k6 inspect` prints it.

use std::time::Duration;

use serde_json::Value;

/// The maximum size and duration of a script's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The maximum number of users, at least 1.
    pub users_max: u32,
    /// The maximum duration, including the wait for the last responses.
    pub takes: Duration,
}

/// The output of `k6 inspect` has an unknown form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the output of k6 inspect: {0}")]
pub struct ScriptError(String);

const LOAD_KEYS: [&str; 5] = ["vus", "duration", "iterations", "stages", "scenarios"];

/// Reports whether a script defines a load, according to the output of `k6 inspect`.
///
/// # Errors
/// Fails if the output contains no valid JSON.
pub fn has_own_load(text: &str) -> Result<bool, ScriptError> {
    let parsed = options(text)?;
    Ok(LOAD_KEYS.iter().any(|key| !parsed[*key].is_null()))
}

/// Parses the load of a script, including k6's defaults, from the output of `k6 inspect
/// --execution-requirements`.
///
/// # Errors
/// Fails if the output contains no valid JSON, or if `totalDuration` or `maxVUs` is missing or
/// invalid.
pub fn read_execution(text: &str) -> Result<Execution, ScriptError> {
    let parsed = options(text)?;
    let execution = || {
        let users = u32::try_from(parsed["maxVUs"].as_u64()?).ok()?;
        Some(Execution {
            users_max: users.max(1),
            takes: go_duration(parsed["totalDuration"].as_str()?)?,
        })
    };
    execution().ok_or_else(|| ScriptError("totalDuration or maxVUs is missing or invalid".into()))
}

/// Parses the options, which k6 may print between warnings.
fn options(text: &str) -> Result<Value, ScriptError> {
    let range = text.find('{').zip(text.rfind('}'));
    let json = range.and_then(|(from, to)| text.get(from..=to));
    serde_json::from_str(json.unwrap_or_default()).map_err(|error| ScriptError(error.to_string()))
}

/// Parses a duration in Go's format, such as `1h0m0.5s` or `300ms`.
fn go_duration(text: &str) -> Option<Duration> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let mut total = Duration::ZERO;
    let mut rest = text;
    loop {
        let (number, after) = rest.split_at(rest.find(|c| !is_digit(c))?);
        let (unit, after) = after.split_at(after.find(is_digit).unwrap_or(after.len()));
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "µs" | "us" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        if after.is_empty() {
            return Some(total);
        }
        rest = after;
    }
}
