//! Prints to the terminal. A closed standard output (`| head`) is neither an error nor a panic.
//! Text from gateways, upstreams and files passes through this module, which removes all escape
//! sequences except colors before the text reaches a terminal.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use console::{Style, Term, measure_text_width};
use gatebench_report::text::{clean_lines, for_terminal};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::failure::{Failure, indented_reason};

/// The width in columns if there is no terminal, and the maximum width on a terminal.
pub const WIDTH: usize = 100;

static IS_FOR_DATA: AtomicBool = AtomicBool::new(false);

/// Reserves standard output for data: human-readable text is printed on standard error.
pub fn reserve_stdout_for_data() {
    IS_FOR_DATA.store(true, Ordering::Relaxed);
}

/// Prints human-readable text and a newline on standard output or, if standard output is reserved
/// for data, on standard error.
pub fn say(text: &str) -> Result<(), Failure> {
    if IS_FOR_DATA.load(Ordering::Relaxed) {
        complain(text);
        return Ok(());
    }
    write_out(&for_terminal(text, stdout_colors()))
}

/// Prints data and a newline on standard output. The data is unchanged unless standard output is a
/// terminal.
pub fn say_data(text: &str) -> Result<(), Failure> {
    let text = match stdout_is_terminal() {
        true => Cow::Owned(for_terminal(text, stdout_colors())),
        false => Cow::Borrowed(text),
    };
    write_out(&text)
}

pub fn say_json(value: &Value) -> Result<(), Failure> {
    say_data(&format!("{value:#}"))
}

/// Ignores [`Failure::PipeClosed`], for commands whose exit code is a verdict, or that do more
/// after they print. Only the text is lost.
pub fn unless_closed(printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Err(Failure::PipeClosed) => Ok(()),
        printed => printed,
    }
}

fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::PipeClosed),
        Err(error) => Err(Failure::environment(
            format!("cannot write to standard output: {error}"),
            "check where standard output is redirected",
        )),
    }
}

/// Prints text and a newline on standard error. If standard error is closed, the text is lost.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", in_progress(text));
}

impl Failure {
    pub fn print(&self) {
        match self {
            Self::Said {
                culprit,
                what,
                remedy,
                ..
            } => {
                let paint = stderr_style();
                let what = indented_reason(what, culprit, 4);
                let (culprit, remedy) = (clean_lines(culprit), clean_lines(remedy));
                complain(&format!(
                    "{} {culprit}: {what}\n  → {remedy}",
                    paint.red().bold().apply_to("error:")
                ));
            }
            Self::Mistakes(files) => {
                for mistakes in files {
                    let columns = width(&Term::stderr());
                    complain(mistakes.render(stderr_colors(), columns).trim_end());
                }
            }
            Self::PipeClosed => {}
        }
    }
}

/// Makes the text safe for standard error, as [`for_terminal`] does; colors remain if standard
/// error shows them.
pub fn in_progress(text: &str) -> String {
    for_terminal(text, stderr_colors())
}

/// Reports whether standard output shows colors: it is a terminal, NO_COLOR is unset or empty, and
/// TERM is not `dumb`.
pub fn stdout_colors() -> bool {
    wants_colors(&Term::stdout())
}

pub fn stderr_colors() -> bool {
    wants_colors(&Term::stderr())
}

pub fn stdout_is_terminal() -> bool {
    Term::stdout().is_term()
}

/// Reports whether standard error is a terminal that can show progress.
pub fn stderr_is_terminal() -> bool {
    Term::stderr().is_term() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns a spinner for work whose total is not known. It is hidden if standard error is not a
/// terminal that can show progress.
pub fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
    if !stderr_is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar.set_style(ProgressStyle::default_spinner());
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// Returns the width of standard output in columns, from 40 to [`WIDTH`].
pub fn stdout_width() -> usize {
    width(&Term::stdout())
}

pub fn stdout_style() -> Style {
    Style::new().force_styling(stdout_colors())
}

pub fn stderr_style() -> Style {
    Style::new().for_stderr().force_styling(stderr_colors())
}

fn wants_colors(term: &Term) -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !unwanted && term.is_term() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn width(term: &Term) -> usize {
    term.size_checked()
        .map_or(WIDTH, |(_, columns)| usize::from(columns).clamp(40, WIDTH))
}

/// Wraps text between words at `width` columns; a longer word is not broken. Color sequences take
/// no columns, and subsequent lines begin with `indent` spaces.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = measure_text_width(word);
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// Returns the width of the longest name, in characters.
pub fn widest<'a>(names: impl IntoIterator<Item = &'a str>) -> usize {
    let widths = names.into_iter().map(|it| it.chars().count());
    widths.max().unwrap_or(0)
}

/// Wraps text at `width` columns. The first line begins at column `indent`; the subsequent lines
/// are indented to begin there too. A word that is too long for a line is not broken.
pub fn column(text: &str, width: usize, indent: usize) -> String {
    let lines = wrapped(text, width.saturating_sub(indent), 0);
    lines.replace('\n', &format!("\n{:indent$}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words_and_spaces_are_kept() {
        assert_eq!(wrapped("ab  cd efg", 6, 2), "ab  cd\n  efg");
        assert_eq!(wrapped("toolongword x", 4, 0), "toolongword\nx");
        assert_eq!(column("ab cd ef gh", 9, 4), "ab cd\n    ef gh");
        assert_eq!(
            wrapped("\x1b[31mab cd\x1b[0m", 5, 0),
            "\x1b[31mab cd\x1b[0m"
        );
    }
}
