//! Calls and their results.

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::session::Record;
use agent_core::session::memory::MemoryStore;
use agent_core::{
    Agent, ContextUpdate, EndReason, Message, RunError, Session, StopReason, ToolError, ToolOutput, ToolResult, Toolset,
};
use serde_json::json;

use crate::transcript::{Gates, check, check_paired, echo, run, run_with, text_of, tool, without_deltas};

#[tokio::test]
async fn rule_2_1_events_come_in_order_with_one_end_for_each_start() {
    let script =
        vec![Reply::thinking("hm").and_text("I look. ").call("echo", json!({"text": "a"})), Reply::text("done")];
    let ran = run(script, |agent| agent.tool(echo())).await;
    check(
        &ran.transcript,
        r#"
        run started
        user started
        user finished
        turn 1 started
        assistant started
        thinking "hm"
        text "I "
        text "look. "
        call echo
        call echo {"text":"a"}
        assistant finished
        call_1 started
        call_1 finished: a
        turn 1 finished
        turn 2 started
        assistant started
        text "done"
        assistant finished
        turn 2 finished
        run finished: done, 4 messages
        settled
        "#,
    );
    assert_eq!(ran.outcome.expect("it ran").text, "done");
}

#[tokio::test]
async fn rule_2_2_an_unknown_tool_is_an_error_result_with_near_names() {
    let script = vec![Reply::calling("ecko", json!({})), Reply::text("sorry")];
    let ran = run(script, |agent| agent.tool(echo())).await;
    assert!(
        ran.transcript.contains("call_1 failed: There is no tool `ecko`. Did you mean echo?"),
        "{}",
        ran.transcript
    );
    assert_eq!(ran.outcome.expect("it ran").reason, EndReason::Done);
}

#[tokio::test]
async fn rule_2_2_arguments_that_do_not_fit_are_an_error_result_and_nothing_runs() {
    let script = vec![
        Reply::calling("echo", json!({"text": {"no": 1}})).call_text("echo", "{\"text\": \"a").call_text("echo", "[1]"),
        Reply::text("sorry"),
    ];
    let ran = run(script, |agent| agent.tool(tool("echo", |_, _| async { panic!("must not run") }))).await;
    let results = ran.results();
    assert!(results[0].contains("$.text: expected a string"), "{results:?}");
    assert!(results[1].contains("not a JSON object") && results[1].contains("{\"text\": \"a"), "{results:?}");
    assert!(results[2].contains("not a JSON object") && results[2].contains("[1]"), "{results:?}");
    check_paired(&ran.session);
}

#[tokio::test]
async fn rule_2_3_what_was_coerced_is_in_the_event() {
    let count = tool("count", |_, arguments| async move { Ok(ToolOutput::text(arguments["n"].to_string())) });
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let count = crate::transcript::FnTool { definition: count.definition.input_schema(schema), run: count.run };
    let ran = run(vec![Reply::calling("count", json!({"n": "5"})), Reply::text("ok")], |agent| agent.tool(count)).await;
    let started = ran.transcript.lines().find(|line| line.starts_with("call_1 started")).expect("it started");
    assert!(started.contains("\"5\""), "{started}");
    assert!(ran.transcript.contains("call_1 finished: 5"), "{}", ran.transcript);
}

#[tokio::test]
async fn rule_2_4_calls_run_side_by_side_and_rule_2_5_results_go_out_in_call_order() {
    let gates = Gates::new(2);
    let waiting = gates.clone();
    // The first call can only end after the second one, so they must overlap.
    let slow_first = tool("gated", move |_, arguments| {
        let gates = waiting.clone();
        async move {
            if text_of(&arguments) == "first" {
                gates.pass(0).await;
            } else {
                gates.open(0);
            }
            Ok(ToolOutput::text(text_of(&arguments)))
        }
    });
    let script = vec![
        Reply::calling("gated", json!({"text": "first"})).call("gated", json!({"text": "second"})),
        Reply::text("done"),
    ];
    let ran = run(script, |agent| agent.tool(slow_first)).await;
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
        call_2 started
        call_2 finished: second
        call_1 finished: first
        turn 1 finished
        turn 2 started
        assistant started
        assistant finished
        turn 2 finished
        run finished: done, 5 messages
        settled
        ",
    );
    let sent = ran.provider.requests();
    let order: Vec<String> = sent[1].messages.iter().filter_map(|m| m.as_tool_result()).map(ToolResult::text).collect();
    assert_eq!(order, ["first", "second"]);
}

#[tokio::test]
async fn rule_2_4_a_sequential_tool_runs_alone() {
    let running = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let probe = |name: &str| {
        let running = running.clone();
        tool(name, move |_, _| {
            let running = running.clone();
            async move {
                let beside = running.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                running.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                Ok(ToolOutput::text(format!("{beside} beside")))
            }
        })
    };
    let mut alone = probe("alone");
    alone.definition.sequential = true;
    let script = vec![
        Reply::calling("free", json!({})).call("free", json!({})).call("alone", json!({})).call("free", json!({})),
        Reply::text("done"),
    ];
    let free = probe("free");
    let ran = run(script, |agent| agent.tool(free).tool(alone)).await;
    let results = ran.results();
    assert_eq!(results, ["0 beside", "1 beside", "0 beside", "0 beside"]);
}

#[tokio::test]
async fn rule_2_4_concurrency_has_a_limit_and_can_be_switched_off() {
    for (limit, expected) in [(Some(2), 2), (None, 1)] {
        let most = std::sync::Arc::new(std::sync::Mutex::new((0, 0)));
        let seen = most.clone();
        let probe = tool("probe", move |_, _| {
            let seen = seen.clone();
            async move {
                {
                    let mut seen = seen.lock().expect("not poisoned");
                    seen.0 += 1;
                    seen.1 = seen.1.max(seen.0);
                }
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                seen.lock().expect("not poisoned").0 -= 1;
                Ok(ToolOutput::text("ok"))
            }
        });
        let calls = (0..6).fold(Reply::default(), |reply, _| reply.call("probe", json!({})));
        run(vec![calls, Reply::text("done")], |agent| match limit {
            Some(limit) => agent.tool(probe).concurrency(limit),
            None => agent.tool(probe).sequential(),
        })
        .await;
        assert_eq!(most.lock().expect("not poisoned").1, expected);
    }
}

#[tokio::test]
async fn a_tool_that_panics_is_an_error_result() {
    let script = vec![Reply::calling("bad", json!({})), Reply::text("ok")];
    let ran = run(script, |agent| agent.tool(tool("bad", |_, _| async { panic!("index out of bounds") }))).await;
    assert!(ran.transcript.contains("call_1 failed: The tool panicked: index out of bounds"), "{}", ran.transcript);
    assert_eq!(ran.outcome.expect("it ran").reason, EndReason::Done);
}

#[tokio::test]
async fn rule_1_1_a_fatal_error_ends_the_run_and_the_call_still_has_its_result() {
    let bad = tool("bad", |_, _| async { Err(ToolError::fatal("the licence ran out")) });
    let ran = run(vec![Reply::calling("bad", json!({}))], |agent| agent.tool(bad)).await;
    assert!(
        matches!(&ran.outcome, Err(RunError::Tool { tool, message }) if tool == "bad" && message == "the licence ran out")
    );
    check_paired(&ran.session);
    assert!(
        ran.transcript.ends_with(
            "run finished: failed: the tool `bad` ended the run: the licence ran out, 3 messages\nsettled\n"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn rule_1_7_a_tool_that_takes_too_long_is_an_error_result_with_what_it_reported() {
    let mut slow = tool("slow", |context, _| async move {
        context.progress("three of ten");
        std::future::pending().await
    });
    slow.definition.timeout = Some(std::time::Duration::from_secs(30));
    let ran = run(vec![Reply::calling("slow", json!({})), Reply::text("ok")], |agent| agent.tool(slow)).await;
    assert!(
        ran.transcript.contains("call_1 failed: three of ten\nThe tool took longer than 30 s."),
        "{}",
        ran.transcript
    );
}

#[tokio::test]
async fn rule_1_7_a_tool_with_retries_is_tried_again_before_the_model_hears_of_it() {
    let tries = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut shaky = tool("shaky", move |_, _| {
        let number = tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move { if number < 2 { Err(ToolError::failed("not yet")) } else { Ok(ToolOutput::text("now")) } }
    });
    shaky.definition.retries = 2;
    let ran = run(vec![Reply::calling("shaky", json!({})), Reply::text("ok")], |agent| agent.tool(shaky)).await;
    assert!(ran.transcript.contains("call_1 finished: now"), "{}", ran.transcript);
}

#[tokio::test]
async fn rule_2_8_a_run_terminates_only_if_every_result_says_so() {
    let end = || tool("end", |_, _| async { Ok(ToolOutput::text("bye").terminate()) });
    let alone = run(vec![Reply::calling("end", json!({}))], |agent| agent.tool(end())).await;
    assert_eq!(alone.outcome.expect("it ran").reason, EndReason::Terminated);
    let script = vec![Reply::calling("end", json!({})).call("echo", json!({"text": "a"})), Reply::text("on")];
    let mixed = run(script, |agent| agent.tool(end()).tool(echo())).await;
    assert_eq!(mixed.outcome.expect("it ran").reason, EndReason::Done);
}

#[tokio::test]
async fn rule_2_9_an_added_tool_is_there_from_the_next_request_on() {
    let mut cold = tool("rare", |_, _| async { Ok(ToolOutput::text("rare thing")) });
    cold.definition.cold = true;
    let load = tool("load", |_, _| async { Ok(ToolOutput::text("loaded").add_tool("rare")) });
    let script = vec![
        Reply::calling("rare", json!({})),
        Reply::calling("load", json!({})),
        Reply::calling("rare", json!({})),
        Reply::text("done"),
    ];
    let ran = run(script, |agent| agent.tool(load).tool(cold)).await;
    let results = ran.results();
    assert_eq!(results, ["The tool `rare` exists but is not loaded.", "loaded", "rare thing"]);
    let offered: Vec<usize> = ran.provider.requests().iter().map(|request| request.tools.len()).collect();
    assert_eq!(offered, [1, 1, 2, 2]);
}

#[tokio::test]
async fn rule_1_12_updates_are_logged_in_call_order_and_seen_by_later_tools() {
    let note = tool("note", |_, arguments| async move {
        Ok(ToolOutput::text("noted").update(ContextUpdate::append("notes", text_of(&arguments))))
    });
    let recall = tool("recall", |context, _| async move {
        Ok(ToolOutput::text(context.variables().get("notes").map(ToString::to_string).unwrap_or_default()))
    });
    let script = vec![
        Reply::calling("note", json!({"text": "a"})).call("note", json!({"text": "b"})).call("recall", json!({})),
        Reply::calling("recall", json!({})),
        Reply::text("done"),
    ];
    let agent =
        Agent::builder(ScriptedProvider::new(script)).model("m").tool(note).tool(recall).build().expect("builds");
    let store = MemoryStore::default();
    let mut session = Session::open("s", store.clone()).expect("opens");
    agent.run(&mut session, "go").await.expect("runs");
    let recalled: Vec<String> =
        session.messages().iter().filter_map(|m| m.as_tool_result()).map(ToolResult::text).collect();
    assert_eq!(recalled, ["noted", "noted", "(no output)", r#"["a","b"]"#]);
    assert!(store.entries().iter().any(|entry| matches!(entry.record, Record::ContextUpdated(_))));
    let reopened = Session::open("s", store).expect("opens again");
    assert_eq!(reopened.variables().get("notes"), Some(&json!(["a", "b"])));
}

#[tokio::test]
async fn rule_2_12_calls_of_a_cut_answer_are_answered_and_not_run() {
    let script = vec![Reply::calling("echo", json!({"text": "a"})).stop(StopReason::Length), Reply::text("shorter")];
    let ran = run(script, |agent| agent.tool(tool("echo", |_, _| async { panic!("must not run") }))).await;
    assert!(ran.transcript.contains("call_1 failed: Not run: your answer was cut"), "{}", ran.transcript);
    assert_eq!(ran.outcome.expect("it ran").text, "shorter");
}

#[tokio::test]
async fn rule_2_12_refusal_filter_and_pause_are_outcomes_not_errors() {
    for (stop, reason) in [
        (StopReason::Refusal, EndReason::Refused),
        (StopReason::ContentFilter, EndReason::Filtered),
        (StopReason::Length, EndReason::Length),
    ] {
        let ran = run(vec![Reply::text("no").stop(stop)], |agent| agent).await;
        assert_eq!(ran.outcome.expect("it ran").reason, reason);
    }
    let paused = run(vec![Reply::text("half").stop(StopReason::Pause), Reply::text("whole")], |agent| agent).await;
    assert_eq!(paused.outcome.expect("it ran").text, "whole");
}

#[tokio::test]
async fn rule_2_16_usage_is_added_up_over_turns_and_tools() {
    let asks = tool("asks", |_, _| async {
        let usage = agent_core::Usage { input: 5, output: 7, ..Default::default() };
        Ok(ToolOutput::text("answer").usage(usage))
    });
    let script = vec![Reply::calling("asks", json!({})).usage(100, 10), Reply::text("done").usage(200, 20)];
    let prices = agent_core::message::Prices { input: 1.0, output: 10.0, ..Default::default() };
    let ran = run(script, |agent| agent.tool(asks).prices(prices)).await;
    let usage = ran.outcome.expect("it ran").usage;
    assert_eq!((usage.input, usage.output), (305, 37));
    assert!((usage.cost.expect("prices are known") - 600e-6).abs() < 1e-9, "{usage:?}");
    assert_eq!(ran.session.usage().input, 305);
}

#[tokio::test]
async fn rule_3_2_everything_is_in_the_store_before_anyone_hears_of_it() {
    let store = MemoryStore::default();
    let script =
        vec![Reply::calling("echo", json!({"text": "a"})).call("echo", json!({"text": "b"})), Reply::text("done")];
    let agent = Agent::builder(ScriptedProvider::new(script))
        .model("m")
        .tools(Toolset::new().with(echo()))
        .build()
        .expect("builds");
    let mut session = Session::open("s", store.clone()).expect("opens");
    let mut run = agent.run(&mut session, "go");
    while let Some(event) = futures_util::StreamExt::next(&mut run).await {
        let logged =
            |message: &Message| store.entries().iter().any(|entry| entry.record == Record::Message(message.clone()));
        match event {
            agent_core::AgentEvent::MessageFinished { message } => assert!(logged(&message)),
            agent_core::AgentEvent::ToolStarted { .. } => {
                assert!(store.entries().iter().any(|e| matches!(e.record, Record::Message(Message::Assistant(_)))));
            }
            agent_core::AgentEvent::ToolFinished { result } => assert!(logged(&Message::ToolResult(result))),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_a_session_that_goes_on() {
    let mut session = Session::in_memory();
    let script = vec![Reply::calling("sleep", json!({})), Reply::text("never"), Reply::text("never")];
    let agent = Agent::builder(ScriptedProvider::new(script))
        .model("m")
        .tool(crate::transcript::sleeper(true))
        .build()
        .expect("builds");
    let mut run = agent.run(&mut session, "go");
    while let Some(event) = futures_util::StreamExt::next(&mut run).await {
        if matches!(event, agent_core::AgentEvent::ToolProgress { .. }) {
            break;
        }
    }
    drop(run);
    let outcome = agent.run(&mut session, "again").await.expect("it goes on");
    assert_eq!(outcome.reason, EndReason::Done);
    let sent = agent_core::history::sendable(session.messages());
    let results: Vec<String> = sent.iter().filter_map(|m| m.as_tool_result()).map(ToolResult::text).collect();
    assert_eq!(results, [agent_core::history::INTERRUPTED]);
}

#[tokio::test]
async fn ids_that_come_twice_in_one_answer_are_told_apart() {
    let script = vec![
        Reply::calling("echo", json!({"text": "a"})),
        Reply::calling("echo", json!({"text": "b"})),
        Reply::text("x"),
    ];
    // The scripted model numbers its calls anew in each reply, as some services do.
    let ran = run_with(script, |agent| agent.tool(echo()), |_| {}).await;
    let sent = ran.provider.requests();
    let results: Vec<String> =
        sent[2].messages.iter().filter_map(|m| m.as_tool_result()).map(ToolResult::text).collect();
    assert_eq!(results, ["a", "b"], "ids reused in later turns find their own results");
}
