//! The `write` tool: a file with new content, all of it or none.

use std::fs;
use std::io;
use std::sync::PoisonError;

use agent_core::{ToolContext, ToolError, ToolOutput, tool};

use crate::diff;
use crate::ledger::{Ledger, Stamp};
use crate::path::{self, PathLocks, Target};
use crate::replace::{MAX_CHANGED, replace};
use crate::truncate::count;

/// Writes a file: creates it, and the directories above it, or replaces all of its content.
///
/// For a change to part of a file use `edit`. A file that has changed on disk since you last read it is not
/// overwritten: read it again first. One you have never read is overwritten, and the result says so.
#[tool(destructive)]
pub fn write(
    /// The file, relative to the working directory or absolute.
    path: &str,
    /// All of the new content.
    content: &str,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let target = path::resolve(cx, path)?;
    if path.ends_with(std::path::is_separator) || path.ends_with("/.") || path.ends_with("/..") {
        return Err(ToolError::retry(format!("`{path}` names a directory; name a file in it")));
    }
    let lock = cx.session_state::<PathLocks>().of(&target.real);
    let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let ledger = cx.session_state::<Ledger>();
    let old = existing(&target)?;
    let known = ledger.knows(&target.real);
    if let Some(old) = &old {
        ledger.check(&target, old)?;
    }
    let shown = &target.shown;
    replace(&target.real, old.as_deref(), content.as_bytes()).map_err(|error| {
        let state = if old.is_some() { "is as it was" } else { "was not created" };
        ToolError::failed(format!("cannot write `{shown}`, which {state}: {error}"))
    })?;
    ledger.record(&target.real, Stamp::left(&target.real, content.as_bytes())?);

    let size = size(content.as_bytes());
    let text = match &old {
        None => format!("Created `{shown}`: {size}."),
        Some(old) if old == content.as_bytes() => format!("`{shown}` already had this content: {size}."),
        Some(old) => {
            let unseen = if known { "" } else { " It had not been read here before." };
            format!("Overwrote `{shown}`: {size}, before {}.{unseen}", self::size(old))
        }
    };
    Ok(ToolOutput::text(text).details(diff::details(&target, old.as_deref(), content.as_bytes())))
}

/// The bytes that are there now; `None` where there is no file yet.
fn existing(target: &Target) -> Result<Option<Vec<u8>>, ToolError> {
    let shown = &target.shown;
    match fs::metadata(&target.real) {
        Ok(meta) if meta.is_dir() => Err(ToolError::retry(format!("`{shown}` is a directory; name a file in it"))),
        Ok(meta) if !meta.is_file() => Err(ToolError::retry(format!("`{shown}` is no regular file"))),
        Ok(meta) if meta.len() > MAX_CHANGED => Err(ToolError::failed(format!(
            "`{shown}` is there and larger than 64 MiB; remove or rename it first if it is not needed"
        ))),
        Ok(_) => path::contents(&target.real)
            .map(Some)
            .map_err(|error| path::unreadable(target, "read before writing", &error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ToolError::failed(format!("cannot write `{shown}`: {error}"))),
    }
}

fn size(bytes: &[u8]) -> String {
    format!("{}, {}", count(diff::lines(bytes).len(), "line"), count(bytes.len(), "byte"))
}
