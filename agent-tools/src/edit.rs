//! The `edit` tool: exact replacements in a file, all of them or none, and no other byte touched.

mod encoding;
mod matching;
mod nearest;
mod plan;

use std::fs;
use std::io;
use std::sync::PoisonError;

use agent_core::{ToolContext, ToolError, ToolOutput, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::encoding::Body;
use self::plan::Plan;
use crate::diff;
use crate::ledger::{Ledger, Stamp};
use crate::path::{self, PathLocks, Target};
use crate::replace::{MAX_CHANGED, replace};
use crate::truncate::count;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The text to replace, exactly as it is in the file, with enough lines around it to be there only once.
    pub old_text: String,
    /// What takes its place.
    pub new_text: String,
    /// Replace every place where `old_text` stands.
    #[serde(default)]
    pub replace_all: bool,
}

/// Replaces parts of a file: all edits or, on any error, none.
///
/// Every `old_text` is looked for in the file as it is before the call, and must be there exactly once unless
/// `replace_all` is set. Edits may not overlap. Bytes outside of the replaced text stay as they are.
#[tool(destructive)]
pub fn edit(
    /// The file, relative to the working directory or absolute.
    path: &str,
    /// The replacements.
    edits: &[Edit],
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    if edits.is_empty() {
        return Err(ToolError::retry("edits is empty: give at least one"));
    }
    let target = path::resolve(cx, path)?;
    let lock = cx.session_state::<PathLocks>().of(&target.real);
    let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let shown = &target.shown;
    let old = bytes_of(&target)?;
    let ledger = cx.session_state::<Ledger>();
    ledger.check(&target, &old)?;

    let body = Body::of(&old).map_err(|why| ToolError::failed(format!("`{shown}` cannot be edited: {why}")))?;
    let mut plan = plan::plan(&body.bytes, edits)?;
    if !body.is_unicode() && edits.iter().any(|edit| !edit.new_text.is_ascii()) {
        plan.notes.push("the file is not UTF-8, but new_text went into it as UTF-8".to_owned());
    }
    let new = apply(&body, &plan, &old);
    if new == old {
        return Err(ToolError::retry("the edits leave the file as it is. Nothing was changed."));
    }
    replace(&target.real, Some(&old), &new)
        .map_err(|error| ToolError::failed(format!("cannot write `{shown}`, which is as it was: {error}")))?;
    ledger.record(&target.real, Stamp::left(&target.real, &new)?);
    Ok(ToolOutput::text(summary(shown, &body, &plan)).details(diff::details(&target, Some(&old), &new)))
}

fn bytes_of(target: &Target) -> Result<Vec<u8>, ToolError> {
    let shown = &target.shown;
    match fs::metadata(&target.real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(path::missing(target)),
        Err(error) => return Err(ToolError::failed(format!("cannot edit `{shown}`: {error}"))),
        Ok(meta) if meta.is_dir() => return Err(ToolError::retry(format!("`{shown}` is a directory"))),
        Ok(meta) if !meta.is_file() => return Err(ToolError::retry(format!("`{shown}` is no regular file"))),
        Ok(meta) if meta.len() > MAX_CHANGED => {
            return Err(ToolError::failed(format!(
                "`{shown}` is larger than 64 MiB; change it with a program instead"
            )));
        }
        Ok(_) => {}
    }
    path::contents(&target.real).map_err(|error| path::unreadable(target, "read", &error))
}

fn apply(body: &Body<'_>, plan: &Plan<'_>, old: &[u8]) -> Vec<u8> {
    let mut new = Vec::with_capacity(old.len());
    let mut done = 0;
    let ranges = body.on_disk(plan.changes.iter().map(|change| &change.range));
    for (change, range) in plan.changes.iter().zip(ranges) {
        new.extend_from_slice(&old[done..range.start]);
        new.extend_from_slice(&body.encode(&change.text));
        done = range.end;
    }
    new.extend_from_slice(&old[done..]);
    new
}

fn summary(shown: &str, body: &Body<'_>, plan: &Plan<'_>) -> String {
    let first = plan.changes.first().map_or(1, |change| plan::line(&body.bytes, change.range.start));
    let mut text = format!("Edited `{shown}`: {}, first at line {first}.", count(plan.changes.len(), "replacement"));
    for note in &plan.notes {
        text.push_str("\nNote: ");
        text.push_str(note);
        text.push('.');
    }
    text
}
