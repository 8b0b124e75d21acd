//! [`Provider`]: a model service. It translates between our vocabulary and one wire protocol, and does nothing else.
//!
//! **To add a provider:** one file in `provider/`, one feature, a row in `tests/support/wire.rs`, which runs every case of the
//! conformance suite on it, and an arm in the command's `setup.rs`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::history::HistoryMessage;
use crate::message::{Part, StopReason, Usage};
use crate::tool::ToolDefinition;

pub mod scripted;

#[cfg(any(feature = "anthropic", feature = "openai"))]
mod json;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod assemble;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod encode;
#[cfg(any(feature = "anthropic", feature = "openai"))]
pub mod http;

#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg(feature = "openai")]
pub mod openai;

/// A model service behind one wire protocol.
///
/// A provider translates. It does not retry, log, count or decide: those are the loop's business.
pub trait Provider: Send + Sync {
    /// A short name for logs, prices and messages, e.g. `anthropic`.
    fn name(&self) -> &str;

    /// Asks the model, and gives its answer as it comes.
    ///
    /// The stream ends right after [`ModelEvent::Finished`] or after an error, and one of the two always comes: a
    /// connection that closes before the protocol's own end mark is [`ErrorKind::Cut`]. Dropping the stream closes the
    /// request.
    fn stream<'a>(&'a self, request: &'a ModelRequest) -> BoxStream<'a, Result<ModelEvent, ProviderError>>;
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream<'a>(&'a self, request: &'a ModelRequest) -> BoxStream<'a, Result<ModelEvent, ProviderError>> {
        (**self).stream(request)
    }
}

/// One question to a model.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// The model, by the service's own name.
    pub model: String,
    /// The system prompt; empty for none.
    pub instructions: Arc<str>,
    /// The conversation, [sendable](crate::history::sendable): each call is followed by exactly one result.
    pub messages: Vec<HistoryMessage>,
    /// The tools the model may call, in order.
    pub tools: Vec<Arc<ToolDefinition>>,
    /// Everything else.
    pub settings: ModelSettings,
}

/// How a model is to answer. What is left out is left to the service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Most tokens of the answer.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// How much the model thinks before it answers.
    pub thinking: Option<ThinkingLevel>,
    /// Whether the model must, may or may not call tools.
    pub tool_choice: ToolChoice,
    /// Fields put into the request's body as they are, over what we would send.
    pub extra: Map<String, Value>,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingLevel {
    /// Not at all.
    Off,
    /// A little.
    Low,
    /// The usual.
    Medium,
    /// A lot.
    High,
}

/// Whether the model must, may or may not call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Required,
    /// A call of this tool.
    Tool(String),
}

/// A piece of a model's answer.
///
/// Parts may overlap in time: `index` says which one an event is about, and their order in the message.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// A part begins.
    PartStarted {
        /// Its place in the message.
        index: usize,
        /// What it is.
        kind: PartKind,
    },
    /// A part grows by this text (of a call: a piece of its arguments).
    PartDelta {
        /// Its place in the message.
        index: usize,
        /// The new piece only.
        delta: String,
    },
    /// A part is complete; what it holds outweighs the pieces that came before.
    PartFinished {
        /// Its place in the message.
        index: usize,
        /// The whole part.
        part: Part,
    },
    /// Tokens used so far; a later one replaces it.
    Usage(Usage),
    /// The answer is complete. Nothing follows.
    Finished {
        /// Why it ended.
        stop: StopReason,
        /// The model that answered, where the service says so.
        model: Option<String>,
    },
}

/// What kind of part begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    /// Text for the person.
    Text,
    /// Reasoning.
    Thinking,
    /// A tool call.
    ToolCall {
        /// Its id.
        id: String,
        /// The tool's name.
        name: String,
    },
}

/// Why a model gave no (complete) answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ProviderError {
    /// Its class, which decides whether asking again makes sense.
    pub kind: ErrorKind,
    /// What happened, for a person, with the service's own words where it gave some.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// How long the service asks to be left alone.
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// An error of this class.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None }
    }

    /// The same error with the HTTP status it came with.
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The same error with the pause the service asks for.
    pub fn with_retry_after(mut self, pause: Option<Duration>) -> Self {
        self.retry_after = pause;
        self
    }
}

/// The class of a [`ProviderError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// Too many requests for now (429).
    RateLimited,
    /// The account's quota or credit is used up.
    Quota,
    /// The service is overloaded (529, 503, or so said in mid-stream).
    Overloaded,
    /// The service failed (5xx).
    Server,
    /// No connection, or it broke.
    Connection,
    /// The stream ended before the protocol's end mark.
    Cut,
    /// Nothing came for too long.
    Idle,
    /// The conversation does not fit into the model's window.
    ContextOverflow,
    /// The key is missing, wrong or not allowed to (401, 403).
    Auth,
    /// No such model or address (404).
    NotFound,
    /// The service refuses the request as it is.
    BadRequest,
    /// The service answered something that is not its protocol.
    Protocol,
}

impl ErrorKind {
    /// Whether the same request may succeed later.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited | Self::Overloaded | Self::Server | Self::Connection | Self::Cut | Self::Idle)
    }
}
