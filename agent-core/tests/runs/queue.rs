//! What a person says while a run is going.

use agent_core::provider::scripted::Reply;
use agent_core::queue::Delivery;
use agent_core::{AgentEvent, EndReason, Message};
use serde_json::json;

use crate::transcript::{check, echo, run_with, without_deltas};

fn user_texts(session: &agent_core::Session) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User(user) => user.content[0].as_text().map(str::to_owned),
        _ => None,
    };
    session.messages().iter().filter_map(|message| text(message)).collect()
}

#[tokio::test]
async fn rule_2_10_steering_comes_after_the_batch_and_a_follow_up_at_the_end() {
    let script = vec![Reply::calling("echo", json!({"text": "a"})), Reply::text("steered"), Reply::text("followed")];
    let ran = run_with(
        script,
        |agent| agent.tool(echo()),
        |seen| {
            if matches!(seen.event, AgentEvent::ToolStarted { .. }) {
                seen.control.queue().steer("other way");
                seen.control.queue().follow_up("and then");
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
        turn 1 started
        assistant started
        assistant finished
        call_1 started
        call_1 finished: a
        turn 1 finished
        queue 0 1
        user started
        user finished
        turn 2 started
        assistant started
        assistant finished
        turn 2 finished
        queue 0 0
        user started
        user finished
        turn 3 started
        assistant started
        assistant finished
        turn 3 finished
        run finished: done, 7 messages
        settled
        ",
    );
    assert_eq!(user_texts(&ran.session), ["go", "other way", "and then"]);
}

#[tokio::test]
async fn rule_2_10_one_at_a_time_or_all() {
    for (delivery, requests) in [(Delivery::OneAtATime, 3), (Delivery::All, 2)] {
        let script = vec![Reply::text("1"), Reply::text("2"), Reply::text("3")];
        let ran = run_with(
            script,
            |agent| agent.delivery(Delivery::OneAtATime, delivery),
            |seen| {
                if matches!(seen.event, AgentEvent::RunStarted) {
                    seen.control.queue().follow_up("a");
                    seen.control.queue().follow_up("b");
                }
            },
        )
        .await;
        assert_eq!(ran.provider.requests().len(), requests);
        assert_eq!(user_texts(&ran.session), ["go", "a", "b"]);
    }
}

#[tokio::test]
async fn rule_2_10_both_queues_survive_an_abort() {
    let ran = run_with(
        vec![Reply::text("x").hang()],
        |agent| agent,
        |seen| {
            if matches!(seen.event, AgentEvent::TextDelta { .. }) {
                seen.control.queue().steer("a");
                seen.control.queue().follow_up("b");
                seen.control.abort();
            }
        },
    )
    .await;
    assert_eq!(ran.outcome.expect("an abort is no error").reason, EndReason::Aborted);
    assert_eq!(ran.session.queue().take_back(), [Message::user("a"), Message::user("b")]);
}
