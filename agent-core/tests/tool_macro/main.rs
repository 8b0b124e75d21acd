//! What `#[tool]` makes of a function: schema, description, injection, results, registration.
#![expect(
    clippy::expect_used,
    clippy::too_many_arguments,
    clippy::unnecessary_wraps,
    reason = "a test says what it expects; its tools are there for their signatures"
)]

mod injection;
mod parameters;
mod registration;
mod results;

use agent_core::tool::ToolErrorKind;
use agent_core::{Content, ToolContext, ToolDefinition, ToolError, ToolOutput, Toolset};
use serde_json::Value;

pub(crate) fn definition(tools: &Toolset) -> &ToolDefinition {
    let (definition, _) = tools.iter().next().expect("a tool");
    definition
}

pub(crate) fn schema(tools: &Toolset) -> &Value {
    &definition(tools).input_schema
}

pub(crate) async fn call_with(
    context: ToolContext,
    tools: &Toolset,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    assert_eq!(tools.problems(), []);
    let (_, tool) = tools.iter().next().expect("a tool");
    let Value::Object(arguments) = arguments else { panic!("not an object: {arguments}") };
    tool.call(context, arguments).await
}

pub(crate) async fn call(tools: &Toolset, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_with(ToolContext::new("/"), tools, arguments).await
}

pub(crate) async fn text(tools: &Toolset, arguments: Value) -> String {
    let output = call(tools, arguments).await.expect("success");
    output.content.iter().filter_map(Content::as_text).collect()
}

pub(crate) async fn failure(tools: &Toolset, arguments: Value) -> (ToolErrorKind, String) {
    let error = call(tools, arguments).await.expect_err("failure");
    (error.kind(), error.message().to_owned())
}
