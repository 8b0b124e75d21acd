//! One answer of the model: ask, retry by class of error, fold the events into a message.

use std::collections::HashSet;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::event::{AgentEvent, EventSink, Role};
use crate::history;
use crate::message::{AssistantMessage, Part, StopReason, ToolCall, Usage};
use crate::provider::{ErrorKind, ModelEvent, ModelRequest, PartKind, Provider, ProviderError};

/// How failed requests are sent again. Only errors that may pass ([`ErrorKind::is_transient`]) are.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Most attempts for one answer, the first one included.
    pub attempts: u32,
    /// The pause before the second attempt; each further one is twice as long, with jitter.
    pub first_delay: Duration,
    /// The longest pause. A service that asks for more is not asked again.
    pub longest_delay: Duration,
}

impl Default for RetryPolicy {
    /// Five attempts, pauses from 1 s to 60 s.
    fn default() -> Self {
        Self { attempts: 5, first_delay: Duration::from_secs(1), longest_delay: Duration::from_mins(1) }
    }
}

impl RetryPolicy {
    /// One attempt only.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    fn delays(&self) -> impl Iterator<Item = Duration> {
        ExponentialBuilder::default()
            .with_min_delay(self.first_delay)
            .with_max_delay(self.longest_delay)
            .with_max_times(usize::try_from(self.attempts.saturating_sub(1)).unwrap_or(usize::MAX))
            .with_jitter()
            .build()
    }

    /// The pause before asking again after `error`; `None`: asking again is no use.
    fn pause(&self, error: &ProviderError, backoff: Option<Duration>) -> Option<Duration> {
        let backoff = backoff.filter(|_| error.kind.is_transient())?;
        match error.retry_after {
            Some(asked) => (asked <= self.longest_delay).then_some(asked),
            None => Some(backoff.min(self.longest_delay)),
        }
    }

    /// The error of the last attempt, saying why there is no other one where that is not plain.
    fn explained(&self, mut error: ProviderError) -> ProviderError {
        if let Some(asked) = error.retry_after.filter(|asked| error.kind.is_transient() && *asked > self.longest_delay)
        {
            let (asked, longest) = (asked.as_secs(), self.longest_delay.as_secs());
            let reason = format!("it asks to wait {asked} s, and {longest} s is the longest pause allowed");
            error.message = format!("{}; {reason}", error.message);
        }
        error
    }
}

/// How asking the model came out. All but `Complete` carry what may be kept of the answer.
pub(crate) enum Asked {
    Complete(AssistantMessage),
    Aborted(Option<AssistantMessage>),
    Failed(Option<AssistantMessage>, ProviderError),
}

/// Asks until there is a complete answer, no retry is left, or the run is aborted.
///
/// The caller ends the message that was begun: with "finished" once it is logged, or with "discarded".
pub(crate) async fn ask(
    provider: &dyn Provider,
    request: &ModelRequest,
    policy: &RetryPolicy,
    cancellation: &CancellationToken,
    events: &EventSink,
) -> Asked {
    let mut delays = policy.delays();
    let mut attempt = 1;
    loop {
        events.emit(AgentEvent::MessageStarted { role: Role::Assistant });
        let mut answer = Answer::new(provider.name(), request, events);
        let error = match answer.receive(provider, request, cancellation).await {
            Received::Complete(stop) => return Asked::Complete(answer.complete(stop)),
            Received::Aborted => return Asked::Aborted(answer.partial(StopReason::Interrupted)),
            Received::Failed(error) => error,
        };
        let Some(delay) = policy.pause(&error, delays.next()) else {
            return Asked::Failed(answer.partial(StopReason::Failed), policy.explained(error));
        };
        events.emit(AgentEvent::MessageDiscarded { error: error.message.clone() });
        attempt += 1;
        events.emit(AgentEvent::RetryScheduled { attempt, delay, kind: error.kind, error: error.message });
        // An abort during the pause is found at the start of the next attempt.
        let _ = tokio::time::timeout(delay, cancellation.cancelled()).await;
    }
}

enum Received {
    Complete(StopReason),
    Aborted,
    Failed(ProviderError),
}

/// An answer while it comes in.
struct Answer<'a> {
    events: &'a EventSink,
    parts: Vec<Growing>,
    usage: Usage,
    provider: String,
    model: String,
}

struct Growing {
    index: usize,
    kind: PartKind,
    text: String,
    finished: Option<Part>,
}

impl<'a> Answer<'a> {
    fn new(provider: &str, request: &ModelRequest, events: &'a EventSink) -> Self {
        Self {
            events,
            parts: Vec::new(),
            usage: Usage::default(),
            provider: provider.to_owned(),
            model: request.model.clone(),
        }
    }

    async fn receive(
        &mut self,
        provider: &dyn Provider,
        request: &ModelRequest,
        cancellation: &CancellationToken,
    ) -> Received {
        if cancellation.is_cancelled() {
            return Received::Aborted;
        }
        let mut stream = provider.stream(request);
        loop {
            let event = tokio::select! {
                biased;
                () = cancellation.cancelled() => return Received::Aborted,
                event = stream.next() => event,
            };
            self.events.seen().await;
            match event {
                Some(Ok(ModelEvent::Finished { stop, model })) => {
                    self.model = model.unwrap_or_else(|| std::mem::take(&mut self.model));
                    return Received::Complete(stop);
                }
                Some(Ok(event)) => self.fold(event),
                Some(Err(error)) => return Received::Failed(error),
                None => {
                    let error = ProviderError::new(ErrorKind::Cut, "the answer ended before its end mark");
                    return Received::Failed(error);
                }
            }
        }
    }

    fn fold(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::PartStarted { index, kind } => {
                if let PartKind::ToolCall { id, name } = &kind {
                    let (call_id, name, arguments) = (id.clone(), name.clone(), String::new());
                    self.events.emit(AgentEvent::ToolCallDelta { index, call_id, name, arguments });
                }
                self.parts.push(Growing { index, kind, text: String::new(), finished: None });
            }
            ModelEvent::PartDelta { index, delta } => {
                let Some(part) = self.parts.iter_mut().rfind(|part| part.index == index) else { return };
                part.text.push_str(&delta);
                self.events.emit(match &part.kind {
                    PartKind::Text => AgentEvent::TextDelta { index, text: delta },
                    PartKind::Thinking => AgentEvent::ThinkingDelta { index, text: delta },
                    PartKind::ToolCall { id, name } => {
                        let (call_id, name) = (id.clone(), name.clone());
                        AgentEvent::ToolCallDelta { index, call_id, name, arguments: delta }
                    }
                });
            }
            ModelEvent::PartFinished { index, part } => {
                match self.parts.iter_mut().rfind(|growing| growing.index == index) {
                    Some(growing) => growing.finished = Some(part),
                    // A part that came whole, such as one only the service understands.
                    None => self.parts.push(Growing {
                        index,
                        kind: PartKind::Text,
                        text: String::new(),
                        finished: Some(part),
                    }),
                }
            }
            ModelEvent::Usage(usage) => self.usage = usage,
            ModelEvent::Finished { .. } => {}
        }
    }

    fn complete(self, stop: StopReason) -> AssistantMessage {
        let mut message = self.message(stop, |part| Some(part.whole()));
        make_ids_unique(&mut message);
        message
    }

    /// What may be kept of an answer that has no end; `None` if that is nothing.
    fn partial(self, stop: StopReason) -> Option<AssistantMessage> {
        let message = history::without_calls(self.message(stop, Growing::so_far), stop);
        (!message.parts.is_empty()).then_some(message)
    }

    fn message(mut self, stop: StopReason, part: impl Fn(Growing) -> Option<Part>) -> AssistantMessage {
        self.parts.sort_by_key(|part| part.index);
        AssistantMessage {
            parts: self.parts.into_iter().filter_map(part).collect(),
            stop,
            usage: self.usage,
            provider: self.provider,
            model: self.model,
        }
    }
}

impl Growing {
    fn whole(self) -> Part {
        let Self { kind, text, finished, .. } = self;
        finished.unwrap_or_else(|| match kind {
            PartKind::Text => Part::Text { text },
            PartKind::Thinking => Part::Thinking { text, raw: None },
            PartKind::ToolCall { id, name } => Part::ToolCall(ToolCall::from_text(id, name, &text)),
        })
    }

    fn so_far(self) -> Option<Part> {
        match (&self.finished, &self.kind) {
            (Some(_), _) | (None, PartKind::Text) => Some(self.whole()),
            // Half a thought has no signature, half a call no arguments.
            (None, PartKind::Thinking | PartKind::ToolCall { .. }) => None,
        }
    }
}

/// Calls of one answer must be told apart by their ids, whatever the service sent.
fn make_ids_unique(message: &mut AssistantMessage) {
    let mut taken = HashSet::new();
    for (number, part) in message.parts.iter_mut().enumerate() {
        let Part::ToolCall(call) = part else { continue };
        if call.id.is_empty() {
            call.id = format!("call_{number}");
        }
        while !taken.insert(call.id.clone()) {
            call.id = format!("{}_{number}", call.id);
        }
    }
}
