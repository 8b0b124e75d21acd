//! Built-in tools.

#[cfg(unix)]
mod supervisor;
#[cfg(unix)]
mod process;
#[cfg(unix)]
pub mod bash;

#[cfg(unix)]
pub use supervisor::run_supervisor_if_asked;
