//! [`AgentEvent`]: what a front end may see of a run, in the order it happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::context::ProgressUpdate;
use crate::message::{Message, ToolCall, ToolResult, Usage};
use crate::provider::ErrorKind;

/// Something that happened in a run. Every start has exactly one end, whatever happens in between.
///
/// ```text
/// run_started
///   message_started · message_finished                        the user's message, already in the log
///   turn_started
///     message_started                                         the model answers
///       text_delta* · thinking_delta* · tool_call_delta*
///     message_finished | message_discarded                    in the log | failed, followed by retry_scheduled or the end
///     tool_started                                            for each call
///       tool_progress*
///     tool_finished | tool_denied                             in the log, in the order they finish
///   turn_finished
/// run_finished
/// settled                                                     nothing goes on any more
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The run began.
    RunStarted,
    /// A turn (one answer of the model and its tool calls) began.
    TurnStarted {
        /// Its number in this run, from 1.
        turn: u32,
    },
    /// A message began.
    MessageStarted {
        /// Who speaks.
        role: Role,
    },
    /// The answer grew by some text.
    TextDelta {
        /// The part's place in the message.
        index: usize,
        /// The new piece.
        text: String,
    },
    /// The model's reasoning grew.
    ThinkingDelta {
        /// The part's place in the message.
        index: usize,
        /// The new piece.
        text: String,
    },
    /// The arguments of a call grew.
    ToolCallDelta {
        /// The part's place in the message.
        index: usize,
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The new piece of the arguments' JSON text; empty at the call's beginning.
        arguments: String,
    },
    /// A message is complete, and in the log.
    MessageFinished {
        /// The message.
        message: Message,
    },
    /// The answer failed and is not in the log.
    MessageDiscarded {
        /// Why.
        error: String,
    },
    /// A call is about to be looked up, checked and run.
    ToolStarted {
        /// The call.
        call: ToolCall,
        /// What people call the tool.
        label: String,
        /// Arguments that were read leniently, a sentence each.
        coerced: Vec<String>,
    },
    /// A running tool reports.
    ToolProgress {
        /// The call.
        call_id: String,
        /// What it says.
        update: ProgressUpdate,
    },
    /// A call has its result, which is in the log.
    ToolFinished {
        /// The result.
        result: ToolResult,
    },
    /// A call was not allowed; its result, which is in the log, says so to the model.
    ToolDenied {
        /// The result.
        result: ToolResult,
    },
    /// A turn ended.
    TurnFinished {
        /// Its number.
        turn: u32,
        /// Tokens of this turn, tools included.
        usage: Usage,
    },
    /// A failed request will be sent again.
    RetryScheduled {
        /// The number of the coming attempt, from 2.
        attempt: u32,
        /// The pause before it, in milliseconds.
        #[serde(rename = "delay_ms", with = "millis")]
        delay: Duration,
        /// The class of the failure.
        kind: ErrorKind,
        /// What failed.
        error: String,
    },
    /// The queues of steering and follow-up messages changed.
    QueueChanged {
        /// Messages that wait for the current batch to end.
        steering: usize,
        /// Messages that wait for the run to end.
        follow_up: usize,
    },
    /// Another model answers from now on.
    ModelChanged {
        /// The model.
        model: String,
    },
    /// The run is over.
    RunFinished {
        /// Why.
        reason: EndReason,
        /// Messages it added to the log.
        messages: usize,
        /// Tokens it used.
        usage: Usage,
    },
    /// Nothing goes on any more: the only sign of idleness.
    Settled,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// The model had said everything.
    Done,
    /// Every tool of the last batch said the run may end.
    Terminated,
    /// A hook ended it.
    Stopped {
        /// What the hook said.
        message: String,
    },
    /// It was aborted.
    Aborted,
    /// The model refused to answer.
    Refused,
    /// The service's content filter cut the answer.
    Filtered,
    /// The answer was cut at the limit of output tokens.
    Length,
    /// A limit of the agent was reached.
    Limit {
        /// Which one, and its value.
        limit: String,
    },
    /// It failed; the run's own result says how.
    Failed {
        /// What failed.
        error: String,
    },
}

/// Where the parts of a run put its events.
#[derive(Clone)]
pub(crate) struct EventSink {
    sender: mpsc::UnboundedSender<AgentEvent>,
    unread: Arc<AtomicUsize>,
}

/// Where a run's reader takes its events from.
pub(crate) struct EventSource {
    receiver: mpsc::UnboundedReceiver<AgentEvent>,
    unread: Arc<AtomicUsize>,
}

/// A new pair of the two.
pub(crate) fn events() -> (EventSink, EventSource) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let unread = Arc::new(AtomicUsize::new(0));
    (EventSink { sender, unread: Arc::clone(&unread) }, EventSource { receiver, unread })
}

impl EventSink {
    pub(crate) fn emit(&self, event: AgentEvent) {
        self.unread.fetch_add(1, Ordering::Relaxed);
        // Nobody listening is no failure: the run is awaited, not watched.
        let _ = self.sender.send(event);
    }

    /// Waits until the reader has seen everything, so that the loop goes no further than its reader.
    ///
    /// Only for the loop itself: it registers no waker, because the reader polls the loop whenever nothing is unread.
    pub(crate) async fn seen(&self) {
        let caught_up = || self.unread.load(Ordering::Relaxed) == 0 || self.sender.is_closed();
        std::future::poll_fn(|_| if caught_up() { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

impl EventSource {
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let event = self.receiver.poll_recv(context);
        if let Poll::Ready(Some(_)) = event {
            self.unread.fetch_sub(1, Ordering::Relaxed);
        }
        event
    }
}

mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
