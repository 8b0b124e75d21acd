#![doc = "SDK for LLM agents."]

pub mod context;
pub mod message;
pub mod schema;
pub mod tool;
pub mod function;
pub mod toolset;
pub mod history;
pub mod provider;
pub mod event;
pub mod queue;
pub mod session;

pub use context::{CallId, CancellationToken, ContextUpdate, Dep, Progress, ProgressUpdate, ToolContext, Variables};
pub use event::{AgentEvent, EndReason};
pub use message::{Content, Message, Part, StopReason, ToolCall, ToolResult, Usage};
pub use provider::{ErrorKind, ModelEvent, ModelRequest, ModelSettings, Provider, ProviderError};
pub use session::Session;
pub use tool::{OrRetry, Tool, ToolDefinition, ToolError, ToolOutput};
pub use toolset::Toolset;
