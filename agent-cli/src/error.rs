//! [`CliError`]: what went wrong, for the person, with what to do about it, and the exit code it means.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use serde_json::{Value, json};

/// What kind of end this is; it alone decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Whoever read our standard output has had enough (`agent … | head -1`): no error at all.
    OutputClosed,
    /// The run, or the command, failed.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// The model was refused something it wanted to do.
    Denied,
    /// A limit ended the run.
    Limit,
    /// A signal ended it.
    Interrupted,
}

impl Kind {
    /// The process's exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::Limit => 4,
            Self::Interrupted => 130,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::OutputClosed => "output_closed",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Denied => "denied",
            Self::Limit => "limit",
            Self::Interrupted => "interrupted",
        }
    }
}

/// An end that is not success.
#[derive(Debug)]
pub(crate) struct CliError {
    kind: Kind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hints: Vec<String>,
}

impl CliError {
    /// An error of this kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None, hints: Vec::new() }
    }

    /// The command line or the configuration is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// The run, or the command, failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message)
    }

    /// A signal ended it.
    pub(crate) fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "interrupted")
    }

    /// Standard output cannot be written; closed early is no failure.
    pub(crate) fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Kind::OutputClosed, "standard output was closed"),
            _ => Self::failed("cannot write to standard output").with_source(error),
        }
    }

    /// The same error, with the one that caused it.
    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error, with one more line on what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same error, with a line that names the nearest of `known`, if one is near.
    pub(crate) fn did_you_mean<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match agent_core::schema::nearest(word, known).as_slice() {
            [] => self,
            near => {
                let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
                self.hint(format!("did you mean {}?", near.join(" or ")))
            }
        }
    }

    /// What kind of end it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The process's exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.code())
    }

    /// The error as the last line of JSON output says it.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "type": "error",
            "kind": self.kind.name(),
            "exit_code": self.kind.code(),
            "message": self.headline(),
            "hints": self.hints,
        })
    }

    /// What went wrong, with its causes, without the hints.
    fn headline(&self) -> String {
        let mut line = self.message.clone();
        let mut cause = self.source.as_deref().map(|source| source as &dyn Error);
        while let Some(error) = cause {
            let text = error.to_string();
            // Many errors repeat their source in their own text.
            if !line.ends_with(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            cause = error.source();
        }
        line
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.kind == Kind::Interrupted { "" } else { "error: " };
        write!(f, "{word}{}", self.headline())?;
        for hint in &self.hints {
            write!(f, "\n  {}", hint.replace('\n', "\n  "))?;
        }
        Ok(())
    }
}

impl Error for CliError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<clap::Error> for CliError {
    /// clap's first paragraph is what is wrong. Of the rest, what helps is kept: the usage is in `--help`.
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return text.trim_end().lines().fold(Self::usage("a command is missing"), Self::hint);
        }
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let (wrong, rest) = text.trim_end().split_once("\n\n").unwrap_or((text.trim_end(), ""));
        let helps = |line: &&str| line.starts_with("tip:") || line.starts_with("For more information");
        rest.lines().map(str::trim).filter(helps).fold(Self::usage(wrong), Self::hint)
    }
}
