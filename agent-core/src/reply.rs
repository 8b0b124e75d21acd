//! What a `#[tool]` function may return, and how it becomes a [`ToolOutput`] or a [`ToolError`].
//!
//! | returned | the model reads |
//! |---|---|
//! | `String`, `&str`, anything that serialises to a JSON string | the text |
//! | `()` | `done` |
//! | `Content`, `Vec<Content>` | that content |
//! | `ToolOutput` | its content |
//! | any other `Serialize` | compact JSON; a front end finds the same value in `details` |
//! | `Result<T, E>` | `T` as above, or the error with its sources in one line |
//!
//! `Result`s and their parts are told apart by method lookup on the concrete value, so aliases work: a method of
//! the type itself is found before one of a trait, and one taken by value before one taken by reference.

use std::convert::Infallible;
use std::error::Error;
use std::fmt::{self, Display};

use serde::Serialize;
use serde_json::Value;

use crate::message::Content;
use crate::tool::{ToolError, ToolOutput};

/// A type that a tool can return. Every `Serialize` type is one, and so is [`ToolOutput`].
pub trait IntoToolOutput {
    /// What the model and the front end get.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

impl<T: Serialize> IntoToolOutput for T {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        match serde_json::to_value(self) {
            Ok(Value::String(text)) => Ok(ToolOutput::text(text)),
            Ok(value) => Ok(ToolOutput::text(value.to_string()).details(value)),
            Err(error) => Err(ToolError::failed(format!("the result cannot be JSON: {error}"))),
        }
    }
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

/// What [`check`] asks of a function's success; the reader of its error is who wrote the function.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not serialisable",
    note = "help: add `#[derive(serde::Serialize)]` to `{Self}`, or return `String`, `Content`, `Vec<Content>`, `ToolOutput` or `()`",
    note = "a tool may also return `Result<T, E>` of any of these, with any `E: Display`"
)]
pub trait Reply<Kind> {}

impl<T: IntoToolOutput> Reply<Output> for T {}
impl<T: Never> Reply<Nothing> for T {}

/// What [`check`] asks of a function's error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "has no `Display`",
    note = "help: the model reads the error as text: implement `std::fmt::Display` for `{Self}`, or return `ToolError`"
)]
pub trait Explained {}

impl<E: Display> Explained for E {}

/// Marks what can be returned.
#[derive(Debug)]
pub enum Output {}

/// Marks what nothing implements.
#[derive(Debug)]
pub enum Nothing {}

/// Implemented by nothing. With a second impl to choose from, the compiler reports [`Reply`] and not the bounds of its
/// only impl, with a list of foreign types.
pub trait Never {}

/// Where the compiler checks a function's return type: one error for each part, at the type.
pub fn check<T: Reply<Kind>, E: Explained, Kind>(_: &Result<T, E>) {}

/// A function's return value.
#[derive(Debug)]
pub struct Returned<T>(pub T);

impl<T, E> Returned<Result<T, E>> {
    /// The result itself.
    pub fn split(self) -> Result<T, E> {
        self.0
    }
}

/// Anything that is no `Result` is a success.
pub trait SplitPlain<T> {
    /// The value as a result.
    fn split(self) -> Result<T, Infallible>;
}

impl<T> SplitPlain<T> for Returned<T> {
    fn split(self) -> Result<T, Infallible> {
        Ok(self.0)
    }
}

/// A function's success.
pub struct Success<T>(pub T);

impl<T> fmt::Debug for Success<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Success")
    }
}

impl Success<Content> {
    /// One piece of content.
    pub fn reply(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::content(vec![self.0]))
    }
}

impl Success<Vec<Content>> {
    /// Content.
    pub fn reply(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::content(self.0))
    }
}

impl Success<()> {
    /// A word, because several services refuse an empty result.
    pub fn reply(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

/// Everything that has [`IntoToolOutput`].
pub trait ReplyAny {
    /// The output.
    fn reply(self) -> Result<ToolOutput, ToolError>;
}

impl<T: IntoToolOutput> ReplyAny for Success<T> {
    fn reply(self) -> Result<ToolOutput, ToolError> {
        self.0.into_tool_output()
    }
}

/// Never run: keeps the method lookup from failing where [`check`] has already reported the type.
pub trait ReplyNothing {
    /// An error.
    fn reply(self) -> Result<ToolOutput, ToolError>;
}

impl<T> ReplyNothing for &Success<T> {
    fn reply(self) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("the result cannot be shown"))
    }
}

/// A function's failure.
pub struct Failure<E>(pub E);

impl<E> fmt::Debug for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failure")
    }
}

impl Failure<ToolError> {
    /// The error as it is, its kind kept.
    pub fn reply(self) -> Result<ToolOutput, ToolError> {
        Err(self.0)
    }
}

impl Failure<Box<dyn Error>> {
    /// The boxed error with its sources.
    pub fn reply(self) -> Result<ToolOutput, ToolError> {
        Err(ToolError::from_error(&*self.0))
    }
}

impl Failure<Box<dyn Error + Send + Sync>> {
    /// The boxed error with its sources.
    pub fn reply(self) -> Result<ToolOutput, ToolError> {
        Err(ToolError::from_error(&*self.0))
    }
}

/// Errors of the standard library's kind: with their sources.
pub trait FailWithSources {
    /// The error.
    fn reply(self) -> Result<ToolOutput, ToolError>;
}

impl<E: Error> FailWithSources for Failure<E> {
    fn reply(self) -> Result<ToolOutput, ToolError> {
        Err(ToolError::from_error(&self.0))
    }
}

/// Anything else with `Display`; `{:#}` is how error types without sources of that kind write theirs.
pub trait FailWithText {
    /// The error.
    fn reply(self) -> Result<ToolOutput, ToolError>;
}

impl<E: Display> FailWithText for &Failure<E> {
    fn reply(self) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed(crate::tool::one_line(&format!("{:#}", self.0))))
    }
}

/// Never run, like [`ReplyNothing`].
pub trait FailWithNothing {
    /// The error.
    fn reply(self) -> Result<ToolOutput, ToolError>;
}

impl<E> FailWithNothing for &mut Failure<E> {
    fn reply(self) -> Result<ToolOutput, ToolError> {
        Err(ToolError::failed("the error cannot be shown"))
    }
}
