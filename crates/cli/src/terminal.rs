//! Printing. A reader that has gone away (`| head`) is no error and no panic. All that goes to a terminal comes
//! through here, where what could make it act is taken out: gateways, upstreams and files have their say in it.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write as _};

use console::{Style, Term, measure_text_width};
use gatebench_report::text::{clean_lines, for_terminal};

use crate::failure::{Failure, without_culprit};

/// Width where there is no terminal to ask, and the most that is used where there is one.
pub const WIDTH: usize = 100;

/// Prints text for people and a line end on standard output.
pub fn say(text: &str) -> Result<(), Failure> {
    write_out(&for_terminal(text, stdout_colors()))
}

/// Prints what programs read, and a line end, on standard output: byte for byte, unless that is a terminal.
pub fn say_data(text: &str) -> Result<(), Failure> {
    let text = match stdout_is_terminal() {
        true => Cow::Owned(for_terminal(text, stdout_colors())),
        false => Cow::Borrowed(text),
    };
    write_out(&text)
}

fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::PipeClosed),
        Err(error) => Err(Failure::environment(
            format!("cannot write to standard output: {error}"),
            "check where standard output is redirected to",
        )),
    }
}

/// Prints text and a line end on standard error; where that is closed there is nobody to tell.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", in_progress(text));
}

impl Failure {
    /// Prints it on standard error.
    pub fn print(&self) {
        match self {
            Self::Said {
                culprit,
                what,
                remedy,
                ..
            } => {
                let paint = stderr_style();
                let what = clean_lines(without_culprit(what, culprit))
                    .trim_end()
                    .replace('\n', "\n    ");
                let (culprit, remedy) = (clean_lines(culprit), clean_lines(remedy));
                complain(&format!(
                    "{} {culprit}: {what}\n  → {remedy}",
                    paint.red().bold().apply_to("error:")
                ));
            }
            Self::Mistakes(files) => {
                for mistakes in files {
                    complain(mistakes.render(stderr_colors(), stderr_width()).trim_end());
                }
            }
            Self::PipeClosed => {}
        }
    }
}

/// What a bar on standard error may show.
pub fn in_progress(text: &str) -> String {
    for_terminal(text, stderr_colors())
}

/// Whether standard output shows colours: a terminal, unless NO_COLOR is set.
pub fn stdout_colors() -> bool {
    wants_colors(&Term::stdout())
}

/// As [`stdout_colors`], of standard error.
pub fn stderr_colors() -> bool {
    wants_colors(&Term::stderr())
}

/// Whether standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    Term::stdout().is_term()
}

/// Whether standard error is a terminal that can show progress.
pub fn stderr_is_terminal() -> bool {
    Term::stderr().is_term() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns of standard output.
pub fn stdout_width() -> usize {
    width(&Term::stdout())
}

/// Columns of standard error.
pub fn stderr_width() -> usize {
    width(&Term::stderr())
}

/// A style for standard error that obeys NO_COLOR.
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

/// Text broken between words so that it fits `width` columns, of which colours take none; further lines
/// begin with `indent` spaces.
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

/// The same for text that begins at column `indent`, on its first line as on all others; none goes beyond `width`.
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
