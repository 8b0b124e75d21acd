//! One script, told in every wire protocol.

use std::time::Duration;

use agent_core::message::{Message, ToolResult};
use agent_core::provider::anthropic::Anthropic;
use agent_core::provider::http::{HttpClient, HttpOptions};
use agent_core::provider::openai::OpenAi;
use agent_core::provider::{ModelRequest, Provider};
use agent_core::tool::ToolDefinition;
use serde_json::{Value, json};

use super::strict;

pub(crate) const MODEL: &str = "test-model";

/// What a scripted model does, piece by piece; the number says which part of the message it is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Say<'t> {
    Text(usize, &'t str),
    Thinking(usize, &'t str),
    Call(usize, &'t str, &'t str),
    Arguments(usize, &'t str),
}

/// A wire protocol under test. To add one: a constant here, and its line in [`ALL`].
#[derive(Clone, Copy)]
pub(crate) struct Wire {
    pub(crate) name: &'static str,
    pub(crate) provider: fn(&str, HttpClient) -> Box<dyn Provider>,
    /// The events of a script without its end: what a cut stream has.
    pub(crate) begin: fn(&[Say<'_>]) -> Vec<String>,
    /// The reason to stop and the figures: 100 tokens in (of them 60 from the cache), 20 out.
    pub(crate) finish: fn(&[Say<'_>]) -> Vec<String>,
    /// The mark behind everything.
    pub(crate) mark: &'static str,
    pub(crate) comment: &'static str,
    /// An error told in mid-stream: the service is overloaded.
    pub(crate) overloaded: &'static str,
    /// The whole of a script as one JSON answer.
    pub(crate) whole: fn(&[Say<'_>]) -> Value,
    /// What the service would say to a request.
    pub(crate) check: fn(&Value) -> Result<(), String>,
}

pub(crate) const ALL: [Wire; 2] = [CHAT, MESSAGES];

pub(crate) const CHAT: Wire = Wire {
    name: "chat",
    provider: |url, client| Box::new(OpenAi::new(format!("{url}/v1"), "key".to_owned()).with_client(client)),
    begin: |script| {
        let calls = script.iter().filter_map(|say| if let Say::Call(part, ..) = say { Some(*part) } else { None });
        let calls: Vec<usize> = calls.collect();
        script.iter().map(|say| data(&chat_chunk(&calls, say))).collect()
    },
    finish: |script| {
        let reason = if has_calls(script) { "tool_calls" } else { "stop" };
        let usage =
            json!({"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 60}});
        vec![
            data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})),
            data(&json!({"model": MODEL, "choices": [], "usage": usage})),
        ]
    },
    mark: "data: [DONE]\n\n",
    comment: ": keep-alive\n\n",
    overloaded: "data: {\"error\":{\"message\":\"The server is overloaded\",\"type\":\"overloaded_error\"}}\n\n",
    whole: |script| {
        let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::<Value>::new());
        for say in script {
            match *say {
                Say::Text(_, piece) => text.push_str(piece),
                Say::Thinking(_, piece) => thinking.push_str(piece),
                Say::Call(_, id, name) => {
                    calls.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}}));
                }
                Say::Arguments(_, piece) => calls.last_mut().unwrap()["function"]["arguments"] = json!(piece),
            }
        }
        let message = json!({"role": "assistant", "content": text, "reasoning_content": thinking, "tool_calls": calls});
        json!({"model": MODEL, "choices": [{"message": message, "finish_reason": "stop"}]})
    },
    check: strict::check_chat,
};

fn chat_chunk(calls: &[usize], say: &Say<'_>) -> Value {
    let number = |part: usize| calls.iter().filter(|other| **other < part).count();
    let delta = match *say {
        Say::Text(_, text) => json!({"content": text}),
        Say::Thinking(_, text) => json!({"reasoning_content": text}),
        Say::Call(part, id, name) => json!({"tool_calls": [{"index": number(part), "id": id, "type": "function",
            "function": {"name": name, "arguments": ""}}]}),
        Say::Arguments(part, piece) => {
            json!({"tool_calls": [{"index": number(part), "function": {"arguments": piece}}]})
        }
    };
    json!({"id": "x", "model": MODEL, "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

pub(crate) const MESSAGES: Wire = Wire {
    name: "messages",
    provider: |url, client| Box::new(Anthropic::new(url, "key".to_owned()).with_client(client)),
    begin: |script| {
        let usage = json!({"input_tokens": 40, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 0, "output_tokens": 1});
        let mut events =
            vec![event(&json!({"type": "message_start", "message": {"model": MODEL, "content": [], "usage": usage}}))];
        let mut begun = Vec::new();
        for say in script {
            messages_events(say, &mut begun, &mut events);
        }
        events
    },
    finish: |script| {
        let mut parts: Vec<usize> = script.iter().map(Say::part).collect();
        parts.sort_unstable();
        parts.dedup();
        let mut events = Vec::new();
        for part in parts {
            if script.iter().any(|say| matches!(say, Say::Thinking(other, _) if *other == part)) {
                let delta = json!({"type": "signature_delta", "signature": "c2ln"});
                events.push(event(&json!({"type": "content_block_delta", "index": part, "delta": delta})));
            }
            events.push(event(&json!({"type": "content_block_stop", "index": part})));
        }
        let reason = if has_calls(script) { "tool_use" } else { "end_turn" };
        let usage = json!({"output_tokens": 20});
        events.push(event(&json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})));
        events
    },
    mark: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    comment: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    overloaded: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
    whole: |script| {
        let mut content: Vec<Value> = Vec::new();
        for say in script {
            content.push(match *say {
                Say::Text(_, text) => json!({"type": "text", "text": text}),
                Say::Thinking(_, text) => json!({"type": "thinking", "thinking": text, "signature": "c2ln"}),
                Say::Call(_, id, name) => json!({"type": "tool_use", "id": id, "name": name}),
                Say::Arguments(_, piece) => {
                    content.last_mut().unwrap()["input"] = serde_json::from_str(piece).unwrap();
                    continue;
                }
            });
        }
        json!({"type": "message", "model": MODEL, "content": content, "stop_reason": "end_turn", "usage": {}})
    },
    check: strict::check_messages,
};

fn messages_events(say: &Say<'_>, begun: &mut Vec<usize>, events: &mut Vec<String>) {
    let (block, delta) = match *say {
        Say::Text(_, text) => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text})),
        Say::Thinking(_, text) => (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            json!({"type": "thinking_delta", "thinking": text}),
        ),
        Say::Call(_, id, name) => (
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": ""}),
        ),
        Say::Arguments(_, piece) => (Value::Null, json!({"type": "input_json_delta", "partial_json": piece})),
    };
    if !begun.contains(&say.part()) {
        begun.push(say.part());
        events.push(event(&json!({"type": "content_block_start", "index": say.part(), "content_block": block})));
    }
    events.push(event(&json!({"type": "content_block_delta", "index": say.part(), "delta": delta})));
}

impl Say<'_> {
    fn part(&self) -> usize {
        match *self {
            Self::Text(part, _) | Self::Thinking(part, _) | Self::Call(part, ..) | Self::Arguments(part, _) => part,
        }
    }
}

impl Wire {
    /// A script's whole stream.
    pub(crate) fn stream(&self, script: &[Say<'_>]) -> String {
        format!("{}{}{}", (self.begin)(script).concat(), (self.finish)(script).concat(), self.mark)
    }

    /// A provider with limits short enough for a test.
    pub(crate) fn connect(&self, url: &str) -> Box<dyn Provider> {
        (self.provider)(url, client(Duration::from_secs(10)))
    }

    /// A provider that waits only this long.
    pub(crate) fn impatient(&self, url: &str, limit: Duration) -> Box<dyn Provider> {
        (self.provider)(url, client(limit))
    }
}

fn client(limit: Duration) -> HttpClient {
    HttpClient::new(HttpOptions {
        connect_timeout: Duration::from_secs(1),
        first_byte_timeout: limit,
        idle_timeout: limit,
        ..HttpOptions::default()
    })
}

fn has_calls(script: &[Say<'_>]) -> bool {
    script.iter().any(|say| matches!(say, Say::Call(..)))
}

pub(crate) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

pub(crate) fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

/// A question, with a tool to answer it.
pub(crate) fn request() -> ModelRequest {
    let mut request = ModelRequest {
        model: MODEL.to_owned(),
        instructions: "Be brief.".into(),
        messages: vec![Message::user("Look.").into()],
        ..ModelRequest::default()
    };
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    request.tools.push(ToolDefinition::new("read").description("Reads.").input_schema(schema).into());
    request
}

/// The next turn: the answer, and a result for each of its calls.
pub(crate) fn next_turn(mut request: ModelRequest, answer: agent_core::message::AssistantMessage) -> ModelRequest {
    let results: Vec<Message> = answer
        .tool_calls()
        .map(|call| Message::ToolResult(ToolResult { is_error: false, ..ToolResult::error(call, "done") }))
        .collect();
    request.messages.push(Message::Assistant(answer).into());
    request.messages.extend(results.into_iter().map(Into::into));
    request
}
