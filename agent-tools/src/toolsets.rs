//! The tools by purpose.

use agent_core::{Toolset, toolset};

/// The tools of a coding agent: bash, edit, read, write. Without bash where there is no Unix shell.
pub fn coding() -> Toolset {
    let files = toolset![crate::edit::edit, crate::read::read, crate::write::write];
    #[cfg(unix)]
    return toolset![crate::bash::bash].and(files);
    #[cfg(not(unix))]
    return files;
}

/// Those of them that change nothing.
pub fn read_only() -> Toolset {
    toolset![crate::read::read]
}
