//! [`Limits`]: when a run ends though the model would go on.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::message::{AssistantMessage, Usage};

/// When a run ends though the model would go on. The session can go on afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Most turns of one run.
    pub turns: Option<u32>,
    /// Most tokens of one run, input and output of all turns together.
    pub tokens: Option<u64>,
    /// Most US dollars of one run. Needs [`AgentBuilder::prices`](crate::AgentBuilder::prices).
    pub cost: Option<f64>,
    /// The longest a run may take; what is going on then is aborted.
    pub wall_time: Option<Duration>,
    /// Most turns in a row in which every call failed.
    pub error_turns: Option<u32>,
    /// Most turns in a row that make the very same calls.
    pub repeated_calls: Option<u32>,
}

impl Default for Limits {
    /// Ten turns of failures in a row, five of the same calls; no other limit.
    fn default() -> Self {
        Self { turns: None, tokens: None, cost: None, wall_time: None, error_turns: Some(10), repeated_calls: Some(5) }
    }
}

/// What a run has used of its limits.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    error_turns: u32,
    last_calls: Vec<(String, Map<String, Value>)>,
    repeated_calls: u32,
}

impl Spent {
    /// Counts a turn's calls; `failed` says whether all of them failed.
    pub(crate) fn count_calls(&mut self, answer: &AssistantMessage, failed: bool) {
        self.error_turns = if failed { self.error_turns + 1 } else { 0 };
        let calls: Vec<(String, Map<String, Value>)> =
            answer.tool_calls().map(|call| (call.name.clone(), call.arguments.clone())).collect();
        self.repeated_calls = if calls == self.last_calls { self.repeated_calls + 1 } else { 1 };
        self.last_calls = calls;
    }

    /// The limit that keeps another turn from beginning, in words.
    pub(crate) fn reached(&self, limits: &Limits) -> Option<String> {
        let over = |limit: Option<u32>, count: u32| limit.filter(|limit| count >= *limit);
        if let Some(limit) = over(limits.turns, self.turns) {
            return Some(format!("{limit} turns"));
        }
        if let Some(limit) = limits.tokens.filter(|limit| self.usage.total() >= *limit) {
            return Some(format!("{limit} tokens"));
        }
        if let Some(limit) = limits.cost.filter(|limit| self.usage.cost.unwrap_or(0.0) >= *limit) {
            return Some(format!("{limit} US dollars"));
        }
        if let Some(limit) = over(limits.error_turns, self.error_turns) {
            return Some(format!("{limit} turns in a row in which every call failed"));
        }
        over(limits.repeated_calls, self.repeated_calls).map(|limit| format!("the same calls {limit} times in a row"))
    }
}
