//! `--data-file` and `--path-file`: the data and the paths of requests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gatebench_model::data::{List, Pick};
use gatebench_model::{Source, rows};

use super::template;
use crate::commands::values::Named;
use crate::failure::Failure;

/// The maximum number of paths in a path file. The number is limited because each path has separate
/// figures.
const PATHS_MAX: usize = 10_000;

pub const PICKS: [Named<Pick>; 4] = [
    (
        "in-turn",
        "In order, starting again after the last row",
        Pick::InTurn,
    ),
    (
        "uniform",
        "Each row with the same probability",
        Pick::Uniform,
    ),
    (
        "normal",
        "Rows in the middle most often (normal distribution)",
        Pick::Normal,
    ),
    ("zipf", "The first rows most often (Zipf's law)", Pick::Zipf),
];

/// Reads data files. Each file becomes a source, which is named after the file without its
/// extension.
pub fn sources(files: &[PathBuf], pick: Pick) -> Result<BTreeMap<String, Source>, Failure> {
    let mut sources = BTreeMap::new();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if sources
            .insert(name.to_string(), source(path, pick)?)
            .is_some()
        {
            return Err(Failure::words(
                "--data-file",
                format!("two files have the name {name}"),
                "rename one of them: templates refer to the name",
            ));
        }
    }
    Ok(sources)
}

fn source(path: &Path, pick: Pick) -> Result<Source, Failure> {
    let extension = path
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    let parse = match extension {
        "csv" => rows::csv,
        "jsonl" | "ndjson" => rows::json_lines,
        _ => {
            return Err(Failure::words(
                "--data-file",
                format!("{} is not a .csv, .jsonl or .ndjson file", path.display()),
                "use comma-separated values (.csv) or one JSON object per line (.jsonl, .ndjson)",
            ));
        }
    };
    let list = parse(&read("--data-file", path)?).map_err(|error| {
        let place = format!("{}:{}", path.display(), error.line);
        Failure::words(place, error.message, "correct that line")
    })?;
    Ok(Source::List(List { pick, ..list }))
}

/// Reads paths with their weights, `/path` or `3 /path`, one per line. Empty lines and lines that
/// begin with # are skipped.
pub fn paths(path: &Path) -> Result<Vec<(f64, String)>, Failure> {
    let text = read("--path-file", path)?;
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let paths: Vec<(f64, String)> = lines
        .map(|(number, line)| {
            weighted(line).map_err(|what| {
                let place = format!("{}:{number}", path.display());
                Failure::words(
                    place,
                    what,
                    "write a path, for example /a?b=c, or a weight and a path, for example 3 /a",
                )
            })
        })
        .collect::<Result<_, _>>()?;
    if paths.is_empty() || paths.len() > PATHS_MAX {
        return Err(Failure::words(
            "--path-file",
            format!("{} contains {} paths", path.display(), paths.len()),
            format!(
                "use 1 to {PATHS_MAX} paths; for more, use --data-file and write {{{{NAME.COLUMN}}}} in the URL"
            ),
        ));
    }
    Ok(paths)
}

fn weighted(line: &str) -> Result<(f64, String), String> {
    let (weight, path) = match line.split_once(char::is_whitespace) {
        _ if line.starts_with('/') => (1.0, line),
        Some((weight, path)) => {
            let weight = weight.parse().ok();
            let weight = weight.filter(|weight| (0.001..=1e6).contains(weight));
            (
                weight.ok_or("the weight is not a number from 0.001 to 1000000")?,
                path.trim_start(),
            )
        }
        None => return Err("there is no path".into()),
    };
    let path = template::without_blanks(path).map_err(|error| error.message)?;
    let fits = path.starts_with('/') && path.chars().all(|c| c.is_ascii_graphic() && c != '#');
    fits.then(|| (weight, path.clone()))
        .ok_or_else(|| format!("'{path}' is not a path"))
}

fn read(flag: &str, path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        Failure::words(
            flag,
            format!("cannot read {}: {error}", path.display()),
            "give the path of a text file encoded in UTF-8",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_path_with_or_without_a_weight() {
        assert_eq!(weighted("/a?b=1"), Ok((1.0, "/a?b=1".into())));
        assert_eq!(weighted("2.5\t/a/{{id}}"), Ok((2.5, "/a/{{id}}".into())));
        assert_eq!(weighted("/a/{{ id }}"), Ok((1.0, "/a/{{id}}".into())));
        for wrong in ["a", "0 /a", "x /a", "3 a", "/a b", "/a#b", "3"] {
            assert!(weighted(wrong).is_err(), "{wrong}");
        }
    }
}
