//! `agent sessions`: list and show sessions.
use crate::args::SessionsCommand;
use crate::error::CliError;
pub(super) fn run(command: SessionsCommand) -> Result<(), CliError> { let _ = command; Ok(()) }
