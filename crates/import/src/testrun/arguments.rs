//! The k6 arguments in a TestRun. Arguments that define a load override options of the script.

use crate::k6::{Overrides, duration};
use crate::keys::Keys;
use crate::log::Log;

/// Options that take a value and do not affect the load.
const IDLE_WITH_VALUE: [&str; 10] = [
    "--out",
    "-o",
    "--tag",
    "--summary-trend-stats",
    "--summary-export",
    "--log-output",
    "--log-format",
    "--address",
    "--console-output",
    "--max-redirects",
];

/// Options without a value that do not affect the load.
const IDLE: [&str; 7] = [
    "--quiet",
    "-q",
    "--verbose",
    "-v",
    "--no-color",
    "--no-usage-report",
    "--paused",
];

/// Parses `args` or, if it is empty, `arguments`, as the operator does.
pub(super) fn read(spec: &mut Keys<'_>, log: &mut Log<'_>) -> Overrides {
    let span = spec.span.clone();
    let args = spec.texts("args", log);
    let line = spec.text("arguments", log).unwrap_or_default();
    let words = match args.is_empty() {
        true => line.split_whitespace().map(str::to_owned).collect(),
        false => args,
    };
    let mut overrides = Overrides::default();
    // An option and its value may be one word (`--vus=5`) or two.
    let mut words = words.iter().flat_map(|it| match it.split_once('=') {
        Some((option, value)) if option.starts_with('-') => vec![option, value],
        _ => vec![it.as_str()],
    });
    while let Some(word) = words.next() {
        match word {
            "--vus" | "-u" => overrides.users = words.next().and_then(|it| it.parse().ok()),
            "--duration" | "-d" => overrides.length = words.next().and_then(duration),
            word if IDLE_WITH_VALUE.contains(&word) => {
                words.next();
            }
            word if IDLE.contains(&word) => {}
            word if word.starts_with('-') => {
                let what = format!("the argument {word}: gatebench does not use it");
                log.simplified(&span, what);
            }
            _ => {}
        }
    }
    overrides
}
