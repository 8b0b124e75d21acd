//! Hooks and approval.

use std::time::Duration;

use agent_core::hooks::{BeforeToolCall, HookError, ResultPatch};
use agent_core::provider::scripted::Reply;
use agent_core::{Approval, Content, Decision, EndReason, Hooks, ToolCall, ToolDefinition, ToolResult};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::transcript::{Gates, check_paired, echo, run, text_of, token, tool};

/// Hooks made of two closures.
struct On<B, A> {
    before: B,
    after: A,
}

impl<B, A> Hooks for On<B, A>
where
    B: Fn(&ToolCall) -> Result<BeforeToolCall, HookError> + Send + Sync,
    A: Fn(&ToolResult) -> Result<ResultPatch, HookError> + Send + Sync,
{
    fn before_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a ToolDefinition,
    ) -> BoxFuture<'a, Result<BeforeToolCall, HookError>> {
        std::future::ready((self.before)(call)).boxed()
    }

    fn after_tool_call<'a>(
        &'a self,
        _: &'a ToolCall,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<ResultPatch, HookError>> {
        std::future::ready((self.after)(result)).boxed()
    }
}

fn before(
    before: impl Fn(&ToolCall) -> Result<BeforeToolCall, HookError> + Send + Sync + 'static,
) -> impl Hooks + 'static {
    On { before, after: |_: &ToolResult| Ok(ResultPatch::default()) }
}

fn after(
    after: impl Fn(&ToolResult) -> Result<ResultPatch, HookError> + Send + Sync + 'static,
) -> impl Hooks + 'static {
    On { before: |_: &ToolCall| Ok(BeforeToolCall::Proceed), after }
}

fn one_call() -> Vec<Reply> {
    vec![Reply::calling("echo", json!({"text": "a"})), Reply::text("done")]
}

#[tokio::test]
async fn rule_2_6_a_hook_may_replace_the_arguments_which_are_checked_again() {
    let replace = |arguments: serde_json::Value| {
        before(move |_| Ok(BeforeToolCall::Replace(arguments.as_object().cloned().unwrap_or_default())))
    };
    let good = run(one_call(), |agent| agent.tool(echo()).hooks(replace(json!({"text": "b"})))).await;
    assert!(good.transcript.contains("call_1 finished: b"), "{}", good.transcript);
    let bad = run(one_call(), |agent| agent.tool(echo()).hooks(replace(json!({"text": {"x": 1}})))).await;
    assert!(bad.transcript.contains("call_1 failed: The arguments of `echo` do not fit"), "{}", bad.transcript);
}

#[tokio::test]
async fn rule_2_6_a_hook_may_block_or_end_the_run() {
    let block = before(|_| Ok(BeforeToolCall::Block { reason: "not on a Sunday".into() }));
    let ran = run(one_call(), |agent| agent.tool(echo()).hooks(block)).await;
    assert!(ran.transcript.contains("call_1 denied: not on a Sunday"), "{}", ran.transcript);
    assert_eq!(ran.outcome.expect("it ran").text, "done");
    let stop = before(|_| Ok(BeforeToolCall::Stop { message: "enough".into() }));
    let ran = run(one_call(), |agent| agent.tool(echo()).hooks(stop)).await;
    assert_eq!(ran.outcome.expect("it ran").reason, EndReason::Stopped { message: "enough".into() });
    check_paired(&ran.session);
}

#[tokio::test]
async fn rule_2_6_a_hook_patches_every_result_field_by_field() {
    let mark = after(|result| {
        let content = vec![Content::text(format!("seen: {}", result.text()))];
        Ok(ResultPatch { content: Some(content), ..ResultPatch::default() })
    });
    let script = vec![Reply::calling("echo", json!({"text": "a"})).call("nothing", json!({})), Reply::text("done")];
    let ran = run(script, |agent| agent.tool(echo()).hooks(mark)).await;
    assert!(ran.transcript.contains("call_1 finished: seen: a"), "{}", ran.transcript);
    assert!(ran.transcript.contains("call_2 failed: seen: There is no tool"), "{}", ran.transcript);
    let forgive = after(|_| Ok(ResultPatch { is_error: Some(false), terminate: Some(true), ..ResultPatch::default() }));
    let ran = run(vec![Reply::calling("nothing", json!({}))], |agent| agent.tool(echo()).hooks(forgive)).await;
    assert!(ran.transcript.contains("call_1 finished: There is no tool"), "{}", ran.transcript);
    assert_eq!(ran.outcome.expect("it ran").reason, EndReason::Terminated);
}

#[tokio::test(start_paused = true)]
async fn rule_2_6_a_hook_that_fails_panics_or_hangs_is_an_error_result() {
    struct Hangs;
    impl Hooks for Hangs {
        fn before_tool_call<'a>(
            &'a self,
            _: &'a ToolCall,
            _: &'a ToolDefinition,
        ) -> BoxFuture<'a, Result<BeforeToolCall, HookError>> {
            std::future::pending().boxed()
        }
    }
    struct Panics;
    impl Hooks for Panics {
        fn after_tool_call<'a>(
            &'a self,
            _: &'a ToolCall,
            _: &'a ToolResult,
        ) -> BoxFuture<'a, Result<ResultPatch, HookError>> {
            async { panic!("oh") }.boxed()
        }
    }
    let failing =
        run(one_call(), |agent| agent.tool(echo()).hooks(before(|_| Err(HookError("no policy".into()))))).await;
    assert!(
        failing.transcript.contains("call_1 failed: A check of this call failed: no policy"),
        "{}",
        failing.transcript
    );
    let hanging = run(one_call(), |agent| agent.tool(echo()).hooks(Hangs).hook_timeout(Duration::from_secs(5))).await;
    assert!(hanging.transcript.contains("it took longer than 5 s"), "{}", hanging.transcript);
    let panicking = run(one_call(), |agent| agent.tool(echo()).hooks(Panics)).await;
    assert!(
        panicking.transcript.contains("call_1 failed: a\nA check of this result failed: it panicked: oh"),
        "{}",
        panicking.transcript
    );
}

#[tokio::test]
async fn a_denied_call_is_an_error_result_with_the_reason() {
    struct NoBash;
    impl Approval for NoBash {
        fn decide<'a>(&'a self, call: &'a ToolCall, _: &'a ToolDefinition) -> BoxFuture<'a, Decision> {
            let reason = format!("the user does not want {}", call.name);
            std::future::ready(Decision::Deny { reason }).boxed()
        }
    }
    let ran = run(one_call(), |agent| agent.tool(echo()).approval(NoBash)).await;
    assert!(ran.transcript.contains("call_1 denied: the user does not want echo"), "{}", ran.transcript);
    assert_eq!(ran.outcome.expect("it ran").text, "done");
}

#[tokio::test]
async fn rule_2_4_a_call_starts_without_waiting_for_its_siblings_approval() {
    // The first tool opens the gate that the second call's approval waits for.
    struct Slow(Gates);
    impl Approval for Slow {
        fn decide<'a>(&'a self, call: &'a ToolCall, _: &'a ToolDefinition) -> BoxFuture<'a, Decision> {
            async move {
                if text_of(&call.arguments) == "second" {
                    self.0.pass(0).await;
                }
                Decision::Allow
            }
            .boxed()
        }
    }
    let gates = Gates::new(1);
    let opener = gates.clone();
    let open = tool("open", move |_, arguments| {
        opener.open(0);
        async move { Ok(agent_core::ToolOutput::text(text_of(&arguments))) }
    });
    let script = vec![
        Reply::calling("open", json!({"text": "first"})).call("open", json!({"text": "second"})),
        Reply::text("done"),
    ];
    let done = token();
    let ran = run(script, |agent| agent.tool(open).approval(Slow(gates))).await;
    done.cancel();
    assert!(ran.transcript.contains("call_2 finished: second"), "{}", ran.transcript);
}
