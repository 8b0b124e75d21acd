//! What services do within the Messages protocol.

use agent_core::message::{Message, Part, StopReason, Usage};
use agent_core::provider::ErrorKind;
use agent_core::provider::anthropic::Anthropic;
use serde_json::{Value, json};

use super::support::answer::{Answer, ask};
use super::support::server::{Reply, Server};
use super::support::strict::check_messages;
use super::support::wire::{MODEL, data, event, next_turn, request};

async fn answer(events: &[Value]) -> Answer {
    let body: String = events.iter().map(event).collect();
    let server = Server::start([Reply::sse(body)]).await;
    ask(&Anthropic::new(&server.url, None), &request()).await
}

#[expect(clippy::needless_pass_by_value, reason = "called with literals")]
fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, kind: &str, piece: &str) -> Value {
    let key = match kind {
        "text_delta" => "text",
        "thinking_delta" => "thinking",
        "signature_delta" => "signature",
        _ => "partial_json",
    };
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    [json!({"type": "message_delta", "delta": {"stop_reason": reason}}), json!({"type": "message_stop"})]
}

fn with_end(mut events: Vec<Value>, reason: &str) -> Vec<Value> {
    events.extend(end(reason));
    events
}

#[tokio::test]
async fn a1_ping_and_unknown_events_anywhere() {
    let ping = json!({"type": "ping"});
    let events = [
        ping.clone(),
        start(0, json!({"type": "text", "text": ""})),
        ping.clone(),
        json!({"type": "something_new", "index": 0, "delta": {"text": "no"}}),
        delta(0, "text_delta", "Hel"),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}}),
        delta(0, "text_delta", "lo"),
        ping,
        stop(0),
    ];
    assert_eq!(answer(&with_end(events.to_vec(), "end_turn")).await.text(), "Hello");
}

#[tokio::test]
async fn a2_overloaded_after_a_good_status() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let answer = answer(&[start(0, json!({"type": "text", "text": "Hel"})), error]).await;
    assert_eq!((answer.failure().kind, answer.unfinished.as_slice()), (ErrorKind::Overloaded, &["Hel".to_owned()][..]));
}

#[tokio::test]
async fn a3_thinking_goes_back_byte_for_byte_and_in_its_place() {
    let redacted = json!({"type": "redacted_thinking", "data": "b3BhcXVl"});
    let events = vec![
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "thinking_delta", "Let me "),
        delta(0, "thinking_delta", "see."),
        delta(0, "signature_delta", "c2ln"),
        delta(0, "signature_delta", "bmVk"),
        stop(0),
        start(1, redacted.clone()),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, "text_delta", "I look."),
        stop(2),
        start(3, json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})),
        delta(3, "input_json_delta", "{}"),
        stop(3),
    ];
    let body: String = with_end(events, "tool_use").iter().map(event).collect();
    let server = Server::start([Reply::sse(body)]).await;
    let provider = Anthropic::new(&server.url, None);
    let first = ask(&provider, &request()).await;
    assert_eq!(first.thinking(), "Let me see.");
    let own = next_turn(request(), first.message("anthropic", MODEL));
    ask(&provider, &own).await;
    let of_another_model = next_turn(request(), first.message("anthropic", "older-model"));
    ask(&provider, &of_another_model).await;
    let sent: Vec<Value> =
        server.requests().iter().map(|request| request.body()["messages"][1]["content"].clone()).collect();
    let signed = json!({"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"});
    let (text, call) = (
        json!({"type": "text", "text": "I look."}),
        json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}),
    );
    assert_eq!(sent[1], json!([signed, redacted, text, call]));
    assert_eq!(sent[2], json!([text, call]), "another model would refuse it");
    assert_eq!(check_messages(&server.requests()[1].body()), Ok(()));
}

#[tokio::test]
async fn a3_thinking_without_a_signature_is_not_sent_back() {
    let events = vec![
        start(0, json!({"type": "thinking", "thinking": "Hm."})),
        stop(0),
        start(1, json!({"type": "text", "text": "Yes."})),
    ];
    let answer = answer(&with_end(events, "end_turn")).await;
    assert!(matches!(&answer.parts[0], Part::Thinking { text, raw: None } if text == "Hm."), "{:?}", answer.parts);
}

#[tokio::test]
async fn a3_an_answer_cut_in_its_thoughts_is_not_sent_back() {
    let thought = |index| start(index, json!({"type": "thinking", "thinking": "Hm", "signature": "cw=="}));
    let only = vec![thought(0), stop(0), start(1, json!({"type": "redacted_thinking", "data": "eA=="})), stop(1)];
    let behind = vec![start(0, json!({"type": "text", "text": "Yes."})), stop(0), thought(1), stop(1)];
    for (events, left) in [(only, Value::Null), (behind, json!([{"type": "text", "text": "Yes."}]))] {
        let body: String = with_end(events, "max_tokens").iter().map(event).collect();
        let server = Server::start([Reply::sse(body)]).await;
        let provider = Anthropic::new(&server.url, None);
        let mut turn = next_turn(request(), ask(&provider, &request()).await.message("anthropic", MODEL));
        turn.messages.push(Message::user("Go on.").into());
        ask(&provider, &turn).await;
        let sent = server.requests()[1].body();
        assert_eq!((check_messages(&sent), &sent["messages"][1]["content"]), (Ok(()), &left), "{sent}");
    }
}

#[tokio::test]
async fn a4_input_in_every_way() {
    let block = |input: Value| {
        let mut block = json!({"type": "tool_use", "id": "a", "name": "read"});
        if !input.is_null() {
            block["input"] = input;
        }
        start(0, block)
    };
    let pieces = |pieces: &[&str]| pieces.iter().map(|piece| delta(0, "input_json_delta", piece)).collect::<Vec<_>>();
    let cases = [
        (block(json!({})), pieces(&[]), json!({})),
        (block(json!({})), pieces(&["", ""]), json!({})),
        (block(Value::Null), pieces(&[]), json!({})),
        (block(Value::Null), pieces(&["", "{\"a\"", ":1}"]), json!({"a": 1})),
        (block(json!({"a": 1})), pieces(&[]), json!({"a": 1})),
        (block(json!({"b": 2})), pieces(&["{\"a\":1}"]), json!({"a": 1})),
    ];
    for (first, deltas, expected) in cases {
        for closing in [vec![stop(0)], vec![]] {
            let events = [vec![first.clone()], deltas.clone(), closing].concat();
            let answer = answer(&with_end(events, "end_turn")).await;
            assert_eq!(Value::Object(answer.call().arguments.clone()), expected, "{first} {deltas:?}");
            assert_eq!(answer.stop, Some(StopReason::ToolCalls), "the content decides, not the word");
        }
    }
}

#[tokio::test]
async fn a5_figures_are_snapshots_and_input_is_all_of_it() {
    let begin = |usage: Value| json!({"type": "message_start", "message": {"model": MODEL, "usage": usage}});
    let then = |usage: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let all = json!({"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30, "output_tokens": 1});
    let expected = Usage { input: 60, output: 7, cache_read: 20, cache_write: 30, ..Usage::default() };
    let cases = [
        (all.clone(), json!({"output_tokens": 7}), expected),
        (
            json!({"input_tokens": 10, "output_tokens": 1}),
            json!({"cache_read_input_tokens": 20, "cache_creation_input_tokens": 30, "output_tokens": 7}),
            expected,
        ),
        (
            json!({}),
            json!({"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30, "output_tokens": 7}),
            expected,
        ),
        (all, json!({"input_tokens": 0, "cache_read_input_tokens": null, "output_tokens": 7}), expected),
        (Value::Null, Value::Null, Usage::default()),
    ];
    for (first, last, expected) in cases {
        let events = [begin(first.clone()), then(last.clone()), json!({"type": "message_stop"})];
        assert_eq!(answer(&events).await.usage, expected, "{first} {last}");
    }
}

#[tokio::test]
async fn a6_every_reason_to_stop() {
    let reasons = [
        ("end_turn", StopReason::EndTurn),
        ("max_tokens", StopReason::Length),
        ("stop_sequence", StopReason::StopSequence),
        ("pause_turn", StopReason::Pause),
        ("refusal", StopReason::Refusal),
        ("model_context_window_exceeded", StopReason::ContextFull),
        ("something_new", StopReason::EndTurn),
    ];
    for (reason, expected) in reasons {
        let events = with_end(vec![start(0, json!({"type": "text", "text": "x"})), stop(0)], reason);
        assert_eq!(answer(&events).await.stop, Some(expected), "{reason}");
    }
}

#[tokio::test]
async fn a8_max_tokens_inside_a_calls_input() {
    let events = vec![
        start(0, json!({"type": "tool_use", "id": "a", "name": "read"})),
        delta(0, "input_json_delta", "{\"pa"),
        stop(0),
    ];
    let answer = answer(&with_end(events, "max_tokens")).await;
    assert_eq!((answer.stop, answer.call().unreadable.as_deref()), (Some(StopReason::Length), Some("{\"pa")));
}

#[tokio::test]
async fn a8_blocks_only_the_service_understands_go_back_unchanged() {
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search"});
    let events = vec![
        start(0, search),
        delta(0, "input_json_delta", "{\"query\":"),
        delta(0, "input_json_delta", "\"rust\"}"),
        stop(0),
        start(1, json!({"type": "text", "text": "Found."})),
        stop(1),
    ];
    let answer = answer(&with_end(events, "pause_turn")).await;
    let expected =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rust"}});
    assert_eq!(answer.parts, [Part::Opaque { raw: expected }, Part::Text { text: "Found.".into() }]);
}

#[tokio::test]
async fn text_thinking_and_text_keep_their_order() {
    let events = vec![
        start(0, json!({"type": "text", "text": "One"})),
        delta(0, "text_delta", " two."),
        stop(0),
        start(1, json!({"type": "thinking", "thinking": "Hm", "signature": "cw=="})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        stop(2),
        start(3, json!({"type": "text", "text": "Three."})),
        stop(3),
    ];
    let answer = answer(&with_end(events, "end_turn")).await;
    let [Part::Text { text: first }, Part::Thinking { raw: Some(_), .. }, Part::Text { text: last }] =
        &answer.parts[..]
    else {
        panic!("an empty block is no part: {:?}", answer.parts);
    };
    assert_eq!((first.as_str(), last.as_str()), ("One two.", "Three."));
}

#[tokio::test]
async fn events_without_a_name_are_told_by_their_type() {
    let events = with_end(vec![start(0, json!({"type": "text", "text": "Hello"})), stop(0)], "end_turn");
    let body: String = events.iter().map(data).collect();
    let server = Server::start([Reply::sse(body)]).await;
    assert_eq!(ask(&Anthropic::new(&server.url, None), &request()).await.text(), "Hello");
}
