//! The words after `cargo xtask bench NAME`.

/// Settings common to the benchmarks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Measured rounds, after one that warms up.
    pub rounds: usize,
    /// Length of a measured run.
    pub seconds: u32,
    /// Connections, where the benchmark has no cells.
    pub connections: u32,
    /// Length of the memory benchmark.
    pub minutes: u32,
    /// Routes of the memory benchmark, each with figures of its own.
    pub routes: u32,
    /// Names of the cells to measure; empty means all.
    pub cells: Vec<String>,
    /// Whether tables are printed as Markdown.
    pub markdown: bool,
    /// Whether cells are listed instead of measured.
    pub list: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rounds: 5,
            seconds: 2,
            connections: 64,
            minutes: 10,
            routes: 1,
            cells: Vec::new(),
            markdown: false,
            list: false,
        }
    }
}

/// Reads the words; an error names the wrong one.
pub fn parse(words: &[&str]) -> Result<Settings, String> {
    let mut settings = Settings::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--markdown" => settings.markdown = true,
            "--list" => settings.list = true,
            "--quick" => (settings.rounds, settings.seconds) = (2, 1),
            "--cell" => settings.cells.push(value(word, words.next())?.into()),
            "--rounds" => settings.rounds = number(word, words.next())? as usize,
            "--seconds" => settings.seconds = number(word, words.next())?,
            "--connections" => settings.connections = number(word, words.next())?,
            "--routes" => settings.routes = number(word, words.next())?,
            "--minutes" => settings.minutes = number(word, words.next())?,
            other => return Err(format!("there is no option '{other}'")),
        }
    }
    Ok(settings)
}

fn value<'a>(option: &str, word: Option<&&'a str>) -> Result<&'a str, String> {
    word.copied()
        .ok_or_else(|| format!("{option} needs a value"))
}

fn number(option: &str, word: Option<&&str>) -> Result<u32, String> {
    let word = value(option, word)?;
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{option} needs a positive number, not '{word}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_settings() {
        let read = parse(&[
            "--cell",
            "get-64",
            "--cell",
            "tls-64",
            "--rounds",
            "7",
            "--markdown",
        ]);
        let expected = Settings {
            cells: vec!["get-64".into(), "tls-64".into()],
            rounds: 7,
            markdown: true,
            ..Settings::default()
        };
        assert_eq!(read, Ok(expected));
        assert!(parse(&["--quick"]).is_ok_and(|read| (read.rounds, read.seconds) == (2, 1)));
    }

    #[test]
    fn wrong_words_are_named() {
        assert_eq!(
            parse(&["--pears"]),
            Err("there is no option '--pears'".into())
        );
        assert_eq!(parse(&["--rounds"]), Err("--rounds needs a value".into()));
        assert!(parse(&["--rounds", "0"]).is_err());
    }
}
