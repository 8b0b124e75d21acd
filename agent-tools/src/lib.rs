//! Built-in tools.
//!
//! The modules stand in order of dependency: each uses only those above it.

pub mod truncate;
pub mod path;
mod ledger;
mod diff;
mod replace;
mod write;

pub use path::{FileRoot, Home};
pub use write::write;
