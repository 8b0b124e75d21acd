//! A model that plays back what a script says: for tests, documentation and examples, without network or key.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;

use super::{ModelEvent, ModelRequest, PartKind, Provider, ProviderError};
use crate::message::{Part, StopReason, ToolCall, Usage};

/// A provider that gives one scripted [`Reply`] after the other and remembers what it was asked.
///
/// Clones share the script and the memory.
#[derive(Clone)]
pub struct ScriptedProvider {
    shared: Arc<Shared>,
}

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<ModelRequest>>,
}

type Answer = Box<dyn FnMut(&ModelRequest) -> Reply + Send>;

enum Script {
    Replies(VecDeque<Reply>),
    Answers(Answer),
}

impl ScriptedProvider {
    /// Gives these replies, in order; a request beyond the last one is an error.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::of(Script::Replies(replies.into_iter().collect()))
    }

    /// Gives whatever `answer` makes of each request.
    pub fn from_fn(answer: impl FnMut(&ModelRequest) -> Reply + Send + 'static) -> Self {
        Self::of(Script::Answers(Box::new(answer)))
    }

    fn of(script: Script) -> Self {
        Self { shared: Arc::new(Shared { script: Mutex::new(script), requests: Mutex::default() }) }
    }

    /// What it was asked so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn reply(&self, request: &ModelRequest) -> Reply {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        match &mut *self.shared.script.lock().unwrap_or_else(PoisonError::into_inner) {
            Script::Answers(answer) => answer(request),
            Script::Replies(replies) => replies.pop_front().unwrap_or_else(|| {
                let problem = "the script has no reply left: the loop asked once more than the script expects";
                Reply::default().error(ProviderError::new(super::ErrorKind::BadRequest, problem))
            }),
        }
    }
}

impl std::fmt::Debug for ScriptedProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedProvider").finish_non_exhaustive()
    }
}

impl Provider for ScriptedProvider {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn stream<'a>(&'a self, request: &'a ModelRequest) -> BoxStream<'a, Result<ModelEvent, ProviderError>> {
        let reply = self.reply(request);
        let events = stream::iter(reply.events());
        if reply.hangs { events.chain(stream::pending()).boxed() } else { events.boxed() }
    }
}

/// One scripted answer, built piece by piece: `Reply::text("I'll look.").call("read", json!({"path": "a.txt"}))`.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    parts: Vec<Part>,
    stop: Option<StopReason>,
    usage: Usage,
    error: Option<ProviderError>,
    hangs: bool,
    call_ids: usize,
}

impl Reply {
    /// An answer of this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// An answer that begins with this reasoning.
    pub fn thinking(text: impl Into<String>) -> Self {
        let mut reply = Self::default();
        reply.parts.push(Part::Thinking { text: text.into(), raw: None });
        reply
    }

    /// An answer that calls a tool.
    pub fn calling(tool: impl Into<String>, arguments: Value) -> Self {
        Self::default().call(tool, arguments)
    }

    /// The same answer, then this text.
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text { text: text.into() });
        self
    }

    /// The same answer, then a call of a tool. Its id is `call_1` for the first one of the reply, and so on.
    pub fn call(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.call_ids += 1;
        let id = format!("call_{}", self.call_ids);
        self.parts.push(Part::ToolCall(ToolCall::from_value(id, tool, arguments)));
        self
    }

    /// The same answer, then a call whose arguments are this text, readable or not.
    pub fn call_text(mut self, tool: impl Into<String>, arguments: &str) -> Self {
        self.call_ids += 1;
        let id = format!("call_{}", self.call_ids);
        self.parts.push(Part::ToolCall(ToolCall::from_text(id, tool, arguments)));
        self
    }

    /// The same answer, ending for this reason instead of the one its parts suggest.
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The same answer with this many input and output tokens.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Usage { input, output, ..Usage::default() };
        self
    }

    /// The same answer, failing with `error` after its parts instead of finishing.
    pub fn error(mut self, error: ProviderError) -> Self {
        self.error = Some(error);
        self
    }

    /// The same answer, never finishing after its parts.
    pub fn hang(mut self) -> Self {
        self.hangs = true;
        self
    }

    fn events(&self) -> Vec<Result<ModelEvent, ProviderError>> {
        let mut events: Vec<Result<ModelEvent, ProviderError>> = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            let (kind, text) = match part {
                Part::Text { text } => (PartKind::Text, text.clone()),
                Part::Thinking { text, .. } => (PartKind::Thinking, text.clone()),
                Part::ToolCall(call) => {
                    let arguments = Value::Object(call.arguments.clone()).to_string();
                    let kind = PartKind::ToolCall { id: call.id.clone(), name: call.name.clone() };
                    (kind, call.unreadable.clone().unwrap_or(arguments))
                }
                Part::Opaque { .. } => continue,
            };
            events.push(Ok(ModelEvent::PartStarted { index, kind }));
            events.extend(pieces(&text).into_iter().map(|delta| Ok(ModelEvent::PartDelta { index, delta })));
            let broken_off = (self.hangs || self.error.is_some()) && index + 1 == self.parts.len();
            if !broken_off {
                events.push(Ok(ModelEvent::PartFinished { index, part: part.clone() }));
            }
        }
        if let Some(error) = &self.error {
            events.push(Err(error.clone()));
        } else if !self.hangs {
            let calls = self.parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
            let natural = if calls { StopReason::ToolCalls } else { StopReason::EndTurn };
            events.push(Ok(ModelEvent::Usage(self.usage)));
            events.push(Ok(ModelEvent::Finished { stop: self.stop.unwrap_or(natural), model: None }));
        }
        events
    }
}

/// Text in the small pieces a model would send: words with the blanks behind them.
fn pieces(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}
