//! What a function is handed by the agent.

use std::sync::Arc;

use agent_core::context::State;
use agent_core::{CallId, CancellationToken, Content, Dep, Inject, Progress, ToolContext, ToolError, tool, toolset};
use serde_json::json;

use crate::{call_with, schema};

struct Database(&'static str);

struct Attempt(u32);

impl Inject for Attempt {
    fn inject(context: &ToolContext) -> Result<Self, ToolError> {
        match context.tool_name() {
            "injected" => Ok(Self(7)),
            other => Err(ToolError::failed(format!("no attempt for {other}"))),
        }
    }
}

type Db = Dep<Database>;

/// Injected parameters.
#[tool]
fn injected(
    borrowed: &ToolContext,
    owned: ToolContext,
    db: Db,
    cancel: CancellationToken,
    progress: &Progress,
    id: CallId,
    attempt: Attempt,
    /// The only argument.
    word: &str,
) -> String {
    progress.report("half way");
    format!(
        "{} {} {} {} {id} {} {word}",
        borrowed.call_id(),
        owned.tool_name(),
        db.0.0,
        cancel.is_cancelled(),
        attempt.0
    )
}

fn context_of(tool: &str) -> ToolContext {
    let mut state = State::default();
    state.insert(Database("rows"));
    ToolContext::new("/").with_call("c1", tool).with_state(state)
}

#[tokio::test]
async fn rule_1_5_injected_parameters_are_filled_and_never_in_the_schema() {
    let tools = toolset![injected];
    assert_eq!(schema(&tools)["properties"], json!({"word": {"type": "string", "description": "The only argument."}}));
    let (send, receive) = std::sync::mpsc::channel();
    let context = context_of("injected").with_progress(Progress::to(move |update| drop(send.send(update))));
    let output = call_with(context, &tools, json!({"word": "w"})).await.expect("success");
    assert_eq!(output.content, [Content::text("c1 injected rows false c1 7 w")]);
    assert_eq!(receive.try_recv().expect("progress").content, [Content::text("half way")]);

    let error = call_with(context_of("other"), &tools, json!({"word": "w"})).await.expect_err("no attempt");
    assert_eq!(error, ToolError::failed("no attempt for other"));
}

#[test]
fn rule_1_5_a_missing_dependency_is_found_before_any_call() {
    let tools = toolset![injected];
    let error = tools.check(&State::default()).expect_err("nobody provided it");
    assert_eq!(
        error.to_string(),
        "the tool `injected` needs `tool_macro::injection::Database`: give the agent one with `.provide(…)`"
    );
    let mut state = State::default();
    state.insert(Database("rows"));
    assert_eq!(tools.check(&state), Ok(()));
}

trait Clock: Send + Sync {
    fn hour(&self) -> u8;
}

struct Noon;

impl Clock for Noon {
    fn hour(&self) -> u8 {
        12
    }
}

/// A trait object.
#[tool]
fn hour(clock: Dep<dyn Clock>, db: Db) -> String {
    format!("{} {}", clock.hour(), db.0.0)
}

#[tokio::test]
async fn rule_1_5_a_trait_object_is_injected() {
    let mut state = State::default();
    state.insert(Database("rows"));
    state.insert_shared::<dyn Clock>(Arc::new(Noon));
    let tools = toolset![hour];
    assert_eq!(tools.check(&state), Ok(()));
    let output = call_with(ToolContext::new("/").with_state(state), &tools, json!({})).await.expect("success");
    assert_eq!(output.content, [Content::text("12 rows")]);
}

#[test]
fn rule_1_5_all_missing_dependencies_are_reported_at_once() {
    let error = toolset![hour, injected].check(&State::default()).expect_err("nobody provided any");
    assert_eq!(
        error.to_string().lines().collect::<Vec<_>>(),
        [
            "the tool `hour` needs `dyn tool_macro::injection::Clock`: give the agent one with `.provide_shared(Arc::new(…))`",
            "the tool `hour` needs `tool_macro::injection::Database`: give the agent one with `.provide(…)`",
            "the tool `injected` needs `tool_macro::injection::Database`: give the agent one with `.provide(…)`",
        ]
    );
}
