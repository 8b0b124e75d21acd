#![doc = "SDK for LLM agents."]

pub mod context;
pub mod message;
pub mod tool;
mod signature;
mod param;
mod reply;
mod function;
pub mod toolset;
pub mod history;
pub mod provider;
pub mod event;
pub mod queue;
pub mod session;
#[doc(hidden)]
pub mod __private;

// Lets `#[tool]` name this crate the same way inside and outside of it.
#[allow(unused_extern_crates, reason = "used only where a test of this crate defines a tool")]
extern crate self as agent_core;

pub use agent_macros::tool;
pub use context::{CallId, CancellationToken, ContextUpdate, Dep, Progress, ProgressUpdate, ToolContext, Variables};
pub use event::{AgentEvent, EndReason};
pub use message::{Content, Message, Part, StopReason, ToolCall, ToolResult, Usage};
pub use param::{Inject, Lend, Param};
pub use provider::{ErrorKind, ModelEvent, ModelRequest, ModelSettings, Provider, ProviderError};
pub use reply::IntoToolOutput;
pub use session::Session;
pub use tool::{OrRetry, Tool, ToolDefinition, ToolError, ToolOutput};
pub use toolset::Toolset;
