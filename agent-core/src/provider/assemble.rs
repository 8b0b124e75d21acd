//! Pieces of an answer → the parts of a message and the events that tell of them; shared by the wire protocols.

use std::collections::VecDeque;

use serde_json::Value;

use super::json::{self, Joiner};
use super::{ModelEvent, ModelRequest, PartKind};
use crate::message::{AssistantMessage, Part, StopReason, ToolCall, Usage};

/// The parts of one answer while they grow. Events wait in [`events`](Self::events) until they are taken.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    drafts: Vec<Draft>,
    pub(crate) events: VecDeque<ModelEvent>,
    /// Whether the answer holds halves of surrogate pairs.
    pub(crate) halves: bool,
    usage: Usage,
}

#[derive(Debug)]
struct Draft {
    kind: Option<PartKind>,
    text: String,
    raw: Option<Value>,
    joiner: Joiner,
    finished: bool,
}

impl Assembler {
    /// Begins a part; gives its place in the message.
    pub(crate) fn start(&mut self, kind: PartKind) -> usize {
        let index = self.drafts.len();
        self.drafts.push(Draft::new(Some(kind.clone())));
        self.events.push_back(ModelEvent::PartStarted { index, kind });
        index
    }

    /// Reserves the place of a part that has no events before it is complete.
    #[cfg(feature = "anthropic")]
    pub(crate) fn start_opaque(&mut self) -> usize {
        self.drafts.push(Draft::new(None));
        self.drafts.len() - 1
    }

    /// Adds a piece to a part's text (of a call: its arguments).
    pub(crate) fn add(&mut self, index: usize, piece: &str) {
        let draft = &mut self.drafts[index];
        let piece = if self.halves { draft.joiner.join(piece).into_owned() } else { piece.to_owned() };
        if piece.is_empty() || draft.finished {
            return;
        }
        draft.text.push_str(&piece);
        if draft.kind.is_some() {
            self.events.push_back(ModelEvent::PartDelta { index, delta: piece });
        }
    }

    /// The text a part holds so far.
    pub(crate) fn text(&self, index: usize) -> &str {
        &self.drafts[index].text
    }

    /// What the service wants to have back instead of the text.
    pub(crate) fn raw(&mut self, index: usize) -> &mut Option<Value> {
        &mut self.drafts[index].raw
    }

    /// Completes a part, once.
    pub(crate) fn finish(&mut self, index: usize) {
        let draft = &mut self.drafts[index];
        if std::mem::replace(&mut draft.finished, true) {
            return;
        }
        if let Some(rest) = draft.joiner.rest() {
            draft.text.push(rest);
            if draft.kind.is_some() {
                self.events.push_back(ModelEvent::PartDelta { index, delta: rest.to_string() });
            }
        }
        let (text, raw) = (std::mem::take(&mut draft.text), draft.raw.take());
        let part = match draft.kind.take() {
            Some(PartKind::Text) => Part::Text { text },
            Some(PartKind::Thinking) => Part::Thinking { text, raw },
            Some(PartKind::ToolCall { id, name }) => Part::ToolCall(call_from_text(id, name, &text)),
            None => Part::Opaque { raw: raw.unwrap_or_default() },
        };
        self.events.push_back(ModelEvent::PartFinished { index, part });
    }

    /// Notes the tokens used so far, told only when they changed.
    pub(crate) fn usage(&mut self, usage: Usage) {
        if usage != self.usage {
            self.usage = usage;
            self.events.push_back(ModelEvent::Usage(usage));
        }
    }

    /// Completes the answer: every part first, in order.
    pub(crate) fn finish_all(&mut self, stop: StopReason, model: Option<String>) {
        for index in 0..self.drafts.len() {
            self.finish(index);
        }
        self.events.push_back(ModelEvent::Finished { stop, model });
    }
}

impl Draft {
    fn new(kind: Option<PartKind>) -> Self {
        Self { kind, text: String::new(), raw: None, joiner: Joiner::default(), finished: false }
    }
}

/// A call from the text of its arguments; slips that leave no doubt about the meaning are mended.
fn call_from_text(id: String, name: String, arguments: &str) -> ToolCall {
    let call = ToolCall::from_text(id, name, arguments);
    if call.unreadable.is_none() {
        return call;
    }
    match json::repaired(arguments).map(|text| ToolCall::from_text(&call.id, &call.name, &text)) {
        Some(mended) if mended.unreadable.is_none() => mended,
        _ => call,
    }
}

/// Gives every call an id that no other call of the conversation has.
#[derive(Debug)]
pub(crate) struct CallIds<'a> {
    request: &'a ModelRequest,
    given: Vec<String>,
}

impl<'a> CallIds<'a> {
    /// Ids for the answer to `request`.
    pub(crate) fn new(request: &'a ModelRequest) -> Self {
        Self { request, given: Vec::new() }
    }

    /// The service's own id where it is usable, else a new one.
    pub(crate) fn give(&mut self, wanted: Option<&str>) -> String {
        let id = match wanted {
            Some(id) if !self.taken(id) => id.to_owned(),
            // The number of messages grows from turn to turn, so the first try nearly always fits.
            _ => {
                let mut turn = self.request.messages.len();
                loop {
                    let id = format!("call_{turn}_{}", self.given.len());
                    if !self.taken(&id) {
                        break id;
                    }
                    turn += 1;
                }
            }
        };
        self.given.push(id.clone());
        id
    }

    fn taken(&self, id: &str) -> bool {
        let answers = self.request.messages.iter().filter_map(|message| message.as_assistant());
        id.is_empty()
            || self.given.iter().any(|given| given == id)
            || answers.flat_map(AssistantMessage::tool_calls).any(|call| call.id == id)
    }
}
