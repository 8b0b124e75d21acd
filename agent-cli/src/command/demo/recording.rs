//! The demo's model: a recording that plays on, turn by turn, according to what the tools really gave back.

use std::collections::BTreeMap;

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{ErrorKind, ModelRequest, ProviderError, ToolResult};
use serde::Deserialize;
use serde_json::Value;

/// A model's turns, by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recording {
    /// What the model calls itself.
    pub(crate) model: String,
    first: String,
    turns: BTreeMap<String, Turn>,
}

/// What the model says, what it calls, and which turn follows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    /// `{result}` stands for what the last tool call gave.
    say: String,
    call: Option<Call>,
    if_ok: Option<String>,
    if_error: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    arguments: Value,
}

impl Recording {
    /// Reads a recording.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// A provider that plays it. Which turn comes next is decided by the last tool result in the request.
    pub(crate) fn play(self) -> ScriptedProvider {
        let mut last: Option<Turn> = None;
        ScriptedProvider::from_fn(move |request| {
            let result = last_result(request);
            let name = match (&last, result) {
                (None, _) => Some(self.first.clone()),
                (Some(turn), Some(result)) if result.is_error => turn.if_error.clone(),
                (Some(turn), _) => turn.if_ok.clone(),
            };
            let Some(turn) = name.and_then(|name| self.turns.get(&name)) else {
                let problem = "the recording ends here";
                return Reply::default().error(ProviderError::new(ErrorKind::BadRequest, problem));
            };
            last = Some(turn.clone());
            let text = result.map(ToolResult::text).unwrap_or_default();
            let reply = Reply::text(turn.say.replace("{result}", text.trim_end()));
            match &turn.call {
                Some(call) => reply.call(&call.tool, call.arguments.clone()),
                None => reply,
            }
        })
    }
}

fn last_result(request: &ModelRequest) -> Option<&ToolResult> {
    request.messages.last()?.as_tool_result()
}
