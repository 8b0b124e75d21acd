//! `agent`: an LLM agent on the command line.
//!
//! The modules stand in reading order: each uses only those above it.

mod error;
mod output;
mod args;
mod config;
mod interrupt;
mod secrets;
mod setup;
mod render;
mod mode;
mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Commands of the bash tool run under this very binary, started again to watch over them.
    #[cfg(unix)]
    if let Some(code) = agent_tools::run_supervisor_if_asked() {
        return code;
    }
    command::main(std::env::args_os().collect())
}
