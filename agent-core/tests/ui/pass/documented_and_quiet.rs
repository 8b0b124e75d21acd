//! Accepted without a warning under the strictest lints.
#![deny(missing_docs, unused, clippy::all, clippy::pedantic, rust_2018_idioms, unreachable_pub, unused_qualifications)]
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use agent_core::{Dep, ToolContext, ToolError, ToolOutput, tool};

type Outcome<T = ToolOutput> = Result<T, ToolError>;

/// Everything a tool may be.
#[tool(read_only, retries = 1, timeout = "500ms", crate = agent_core)]
pub async fn everything(
    context: &ToolContext,
    home: Dep<PathBuf>,
    /// Where to look.
    #[arg(default = ".", length = 1..)]
    path: &Path,
    #[arg(default, range = ..=9)] mut depth: u8,
    #[arg(example = Some("x".to_owned()))] word: Option<String>,
) -> Outcome {
    depth += 1;
    let all = (context.call_id(), home.join(path), depth, word);
    std::future::ready(()).await;
    Ok(ToolOutput::text(format!("{all:?}")))
}

/// Nothing at all.
#[tool]
fn nothing() {}

/// Another module's tool.
pub mod inner {
    /// A tool that is not there.
    #[agent_core::tool]
    #[cfg(any())]
    pub fn absent() {}

    /// A tool that borrows what it gives.
    #[agent_core::tool(inline)]
    pub fn longest<'a>(words: &'a [String]) -> Option<&'a str> {
        words.iter().map(String::as_str).max_by_key(|word| word.len())
    }
}

fn main() {
    nothing();
    let names: Vec<_> = agent_core::Toolset::linked().definitions().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["everything", "longest", "nothing"]);
}
