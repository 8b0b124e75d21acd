//! Runs an agent on a script and writes down what a front end would see.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{
    Agent, AgentBuilder, AgentEvent, CancellationToken, EndReason, Message, Outcome, RunError, Session, Tool,
    ToolContext, ToolDefinition, ToolError, ToolOutput, ToolResult,
};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

/// A tool made of a closure.
pub(crate) struct FnTool<F> {
    pub(crate) definition: ToolDefinition,
    pub(crate) run: F,
}

impl<F, R> Tool for FnTool<F>
where
    F: Fn(ToolContext, Map<String, Value>) -> R + Send + Sync,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn call(
        &self,
        context: ToolContext,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin((self.run)(context, arguments))
    }
}

/// A tool of this name whose calls come out as `run` says.
pub(crate) fn tool<F, R>(name: &str, run: F) -> FnTool<F>
where
    F: Fn(ToolContext, Map<String, Value>) -> R + Send + Sync,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    FnTool { definition: ToolDefinition::new(name).input_schema(schema), run }
}

/// A tool that gives its `text` back.
pub(crate) fn echo() -> impl Tool {
    tool("echo", |_, arguments| async move { Ok(ToolOutput::text(text_of(&arguments))) })
}

/// A tool that waits until it is cancelled, reporting progress first.
pub(crate) fn sleeper(obeys: bool) -> impl Tool {
    tool("sleep", move |context, _| async move {
        context.progress("half way");
        context.cancellation().cancelled().await;
        if !obeys {
            std::future::pending::<()>().await;
        }
        Ok(ToolOutput::error("woken: half of it is done"))
    })
}

pub(crate) fn text_of(arguments: &Map<String, Value>) -> String {
    arguments.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A tool whose calls wait for each other: call `n` returns after the gate of `n` opens.
#[derive(Clone)]
pub(crate) struct Gates(Arc<Vec<Semaphore>>);

impl Gates {
    pub(crate) fn new(count: usize) -> Self {
        Self(Arc::new((0..count).map(|_| Semaphore::new(0)).collect()))
    }

    pub(crate) async fn pass(&self, gate: usize) {
        let _ = self.0[gate].acquire().await;
    }

    pub(crate) fn open(&self, gate: usize) {
        self.0[gate].add_permits(1);
    }
}

/// A run's outcome, its transcript, and the session it left.
pub(crate) struct Ran {
    pub(crate) transcript: String,
    pub(crate) outcome: Result<Outcome, RunError>,
    pub(crate) session: Session,
    pub(crate) provider: ScriptedProvider,
}

impl Ran {
    /// The texts of all results, in the order they were logged.
    pub(crate) fn results(&self) -> Vec<String> {
        self.session.messages().iter().filter_map(|message| message.as_tool_result()).map(ToolResult::text).collect()
    }
}

/// Runs an agent built on this script on the prompt `go`.
pub(crate) async fn run(script: Vec<Reply>, build: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Ran {
    run_with(script, build, |_| {}).await
}

/// The same, showing each event to `watch` with the means to interfere.
pub(crate) async fn run_with(
    script: Vec<Reply>,
    build: impl FnOnce(AgentBuilder) -> AgentBuilder,
    watch: impl FnMut(Seen<'_>),
) -> Ran {
    run_provider(ScriptedProvider::new(script), build, watch).await
}

/// An event as it is seen, and the run's controls.
pub(crate) struct Seen<'a> {
    pub(crate) event: &'a AgentEvent,
    pub(crate) control: &'a agent_core::RunControl,
}

pub(crate) async fn run_provider(
    provider: ScriptedProvider,
    build: impl FnOnce(AgentBuilder) -> AgentBuilder,
    mut watch: impl FnMut(Seen<'_>),
) -> Ran {
    let agent = build(Agent::builder(provider.clone()).model("m")).build().expect("the agent builds");
    let mut session = Session::in_memory();
    let mut transcript = String::new();
    let mut run = agent.run(&mut session, "go");
    let control = run.control();
    while let Some(event) = next(&mut run).await {
        watch(Seen { event: &event, control: &control });
        describe(&mut transcript, &event);
    }
    let outcome = run.await;
    Ran { transcript, outcome, session, provider }
}

/// The next event, or a failed test: a run that hangs is the worst fault of all.
async fn next(run: &mut agent_core::Run<'_>) -> Option<AgentEvent> {
    tokio::time::timeout(Duration::from_mins(2), run.next()).await.expect("the run does not hang")
}

/// One line for each event; runs of deltas are one line.
fn describe(transcript: &mut String, event: &AgentEvent) {
    let line = match event {
        AgentEvent::RunStarted => "run started".to_owned(),
        AgentEvent::TurnStarted { turn } => format!("turn {turn} started"),
        AgentEvent::MessageStarted { role } => format!("{} started", format!("{role:?}").to_lowercase()),
        AgentEvent::TextDelta { text, .. } => format!("text {text:?}"),
        AgentEvent::ThinkingDelta { text, .. } => format!("thinking {text:?}"),
        AgentEvent::ToolCallDelta { name, arguments, .. } => format!("call {name} {arguments}"),
        AgentEvent::MessageFinished { message } => format!("{} finished", role(message)),
        AgentEvent::MessageDiscarded { error } => format!("assistant discarded: {error}"),
        AgentEvent::ToolStarted { call, coerced, .. } => format!("{} started{}", call.id, list(coerced)),
        AgentEvent::ToolProgress { call_id, update } => format!("{call_id} progress {:?}", update.content[0].as_text()),
        AgentEvent::ToolFinished { result } => {
            format!("{} {}: {}", result.call_id, if result.is_error { "failed" } else { "finished" }, result.text())
        }
        AgentEvent::ToolDenied { result } => format!("{} denied: {}", result.call_id, result.text()),
        AgentEvent::TurnFinished { turn, .. } => format!("turn {turn} finished"),
        AgentEvent::RetryScheduled { attempt, kind, .. } => format!("attempt {attempt} after {kind:?}"),
        AgentEvent::QueueChanged { steering, follow_up } => format!("queue {steering} {follow_up}"),
        AgentEvent::ModelChanged { model } => format!("model {model}"),
        AgentEvent::RunFinished { reason, messages, .. } => {
            format!("run finished: {}, {messages} messages", words(reason))
        }
        AgentEvent::Settled => "settled".to_owned(),
    };
    let _ = writeln!(transcript, "{line}");
}

fn list(coerced: &[String]) -> String {
    if coerced.is_empty() { String::new() } else { format!(" ({})", coerced.join(", ")) }
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::User(_) => "user",
        Message::Assistant(_) => "assistant",
        Message::ToolResult(_) => "result",
        Message::Custom(_) => "custom",
    }
}

fn words(reason: &EndReason) -> String {
    match reason {
        EndReason::Limit { limit } => format!("limit of {limit}"),
        EndReason::Stopped { message } => format!("stopped: {message}"),
        EndReason::Failed { error } => format!("failed: {error}"),
        plain => format!("{plain:?}").to_lowercase(),
    }
}

/// Compares a transcript with what is expected, line by line, indentation aside.
#[track_caller]
pub(crate) fn check(actual: &str, expected: &str) {
    let clean = |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let (actual, expected) = (clean(actual), clean(expected));
    assert!(actual == expected, "the transcript differs.\n--- expected\n{expected}\n--- actual\n{actual}\n");
}

/// The transcript without what the model's answer consists of.
pub(crate) fn without_deltas(transcript: &str) -> String {
    let is_delta = |line: &&str| !["text ", "thinking ", "call "].iter().any(|start| line.starts_with(start));
    transcript.lines().filter(is_delta).collect::<Vec<_>>().join("\n")
}

/// Each call of the session is followed by exactly one result.
#[track_caller]
pub(crate) fn check_paired(session: &Session) {
    let sent = agent_core::history::sendable(session.messages());
    let logged = |message: &&agent_core::history::HistoryMessage| !matches!(&***message, Message::Custom(_));
    assert_eq!(sent.len(), session.messages().iter().filter(logged).count(), "the log is sendable as it is");
}

/// A token a test can wait on.
pub(crate) fn token() -> CancellationToken {
    CancellationToken::new()
}
