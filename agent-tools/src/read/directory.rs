//! A directory, for a model that asked to read one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use agent_core::{ToolError, ToolOutput};
use serde_json::json;

use crate::truncate::{MAX_BYTES, MAX_LINES, count};

/// The names in a directory in order, directories marked by `/`.
pub(super) fn list(path: &Path, shown: &str) -> Result<ToolOutput, ToolError> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let mark = if entry.path().is_dir() { "/" } else { "" };
        names.insert(format!("{name}{mark}"));
    }
    if names.is_empty() {
        return Ok(
            ToolOutput::text(format!("`{shown}` is an empty directory.")).details(json!({"path": shown, "names": 0}))
        );
    }
    let mut text = format!("`{shown}` is a directory, not a file; {}:\n", count(names.len(), "name"));
    let mut listed = 0;
    for name in names.iter().take(MAX_LINES) {
        if text.len() + name.len() > MAX_BYTES {
            break;
        }
        text.push_str(name);
        text.push('\n');
        listed += 1;
    }
    if listed < names.len() {
        // Writing to a string does not fail.
        let _ = write!(text, "[{} more are not listed]", names.len() - listed);
    }
    Ok(ToolOutput::text(text.trim_end()).details(json!({"path": shown, "names": names.len()})))
}
