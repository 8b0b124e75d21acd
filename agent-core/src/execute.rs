//! Tool calls → tool results: look up, check, ask hooks and approval, run, bound, patch.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio_util::sync::CancellationToken;

use crate::approval::Decision;
use crate::context::{Progress, ProgressUpdate, ToolContext};
use crate::event::{AgentEvent, EventSink};
use crate::history::INTERRUPTED;
use crate::hooks::{BeforeToolCall, HookError};
use crate::message::{Content, ToolCall, ToolResult};
use crate::parts::AgentParts;
use crate::schema;
use crate::tool::{Tool, ToolDefinition, ToolError, ToolErrorKind, ToolOutput};
use crate::toolset::Toolset;

/// How long a cancelled tool may take to hand over what it has.
const GRACE: Duration = Duration::from_millis(600);

/// How long a hook may take once the run is aborted.
const HOOK_GRACE: Duration = Duration::from_millis(200);

/// A call that has its result.
pub(crate) struct Finished {
    pub(crate) result: ToolResult,
    /// Whether it was refused rather than run.
    pub(crate) denied: bool,
    /// What ends the run after this batch.
    pub(crate) end: Option<BatchEnd>,
}

/// Why a run ends after a batch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BatchEnd {
    /// A hook wants it.
    Stopped { message: String },
    /// A tool failed in a way the run cannot go on from.
    Fatal { tool: String, message: String },
}

/// What all calls of a batch have in common.
pub(crate) struct Batch<'a> {
    pub(crate) agent: &'a AgentParts,
    /// The tools that are available in this turn.
    pub(crate) tools: &'a Toolset,
    /// The names of tools that could be loaded.
    pub(crate) cold: &'a [String],
    pub(crate) context: &'a ToolContext,
    pub(crate) cancellation: &'a CancellationToken,
    pub(crate) events: &'a EventSink,
}

/// A call that may run.
struct Ready<'a> {
    call: &'a ToolCall,
    given: ToolCall,
    definition: Arc<ToolDefinition>,
    tool: Arc<dyn Tool>,
}

enum Preflight<'a> {
    Ready(Ready<'a>),
    Finished(Finished),
}

impl Batch<'_> {
    /// Runs the calls; `finished` gets each one as soon as it has its result, in whatever order that is.
    ///
    /// Calls are looked at in order. One that may run starts at once, beside those before it, unless one of them is
    /// sequential. An error of `finished` ends the batch at once.
    pub(crate) async fn execute<E>(
        &self,
        calls: &[ToolCall],
        mut finished: impl FnMut(Finished) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut running: FuturesUnordered<BoxFuture<'_, Finished>> = FuturesUnordered::new();
        let mut exclusive = false;
        for call in calls {
            let mut preflight = std::pin::pin!(self.preflight(call));
            let checked = loop {
                tokio::select! {
                    biased;
                    Some(done) = running.next() => finished(done)?,
                    checked = &mut preflight => break checked,
                }
            };
            let ready = match checked {
                Preflight::Ready(ready) => ready,
                Preflight::Finished(done) => {
                    finished(done)?;
                    continue;
                }
            };
            let alone = ready.definition.sequential || self.agent.sequential;
            let room = if alone || exclusive { 1 } else { self.agent.concurrency.max(1) };
            while running.len() >= room {
                let Some(done) = running.next().await else { break };
                finished(done)?;
            }
            exclusive = alone;
            running.push(self.run(ready).boxed());
        }
        while let Some(done) = running.next().await {
            finished(done)?;
        }
        Ok(())
    }

    /// Everything before the tool itself. Never hangs: aborts and slow hooks end it.
    async fn preflight<'a>(&self, call: &'a ToolCall) -> Preflight<'a> {
        let Some((definition, tool)) = self.tools.get(&call.name) else {
            self.started(call, &call.name, Vec::new());
            return self.refuse(call, self.unknown_tool(&call.name)).await;
        };
        let given = match checked(definition, call) {
            Ok((given, coerced)) => {
                self.started(&given, &definition.label, coerced);
                given
            }
            Err(problem) => {
                self.started(call, &definition.label, Vec::new());
                return self.refuse(call, problem).await;
            }
        };
        let permission = self.permission(given, definition);
        let outcome = tokio::select! {
            biased;
            () = self.cancellation.cancelled() => Err(Refusal::Error(INTERRUPTED.to_owned())),
            outcome = permission => outcome,
        };
        match outcome {
            Ok(given) => {
                let (definition, tool) = (Arc::clone(definition), Arc::clone(tool));
                Preflight::Ready(Ready { call, given, definition, tool })
            }
            Err(Refusal::Error(problem)) => self.refuse(call, problem).await,
            Err(Refusal::Denied(reason)) => {
                let result = ToolResult::error(call, reason);
                Preflight::Finished(Finished { result: self.patched(call, result).await, denied: true, end: None })
            }
            Err(Refusal::Stop(message)) => {
                let result = ToolResult::error(call, format!("Not run: {message}"));
                let end = Some(BatchEnd::Stopped { message });
                Preflight::Finished(Finished { result: self.patched(call, result).await, denied: true, end })
            }
        }
    }

    fn started(&self, call: &ToolCall, label: &str, coerced: Vec<String>) {
        self.events.emit(AgentEvent::ToolStarted { call: call.clone(), label: label.to_owned(), coerced });
    }

    async fn refuse<'a>(&self, call: &ToolCall, problem: String) -> Preflight<'a> {
        let result = self.patched(call, ToolResult::error(call, problem)).await;
        Preflight::Finished(Finished { result, denied: false, end: None })
    }

    fn unknown_tool(&self, name: &str) -> String {
        if self.cold.iter().any(|cold| cold == name) {
            return format!("The tool `{name}` exists but is not loaded.");
        }
        let known = self.tools.iter().map(|(definition, _)| definition.name.as_str());
        let near = schema::nearest(name, known);
        match near.as_slice() {
            [] => {
                let names: Vec<&str> = self.tools.names_and_labels().into_iter().map(|(name, _)| name).collect();
                format!("There is no tool `{name}`. Tools: {}.", names.join(", "))
            }
            near => format!("There is no tool `{name}`. Did you mean {}?", near.join(" or ")),
        }
    }

    /// Asks the hooks, in order, then the approval; gives the call as it is to run.
    async fn permission(&self, mut call: ToolCall, definition: &ToolDefinition) -> Result<ToolCall, Refusal> {
        for hook in &self.agent.hooks {
            match self.asked(hook.before_tool_call(&call, definition)).await {
                Ok(BeforeToolCall::Proceed) => {}
                Ok(BeforeToolCall::Replace(arguments)) => {
                    call.arguments = arguments;
                    call = checked(definition, &call).map_err(Refusal::Error)?.0;
                }
                Ok(BeforeToolCall::Block { reason }) => return Err(Refusal::Denied(reason)),
                Ok(BeforeToolCall::Stop { message }) => return Err(Refusal::Stop(message)),
                Err(HookError(problem)) => {
                    return Err(Refusal::Error(format!("A check of this call failed: {problem}")));
                }
            }
        }
        // A person may take as long as they like, so approval has no time limit.
        let decision = AssertUnwindSafe(self.agent.approval.decide(&call, definition)).catch_unwind().await;
        match decision {
            Ok(Decision::Allow) => Ok(call),
            Ok(Decision::Deny { reason }) => Err(Refusal::Denied(reason)),
            Err(panic) => Err(Refusal::Denied(format!("asking for approval failed: {}", panic_text(&*panic)))),
        }
    }

    /// A hook's answer, within the time a hook may take.
    async fn asked<T>(&self, hook: impl Future<Output = Result<T, HookError>>) -> Result<T, HookError> {
        let limit = self.agent.hook_timeout;
        let aborted = async {
            self.cancellation.cancelled().await;
            tokio::time::sleep(HOOK_GRACE).await;
        };
        tokio::select! {
            biased;
            answer = AssertUnwindSafe(hook).catch_unwind() => match answer {
                Ok(answer) => answer,
                Err(panic) => Err(HookError(format!("it panicked: {}", panic_text(&*panic)))),
            },
            () = tokio::time::sleep(limit) => Err(HookError(format!("it took longer than {} s", limit.as_secs_f64()))),
            () = aborted => Err(HookError("the run was aborted".to_owned())),
        }
    }

    /// The result as the hooks want it.
    async fn patched(&self, call: &ToolCall, mut result: ToolResult) -> ToolResult {
        for hook in &self.agent.hooks {
            match self.asked(hook.after_tool_call(call, &result)).await {
                Ok(patch) => patch.apply(&mut result),
                Err(HookError(problem)) => {
                    result.is_error = true;
                    result.content.push(Content::text(format!("A check of this result failed: {problem}")));
                }
            }
        }
        result
    }

    async fn run(&self, ready: Ready<'_>) -> Finished {
        let mut attempt = 0;
        let outcome = loop {
            let outcome = self.call_once(&ready).await;
            let again = matches!(&outcome, Err(error) if error.kind() == ToolErrorKind::Failed);
            if !again || attempt >= ready.definition.retries || self.cancellation.is_cancelled() {
                break outcome;
            }
            attempt += 1;
        };
        let (output, end) = match outcome {
            Ok(output) => (output, None),
            Err(error) if error.kind() == ToolErrorKind::Fatal => {
                let (tool, message) = (ready.call.name.clone(), error.message().to_owned());
                (ToolOutput::error(error.message()), Some(BatchEnd::Fatal { tool, message }))
            }
            Err(error) => (ToolOutput::error(error.message()), None),
        };
        let result = result_of(ready.call, &ready.definition, output, self.agent.max_result_bytes);
        Finished { result: self.patched(ready.call, result).await, denied: false, end }
    }

    /// Runs the tool once, against its time limit and the run's abort.
    async fn call_once(&self, ready: &Ready<'_>) -> Result<ToolOutput, ToolError> {
        let own = self.cancellation.child_token();
        let live = LiveProgress::default();
        let context = self
            .context
            .clone()
            .with_call(&ready.call.id, &ready.definition.name)
            .with_cancellation(own.clone())
            .with_progress(live.sink(self.events.clone(), ready.call.id.clone()));
        let call = AssertUnwindSafe(ready.tool.call(context, ready.given.arguments.clone())).catch_unwind();
        let mut call = std::pin::pin!(call);
        let limit = ready.definition.timeout.unwrap_or(Duration::MAX);
        let outcome = tokio::select! {
            biased;
            outcome = &mut call => Some(outcome),
            () = self.cancellation.cancelled() => None,
            () = sleep(limit) => None,
        };
        let outcome = if outcome.is_some() {
            outcome
        } else {
            own.cancel();
            tokio::time::timeout(GRACE, &mut call).await.ok()
        };
        let last = live.close();
        match outcome {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => Err(ToolError::failed(format!("The tool panicked: {}", panic_text(&*panic)))),
            None if self.cancellation.is_cancelled() => Ok(left_behind(INTERRUPTED.to_owned(), last)),
            None => Ok(left_behind(format!("The tool took longer than {} s.", limit.as_secs_f64()), last)),
        }
    }
}

enum Refusal {
    /// Something is wrong with the call.
    Error(String),
    /// Somebody does not want it.
    Denied(String),
    /// Somebody wants the run to end.
    Stop(String),
}

async fn sleep(limit: Duration) {
    if limit == Duration::MAX {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(limit).await;
}

/// The call with arguments that fit, and what was read leniently; or what the model is to be told.
fn checked(definition: &ToolDefinition, call: &ToolCall) -> Result<(ToolCall, Vec<String>), String> {
    if let Some(sent) = &call.unreadable {
        let shown: String = sent.chars().take(500).collect();
        return Err(format!(
            "The arguments of `{}` are not a JSON object; nothing was run. What came: {shown}",
            call.name
        ));
    }
    match schema::check_arguments(&definition.input_schema, call.arguments.clone()) {
        Ok(checked) => Ok((ToolCall { arguments: checked.arguments, ..call.clone() }, checked.coerced)),
        Err(problems) => Err(format!("The arguments of `{}` do not fit; nothing was run.\n{problems}", call.name)),
    }
}

fn result_of(call: &ToolCall, definition: &ToolDefinition, output: ToolOutput, most: usize) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: bounded(output.content, most),
        is_error: output.is_error,
        details: output.details,
        usage: output.usage,
        added_tools: output.added_tools,
        terminate: output.terminate || (definition.terminate && !output.is_error),
        updates: output.updates,
    }
}

/// What a tool that did not end in time leaves: the reason, and the last thing it reported.
fn left_behind(reason: String, last: Option<ProgressUpdate>) -> ToolOutput {
    let mut content = last.map(|update| update.content).unwrap_or_default();
    content.push(Content::text(reason));
    ToolOutput { is_error: true, content, ..ToolOutput::default() }
}

/// The content with at most `most` bytes of text; what is cut is said. Nothing at all becomes a word, since services
/// refuse empty results.
fn bounded(mut content: Vec<Content>, most: usize) -> Vec<Content> {
    let mut room = most;
    let mut cut = 0;
    for piece in &mut content {
        let Content::Text { text } = piece else { continue };
        let keep = text.floor_char_boundary(room);
        cut += text.len() - keep;
        text.truncate(keep);
        room -= keep;
    }
    content.retain(|piece| piece.as_text() != Some(""));
    if cut > 0 {
        content.push(Content::text(format!("[{cut} more bytes were cut: ask for less at a time]")));
    }
    if content.is_empty() {
        content.push(Content::text("(no output)"));
    }
    content
}

/// The progress of one call: passed on while the call runs, the last report kept, late ones dropped.
#[derive(Clone, Default)]
struct LiveProgress {
    state: Arc<Mutex<ProgressState>>,
}

#[derive(Default)]
struct ProgressState {
    last: Option<ProgressUpdate>,
    closed: bool,
}

impl LiveProgress {
    fn sink(&self, events: EventSink, call_id: String) -> Progress {
        let state = Arc::clone(&self.state);
        Progress::to(move |update| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if !state.closed {
                state.last = Some(update.clone());
                events.emit(AgentEvent::ToolProgress { call_id: call_id.clone(), update });
            }
        })
    }

    fn close(&self) -> Option<ProgressUpdate> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.last.take()
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
