//! Aborting: at any moment, within a second, with every call answered.

use std::time::Duration;

use agent_core::provider::scripted::Reply;
use agent_core::{AgentEvent, EndReason, Limits, ToolOutput};
use serde_json::json;
use tokio::time::Instant;

use crate::transcript::{check, check_paired, echo, run_with, sleeper, tool, without_deltas};

#[tokio::test]
async fn rule_2_11_an_abort_in_mid_answer_keeps_the_text_and_asks_no_more() {
    let ran = run_with(
        vec![Reply::text("one two three").hang()],
        |agent| agent,
        |seen| {
            if matches!(seen.event, AgentEvent::TextDelta { text, .. } if text == "three") {
                seen.control.abort();
            }
        },
    )
    .await;
    let outcome = ran.outcome.expect("an abort is no error");
    assert_eq!((outcome.reason, outcome.text.as_str()), (EndReason::Aborted, "one two three"));
    assert_eq!(ran.provider.requests().len(), 1);
    assert!(
        ran.transcript.ends_with("assistant finished\nturn 1 finished\nrun finished: aborted, 2 messages\nsettled\n")
    );
}

#[tokio::test]
async fn rule_2_11_half_a_call_is_not_kept() {
    let reply = Reply::text("I look.").call("echo", json!({"text": "a"})).hang();
    let ran = run_with(
        vec![reply],
        |agent| agent.tool(echo()),
        |seen| {
            if matches!(seen.event, AgentEvent::ToolCallDelta { .. }) {
                seen.control.abort();
            }
        },
    )
    .await;
    check_paired(&ran.session);
    let last = ran.session.messages().last().and_then(|message| message.as_assistant()).expect("the text is kept");
    assert_eq!(last.tool_calls().count(), 0);
    assert_eq!(last.text(), "I look.");
}

#[tokio::test(start_paused = true)]
async fn rule_2_11_an_abort_in_mid_batch_answers_every_call_within_a_second() {
    let script =
        vec![Reply::calling("echo", json!({"text": "quick"})).call("sleep", json!({})).call("stubborn", json!({}))];
    let stubborn = {
        let mut tool = tool("stubborn", |context, _| async move {
            context.progress("line 1");
            std::future::pending::<()>().await;
            Ok(ToolOutput::text("never"))
        });
        tool.definition.label = "Stubborn".into();
        tool
    };
    let aborted = std::cell::Cell::new(None);
    let ran = run_with(
        script,
        |agent| agent.tool(echo()).tool(sleeper(true)).tool(stubborn),
        |seen| {
            if matches!(seen.event, AgentEvent::ToolProgress { call_id, .. } if call_id == "call_3") {
                aborted.set(Some(Instant::now()));
                seen.control.abort();
            }
        },
    )
    .await;
    let took = aborted.get().expect("it was aborted").elapsed();
    assert!(took < Duration::from_secs(1), "settled after {took:?}");
    let results = ran.results();
    assert_eq!(ran.outcome.expect("an abort is no error").reason, EndReason::Aborted);
    check_paired(&ran.session);
    assert_eq!(results.len(), 3);
    assert!(results.contains(&"quick".to_owned()));
    assert!(results.contains(&"woken: half of it is done".to_owned()));
    assert!(results.contains(&format!("line 1\n{}", agent_core::history::INTERRUPTED)));
    assert_eq!(ran.provider.requests().len(), 1, "no further model call is made");
}

#[tokio::test]
async fn rule_2_11_an_abort_before_anything_happened_is_an_outcome_too() {
    let ran = run_with(
        vec![Reply::text("never")],
        |agent| agent,
        |seen| {
            if matches!(seen.event, AgentEvent::RunStarted) {
                seen.control.abort();
            }
        },
    )
    .await;
    check(
        &without_deltas(&ran.transcript),
        "
        run started
        user started
        user finished
        run finished: aborted, 1 messages
        settled
        ",
    );
}

#[tokio::test]
async fn rule_2_11_an_abort_while_waiting_for_approval_settles() {
    struct Never;
    impl agent_core::Approval for Never {
        fn decide<'a>(
            &'a self,
            _: &'a agent_core::ToolCall,
            _: &'a agent_core::ToolDefinition,
        ) -> futures_util::future::BoxFuture<'a, agent_core::Decision> {
            Box::pin(std::future::pending())
        }
    }
    let ran = run_with(
        vec![Reply::calling("echo", json!({}))],
        |agent| agent.tool(echo()).approval(Never),
        |seen| {
            if matches!(seen.event, AgentEvent::ToolStarted { .. }) {
                seen.control.abort();
            }
        },
    )
    .await;
    check_paired(&ran.session);
    assert_eq!(ran.outcome.expect("an abort is no error").reason, EndReason::Aborted);
}

#[tokio::test(start_paused = true)]
async fn rule_2_13_wall_time_settles_like_an_abort() {
    let limits = Limits { wall_time: Some(Duration::from_secs(30)), ..Limits::default() };
    let script = vec![Reply::calling("sleep", json!({}))];
    let ran = run_with(script, |agent| agent.tool(sleeper(true)).limits(limits), |_| {}).await;
    assert_eq!(ran.outcome.expect("a limit is no error").reason, EndReason::Limit { limit: "30 s".into() });
    check_paired(&ran.session);
}

#[tokio::test(start_paused = true)]
async fn rule_2_11_every_moment_of_a_run_can_be_aborted() {
    let script = || {
        vec![
            Reply::thinking("hm hm").and_text("I look.").call("echo", json!({"text": "a"})).call("sleep", json!({})),
            Reply::text("all done"),
        ]
    };
    for moment in 0..24 {
        let mut count = 0;
        let ran = run_with(
            script(),
            |agent| agent.tool(echo()).tool(sleeper(false)),
            |seen| {
                count += 1;
                // The last moment is the sleeper's: without an abort the run would not end.
                if count > moment || matches!(seen.event, AgentEvent::ToolProgress { .. }) {
                    seen.control.abort();
                }
            },
        )
        .await;
        assert_eq!(ran.outcome.expect("an abort is no error").reason, EndReason::Aborted, "moment {moment}");
        check_paired(&ran.session);
        for (start, end) in [("run started", "run finished"), ("turn 1 started", "turn 1 finished")] {
            let count = |what: &str| ran.transcript.lines().filter(|line| line.starts_with(what)).count();
            assert_eq!(count(start), count(end), "moment {moment}:\n{}", ran.transcript);
        }
    }
}
