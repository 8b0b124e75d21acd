//! Built-in tools for agents: run commands, and read, write and edit files.
//!
//! ```
//! let tools = agent_tools::coding();
//! assert!(tools.get("edit").is_some());
//! ```
//!
//! State the tools take from the agent, all of it optional: [`Home`] for `~`, [`FileRoot`] to keep the file tools inside
//! one directory, and [`BashSettings`](bash::BashSettings). A program that begins its `main` with
//! [`run_supervisor_if_asked`] leaves no process behind, whatever ends it.
//!
//! The modules stand in order of dependency: each uses only those above it.

mod truncate;
mod path;
mod ledger;
mod diff;
mod replace;
pub mod read;
pub mod write;
pub mod edit;
#[cfg(unix)]
mod supervisor;
#[cfg(unix)]
mod process;
#[cfg(unix)]
pub mod bash;
mod toolsets;

pub use path::{FileRoot, Home};
#[cfg(unix)]
pub use supervisor::run_supervisor_if_asked;
pub use toolsets::{coding, read_only};
