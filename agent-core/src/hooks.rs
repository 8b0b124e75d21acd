//! [`Hooks`]: where an application looks into a run and changes what happens. One trait, all methods optional.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::message::{Content, ToolCall, ToolResult, Usage};
use crate::tool::ToolDefinition;

/// An application's say in a run. An agent may have several; they are asked in the order they were given.
///
/// A hook that fails, panics or takes longer than the agent's hook timeout turns the call into an error result. It
/// never hangs the run.
pub trait Hooks: Send + Sync {
    /// Looks at a call whose arguments fit, before approval is asked for.
    fn before_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        tool: &'a ToolDefinition,
    ) -> BoxFuture<'a, Result<BeforeToolCall, HookError>> {
        let _ = (call, tool);
        Box::pin(std::future::ready(Ok(BeforeToolCall::Proceed)))
    }

    /// Looks at the result of every call, also of failed, refused and unknown ones, before it is logged.
    fn after_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<ResultPatch, HookError>> {
        let _ = (call, result);
        Box::pin(std::future::ready(Ok(ResultPatch::default())))
    }
}

/// What a hook wants done with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum BeforeToolCall {
    /// Go on with it.
    Proceed,
    /// Go on with other arguments, which are checked like the model's own.
    Replace(Map<String, Value>),
    /// Do not run it; the model is told why.
    Block {
        /// Why.
        reason: String,
    },
    /// Do not run it, and end the run after this batch.
    Stop {
        /// What the run's outcome says.
        message: String,
    },
}

/// What a hook wants changed in a result, field by field: `None` keeps the field.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultPatch {
    /// Other content for the model.
    pub content: Option<Vec<Content>>,
    /// Other details for front ends.
    pub details: Option<Value>,
    /// Another verdict on whether it failed.
    pub is_error: Option<bool>,
    /// Another count of tokens.
    pub usage: Option<Usage>,
    /// Another say on whether the run may end here.
    pub terminate: Option<bool>,
}

impl ResultPatch {
    pub(crate) fn apply(self, result: &mut ToolResult) {
        if let Some(content) = self.content {
            result.content = content;
        }
        if let Some(details) = self.details {
            result.details = Some(details);
        }
        if let Some(is_error) = self.is_error {
            result.is_error = is_error;
        }
        if let Some(usage) = self.usage {
            result.usage = Some(usage);
        }
        if let Some(terminate) = self.terminate {
            result.terminate = terminate;
        }
    }
}

/// A hook's failure: the model is told that the call failed, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);
