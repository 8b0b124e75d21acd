//! The file tools on real files, called as an agent calls them.

mod edit;
mod random_edits;
mod read;
mod write;

use std::fs;
use std::path::{Path, PathBuf};

use agent_core::context::State;
use agent_core::{Content, ToolContext, ToolError, ToolOutput};
use serde_json::Value;
use tempfile::TempDir;

/// A directory with files, and one session's context in it.
struct Place {
    dir: TempDir,
    context: ToolContext,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let context = ToolContext::new(dir.path());
        Self { dir, context }
    }

    fn with_state(state: impl FnOnce(&Path, &mut State)) -> Self {
        let mut place = Self::new();
        let mut values = State::default();
        state(place.dir.path(), &mut values);
        place.context = place.context.with_state(values);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("written");
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("read")
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let tools = agent_tools::coding();
        let (_, tool) = tools.get(tool).expect("the tool");
        let Value::Object(arguments) = arguments else { panic!("no object: {arguments}") };
        tool.call(self.context.clone(), arguments).await
    }

    async fn text(&self, tool: &str, arguments: Value) -> String {
        text(&self.call(tool, arguments).await.expect("success"))
    }

    async fn refusal(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).await.expect_err("a refusal").message().to_owned()
    }
}

fn text(output: &ToolOutput) -> String {
    output.content.iter().filter_map(Content::as_text).collect()
}

fn details(output: &ToolOutput) -> &Value {
    output.details.as_ref().expect("details")
}

/// All names below a directory.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
