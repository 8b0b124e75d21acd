//! What a conversation is made of: plain data, one type for every provider, store and front end.
//!
//! The shapes a model service uses on its wire exist only inside the provider's own file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the person (or the program in their place) said.
    User(UserMessage),
    /// What the model answered.
    Assistant(AssistantMessage),
    /// What one tool call came to.
    ToolResult(ToolResult),
    /// Something of the application's own; a provider never sees it.
    Custom(CustomMessage),
}

impl Message {
    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(UserMessage { content: vec![Content::text(text)] })
    }

    /// The assistant's message, if this is one.
    pub fn as_assistant(&self) -> Option<&AssistantMessage> {
        match self {
            Self::Assistant(message) => Some(message),
            _ => None,
        }
    }

    /// The tool's result, if this is one.
    pub fn as_tool_result(&self) -> Option<&ToolResult> {
        match self {
            Self::ToolResult(result) => Some(result),
            _ => None,
        }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::user(text)
    }
}

impl From<UserMessage> for Message {
    fn from(message: UserMessage) -> Self {
        Self::User(message)
    }
}

/// A message from the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Text and images, in order.
    pub content: Vec<Content>,
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in the order the model gave them.
    pub parts: Vec<Part>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Tokens this answer used.
    #[serde(default)]
    pub usage: Usage,
    /// The provider that gave it ([`Provider::name`](crate::Provider::name)).
    pub provider: String,
    /// The model that gave it, by the service's own name.
    pub model: String,
}

impl AssistantMessage {
    /// All text of the answer, its parts joined.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The tool calls of the answer, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// A message of the application's own, kept in the log and never sent to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CustomMessage {
    /// What kind of message it is, by the application's own name.
    pub kind: String,
    /// Its data.
    pub data: Value,
}

/// One piece of what a user or a tool says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// An image, base64-encoded.
    Image {
        /// The image's bytes in standard base64.
        data: Arc<str>,
        /// Its media type, e.g. `image/png`.
        media_type: String,
    },
}

impl Content {
    /// Text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text, if it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } => None,
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// One piece of what a model says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text for the person.
    Text {
        /// The text itself.
        text: String,
    },
    /// The model's reasoning.
    Thinking {
        /// What of it may be read; empty where the service hides it.
        text: String,
        /// The service's own block, sent back to it byte for byte (signatures live here).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<Value>,
    },
    /// A wish to call a tool.
    ToolCall(ToolCall),
    /// A block only the service understands, sent back to it unchanged.
    Opaque {
        /// The block.
        raw: Value,
    },
}

/// A model's wish to call a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the conversation; the result carries it too.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// What the model sent when it was not a JSON object; `arguments` is then empty and the call is never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

impl ToolCall {
    /// A call whose arguments are read from the text a model sent.
    ///
    /// Nothing at all (or `null`) is an empty object, as models send it for a tool without parameters.
    /// Whatever else is not a JSON object is kept in [`unreadable`](Self::unreadable).
    pub fn from_text(id: impl Into<String>, name: impl Into<String>, arguments: &str) -> Self {
        let (id, name) = (id.into(), name.into());
        let text = arguments.trim();
        if text.is_empty() || text == "null" {
            return Self { id, name, arguments: Map::new(), unreadable: None };
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::from_value(id, name, value),
            Err(_) => Self { id, name, arguments: Map::new(), unreadable: Some(arguments.to_owned()) },
        }
    }

    /// A call whose arguments came as JSON; a string that holds an object is read once more.
    pub fn from_value(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        let (id, name) = (id.into(), name.into());
        let arguments = match arguments {
            Value::String(text) => match serde_json::from_str::<Value>(&text) {
                Ok(inner @ Value::Object(_)) => inner,
                _ => Value::String(text),
            },
            other => other,
        };
        match arguments {
            Value::Object(arguments) => Self { id, name, arguments, unreadable: None },
            Value::Null => Self { id, name, arguments: Map::new(), unreadable: None },
            other => Self { id, name, arguments: Map::new(), unreadable: Some(other.to_string()) },
        }
    }
}

/// What one tool call came to. Every call in a session has exactly one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub call_id: String,
    /// The tool's name, as the model wrote it.
    pub tool_name: String,
    /// What the model sees.
    pub content: Vec<Content>,
    /// Whether it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// What a front end may show; the model never sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Tokens the tool itself spent on models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Names of tools this call made available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added_tools: Vec<String>,
    /// Whether the run may end here without asking the model again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
    /// Changes to the run's variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<ContextUpdate>,
}

impl ToolResult {
    /// A result that says the call failed.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![Content::text(text)],
            is_error: true,
            details: None,
            usage: None,
            added_tools: Vec::new(),
            terminate: false,
            updates: Vec::new(),
        }
    }

    /// All text of the result, its pieces joined with newlines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }
}

/// Why a model's answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said everything.
    EndTurn,
    /// It waits for the results of its calls.
    ToolCalls,
    /// The limit of output tokens was reached.
    Length,
    /// One of the request's stop sequences came.
    StopSequence,
    /// The model refused.
    Refusal,
    /// The service's content filter cut it.
    ContentFilter,
    /// The service paused a long turn; sending it back goes on.
    Pause,
    /// The conversation no longer fits into the model's window.
    ContextFull,
    /// The run was aborted in the middle of the answer.
    Interrupted,
    /// The stream failed in the middle of the answer; what had come is kept.
    Failed,
}

/// Tokens used, in one normal form for all services.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens of the request: fresh, read from the cache and written to it.
    pub input: u64,
    /// All tokens of the answer, reasoning included.
    pub output: u64,
    /// Those of `input` that were read from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Those of `input` that were written to the cache.
    #[serde(default)]
    pub cache_write: u64,
    /// Those of `output` that were reasoning.
    #[serde(default)]
    pub reasoning: u64,
    /// Cost in US dollars, where prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether the service gave no figures and these are estimated from the text's size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Usage {
    /// Input and output tokens together.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cost = match (self.cost, other.cost) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
        self.estimated |= other.estimated;
    }
}

/// What a million tokens cost, in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// Fresh input.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache.
    pub cache_write: f64,
}

impl Prices {
    /// What these tokens cost, in US dollars.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cost_of(&self, usage: &Usage) -> f64 {
        let fresh = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let micro_dollars = fresh as f64 * self.input
            + usage.output as f64 * self.output
            + usage.cache_read as f64 * self.cache_read
            + usage.cache_write as f64 * self.cache_write;
        micro_dollars / 1e6
    }
}

/// A change to the run's variables, returned by a tool and applied in call order after its batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ContextUpdate {
    /// Gives the variable this value.
    Set {
        /// The variable.
        key: String,
        /// Its new value.
        value: Value,
    },
    /// Merges an object into the variable, deeply; anything else is set.
    Merge {
        /// The variable.
        key: String,
        /// What to merge in.
        value: Value,
    },
    /// Appends to the variable's list, which is made if need be.
    Append {
        /// The variable.
        key: String,
        /// The new last element.
        value: Value,
    },
    /// Removes the variable.
    Delete {
        /// The variable.
        key: String,
    },
}

impl ContextUpdate {
    /// Gives `key` the value `value`.
    pub fn set(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Set { key: key.into(), value: value.into() }
    }

    /// Merges `value` into `key`.
    pub fn merge(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Merge { key: key.into(), value: value.into() }
    }

    /// Appends `value` to the list `key`.
    pub fn append(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::Append { key: key.into(), value: value.into() }
    }

    /// Removes `key`.
    pub fn delete(key: impl Into<String>) -> Self {
        Self::Delete { key: key.into() }
    }
}
