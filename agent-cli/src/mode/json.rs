//! `--output json`: one line of JSON for each event, with a version, and a first line that names the session.

use std::path::Path;

use agent_core::AgentEvent;
use serde_json::json;

use super::FrontEnd;
use crate::error::CliError;
use crate::output;

/// Writes events as lines of JSON to standard output.
#[derive(Debug)]
pub(crate) struct Json;

impl Json {
    /// Writes the first line: which session this is, where, and who answers.
    pub(crate) fn begin(session: Option<&str>, dir: &Path, model: &str) -> Result<Self, CliError> {
        output::print_json(&json!({
            "type": "session",
            "id": session,
            "cwd": dir.to_string_lossy(),
            "model": model,
        }))?;
        Ok(Self)
    }
}

impl FrontEnd for Json {
    fn show(&mut self, event: &AgentEvent) -> Result<(), CliError> {
        output::print_json(event)
    }
}
