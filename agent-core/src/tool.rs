//! The one thing everything is built around: a [`Tool`] is a definition and a call.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::{Dependency, ToolContext};
use crate::message::{Content, ContextUpdate, Usage};

/// Something a model can call.
///
/// Most tools are ordinary functions under [`#[tool]`](macro@crate::tool). Implement the trait by hand for tools whose
/// shape is known only at run time. Only [`call`](Self::call) is needed: the default definition derives the name from
/// the type (`SearchDatabase` is `search_database`) and takes any object as arguments.
pub trait Tool: Send + Sync {
    /// What the model is told about the tool. Asked once, when the tool joins a [`Toolset`](crate::Toolset).
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(tool_name_of_type(std::any::type_name::<Self>()))
    }

    /// Runs the tool with arguments that fit the definition's schema.
    ///
    /// The future may be dropped at any moment; `context.cancellation()` says so beforehand.
    fn call(&self, context: ToolContext, arguments: Map<String, Value>)
    -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// What is known about a tool besides how to run it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// What the model calls it: 1 to 64 of `[A-Za-z0-9_-]`.
    pub name: String,
    /// What people call it.
    pub label: String,
    /// What the model is told about it.
    pub description: String,
    /// JSON Schema (draft 2020-12) of the arguments; always of type `object`.
    pub input_schema: Value,
    /// What it does to the world.
    #[serde(flatten)]
    pub effects: Effects,
    /// A group of the author's choosing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether it runs alone, with no other call beside it.
    pub sequential: bool,
    /// The longest a call may take.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seconds")]
    pub timeout: Option<Duration>,
    /// How often a failed call is tried again before the model hears of it.
    pub retries: u32,
    /// Whether a run may end after it without asking the model again.
    pub terminate: bool,
    /// Whether it is only listed in the catalog until loaded by name.
    pub cold: bool,
    /// Whether lists for people leave it out.
    pub hidden: bool,
    /// Where it comes from.
    pub source: ToolSource,
    /// Types it needs as [`Dep`](crate::Dep).
    #[serde(skip)]
    pub dependencies: Vec<Dependency>,
}

impl ToolDefinition {
    /// A definition with this name, no parameters and no description.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            label: label_of_name(&name),
            name,
            description: String::new(),
            input_schema: json!({"type": "object", "properties": {}}),
            effects: Effects::default(),
            category: None,
            tags: Vec::new(),
            sequential: false,
            timeout: None,
            retries: 0,
            terminate: false,
            cold: false,
            hidden: false,
            source: ToolSource::Program,
            dependencies: Vec::new(),
        }
    }

    /// The same definition with this description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The same definition with this JSON Schema for the arguments.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }
}

fn seconds<S: serde::Serializer>(timeout: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    timeout.map(|timeout| timeout.as_secs_f64()).serialize(serializer)
}

/// What a tool does to the world, as far as its author says (the Model Context Protocol's annotations).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Effects {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// Calling it twice is the same as calling it once.
    pub idempotent: bool,
    /// It reaches things outside this machine.
    pub open_world: bool,
}

/// Where a tool comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolSource {
    /// A `#[tool]` function linked into this program.
    Function {
        /// The source file, as the compiler names it.
        file: &'static str,
        /// The line of the function, 1-based.
        line: u32,
    },
    /// Made by the program while it runs.
    Program,
}

impl fmt::Display for ToolSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function { file, line } => write!(f, "{file}:{line}"),
            Self::Program => f.write_str("program"),
        }
    }
}

/// What a tool gives back.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model sees.
    pub content: Vec<Content>,
    /// What a front end may show; the model never sees it.
    pub details: Option<Value>,
    /// Whether the model is told that it failed.
    pub is_error: bool,
    /// Tokens the tool spent on models of its own.
    pub usage: Option<Usage>,
    /// Names of catalog tools to make available from the next request on.
    pub added_tools: Vec<String>,
    /// Whether the run may end here without asking the model again.
    pub terminate: bool,
    /// Changes to the run's variables.
    pub updates: Vec<ContextUpdate>,
}

impl ToolOutput {
    /// Text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self::content(vec![Content::text(text)])
    }

    /// Text that tells the model the call failed; unlike a [`ToolError`] it can carry details.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Content for the model.
    pub fn content(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }

    /// The same output with details for a front end.
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// The same output with one more change to the run's variables.
    pub fn update(mut self, update: ContextUpdate) -> Self {
        self.updates.push(update);
        self
    }

    /// The same output, with tokens the tool spent on models of its own.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The same output, and the run may end here without asking the model again.
    pub fn terminate(mut self) -> Self {
        self.terminate = true;
        self
    }

    /// The same output, making a catalog tool available from the next request on.
    pub fn add_tool(mut self, name: impl Into<String>) -> Self {
        self.added_tools.push(name.into());
        self
    }
}

/// A tool's failure. It becomes a result the model reads; only a [fatal](Self::fatal) one ends the run.
///
/// Any error type turns into a *failed* one with `?`. It is no `std::error::Error` itself, so that `?` can do so.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    kind: ToolErrorKind,
    message: String,
}

/// What a [`ToolError`] asks of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The call was wrong: change it and try again.
    Retry,
    /// The tool failed.
    Failed,
    /// The run cannot go on.
    Fatal,
}

impl ToolError {
    /// The model should change its call.
    pub fn retry(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Retry, message: message.into() }
    }

    /// The tool failed, and the model is told so.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Failed, message: message.into() }
    }

    /// The run ends.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Fatal, message: message.into() }
    }

    /// A failure from an error with its sources, as one line.
    pub fn from_error(error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Many errors repeat their source in their own text.
            if !message.ends_with(&cause_text) {
                message.push_str(": ");
                message.push_str(&cause_text);
            }
            source = cause.source();
        }
        Self::failed(one_line(&message))
    }

    /// What it asks of the model.
    pub fn kind(&self) -> ToolErrorKind {
        self.kind
    }

    /// What the model reads.
    pub fn message(&self) -> &str {
        &self.message
    }
}

pub(crate) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::from_error(&error)
    }
}

/// Turns an error into one that asks the model to change its call.
pub trait OrRetry<T> {
    /// The value, or a [retry](ToolError::retry) error: `advice`, then what went wrong.
    fn or_retry(self, advice: &str) -> Result<T, ToolError>;
}

impl<T, E: fmt::Display> OrRetry<T> for Result<T, E> {
    fn or_retry(self, advice: &str) -> Result<T, ToolError> {
        self.map_err(|error| ToolError::retry(format!("{advice}: {}", one_line(&format!("{error:#}")))))
    }
}

impl<T> OrRetry<T> for Option<T> {
    fn or_retry(self, advice: &str) -> Result<T, ToolError> {
        self.ok_or_else(|| ToolError::retry(advice))
    }
}

/// `read_file` is "Read file".
pub(crate) fn label_of_name(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut chars = words.trim().chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// `my::SearchDatabase<T>` is `search_database`, `HTTPGet2` is `http_get2`.
fn tool_name_of_type(path: &str) -> String {
    let plain = path.split('<').next().unwrap_or(path);
    let ident: Vec<char> = plain.rsplit("::").next().unwrap_or(plain).chars().collect();
    let mut name = String::new();
    for (at, &c) in ident.iter().enumerate() {
        let after_lower = at > 0 && !ident[at - 1].is_uppercase() && ident[at - 1] != '_';
        let before_lower = ident.get(at + 1).is_some_and(|next| next.is_lowercase());
        if c.is_uppercase() && at > 0 && ident[at - 1] != '_' && (after_lower || before_lower) {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_1_11_the_name_of_a_trait_based_tool_comes_from_its_type() {
        for (path, name) in [
            ("my::SearchDatabase", "search_database"),
            ("HTTPGet", "http_get"),
            ("HTTPGet2", "http_get2"),
            ("Get2Files", "get2_files"),
            ("a::B<c::D>", "b"),
            ("already_snake", "already_snake"),
        ] {
            assert_eq!(tool_name_of_type(path), name);
        }
    }

    #[test]
    fn rule_1_2_a_label_is_the_name_in_words() {
        assert_eq!(label_of_name("read_file"), "Read file");
    }

    #[test]
    fn rule_1_1_the_source_chain_becomes_one_line() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot open\nthe index")]
        struct Outer(#[source] std::io::Error);
        let error: ToolError = Outer(std::io::Error::other("no such disk")).into();
        assert_eq!(error.message(), "cannot open the index: no such disk");
        assert_eq!(error.kind(), ToolErrorKind::Failed);
    }
}
