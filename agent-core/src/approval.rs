//! [`Approval`]: may this call run?

use futures_util::future::BoxFuture;

use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// Decides whether a call may run. Asked for each call, in call order, after its arguments were found to fit.
pub trait Approval: Send + Sync {
    /// Whether this call may run. May wait for a person: other calls of the batch go on meanwhile.
    fn decide<'a>(&'a self, call: &'a ToolCall, tool: &'a ToolDefinition) -> BoxFuture<'a, Decision>;
}

/// The answer to "may this call run?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// It may not.
    Deny {
        /// Why, told to the model.
        reason: String,
    },
}

/// Allows every call: what an agent does unless it is given something else.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Approval for AllowAll {
    fn decide<'a>(&'a self, _: &'a ToolCall, _: &'a ToolDefinition) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Allow))
    }
}
