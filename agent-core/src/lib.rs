//! SDK for LLM agents: annotate a Rust function, and it is a tool; give it to an agent, and a model can call it.
//!
//! The modules below stand in reading order: each uses only those above it.

// What a conversation and a tool are.
pub mod message;
pub mod context;
pub mod schema;
pub mod tool;
pub mod function;
pub mod toolset;
pub mod history;

// The seams: who answers, who decides, where it is kept.
pub mod provider;
pub mod event;
pub mod queue;
pub mod session;
pub mod approval;
pub mod hooks;
pub mod limits;

// The loop.
mod turn;
mod parts;
mod execute;
pub mod run;
pub mod agent;

pub use agent::{Agent, AgentBuilder, BuildError};
pub use approval::{Approval, Decision};
pub use context::{CallId, CancellationToken, Dep, Progress, ProgressUpdate, ToolContext, Variables};
pub use event::{AgentEvent, EndReason};
pub use hooks::Hooks;
pub use limits::Limits;
pub use message::{Content, ContextUpdate, Message, Part, StopReason, ToolCall, ToolResult, Usage};
pub use provider::{ErrorKind, ModelEvent, ModelRequest, ModelSettings, Provider, ProviderError};
pub use run::{Outcome, Run, RunControl, RunError};
pub use session::Session;
pub use tool::{OrRetry, Tool, ToolDefinition, ToolError, ToolOutput};
pub use toolset::Toolset;
pub use turn::RetryPolicy;
