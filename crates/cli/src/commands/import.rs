//! `gatebench import`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gatebench_import::{
    AccessLog, Effect, Folder, Hour, NewFile, Options, Progress, Replay, TextKind, import,
};
use gatebench_model::HumanDuration;

use crate::failure::Failure;
use crate::terminal;

const STDIN: &str = "-";

/// The maximum size of an input that is read into memory as a whole.
const TEXT_BYTES_MAX: u64 = 256 << 20;

const EXAMPLES: &str = "\
Examples:
  gatebench import kong kong.yml && gatebench run ./kong --smoke
  gatebench import kubernetes routes.yaml --dir my-routes
  gatebench import access-log /var/log/nginx/access.log*      rotated and compressed files together
  zcat access.log.gz | gatebench import access-log - --over 5m --times 2
  gatebench import access-log access.log --hour 2025-10-10T14 --over 60m

The resulting folder contains a suite, scenarios and, for traffic and k6 scripts, a load profile.
You can change all of them; docs/guide/IMPORT.md describes them. `gatebench run --config FILE`
measures a gateway's own file without importing it.";

/// Convert a configuration, an API, a k6 script or traffic to a suite
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Import {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Kong: a declarative configuration or a decK file, format 1, 2 or 3
    Kong(OfGateway),
    /// APISIX: the `apisix.yaml` of standalone mode
    Apisix(OfGateway),
    /// Kubernetes: Gateway and HTTPRoute resources of the Gateway API
    Kubernetes(OfGateway),
    /// OpenAPI: a document of version 3.0 or 3.1
    Openapi(OfFile),
    /// Access logs of nginx, Apache, HAProxy, Envoy or Kong, or JSON lines; plain or gzip
    AccessLog(OfTraffic),
    /// HAR: an HTTP archive saved by a browser
    Har(OfTraffic),
    /// k6: a script (only the parts that can be read without running it) or the output of `k6
    /// inspect`
    K6(OfFile),
}

#[derive(Debug, Args)]
struct OfFile {
    /// The file, or - for standard input
    file: PathBuf,
    #[command(flatten)]
    made: Made,
}

#[derive(Debug, Args)]
struct OfGateway {
    #[command(flatten)]
    of: OfFile,
    /// Write one scenario for each route instead of one for all routes
    #[arg(long)]
    each_route: bool,
}

#[derive(Debug, Args)]
struct OfTraffic {
    /// The files, or - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    made: Made,
    /// Multiply the rate by this factor
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    times: f64,
    /// Compress the log's rate curve into this duration [default: 1m, or the log's own duration if
    /// that is shorter]
    #[arg(long, value_name = "TIME")]
    over: Option<HumanDuration>,
    /// Replay only this hour of the log, for example 2025-01-31T14
    #[arg(long, value_name = "HOUR")]
    hour: Option<Hour>,
    /// Keep the values in query strings, which may be personal data
    #[arg(long)]
    query_values: bool,
}

/// The option for the resulting folder.
#[derive(Debug, Args)]
struct Made {
    /// Write to this folder, which must not exist [default: the name of the input without its
    /// extensions, or `imported` for standard input]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

fn factor(word: &str) -> Result<f64, String> {
    let factor = word.parse::<f64>().ok();
    let factor = factor.filter(|it| (0.001..=1_000.0).contains(it));
    factor.ok_or_else(|| "write a factor from 0.001 to 1000".into())
}

impl Import {
    pub fn run(self) -> Result<(), Failure> {
        let (kind, of, each_route) = match self.kind {
            Kind::Kong(it) => (TextKind::Kong, it.of, it.each_route),
            Kind::Apisix(it) => (TextKind::Apisix, it.of, it.each_route),
            Kind::Kubernetes(it) => (TextKind::Kubernetes, it.of, it.each_route),
            Kind::Openapi(of) => (TextKind::Openapi, of, false),
            Kind::K6(of) => (TextKind::K6, of, false),
            Kind::Har(of) => return of.import_har(),
            Kind::AccessLog(of) => return of.import_log(),
        };
        let (dir, mut options) = of.made.options(&of.file)?;
        options.each_route = each_route;
        let folder = import(kind, &text_of(&of.file)?, &options)?;
        finish(&folder, &dir)
    }
}

impl OfTraffic {
    fn options(&self) -> Result<(PathBuf, Options), Failure> {
        let (dir, mut options) = self.made.options(&self.files[0])?;
        options.replay = Replay {
            times: self.times,
            over: self.over,
            hour: self.hour,
            query_values: self.query_values,
        };
        Ok((dir, options))
    }

    fn import_har(&self) -> Result<(), Failure> {
        let [file] = &self.files[..] else {
            return Err(Failure::words(
                self.files[1].display().to_string(),
                "only one HAR file can be imported at a time",
                "import each file separately",
            ));
        };
        let (dir, options) = self.options()?;
        let folder = import(TextKind::Har, &text_of(file)?, &options)?;
        finish(&folder, &dir)
    }

    fn import_log(&self) -> Result<(), Failure> {
        let (dir, options) = self.options()?;
        let mut log = AccessLog::new(&options);
        let bar = terminal::spinner();
        let mut show = |progress: Progress| {
            let Progress { lines, bytes } = progress;
            bar.set_message(format!("{lines} lines, {} MiB", bytes >> 20));
        };
        // Rotated files are read from the oldest to the newest, because the pauses between a
        // client's requests are computed in the order in which the requests are read.
        let mut files = self.files.clone();
        files.sort_by_key(|file| fs::metadata(file).and_then(|it| it.modified()).ok());
        for file in &files {
            log.read(&file.display().to_string(), open(file)?, &mut show)?;
        }
        bar.finish_and_clear();
        finish(&log.finish(&options)?, &dir)
    }
}

impl Made {
    /// Returns the folder to write and the default options. By default, the folder is named after
    /// the input, without extensions, or `imported` if the input has no name.
    ///
    /// # Errors
    /// Fails if the folder already exists.
    fn options(&self, file: &Path) -> Result<(PathBuf, Options), Failure> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut parts = name.split('.');
        let stem = parts.find(|part| !part.is_empty() && *part != STDIN);
        let stem = stem.unwrap_or("imported");
        let dir = self.dir.clone().unwrap_or_else(|| PathBuf::from(stem));
        if dir.exists() {
            return Err(Failure::words(
                dir.display().to_string(),
                "already exists",
                "choose another folder with --dir, or remove this one",
            ));
        }
        let source = match file == Path::new(STDIN) {
            true => "standard input".to_owned(),
            false => file.display().to_string(),
        };
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let options = Options::new(source, name);
        Ok((dir, options))
    }
}

fn open(file: &Path) -> Result<Box<dyn Read>, Failure> {
    if file == Path::new(STDIN) {
        return Ok(Box::new(io::stdin().lock()));
    }
    let opened = File::open(file).and_then(|it| match it.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(it),
    });
    match opened {
        Ok(opened) => Ok(Box::new(opened)),
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    let remedy = "name a readable file, or - for standard input";
    Failure::words(
        file.display().to_string(),
        format!("cannot be read: {error}"),
        remedy,
    )
}

/// Reads a file or, for `-`, standard input, of at most [`TEXT_BYTES_MAX`] bytes.
pub fn text_of(file: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = open(file)?.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(file, &error))?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(Failure::words(
            file.display().to_string(),
            format!("is larger than {} MiB", TEXT_BYTES_MAX >> 20),
            "split it, or import a part of it",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let error = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
        unreadable(file, &error)
    })
}

pub fn finish(folder: &Folder, dir: &Path) -> Result<(), Failure> {
    write(folder, dir).map_err(|error| {
        let remedy = "with --dir, choose a folder that you can create";
        Failure::words(
            dir.display().to_string(),
            format!("cannot be written: {error}"),
            remedy,
        )
    })?;
    let shown = dir.display();
    let mut lines: Vec<String> = folder.facts.clone();
    for (effect, head) in [
        (
            Effect::NotUnderstood,
            "not understood; delete these from `not_understood` in the scenario to measure gateways \
             that lack them:",
        ),
        (Effect::Simplified, "simplified or left out:"),
    ] {
        let mut notes = folder.notes_with(effect).peekable();
        if notes.peek().is_some() {
            lines.push(head.to_owned());
            lines.extend(notes.map(|note| format!("  {note}")));
        }
    }
    let files: Vec<&str> = folder.files.iter().map(|file| file.path.as_str()).collect();
    lines.push(format!("{shown}/ contains {}", files.join(", ")));
    let is_path = dir.is_absolute() || dir.starts_with(".") || dir.starts_with("..");
    let here = if is_path { "" } else { "./" };
    lines.push(format!(
        "  → to try it: gatebench run {here}{shown} --smoke"
    ));
    terminal::say(&lines.join("\n"))
}

fn write(folder: &Folder, dir: &Path) -> io::Result<()> {
    fs::create_dir(dir)?;
    for NewFile {
        path,
        text,
        has_secrets,
    } in &folder.files
    {
        let path = dir.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mode = if *has_secrets { 0o600 } else { 0o644 };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)?;
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        _import: Import,
    }

    #[test]
    fn only_gateways_have_a_scenario_for_each_route() {
        let parses = |kind: &str| Line::try_parse_from(["x", kind, "a", "--each-route"]).is_ok();
        assert!(["kong", "apisix", "kubernetes"].into_iter().all(parses));
        assert!(!["openapi", "k6"].into_iter().any(parses));
    }
}
