//! SDK for LLM agents: annotate a Rust function, and it is a tool; give it to an agent, and a model can call it.
//!
//! ```
//! use agent_core::provider::scripted::{Reply, ScriptedProvider};
//! use agent_core::{Agent, Session, Toolset, json, tool};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(
//!     /// The first one.
//!     a: i64,
//!     /// The second one.
//!     b: i64,
//! ) -> i64 {
//!     a + b
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedProvider::new([Reply::calling("add", json!({"a": 2, "b": 40})), Reply::text("It is 42.")]);
//! let agent = Agent::builder(model).model("any").tools(Toolset::linked()).build()?;
//! let outcome = agent.run(&mut Session::in_memory(), "What is 2 + 40?").wait()?;
//! assert_eq!(outcome.text, "It is 42.");
//! # Ok(())
//! # }
//! ```
//!
//! The modules below stand in reading order: each uses only those above it.

// What a conversation and a tool are.
pub mod message;
pub mod context;
pub mod schema;
pub mod tool;

// How a function becomes a tool.
mod signature;
mod param;
mod reply;
mod function;
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

#[doc(hidden)]
pub mod __private;

// Lets `#[tool]` name this crate the same way inside and outside of it.
#[allow(unused_extern_crates, reason = "used only where a test of this crate defines a tool")]
extern crate self as agent_core;

pub use agent::{Agent, AgentBuilder, BuildError};
pub use agent_macros::tool;
pub use approval::{Approval, Decision};
pub use context::{CallId, CancellationToken, Dep, Progress, ProgressUpdate, ToolContext, Variables};
pub use event::{AgentEvent, EndReason};
pub use hooks::Hooks;
pub use limits::Limits;
pub use message::{Content, ContextUpdate, Message, Part, StopReason, ToolCall, ToolResult, Usage};
pub use param::{Inject, Lend, Param};
pub use provider::{ErrorKind, ModelEvent, ModelRequest, ModelSettings, Provider, ProviderError};
pub use reply::IntoToolOutput;
pub use run::{Outcome, Run, RunControl, RunError};
pub use serde_json::json;
pub use session::Session;
pub use tool::{OrRetry, Tool, ToolDefinition, ToolError, ToolOutput};
pub use toolset::Toolset;
pub use turn::RetryPolicy;

/// The README's programs compile and run as they stand there.
#[cfg(all(doctest, feature = "openai"))]
#[doc = include_str!("../../README.md")]
struct Readme;
