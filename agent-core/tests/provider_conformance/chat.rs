//! What servers that call themselves compatible do to Chat Completions.

use agent_core::message::{Part, StopReason, Usage};
use agent_core::provider::ErrorKind;
use agent_core::provider::openai::{OpenAi, Quirks};
use serde_json::{Value, json};

use super::support::answer::{Answer, ask};
use super::support::server::{Reply, Server};
use super::support::wire::{data, request};

/// A stream of these deltas, then this reason to stop, then the end mark.
fn stream(deltas: &[Value], reason: &Value) -> String {
    let chunk = |delta: &Value| data(&json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}));
    let last = data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    format!("{}{last}data: [DONE]\n\n", deltas.iter().map(chunk).collect::<String>())
}

async fn answer_to(body: String) -> Answer {
    let server = Server::start([Reply::sse(body)]).await;
    ask(&OpenAi::new(format!("{}/v1", server.url), None), &request()).await
}

async fn answer(deltas: &[Value], reason: &str) -> Answer {
    answer_to(stream(deltas, &json!(reason))).await
}

/// The calls that come of these pieces, as `name(path)`.
async fn calls(pieces: &[Value]) -> Vec<String> {
    let deltas: Vec<Value> = pieces.iter().map(|piece| json!({"tool_calls": [piece]})).collect();
    let answer = answer(&deltas, "tool_calls").await;
    assert_eq!(answer.error, None, "{pieces:#?}");
    let together = json!({"tool_calls": pieces});
    let at_once = self::answer(&[together], "tool_calls").await;
    assert_eq!(at_once.calls(), answer.calls(), "all pieces in one chunk give the same calls");
    let shown = answer.calls().into_iter().map(|call| match &call.unreadable {
        None => format!("{}({})", call.name, call.arguments["path"].as_str().unwrap()),
        Some(text) => format!("{}!{text}", call.name),
    });
    shown.collect()
}

fn piece(index: impl Into<Value>, id: impl Into<Value>, name: impl Into<Value>, arguments: impl Into<Value>) -> Value {
    let mut piece = json!({"type": "function", "function": {}});
    for (holder, key, value) in [("", "index", index.into()), ("", "id", id.into()), ("function", "name", name.into())]
    {
        match (value, holder) {
            (Value::Null, _) => {}
            (value, "") => piece[key] = value,
            (value, holder) => piece[holder][key] = value,
        }
    }
    let arguments = arguments.into();
    if !arguments.is_null() {
        piece["function"]["arguments"] = arguments;
    }
    piece
}

const NONE: Value = Value::Null;
const A: &str = r#"{"path":"a"}"#;
const B: &str = r#"{"path":"b"}"#;

#[tokio::test]
async fn c1_empty_choices_first_between_and_last() {
    let empty = data(&json!({"choices": [], "prompt_filter_results": []}));
    let text = |text: &str| data(&json!({"choices": [{"delta": {"content": text}}], "usage": null}));
    let finish = data(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}));
    let usage = |n: u64| data(&json!({"choices": [], "usage": {"prompt_tokens": n, "completion_tokens": n}}));
    let body = [&empty, &text("Hel"), &usage(1), &empty, &text("lo"), &finish, &usage(7), "data: [DONE]\n\n"]
        .map(String::from)
        .concat();
    let answer = answer_to(body).await;
    assert_eq!((answer.text().as_str(), answer.stop), ("Hello", Some(StopReason::EndTurn)));
    assert_eq!(
        answer.usage,
        Usage { input: 7, output: 7, ..Usage::default() },
        "the last figures count, and are not added up"
    );
}

#[tokio::test]
async fn c1_figures_wherever_they_are() {
    let figures = json!({"prompt_tokens": 9, "completion_tokens": "4", "prompt_cache_hit_tokens": 3,
        "completion_tokens_details": {"reasoning_tokens": 2}, "cost": 0.5});
    let expected = Usage { input: 9, output: 4, cache_read: 3, reasoning: 2, cost: Some(0.5), ..Usage::default() };
    let finish = json!({"delta": {"content": "x"}, "finish_reason": "stop"});
    let mut in_choice = finish.clone();
    in_choice["usage"] = figures.clone();
    for chunk in [
        json!({"choices": [finish], "usage": figures}),
        json!({"choices": [in_choice]}),
        json!({"choices": [finish], "x_groq": {"usage": figures}}),
    ] {
        assert_eq!(answer_to(data(&chunk)).await.usage, expected, "{chunk}");
    }
}

#[tokio::test]
async fn c2_nothing_is_nothing() {
    let deltas = [
        json!({"role": "assistant", "content": null}),
        json!({"role": "assistant", "content": ""}),
        json!({"role": "assistant", "reasoning_content": "", "tool_calls": null, "refusal": null}),
        json!({"role": "assistant", "tool_calls": []}),
        NONE,
        json!({"role": "assistant", "content": "x"}),
    ];
    let answer = answer(&deltas, "stop").await;
    assert_eq!(answer.parts, [Part::Text { text: "x".into() }]);
    let without_delta = format!("{}{}", data(&json!({"choices": [{"index": 0}]})), stream(&deltas, &json!("stop")));
    assert_eq!(answer_to(without_delta).await.parts, answer.parts);
}

#[tokio::test]
async fn c3_no_index() {
    let pieces = [
        piece(NONE, "x", "read", ""),
        piece(NONE, NONE, NONE, A),
        piece(NONE, "y", "read", ""),
        piece(NONE, NONE, NONE, B),
    ];
    assert_eq!(calls(&pieces).await, ["read(a)", "read(b)"]);
}

#[tokio::test]
async fn c3_indexes_that_start_at_one_have_gaps_or_are_text() {
    for (first, second) in [(json!(1), json!(2)), (json!(0), json!(5)), (json!("0"), json!("1"))] {
        let pieces = [
            piece(first.clone(), "x", "read", ""),
            piece(first.clone(), NONE, NONE, A),
            piece(second.clone(), "y", "read", ""),
            piece(second.clone(), NONE, NONE, B),
        ];
        assert_eq!(calls(&pieces).await, ["read(a)", "read(b)"], "{first} {second}");
    }
}

#[tokio::test]
async fn c3_two_calls_on_one_index() {
    let pieces =
        [piece(0, "x", "read", ""), piece(0, "x", NONE, A), piece(0, "y", "edit", ""), piece(0, NONE, NONE, B)];
    assert_eq!(calls(&pieces).await, ["read(a)", "edit(b)"]);
}

#[tokio::test]
async fn c3_one_call_whose_index_changes() {
    let pieces = [piece(0, "x", "read", ""), piece(1, "x", NONE, "{\"path\":"), piece(2, "x", NONE, "\"a\"}")];
    assert_eq!(calls(&pieces).await, ["read(a)"]);
    let pieces = [piece(0, "x", "read", ""), piece(1, NONE, NONE, "{\"path\":"), piece(1, NONE, NONE, "\"a\"}")];
    assert_eq!(calls(&pieces).await, ["read(a)"]);
}

#[tokio::test]
async fn c4_ids_missing_late_empty_or_repeated() {
    let missing =
        [piece(0, NONE, "read", ""), piece(0, NONE, NONE, A), piece(1, NONE, "read", ""), piece(1, NONE, NONE, B)];
    let empty = [piece(0, "x", "read", ""), piece(0, "", "", A), piece(1, "y", "read", ""), piece(1, "", "", B)];
    let repeated =
        [piece(0, "x", "read", ""), piece(0, "x", "read", A), piece(1, "y", "read", ""), piece(1, "y", "read", B)];
    let late = [piece(0, NONE, "read", ""), piece(0, "x", NONE, A), piece(1, NONE, "read", ""), piece(1, "y", NONE, B)];
    for pieces in [missing, empty, repeated, late] {
        assert_eq!(calls(&pieces).await, ["read(a)", "read(b)"], "{pieces:#?}");
    }
}

#[tokio::test]
async fn c4_only_the_second_call_has_an_id() {
    let pieces = [piece(0, NONE, "read", A), piece(0, "y", "edit", ""), piece(0, "y", NONE, B)];
    assert_eq!(calls(&pieces).await, ["read(a)", "edit(b)"]);
}

#[tokio::test]
async fn c4_one_id_for_two_calls() {
    assert_eq!(calls(&[piece(0, "x", "read", A), piece(1, "x", "read", B)]).await, ["read(a)", "read(b)"]);
}

#[tokio::test]
async fn c5_names_repeated_in_pieces_or_late() {
    let repeated = [piece(0, "x", "read", "{\"path\":"), piece(0, NONE, "read", "\"a\"}")];
    let in_pieces = [piece(0, "x", "re", ""), piece(0, NONE, "ad", ""), piece(0, NONE, NONE, A)];
    let late = [piece(0, "x", NONE, "{\"path\":"), piece(0, NONE, NONE, "\"a\"}"), piece(0, NONE, "read", NONE)];
    let bare = [piece(NONE, NONE, "read", "{\"path\":"), piece(NONE, NONE, "read", "\"a\"}")];
    assert_eq!(calls(&repeated).await, ["read(a)"]);
    assert_eq!(calls(&in_pieces).await, ["read(a)"]);
    assert_eq!(calls(&late).await, ["read(a)"]);
    assert_eq!(calls(&bare).await, ["read(a)"]);
}

#[tokio::test]
async fn c6_arguments_as_an_object() {
    let object = json!({"path": "a"});
    assert_eq!(calls(&[piece(0, "x", "read", object)]).await, ["read(a)"]);
}

#[tokio::test]
async fn c6_no_arguments_in_every_way() {
    for nothing in [NONE, json!(""), json!("null"), json!("{}"), json!({}), json!(" ")] {
        let answer = answer(&[json!({"tool_calls": [piece(0, "x", "list", nothing.clone())]})], "tool_calls").await;
        assert_eq!((answer.call().arguments.len(), &answer.call().unreadable), (0, &None), "{nothing}");
    }
}

#[tokio::test]
async fn l1_whole_calls_without_ids_all_at_index_zero() {
    let a = piece(0, NONE, "read", json!({"path": "a"}));
    let b = piece(0, NONE, "read", json!({"path": "b"}));
    assert_eq!(calls(&[a, b]).await, ["read(a)", "read(b)"]);
    assert_eq!(calls(&[piece(0, NONE, "read", A), piece(0, NONE, "edit", B)]).await, ["read(a)", "edit(b)"]);
    assert_eq!(calls(&[piece(NONE, NONE, "read", A), piece(NONE, NONE, "read", B)]).await, ["read(a)", "read(b)"]);
}

#[tokio::test]
async fn l2_the_whole_call_once_more_at_the_end_is_one_call() {
    let pieces = [piece(0, "x", "read", ""), piece(0, NONE, NONE, A), piece(0, "x", "read", A)];
    assert_eq!(calls(&pieces).await, ["read(a)"]);
}

#[tokio::test]
async fn c7_the_content_decides_not_the_word() {
    let call = json!({"tool_calls": [piece(0, "x", "read", A)]});
    for word in ["stop", "tool_calls", "function_call", "eos", "whatever"] {
        assert_eq!(answer(std::slice::from_ref(&call), word).await.stop, Some(StopReason::ToolCalls), "{word}");
        assert_eq!(answer(&[json!({"content": "x"})], word).await.stop, Some(StopReason::EndTurn), "{word}");
    }
    let none = [json!(""), NONE];
    for word in none {
        assert_eq!(
            answer_to(stream(std::slice::from_ref(&call), &word)).await.stop,
            Some(StopReason::ToolCalls),
            "{word}"
        );
        assert_eq!(
            answer_to(stream(&[json!({"content": "x"})], &word)).await.stop,
            Some(StopReason::EndTurn),
            "{word}"
        );
        assert_eq!(answer_to(stream(&[], &word)).await.failure().kind, ErrorKind::Cut, "{word}: nothing at all");
    }
}

#[tokio::test]
async fn c7_length_filter_and_failures() {
    let cut_call = json!({"tool_calls": [piece(0, "x", "read", "{\"pa")]});
    let answer_with_call = answer(&[cut_call], "length").await;
    assert_eq!(answer_with_call.stop, Some(StopReason::Length));
    assert_eq!(answer_with_call.call().unreadable.as_deref(), Some("{\"pa"));
    let text = [json!({"content": "x"})];
    assert_eq!(answer(&text, "model_length").await.stop, Some(StopReason::Length));
    assert_eq!(answer(&text, "content_filter").await.stop, Some(StopReason::ContentFilter));
    assert_eq!(answer(&text, "insufficient_system_resource").await.failure().kind, ErrorKind::Overloaded);
    assert_eq!(answer(&text, "error").await.failure().kind, ErrorKind::Server);
}

#[tokio::test]
async fn c7_data_behind_the_reason_still_counts() {
    let text =
        |text: &str, reason: &str| data(&json!({"choices": [{"delta": {"content": text}, "finish_reason": reason}]}));
    let body = format!("{}{}data: [DONE]\n\n", text("Hel", "stop"), text("lo", "stop"));
    assert_eq!(answer_to(body).await.text(), "Hello");
}

#[tokio::test]
async fn c8_reasoning_in_every_field() {
    let cases = [
        json!({"reasoning_content": "Hm."}),
        json!({"reasoning": "Hm."}),
        json!({"reasoning_content": "Hm.", "reasoning": "Hm."}),
        json!({"reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}]}),
        json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm.", "index": 0}]}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}),
        json!({"content": "<think>Hm.</think>\n\n"}),
        json!({"content": "\n<think>Hm."}),
    ];
    for delta in cases {
        let answer =
            answer(&[delta.clone(), json!({"content": [{"type": "text", "text": "</think>Yes."}]})], "stop").await;
        assert_eq!(answer.thinking(), "Hm.", "{delta}");
        assert!(answer.text().ends_with("Yes."), "{delta}");
    }
}

#[tokio::test]
async fn c8_think_tags_cut_anywhere_and_only_at_the_beginning() {
    let whole = "<think>a < b </th</think> So <think> stays.";
    for at in 1..whole.len() {
        let (head, tail) = whole.split_at(at);
        let answer = answer(&[json!({"content": head}), json!({"content": tail})], "stop").await;
        assert_eq!(
            (answer.thinking().as_str(), answer.text().as_str()),
            ("a < b </th", "So <think> stays."),
            "at {at}"
        );
    }
    for text in ["<thin", "<", "x<think>y</think>", "  "] {
        let answer = answer(&[json!({"content": text})], "stop").await;
        let expected = if text.trim().is_empty() { "" } else { text };
        assert_eq!((answer.thinking().as_str(), answer.text().as_str()), ("", expected));
    }
    let server = Server::start([Reply::sse(stream(&[json!({"content": whole})], &json!("stop")))]).await;
    let quirks = Quirks { think_tags: false, ..Quirks::default() };
    let plain = ask(&OpenAi::new(format!("{}/v1", server.url), None).quirks(quirks), &request()).await;
    assert_eq!(plain.text(), whole);
}

#[tokio::test]
async fn c9_text_calls_and_text_again_keep_their_order() {
    let deltas = [
        json!({"content": "a"}),
        json!({"tool_calls": [piece(0, "x", "read", A)]}),
        json!({"content": "b"}),
        json!({"content": "c"}),
    ];
    let answer = answer(&deltas, "tool_calls").await;
    assert!(
        matches!(&answer.parts[..], [Part::Text { .. }, Part::ToolCall(_), Part::Text { text }] if text == "bc"),
        "{:?}",
        answer.parts
    );
}

#[tokio::test]
async fn c10_a_refusal_is_an_outcome_and_unknown_fields_are_nothing() {
    let refusal = answer(&[json!({"refusal": "I won't"}), json!({"refusal": ".", "content": null})], "stop").await;
    assert_eq!((refusal.text().as_str(), refusal.stop), ("I won't.", Some(StopReason::Refusal)));
    let odd =
        json!({"content": "x", "annotations": [1], "audio": {"id": 1}, "obfuscation": "zzz", "tool_calls": [7, "x"]});
    let answer = answer(&[odd], "stop").await;
    assert_eq!(answer.parts, [Part::Text { text: "x".into() }]);
}

#[tokio::test]
async fn c10_the_old_function_call() {
    let deltas =
        [json!({"function_call": {"name": "read", "arguments": ""}}), json!({"function_call": {"arguments": A}})];
    let answer = answer(&deltas, "function_call").await;
    assert_eq!((answer.call().name.as_str(), answer.call().arguments["path"].as_str()), ("read", Some("a")));
}

#[tokio::test]
async fn c18_an_error_chunk_with_a_choice_is_an_error_and_error_null_is_none() {
    let text = data(&json!({"choices": [{"delta": {"content": "x"}}], "error": null}));
    let failed =
        data(&json!({"error": {"code": 502, "message": "Provider failed", "metadata": {"raw": "upstream says no"}},
        "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}));
    let answer = answer_to(format!("{text}{failed}data: [DONE]\n\n")).await;
    assert_eq!(answer.failure().kind, ErrorKind::Server);
    assert!(answer.failure().message.contains("upstream says no"), "{}", answer.failure().message);
    let empty = data(&json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "error": ""}));
    assert_eq!(answer_to(empty).await.text(), "x");
}

#[tokio::test]
async fn c11_what_a_server_refuses_is_named_with_its_setting() {
    let body = r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#;
    let server = Server::start([Reply::status("400 Bad Request", "", body)]).await;
    let answer = ask(&OpenAi::new(format!("{}/v1", server.url), None), &request()).await;
    assert!(answer.failure().message.contains("stream_options = false"), "{}", answer.failure().message);
}
