//! The loop. [`Run`]: a run in progress; stream it for events, await it for the outcome.

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::future::{BoxFuture, FutureExt};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::ToolContext;
use crate::event::{self, AgentEvent, EndReason, EventSink, EventSource, Role};
use crate::execute::{Batch, BatchEnd, Finished};
use crate::history;
use crate::limits::Spent;
use crate::message::{AssistantMessage, Message, StopReason, ToolCall, ToolResult, Usage};
use crate::parts::AgentParts;
use crate::provider::{ModelRequest, ProviderError};
use crate::queue::MessageQueue;
use crate::session::{Record, Session, SessionError};
use crate::toolset::Toolset;
use crate::turn::{self, Asked};

/// A run in progress. Nothing happens unless it is polled.
///
/// It is a stream of [`AgentEvent`]s, and a future of its [`Outcome`]; streaming to the end and then awaiting gives
/// both. Dropping it cancels its tools and drops the request; the session can go on.
#[must_use = "a run does nothing until it is streamed or awaited"]
pub struct Run<'s> {
    driver: BoxFuture<'s, Result<Outcome, RunError>>,
    outcome: Option<Result<Outcome, RunError>>,
    events: EventSource,
    control: RunControl,
    // Tools on blocking threads learn of the drop through the token.
    guard: DropGuard,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub reason: EndReason,
    /// The text of the last answer.
    pub text: String,
    /// Tokens it used, tools included.
    pub usage: Usage,
    /// Messages it added to the session.
    pub messages: usize,
}

/// Why a run failed. The session holds everything up to the failure, and can go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model gave no answer.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The session's log could not be written; nothing was done on the strength of what is not in it.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A tool said the run cannot go on.
    #[error("the tool `{tool}` ended the run: {message}")]
    Tool {
        /// The tool.
        tool: String,
        /// What it said.
        message: String,
    },
}

/// What others may do to a run while it goes on. Cheap to clone, and outlives the run.
#[derive(Debug, Clone)]
pub struct RunControl {
    cancellation: CancellationToken,
    queue: MessageQueue,
}

impl RunControl {
    /// Ends the run: it settles within a second, with what came so far in the log.
    pub fn abort(&self) {
        self.cancellation.cancel();
    }

    /// Where to say something to the model meanwhile.
    pub fn queue(&self) -> &MessageQueue {
        &self.queue
    }
}

impl Run<'_> {
    /// What others may do to this run while it goes on.
    pub fn control(&self) -> RunControl {
        self.control.clone()
    }
}

impl Stream for Run<'_> {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        // Events first, so that the loop goes no further than its reader.
        if let Poll::Ready(event) = self.events.poll_next(context) {
            return Poll::Ready(event);
        }
        if self.outcome.is_none()
            && let Poll::Ready(outcome) = self.driver.poll_unpin(context)
        {
            self.outcome = Some(outcome);
        }
        match self.events.poll_next(context) {
            Poll::Pending if self.outcome.is_some() => Poll::Ready(None),
            event => event,
        }
    }
}

impl<'s> IntoFuture for Run<'s> {
    type Output = Result<Outcome, RunError>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { driver, outcome, events, guard, .. } = self;
        async move {
            // Nobody reads events any more: without a receiver they are dropped, not piled up.
            drop(events);
            let _guard = guard;
            match outcome {
                Some(outcome) => outcome,
                None => driver.await,
            }
        }
        .boxed()
    }
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("over", &self.outcome.is_some()).finish_non_exhaustive()
    }
}

pub(crate) fn start(agent: Arc<AgentParts>, session: &mut Session, prompt: Message) -> Run<'_> {
    let (sink, events) = event::events();
    let cancellation = CancellationToken::new();
    let control = RunControl { cancellation: cancellation.clone(), queue: session.queue().clone() };
    let guard = cancellation.clone().drop_guard();
    let driver = Driver {
        messages_before: session.messages().len(),
        agent,
        session,
        events: sink,
        cancellation,
        spent: Spent::default(),
        loaded: HashSet::new(),
        text: String::new(),
    };
    Run { driver: driver.drive(prompt).boxed(), outcome: None, events, control, guard }
}

/// The loop's state.
struct Driver<'s> {
    agent: Arc<AgentParts>,
    session: &'s mut Session,
    events: EventSink,
    cancellation: CancellationToken,
    spent: Spent,
    /// Cold tools that were loaded in this run.
    loaded: HashSet<String>,
    text: String,
    messages_before: usize,
}

impl Driver<'_> {
    async fn drive(mut self, prompt: Message) -> Result<Outcome, RunError> {
        self.events.emit(AgentEvent::RunStarted);
        let deadline = self.agent.limits.wall_time;
        let (cancellation, started) = (self.cancellation.clone(), tokio::time::Instant::now());
        let ended = {
            let mut conversation = std::pin::pin!(self.converse(prompt));
            let in_time = match deadline {
                Some(limit) => tokio::time::timeout_at(started + limit, &mut conversation).await.ok(),
                None => Some(conversation.as_mut().await),
            };
            match (in_time, deadline) {
                (Some(ended), _) => ended,
                (None, limit) => {
                    // Out of time: abort, so that everything open is settled as in any abort.
                    cancellation.cancel();
                    let limit = format!("{} s", limit.unwrap_or_default().as_secs_f64());
                    let reason = conversation.await;
                    reason.map(|reason| if reason == EndReason::Aborted { EndReason::Limit { limit } } else { reason })
                }
            }
        };
        let messages = self.session.messages().len() - self.messages_before;
        let usage = self.spent.usage;
        let reason = match &ended {
            Ok(reason) => reason.clone(),
            Err(error) => EndReason::Failed { error: error.to_string() },
        };
        self.events.emit(AgentEvent::RunFinished { reason, messages, usage });
        self.events.emit(AgentEvent::Settled);
        Ok(Outcome { reason: ended?, text: self.text, usage, messages })
    }

    async fn converse(&mut self, prompt: Message) -> Result<EndReason, RunError> {
        // A run that was dropped could not answer its calls any more.
        for result in history::open_calls(self.session.messages()) {
            self.session.append(Message::ToolResult(result))?;
        }
        self.deliver(vec![prompt])?;
        loop {
            self.events.seen().await;
            if self.cancellation.is_cancelled() {
                return Ok(EndReason::Aborted);
            }
            if let Some(limit) = self.spent.reached(&self.agent.limits) {
                return Ok(EndReason::Limit { limit });
            }
            self.spent.turns += 1;
            let (turn, before) = (self.spent.turns, self.spent.usage);
            self.events.emit(AgentEvent::TurnStarted { turn });
            let ended = self.turn().await;
            self.events.emit(AgentEvent::TurnFinished { turn, usage: since(before, self.spent.usage) });
            // What the reader says to these events is heard before the run goes on or ends.
            self.events.seen().await;
            match ended? {
                TurnEnd::GoOn => {
                    let steering = self.session.queue().next_steering(self.agent.steering);
                    self.deliver_queued(steering)?;
                }
                TurnEnd::End(reason) => return Ok(reason),
                TurnEnd::Rest(reason) => {
                    let queue = self.session.queue();
                    let mut waiting = queue.next_steering(self.agent.steering);
                    if waiting.is_empty() {
                        waiting = queue.next_follow_up(self.agent.follow_up);
                    }
                    if waiting.is_empty() {
                        return Ok(reason);
                    }
                    self.deliver_queued(waiting)?;
                }
            }
        }
    }

    fn deliver_queued(&mut self, messages: Vec<Message>) -> Result<(), RunError> {
        if messages.is_empty() {
            return Ok(());
        }
        let (steering, follow_up) = self.session.queue().waiting();
        self.events.emit(AgentEvent::QueueChanged { steering, follow_up });
        self.deliver(messages)
    }

    /// Logs messages of the person, and says so.
    fn deliver(&mut self, messages: Vec<Message>) -> Result<(), RunError> {
        for message in messages {
            self.session.append(message.clone())?;
            self.events.emit(AgentEvent::MessageStarted { role: Role::User });
            self.events.emit(AgentEvent::MessageFinished { message });
        }
        Ok(())
    }

    /// One answer of the model, and what its calls came to.
    async fn turn(&mut self) -> Result<TurnEnd, RunError> {
        let (tools, cold) = self.available_tools();
        let request = ModelRequest {
            model: self.agent.model.clone(),
            instructions: Arc::clone(&self.agent.instructions),
            messages: history::sendable(self.session.messages()),
            tools: tools.definitions(),
            settings: self.agent.settings.clone(),
        };
        let agent = Arc::clone(&self.agent);
        let asked = turn::ask(&*agent.provider, &request, &agent.retry, &self.cancellation, &self.events).await;
        drop(request);
        let answer = match asked {
            Asked::Complete(answer) => self.keep(answer)?,
            Asked::Aborted(partial) => {
                self.keep_partial(partial, "aborted")?;
                return Ok(TurnEnd::End(EndReason::Aborted));
            }
            Asked::Failed(partial, error) => {
                self.keep_partial(partial, &error.message)?;
                return Err(error.into());
            }
        };
        let calls: Vec<ToolCall> = answer.tool_calls().cloned().collect();
        if calls.is_empty() {
            return Ok(rest(answer.stop));
        }
        if let Some(problem) = not_to_be_run(answer.stop) {
            return self.answer_unrun(&answer, &calls, problem);
        }
        self.run_calls(&answer, &calls, &tools, &cold).await
    }

    /// The tools of this turn, and the names of those that could be loaded.
    fn available_tools(&self) -> (Toolset, Vec<String>) {
        let is_cold = |name: &str, cold: bool| cold && !self.loaded.contains(name);
        let all = &self.agent.tools;
        let cold = all.iter().filter(|(tool, _)| is_cold(&tool.name, tool.cold)).map(|(tool, _)| tool.name.clone());
        let cold: Vec<String> = cold.collect();
        (all.clone().filtered(|tool| !is_cold(&tool.name, tool.cold)), cold)
    }

    /// Logs an answer, then says so: nothing acts on what is not in the store.
    fn keep(&mut self, mut answer: AssistantMessage) -> Result<AssistantMessage, RunError> {
        if let Some(prices) = &self.agent.prices {
            answer.usage.cost = Some(prices.cost_of(&answer.usage));
        }
        let message = Message::Assistant(answer.clone());
        if let Err(error) = self.session.append(message.clone()) {
            self.events.emit(AgentEvent::MessageDiscarded { error: error.to_string() });
            return Err(error.into());
        }
        self.spent.usage += answer.usage;
        self.text = answer.text();
        self.events.emit(AgentEvent::MessageFinished { message });
        Ok(answer)
    }

    fn keep_partial(&mut self, partial: Option<AssistantMessage>, why: &str) -> Result<(), RunError> {
        if let Some(answer) = partial {
            return self.keep(answer).map(drop);
        }
        self.events.emit(AgentEvent::MessageDiscarded { error: why.to_owned() });
        Ok(())
    }

    /// Answers calls that must not run, and lets the model see why.
    fn answer_unrun(
        &mut self,
        answer: &AssistantMessage,
        calls: &[ToolCall],
        problem: &str,
    ) -> Result<TurnEnd, RunError> {
        for call in calls {
            let (label, coerced) = (call.name.clone(), Vec::new());
            self.events.emit(AgentEvent::ToolStarted { call: call.clone(), label, coerced });
            let result = ToolResult::error(call, problem);
            log_result(self.session, &self.events, Finished { result, denied: false, end: None })?;
        }
        self.spent.count_calls(answer, true);
        Ok(match answer.stop {
            StopReason::Length => TurnEnd::GoOn,
            stop => rest(stop),
        })
    }

    async fn run_calls(
        &mut self,
        answer: &AssistantMessage,
        calls: &[ToolCall],
        tools: &Toolset,
        cold: &[String],
    ) -> Result<TurnEnd, RunError> {
        let agent = Arc::clone(&self.agent);
        let context = ToolContext::new(agent.working_dir.clone())
            .with_state(agent.state.clone())
            .with_session_state(self.session.state().clone())
            .with_variables(self.session.variables().clone())
            .with_artifacts_dir(self.session.artifacts_dir().map(Into::into));
        let batch = Batch {
            agent: &agent,
            tools,
            cold,
            context: &context,
            cancellation: &self.cancellation,
            events: &self.events,
        };
        let mut end: Option<BatchEnd> = None;
        let mut results: Vec<ToolResult> = Vec::with_capacity(calls.len());
        batch
            .execute(calls, |mut finished| {
                end = end.take().or(finished.end.take());
                results.push(finished.result.clone());
                log_result(self.session, &self.events, finished)
            })
            .await?;
        self.after_batch(answer, calls, results, end)
    }

    fn after_batch(
        &mut self,
        answer: &AssistantMessage,
        calls: &[ToolCall],
        mut results: Vec<ToolResult>,
        end: Option<BatchEnd>,
    ) -> Result<TurnEnd, RunError> {
        results.sort_by_key(|result| calls.iter().position(|call| call.id == result.call_id));
        for result in &mut results {
            self.spent.usage += result.usage.unwrap_or_default();
            self.loaded.extend(result.added_tools.drain(..));
            for update in result.updates.drain(..) {
                self.session.record(Record::ContextUpdated(update))?;
            }
        }
        self.spent.count_calls(answer, results.iter().all(|result| result.is_error));
        match end {
            Some(BatchEnd::Fatal { tool, message }) => return Err(RunError::Tool { tool, message }),
            Some(BatchEnd::Stopped { message }) => return Ok(TurnEnd::End(EndReason::Stopped { message })),
            None => {}
        }
        if self.cancellation.is_cancelled() {
            return Ok(TurnEnd::End(EndReason::Aborted));
        }
        let terminate = results.iter().all(|result| result.terminate);
        Ok(if terminate { TurnEnd::Rest(EndReason::Terminated) } else { TurnEnd::GoOn })
    }
}

/// How a turn leaves the run.
enum TurnEnd {
    /// The model is asked again.
    GoOn,
    /// The run ends unless somebody has something to say.
    Rest(EndReason),
    /// The run ends.
    End(EndReason),
}

/// How a run rests after an answer that stopped like this and asks for no (runnable) call.
fn rest(stop: StopReason) -> TurnEnd {
    match stop {
        StopReason::Pause => TurnEnd::GoOn,
        StopReason::Refusal => TurnEnd::Rest(EndReason::Refused),
        StopReason::ContentFilter => TurnEnd::Rest(EndReason::Filtered),
        StopReason::Length | StopReason::ContextFull => TurnEnd::Rest(EndReason::Length),
        StopReason::EndTurn
        | StopReason::ToolCalls
        | StopReason::StopSequence
        | StopReason::Interrupted
        | StopReason::Failed => TurnEnd::Rest(EndReason::Done),
    }
}

/// What calls of an answer that stopped like this are answered with instead of being run.
fn not_to_be_run(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::Length | StopReason::ContextFull => Some(
            "Not run: your answer was cut at the limit of output tokens, so the arguments may be incomplete. Make the call again, shorter.",
        ),
        StopReason::Refusal | StopReason::ContentFilter => Some("Not run: the answer was cut by the service's filter."),
        _ => None,
    }
}

/// Logs a result, then says so.
fn log_result(session: &mut Session, events: &EventSink, finished: Finished) -> Result<(), RunError> {
    let Finished { result, denied, .. } = finished;
    let logged = session.append(Message::ToolResult(result.clone()));
    // The start was announced, so the end is too, whether or not the store took it.
    events.emit(if denied { AgentEvent::ToolDenied { result } } else { AgentEvent::ToolFinished { result } });
    Ok(logged?)
}

fn since(before: Usage, now: Usage) -> Usage {
    Usage {
        input: now.input - before.input,
        output: now.output - before.output,
        cache_read: now.cache_read - before.cache_read,
        cache_write: now.cache_write - before.cache_write,
        reasoning: now.reasoning - before.reasoning,
        cost: now.cost.map(|cost| cost - before.cost.unwrap_or(0.0)),
        estimated: now.estimated,
    }
}
