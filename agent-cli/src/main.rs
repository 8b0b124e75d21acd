//! `agent`: an LLM agent on the command line.
//!
//! The modules stand in reading order: each uses only those above it.

mod error;
mod output;
mod args;
mod config;
mod interrupt;
mod setup;
mod render;
mod mode;
mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A tool's child may be this very binary, started again to watch over it; then nothing below runs.
    agent_tools::run_supervisor_if_asked();
    command::main(std::env::args_os().collect())
}
