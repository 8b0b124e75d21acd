//! What is sent: judged by the strict checker, and compared from turn to turn.

use agent_core::message::{
    AssistantMessage, Content, Message, Part, StopReason, ToolCall, ToolResult, Usage, UserMessage,
};
use agent_core::provider::anthropic::{Anthropic, ThinkingStyle};
use agent_core::provider::openai::{MaxTokensField, OpenAi, Quirks, SendReasoning};
use agent_core::provider::{ModelRequest, ModelSettings, Provider, ThinkingLevel, ToolChoice};
use serde_json::{Map, Value, json};

use super::support::answer::ask;
use super::support::server::{Recorded, Reply, Server};
use super::support::strict::{check_chat, check_messages};
use super::support::wire::{ALL, CHAT, MESSAGES, MODEL, Say, Wire, request};

const TEXT: &[Say<'_>] = &[Say::Text(0, "Hello")];

async fn sent(provider: impl FnOnce(&str) -> Box<dyn Provider>, wire: &Wire, request: &ModelRequest) -> Recorded {
    let server = Server::start([Reply::sse(wire.stream(TEXT))]).await;
    assert_eq!(ask(&*provider(&server.url), request).await.error, None);
    server.requests().remove(0)
}

async fn sent_chat(quirks: Quirks, request: &ModelRequest) -> Value {
    let body =
        sent(|url| Box::new(OpenAi::new(format!("{url}/v1/"), None).quirks(quirks)), &CHAT, request).await.body();
    check_chat(&body).unwrap_or_else(|why| assert!(why.contains("a result is text"), "{why}: {body}"));
    body
}

async fn sent_messages(request: &ModelRequest) -> Value {
    let body = sent(|url| Box::new(Anthropic::new(url, None)), &MESSAGES, request).await.body();
    assert_eq!(check_messages(&body), Ok(()), "{body}");
    body
}

fn assistant(parts: Vec<Part>) -> Message {
    Message::Assistant(AssistantMessage {
        parts,
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        provider: "openai".to_owned(),
        model: MODEL.to_owned(),
    })
}

fn call(id: &str, name: &str) -> Part {
    Part::ToolCall(ToolCall::from_value(id, name, json!({"path": "a"})))
}

fn result(id: &str, content: Vec<Content>, is_error: bool) -> Message {
    let call = ToolCall::from_value(id, "read", json!({}));
    Message::ToolResult(ToolResult { content, is_error, ..ToolResult::error(&call, "") })
}

fn image() -> Content {
    Content::Image { data: "aW1n".into(), media_type: "image/png".to_owned() }
}

/// A conversation with everything that is hard to send.
fn hard() -> ModelRequest {
    let mut request = request();
    let long = "x".repeat(200);
    let messages = [
        Message::User(UserMessage { content: vec![Content::text("Look"), image(), Content::text("  ")] }),
        assistant(vec![
            Part::Thinking { text: "foreign".into(), raw: Some(json!({"type": "thinking", "signature": "other"})) },
            Part::Text { text: " ".into() },
            call("functions.read:0", "functions.read"),
            call(&long, ""),
        ]),
        result("functions.read:0", vec![Content::text("one"), image()], false),
        result(&long, vec![], true),
        Message::user("And now?"),
        Message::user("Well?"),
        assistant(vec![Part::Thinking { text: "nothing but a thought".into(), raw: None }]),
        Message::user("Hello?"),
        assistant(vec![Part::Text { text: "Yes.".into() }, Part::ToolCall(ToolCall::from_text("ü", "read", "{\"pa"))]),
        result(
            "ü",
            vec![Content::Image { data: "eA==".into(), media_type: "image/bmp".into() }, Content::text("")],
            false,
        ),
    ];
    request.messages.extend(messages.map(Into::into));
    request
}

#[tokio::test]
async fn a7_whatever_the_history_holds_no_service_refuses_it() {
    for wire in ALL {
        let request = hard();
        for end in 1..=request.messages.len() {
            let mut part = request.clone();
            part.messages = agent_core::history::sendable(&request.messages[..end]);
            let body = sent(|url| wire.connect(url), &wire, &part).await.body();
            assert_eq!((wire.check)(&body), Ok(()), "{} up to {end}: {body}", wire.name);
        }
    }
}

#[tokio::test]
async fn a_longer_conversation_begins_with_the_same_bytes() {
    for wire in ALL {
        let all = hard();
        let server = Server::start([Reply::sse(wire.stream(TEXT))]).await;
        let provider = wire.connect(&server.url);
        // Results of one batch come together: the ends of whole turns.
        for end in [2, 5, 7, 9, 11] {
            let mut turn = all.clone();
            turn.messages.truncate(end);
            assert_eq!(ask(&*provider, &turn).await.error, None);
        }
        let mark = ",\"cache_control\":{\"type\":\"ephemeral\"}";
        let bodies: Vec<String> = server
            .requests()
            .iter()
            .map(|request| String::from_utf8(request.bytes.clone()).unwrap().replace(mark, ""))
            .collect();
        for pair in bodies.windows(2) {
            // A user message that goes on is one message, so only its closing differs.
            let prefix = pair[0].trim_end_matches(['}', ']']);
            assert!(pair[1].starts_with(prefix), "{}:\n{}\n{}", wire.name, pair[0], pair[1]);
        }
    }
}

#[tokio::test]
async fn headers_and_addresses() {
    let paths = ["", "/"];
    for path in paths {
        let chat = sent(
            |url| {
                Box::new(OpenAi::new(format!("{url}/v1{path}"), "k1".to_owned()).header("X-Title", "t").name("local"))
            },
            &CHAT,
            &request(),
        )
        .await;
        assert!(chat.head.starts_with("post /v1/chat/completions http/1.1"), "{}", chat.head);
        assert!(chat.head.contains("authorization: bearer k1") && chat.head.contains("x-title: t"), "{}", chat.head);
        for version in ["", "/v1"] {
            let messages = sent(
                |url| Box::new(Anthropic::new(format!("{url}{version}{path}"), "k2".to_owned())),
                &MESSAGES,
                &request(),
            )
            .await;
            assert!(messages.head.starts_with("post /v1/messages http/1.1"), "{}", messages.head);
            assert!(messages.head.contains("x-api-key: k2") && messages.head.contains("anthropic-version: 2023-06-01"));
            assert!(!messages.head.contains("authorization"), "{}", messages.head);
        }
    }
    let bare = sent(|url| Box::new(OpenAi::new(format!("{url}/v1"), None)), &CHAT, &request()).await;
    assert!(!bare.head.contains("authorization") && bare.head.contains("content-length"), "{}", bare.head);
}

#[tokio::test]
async fn a_key_is_not_shown_when_a_provider_is_printed() {
    let chat = OpenAi::new("http://x/v1", "secret".to_owned()).header("x-token", "secret");
    let messages = Anthropic::new("http://x", "secret".to_owned()).header("x-token", "secret");
    assert!(!format!("{chat:?}{messages:?}").contains("secret"));
}

#[tokio::test]
async fn images_of_results_follow_all_results_in_chat_completions() {
    let mut turn = request();
    turn.messages.push(assistant(vec![call("a", "read"), call("b", "read")]).into());
    turn.messages.push(result("a", vec![image()], false).into());
    turn.messages.push(result("b", vec![Content::text("two"), image()], true).into());
    turn.messages.push(Message::user("Well?").into());
    let body = sent_chat(Quirks::default(), &turn).await;
    let roles: Vec<&str> = body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user", "user"]);
    assert_eq!(body["messages"][4]["content"], "Error: two");
    assert_eq!(body["messages"][5]["content"].as_array().unwrap().len(), 3);
    assert_eq!(body["messages"][5]["content"][1]["image_url"]["url"], "data:image/png;base64,aW1n");
    let quirks = Quirks { images_in_tool_messages: true, ..Quirks::default() };
    let body = sent_chat(quirks, &turn).await;
    assert_eq!(body["messages"][4]["content"][1]["type"], "image_url");
    assert_eq!(body["messages"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn c8_reasoning_goes_back_under_its_own_field_only() {
    let details = json!([{"type": "reasoning.encrypted", "data": "eA=="}]);
    let raw = json!({"field": "reasoning", "reasoning_details": details});
    let thought = || Part::Thinking { text: "Hm.".into(), raw: Some(raw.clone()) };
    let mut turn = request();
    turn.messages.push(assistant(vec![thought(), Part::Text { text: "Yes.".into() }]).into());
    turn.messages.push(Message::user("Go on.").into());
    turn.messages.push(assistant(vec![thought(), call("a", "read")]).into());
    turn.messages.push(result("a", vec![Content::text("one")], false).into());
    for (send, with_text, with_calls) in [
        (SendReasoning::Never, false, false),
        (SendReasoning::WithCalls, false, true),
        (SendReasoning::Always, true, true),
    ] {
        let body = sent_chat(Quirks { send_reasoning: send, ..Quirks::default() }, &turn).await;
        for (at, expected) in [(2, with_text), (4, with_calls)] {
            let message = &body["messages"][at];
            assert_eq!(
                (message["reasoning"] == "Hm.", message["reasoning_details"] == details),
                (expected, expected),
                "{send:?}: {message}"
            );
            assert!(message.get("reasoning_content").is_none());
        }
    }
    let other = sent(|url| Box::new(OpenAi::new(format!("{url}/v1"), None).name("other")), &CHAT, &turn).await.body();
    assert!(other["messages"][4].get("reasoning").is_none(), "another service never gets it");
}

#[tokio::test]
async fn c11_quirks_of_a_server() {
    let mut turn = request();
    turn.settings.max_output_tokens = Some(100);
    turn.messages.push(assistant(vec![call("call_abc", "read")]).into());
    turn.messages.push(result("call_abc", vec![Content::text("one")], false).into());
    let plain = sent_chat(Quirks::default(), &turn).await;
    assert_eq!((&plain["max_tokens"], &plain["stream_options"]["include_usage"]), (&json!(100), &json!(true)));
    assert_eq!(plain["messages"][2]["content"], Value::Null);
    assert!(plain.get("parallel_tool_calls").is_none() && plain["tools"][0]["function"].get("strict").is_none());
    let quirks = json!({"max_tokens_field": "max_completion_tokens", "stream_options": false, "developer_role": true,
        "parallel_tool_calls": false, "strict": true, "empty_content": true, "nine_character_ids": true});
    let quirks: Quirks = serde_json::from_value(quirks).unwrap();
    assert_eq!(quirks.max_tokens_field, MaxTokensField::MaxCompletionTokens);
    let odd = sent_chat(quirks, &turn).await;
    assert_eq!((&odd["max_completion_tokens"], odd.get("stream_options")), (&json!(100), None));
    assert_eq!((&odd["messages"][0]["role"], &odd["parallel_tool_calls"]), (&json!("developer"), &json!(false)));
    assert_eq!((&odd["tools"][0]["function"]["strict"], &odd["messages"][2]["content"]), (&json!(true), &json!("")));
    let id = odd["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!((id.len(), odd["messages"][3]["tool_call_id"].as_str()), (9, Some(id)));
}

#[tokio::test]
async fn settings_in_chat_completions() {
    let mut turn = request();
    turn.settings = ModelSettings {
        temperature: Some(0.5),
        thinking: Some(ThinkingLevel::High),
        tool_choice: ToolChoice::Tool("read".into()),
        extra: Map::from_iter([("seed".to_owned(), json!(7)), ("model".to_owned(), json!("other"))]),
        ..ModelSettings::default()
    };
    let body = sent_chat(Quirks::default(), &turn).await;
    assert_eq!(
        (&body["temperature"], &body["reasoning_effort"], &body["seed"]),
        (&json!(0.5), &json!("high"), &json!(7))
    );
    assert_eq!((&body["tool_choice"]["function"]["name"], &body["model"]), (&json!("read"), &json!("other")));
    turn.tools.clear();
    let body = sent_chat(Quirks::default(), &turn).await;
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none(), "{body}");
}

#[tokio::test]
async fn settings_in_messages() {
    let mut turn = request();
    let body = sent_messages(&turn).await;
    assert_eq!((&body["max_tokens"], body.get("thinking"), body.get("tool_choice")), (&json!(32_000), None, None));
    assert_eq!(body["system"][0]["text"], "Be brief.");
    turn.settings.tool_choice = ToolChoice::Required;
    turn.settings.temperature = Some(0.5);
    assert_eq!(sent_messages(&turn).await["tool_choice"]["type"], "any");
    for level in [ThinkingLevel::Low, ThinkingLevel::Medium, ThinkingLevel::High] {
        for limit in [None, Some(500), Some(1024), Some(1500), Some(4000), Some(64_000)] {
            turn.settings.thinking = Some(level);
            turn.settings.max_output_tokens = limit;
            let body = sent_messages(&turn).await;
            assert_eq!(
                body.get("thinking").is_some(),
                limit.is_none_or(|limit| limit > 1024),
                "{level:?} {limit:?}: {body}"
            );
        }
    }
    turn.settings.thinking = Some(ThinkingLevel::Off);
    assert_eq!(sent_messages(&turn).await["thinking"]["type"], "disabled");
    turn.settings.thinking = Some(ThinkingLevel::High);
    let adaptive = |url: &str| -> Box<dyn Provider> {
        Box::new(Anthropic::new(url, None).thinking_style(ThinkingStyle::Adaptive))
    };
    let body = sent(adaptive, &MESSAGES, &turn).await.body();
    assert_eq!((&body["thinking"]["type"], &body["output_config"]["effort"]), (&json!("adaptive"), &json!("high")));
}

#[tokio::test]
async fn cache_marks_stand_on_tools_system_and_the_last_two_user_messages() {
    let mut turn = request();
    for _ in 0..5 {
        turn.messages.push(assistant(vec![Part::Text { text: "Yes.".into() }]).into());
        turn.messages.push(Message::User(UserMessage { content: vec![Content::text("Go on."), image()] }).into());
    }
    let body = sent_messages(&turn).await;
    let mark = json!({"type": "ephemeral"});
    assert_eq!((&body["tools"][0]["cache_control"], &body["system"][0]["cache_control"]), (&mark, &mark));
    let messages = body["messages"].as_array().unwrap();
    let marked: Vec<usize> =
        (0..messages.len()).filter(|at| messages[*at].to_string().contains("cache_control")).collect();
    assert_eq!(marked, [8, 10]);
    assert_eq!(messages[10]["content"][1]["cache_control"], mark, "on the last block");
    let plain = sent(|url| Box::new(Anthropic::new(url, None).without_cache_marks()), &MESSAGES, &turn).await;
    assert!(!plain.body().to_string().contains("cache_control"));
}

#[tokio::test]
async fn results_stand_first_in_one_user_message() {
    let mut turn = request();
    turn.messages.push(assistant(vec![call("a", "read"), call("b", "read")]).into());
    turn.messages.push(result("a", vec![Content::text("one"), image()], false).into());
    turn.messages.push(result("b", vec![], true).into());
    turn.messages.push(Message::user("Well?").into());
    let body = sent_messages(&turn).await;
    let last = &body["messages"][2]["content"];
    let kinds: Vec<&str> = last.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
    assert_eq!((&last[0]["content"][1]["type"], &last[1]["is_error"]), (&json!("image"), &json!(true)));
}

#[tokio::test]
async fn the_same_request_is_the_same_bytes() {
    for wire in ALL {
        let server = Server::start([Reply::sse(wire.stream(TEXT))]).await;
        // Fresh messages, so that nothing remembered from the first request helps the second.
        for _ in 0..2 {
            ask(&*wire.connect(&server.url), &hard()).await;
        }
        let sent = server.requests();
        assert_eq!(sent[0].bytes, sent[1].bytes, "{}", wire.name);
    }
}
