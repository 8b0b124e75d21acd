//! Limits: each ends the run with its reason, and the session can go on.

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{EndReason, Limits};
use serde_json::json;

use crate::transcript::{Ran, check_paired, echo, run_provider};

/// A model that never stops calling: each call is a new one.
async fn endless(limits: Limits, arguments: impl Fn(u32) -> serde_json::Value + Send + 'static) -> Ran {
    let mut turn = 0;
    let model = ScriptedProvider::from_fn(move |_| {
        turn += 1;
        Reply::calling("echo", arguments(turn)).usage(100, 10)
    });
    let prices = agent_core::message::Prices { input: 1.0, output: 1.0, ..Default::default() };
    run_provider(model, |agent| agent.tool(echo()).limits(limits).prices(prices), |_| {}).await
}

#[track_caller]
fn check(ran: &Ran, limit: &str, turns: usize) {
    let outcome = ran.outcome.as_ref().expect("a limit is no error");
    assert_eq!(outcome.reason, EndReason::Limit { limit: limit.to_owned() });
    assert_eq!(ran.provider.requests().len(), turns);
    check_paired(&ran.session);
}

fn new_text(turn: u32) -> serde_json::Value {
    json!({"text": turn.to_string()})
}

#[tokio::test]
async fn rule_2_13_turns() {
    check(&endless(Limits { turns: Some(3), ..Limits::default() }, new_text).await, "3 turns", 3);
}

#[tokio::test]
async fn rule_2_13_tokens() {
    check(&endless(Limits { tokens: Some(300), ..Limits::default() }, new_text).await, "300 tokens", 3);
}

#[tokio::test]
async fn rule_2_13_cost() {
    check(&endless(Limits { cost: Some(0.0005), ..Limits::default() }, new_text).await, "0.0005 US dollars", 5);
}

#[tokio::test]
async fn rule_2_13_turns_of_errors_in_a_row() {
    let ran = endless(Limits::default(), |turn| json!({"text": {"wrong": turn}})).await;
    check(&ran, "10 turns in a row in which every call failed", 10);
}

#[tokio::test]
async fn rule_2_13_the_same_call_again_and_again() {
    check(&endless(Limits::default(), |_| json!({"text": "same"})).await, "the same calls 5 times in a row", 5);
}

#[tokio::test]
async fn rule_2_13_a_session_goes_on_after_a_limit() {
    let mut ran = endless(Limits { turns: Some(1), ..Limits::default() }, new_text).await;
    let agent = agent_core::Agent::builder(ScriptedProvider::new([Reply::text("going on")]))
        .model("m")
        .build()
        .expect("builds");
    assert_eq!(agent.run(&mut ran.session, "go on").await.expect("it runs").text, "going on");
}
