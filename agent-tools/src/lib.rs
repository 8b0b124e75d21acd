//! Built-in tools for agents: read, write and edit files.
//!
//! ```
//! let tools = agent_tools::coding();
//! assert!(tools.get("edit").is_some());
//! ```
//!
//! State the tools take from the agent, all of it optional: [`Home`] for `~`, and [`FileRoot`] to keep them inside one
//! directory. The modules stand in order of dependency: each uses only those above it.

use agent_core::{Toolset, toolset};

mod truncate;
mod path;
mod ledger;
mod diff;
mod replace;
mod read;
mod write;
mod edit;

pub use edit::{Edit, edit};
pub use path::{FileRoot, Home};
pub use read::read;
pub use write::write;

/// The tools of a coding agent.
pub fn coding() -> Toolset {
    toolset![read::read, write::write, edit::edit]
}

/// Those of them that change nothing.
pub fn read_only() -> Toolset {
    toolset![read::read]
}
