//! Built-in tools.

#[cfg(unix)]
mod supervisor;

#[cfg(unix)]
pub use supervisor::run_supervisor_if_asked;
