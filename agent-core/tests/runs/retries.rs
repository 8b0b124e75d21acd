//! Failed requests: which are sent again, when, and what is left of those that are not.

use std::time::Duration;

use agent_core::provider::scripted::Reply;
use agent_core::{AgentEvent, EndReason, ErrorKind, Message, ProviderError, RetryPolicy, RunError, StopReason};
use serde_json::json;

use crate::transcript::{check, check_paired, echo, run, run_with, without_deltas};

const TRANSIENT: [ErrorKind; 6] = [
    ErrorKind::RateLimited,
    ErrorKind::Overloaded,
    ErrorKind::Server,
    ErrorKind::Connection,
    ErrorKind::Cut,
    ErrorKind::Idle,
];
const FINAL: [ErrorKind; 6] = [
    ErrorKind::Quota,
    ErrorKind::ContextOverflow,
    ErrorKind::Auth,
    ErrorKind::NotFound,
    ErrorKind::BadRequest,
    ErrorKind::Protocol,
];

fn fails(kind: ErrorKind) -> Reply {
    Reply::default().error(ProviderError::new(kind, "it broke"))
}

#[tokio::test(start_paused = true)]
async fn rule_2_14_what_may_pass_is_tried_again_and_shown() {
    let ran =
        run(vec![Reply::text("half an").error(ProviderError::new(ErrorKind::Cut, "cut")), Reply::text("whole")], |a| a)
            .await;
    check(
        &without_deltas(&ran.transcript),
        "
        run started
        user started
        user finished
        turn 1 started
        assistant started
        assistant discarded: cut
        attempt 2 after Cut
        assistant started
        assistant finished
        turn 1 finished
        run finished: done, 2 messages
        settled
        ",
    );
    for kind in TRANSIENT {
        let ran = run(vec![fails(kind), Reply::text("whole")], |agent| agent).await;
        assert_eq!(ran.outcome.expect("the second attempt succeeds").text, "whole", "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_2_14_what_will_not_pass_is_not_tried_again() {
    for kind in FINAL {
        let ran = run(vec![fails(kind), Reply::text("never")], |agent| agent).await;
        assert!(matches!(&ran.outcome, Err(RunError::Provider(error)) if error.kind == kind), "{kind:?}");
        assert_eq!(ran.provider.requests().len(), 1, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rule_2_14_the_services_delay_wins_and_an_absurd_one_ends_the_run() {
    let error = |seconds| {
        let error = ProviderError::new(ErrorKind::RateLimited, "slow down");
        Reply::default().error(error.with_retry_after(Some(Duration::from_secs(seconds))))
    };
    let before = tokio::time::Instant::now();
    let mut delays = Vec::new();
    let ran = run_with(
        vec![error(7), Reply::text("whole")],
        |agent| agent,
        |seen| {
            if let AgentEvent::RetryScheduled { delay, .. } = seen.event {
                delays.push(*delay);
            }
        },
    )
    .await;
    assert_eq!(ran.outcome.expect("it waits").text, "whole");
    assert_eq!(delays, [Duration::from_secs(7)]);
    assert_eq!(before.elapsed().as_secs(), 7);
    let ran = run(vec![error(86_400), Reply::text("never")], |agent| agent).await;
    let error = ran.outcome.expect_err("nobody waits for a day").to_string();
    assert!(error.contains("it asks to wait 86400 s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn rule_2_14_attempts_have_a_limit_and_delays_grow() {
    let policy =
        RetryPolicy { attempts: 3, first_delay: Duration::from_secs(2), longest_delay: Duration::from_mins(1) };
    let mut delays = Vec::new();
    let script = vec![fails(ErrorKind::Overloaded), fails(ErrorKind::Overloaded), fails(ErrorKind::Overloaded)];
    let ran = run_with(
        script,
        |agent| agent.retry(policy),
        |seen| {
            if let AgentEvent::RetryScheduled { delay, .. } = seen.event {
                delays.push(delay.as_secs_f64());
            }
        },
    )
    .await;
    assert!(matches!(&ran.outcome, Err(RunError::Provider(error)) if error.kind == ErrorKind::Overloaded));
    assert!(delays.len() == 2 && (2.0..=4.0).contains(&delays[0]) && (4.0..=8.0).contains(&delays[1]), "{delays:?}");
}

#[tokio::test(start_paused = true)]
async fn rule_2_14_a_pause_can_be_aborted() {
    let script = vec![fails(ErrorKind::Overloaded), Reply::text("never")];
    let ran = run_with(
        script,
        |agent| agent,
        |seen| {
            if matches!(seen.event, AgentEvent::RetryScheduled { .. }) {
                seen.control.abort();
            }
        },
    )
    .await;
    assert_eq!(ran.outcome.expect("an abort is no error").reason, EndReason::Aborted);
    assert_eq!(ran.provider.requests().len(), 1);
}

#[tokio::test]
async fn rule_2_14_a_cut_answer_is_not_a_complete_one() {
    let cut = || ProviderError::new(ErrorKind::Cut, "the stream ended in the middle");
    let script = vec![Reply::text("kept").call("echo", json!({"text": "a"})).error(cut())];
    let ran = run(script, |agent| agent.tool(echo()).retry(RetryPolicy::never())).await;
    assert!(matches!(&ran.outcome, Err(RunError::Provider(error)) if error.kind == ErrorKind::Cut));
    check_paired(&ran.session);
    let Message::Assistant(last) = &**ran.session.messages().last().expect("something is kept") else {
        panic!("the partial answer is kept")
    };
    assert_eq!((last.text().as_str(), last.stop, last.tool_calls().count()), ("kept", StopReason::Failed, 0));
    assert!(!ran.transcript.contains("call_1 started"), "no call of a cut answer runs");
}
