//! Standard output and standard error: whether a person looks at them, and writing that never panics.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::error::CliError;

/// The version of every line of JSON output. It changes when a program that reads the lines would have to.
const JSON_VERSION: u32 = 1;

/// How text may look where it goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Colours and weights are understood, and wanted.
    pub(crate) color: bool,
    /// A terminal reads it, so text from elsewhere must not carry control sequences.
    pub(crate) terminal: bool,
}

impl Look {
    /// How text may look on standard output. `no_color` is the person's wish for none.
    pub(crate) fn of_stdout(no_color: bool) -> Self {
        Self::of(io::stdout().is_terminal(), no_color)
    }

    /// How text may look on standard error. `no_color` is the person's wish for none.
    pub(crate) fn of_stderr(no_color: bool) -> Self {
        Self::of(io::stderr().is_terminal(), no_color).for_people()
    }

    /// The same look for text that is only ever meant for people: it may pass a pipe on its way to their terminal.
    pub(crate) fn for_people(self) -> Self {
        Self { terminal: true, ..self }
    }

    fn of(terminal: bool, no_color: bool) -> Self {
        Self { color: terminal && !no_color, terminal }
    }

    /// `text` between an escape code and its reset, or plain.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Text from a model or a tool as it may be shown: a terminal gets no control characters but newline and tab, and
    /// none that turn the direction of text around.
    pub(crate) fn safe(self, text: &str) -> Cow<'_, str> {
        let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
        let harmless = |c: char| (!c.is_control() && !turns(c)) || c == '\n' || c == '\t';
        if !self.terminal || text.chars().all(harmless) {
            return Cow::Borrowed(text);
        }
        text.chars().filter(|&c| harmless(c)).collect::<String>().into()
    }
}

/// Writes text to standard output, at once.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(CliError::output)
}

/// A line of JSON output: a version, and what it is about.
#[derive(Serialize)]
struct Line<'a, T> {
    v: u32,
    #[serde(flatten)]
    about: &'a T,
}

/// Writes an object as one line of JSON to standard output, at once, with the format's version before its own keys.
pub(crate) fn print_json(object: &impl Serialize) -> Result<(), CliError> {
    let line = Line { v: JSON_VERSION, about: object };
    let line = serde_json::to_string(&line);
    let mut line = line.map_err(|error| CliError::failed("cannot write JSON").with_source(error))?;
    line.push('\n');
    print(&line)
}

/// Writes a line to standard error. Nobody can be told if that fails, so it is let go.
pub(crate) fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{text}");
}

/// Columns of text, aligned, two blanks apart, without blanks at the ends of lines.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
