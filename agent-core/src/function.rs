//! [`FunctionTool`]: a `#[tool]` function as the macro describes it, and the table of those linked into the program.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::context::ToolContext;
use crate::tool::{Tool, ToolDefinition, ToolError, ToolOutput, ToolSource};

/// What `#[tool]` makes of a function: constant data and two function pointers.
#[derive(Debug)]
pub struct FunctionTool {
    /// The tool's name.
    pub name: &'static str,
    /// The function's source file.
    pub file: &'static str,
    /// The function's line.
    pub line: u32,
    /// Builds the definition; name and source are filled in.
    pub define: fn(ToolDefinition) -> ToolDefinition,
    /// Runs the function.
    pub call: fn(ToolContext, Map<String, Value>) -> BoxFuture<'static, Result<ToolOutput, ToolError>>,
}

impl FunctionTool {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn file(&self) -> &'static str {
        self.file
    }

    pub(crate) fn line(&self) -> u32 {
        self.line
    }
}

inventory::collect!(FunctionTool);

/// The functions the linker kept, in no particular order.
pub(crate) fn linked() -> impl Iterator<Item = &'static FunctionTool> {
    inventory::iter::<FunctionTool>.into_iter()
}

impl Tool for &'static FunctionTool {
    fn definition(&self) -> ToolDefinition {
        let mut definition = ToolDefinition::new(self.name);
        definition.source = ToolSource::Function { file: self.file, line: self.line };
        (self.define)(definition)
    }

    fn call(
        &self,
        context: ToolContext,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        (self.call)(context, arguments)
    }
}
