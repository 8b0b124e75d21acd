//! The conversation as a request carries it: every call answered once, every message encoded once.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::{AssistantMessage, Content, Message, Part, StopReason, ToolResult};

/// A message of the history, which remembers how a wire protocol writes it.
///
/// Dereferences to its [`Message`]. Cheap to clone; clones share what was encoded.
#[derive(Debug, Clone)]
pub struct HistoryMessage {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    message: Message,
    /// The last encoding, with the key it was made under: a session talks to one model at a time.
    encoded: Mutex<Option<(u64, Arc<str>)>>,
}

impl HistoryMessage {
    /// Takes a message into a history.
    pub fn new(message: Message) -> Self {
        Self { inner: Arc::new(Inner { message, encoded: Mutex::new(None) }) }
    }

    /// The message as a wire protocol writes it: encoded on first use, remembered until another `key` asks.
    ///
    /// `key` stands for everything besides the message that the encoding depends on (protocol, model, settings).
    pub fn encoded(&self, key: u64, encode: impl FnOnce(&Message) -> String) -> Arc<str> {
        let mut encoded = self.inner.encoded.lock().unwrap_or_else(PoisonError::into_inner);
        match &*encoded {
            Some((known, text)) if *known == key => Arc::clone(text),
            _ => {
                let text: Arc<str> = encode(&self.inner.message).into();
                *encoded = Some((key, Arc::clone(&text)));
                text
            }
        }
    }
}

impl Deref for HistoryMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.inner.message
    }
}

impl From<Message> for HistoryMessage {
    fn from(message: Message) -> Self {
        Self::new(message)
    }
}

/// What a call without a result is answered with.
pub const INTERRUPTED: &str = "This call was interrupted before it gave a result. It may have had effects.";

/// The history as every provider accepts it. The same log always gives the same messages.
///
/// Results stand right behind the message that made the calls, one for each call and in the order of the calls: a
/// missing one is answered as interrupted, a second one and one without a call are left out. Messages without content
/// and messages of the application's own are left out.
pub fn sendable(log: &[HistoryMessage]) -> Vec<HistoryMessage> {
    let mut sendable = Vec::with_capacity(log.len());
    let mut at = 0;
    while let Some(message) = log.get(at) {
        at += 1;
        match &**message {
            Message::User(user) if user.content.iter().any(has_substance) => sendable.push(message.clone()),
            Message::Assistant(answer) if answer.parts.iter().any(part_has_substance) => {
                sendable.push(message.clone());
                at = push_results(&mut sendable, answer, log, at);
            }
            _ => {}
        }
    }
    sendable
}

/// Adds one result for each call of `answer`, taken from the log behind it; gives where the log goes on.
fn push_results(
    sendable: &mut Vec<HistoryMessage>,
    answer: &AssistantMessage,
    log: &[HistoryMessage],
    at: usize,
) -> usize {
    let end = log[at..].iter().position(|m| m.as_assistant().is_some()).map_or(log.len(), |found| at + found);
    let behind = &log[at..end];
    for call in answer.tool_calls() {
        let result = behind.iter().find(|m| m.as_tool_result().is_some_and(|result| result.call_id == call.id));
        sendable.push(match result {
            Some(result) => result.clone(),
            None => HistoryMessage::new(Message::ToolResult(ToolResult::error(call, INTERRUPTED))),
        });
    }
    at
}

/// The results that are missing behind the last answer: what a session must log before it can go on.
pub fn open_calls(log: &[HistoryMessage]) -> Vec<ToolResult> {
    let Some(last) = log.iter().rposition(|message| message.as_assistant().is_some()) else {
        return Vec::new();
    };
    let answered: HashSet<&str> =
        log[last..].iter().filter_map(|m| m.as_tool_result()).map(|result| result.call_id.as_str()).collect();
    let calls = log[last].as_assistant().into_iter().flat_map(AssistantMessage::tool_calls);
    calls.filter(|call| !answered.contains(call.id.as_str())).map(|call| ToolResult::error(call, INTERRUPTED)).collect()
}

/// What is left of an answer that did not come to its end: whole parts with something in them, no calls.
pub(crate) fn without_calls(mut answer: AssistantMessage, stop: StopReason) -> AssistantMessage {
    answer.parts.retain(|part| part_has_substance(part) && !matches!(part, Part::ToolCall(_) | Part::Opaque { .. }));
    answer.stop = stop;
    answer
}

fn has_substance(content: &Content) -> bool {
    match content {
        Content::Text { text } => !text.trim().is_empty(),
        Content::Image { data, .. } => !data.is_empty(),
    }
}

fn part_has_substance(part: &Part) -> bool {
    match part {
        Part::Text { text } => !text.trim().is_empty(),
        Part::Thinking { text, raw } => raw.is_some() || !text.trim().is_empty(),
        Part::ToolCall(_) | Part::Opaque { .. } => true,
    }
}
