//! A [`ModelRequest`] → the body of a Messages request.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::{ModelRequest, ThinkingLevel, ToolChoice, encode};
use super::{Style, ThinkingStyle};
use crate::message::{AssistantMessage, Content, Message, Part, ToolResult};

/// The limit of output tokens where none is set: the protocol wants one, and every current model allows this.
const MAX_TOKENS: u32 = 32_000;

/// The least the service accepts as a budget for thinking.
const LEAST_BUDGET: u32 = 1024;

/// Put behind the last field of a block, it asks the service to cache everything up to there.
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}}"#;

/// Messages of the user that carry a mark: the newest two. With the marks of system prompt and tools that makes the
/// four the service allows.
const MARKED_MESSAGES: usize = 2;

pub(super) fn body(request: &ModelRequest, provider: &str, style: Style) -> Vec<u8> {
    let head = head(request, style);
    if head.contains_key("messages") {
        return Value::Object(head).to_string().into_bytes();
    }
    let key = encode::key(("messages", provider, &request.model));
    let blocks: Vec<(Speaker, Arc<str>)> = request
        .messages
        .iter()
        .map(|message| {
            let encoded = message.encoded(key, |message| encode_message(message, provider, &request.model));
            (Speaker::of(message), encoded)
        })
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect();
    encode::body(head, &pieces(&blocks, style))
}

/// Who a message of the wire is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    /// Sent as the user's, before everything else the user says.
    Tool,
}

impl Speaker {
    fn of(message: &Message) -> Self {
        match message {
            Message::Assistant(_) => Self::Assistant,
            Message::ToolResult(_) => Self::Tool,
            Message::User(_) | Message::Custom(_) => Self::User,
        }
    }

    fn is_assistant(self) -> bool {
        self == Self::Assistant
    }
}

/// The messages, what one side says in a row made one, with the cache marks in their places.
fn pieces(blocks: &[(Speaker, Arc<str>)], style: Style) -> Vec<&str> {
    let groups: Vec<&[(Speaker, Arc<str>)]> =
        blocks.chunk_by(|a, b| a.0.is_assistant() == b.0.is_assistant()).collect();
    let users = groups.iter().filter(|group| !group[0].0.is_assistant()).count();
    let mut marked_from = if style.cache_marks { users.saturating_sub(MARKED_MESSAGES) } else { users };
    let mut pieces = Vec::with_capacity(blocks.len() * 2 + groups.len() * 2);
    if groups.first().is_some_and(|group| group[0].0.is_assistant()) {
        // The service wants the user to speak first.
        pieces.push(r#"{"role":"user","content":[{"type":"text","text":"(The conversation goes on.)"}]},"#);
    }
    for (number, group) in groups.iter().enumerate() {
        let assistant = group[0].0.is_assistant();
        let opening = match (number, assistant) {
            (0, true) => r#"{"role":"assistant","content":["#,
            (0, false) => r#"{"role":"user","content":["#,
            (_, true) => r#",{"role":"assistant","content":["#,
            (_, false) => r#",{"role":"user","content":["#,
        };
        pieces.push(opening);
        let results = group.iter().filter(|(speaker, _)| *speaker == Speaker::Tool);
        let others = group.iter().filter(|(speaker, _)| *speaker != Speaker::Tool);
        for (at, (_, blocks)) in results.chain(others).enumerate() {
            if at > 0 {
                pieces.push(",");
            }
            pieces.push(blocks);
        }
        let marked = !assistant && marked_from == 0;
        if !assistant {
            marked_from = marked_from.saturating_sub(1);
        }
        if let Some(last) = pieces.last_mut().filter(|_| marked) {
            // The last block is an object; the mark takes the place of its closing brace.
            *last = &last[..last.len() - 1];
            pieces.push(CACHE_MARK);
        }
        pieces.push("]}");
    }
    pieces
}

fn head(request: &ModelRequest, style: Style) -> Map<String, Value> {
    let settings = &request.settings;
    let max_tokens = settings.max_output_tokens.unwrap_or(MAX_TOKENS);
    let thinking = settings.thinking.and_then(|level| encode_thinking(level, max_tokens, style.thinking));
    let thinks = thinking.as_ref().is_some_and(|thinking| thinking["type"] != "disabled");
    let mark = || json!({"type": "ephemeral"});
    let mut head = Map::new();
    let mut put = |key: &str, value: Value| head.insert(key.to_owned(), value);
    put("model", json!(request.model));
    put("max_tokens", json!(max_tokens));
    put("stream", json!(true));
    // A thinking model takes no temperature.
    if let Some(temperature) = settings.temperature.filter(|_| !thinks) {
        put("temperature", json!(temperature));
    }
    if let Some(thinking) = thinking {
        if thinking["type"] == "adaptive" {
            put("output_config", json!({"effort": effort(settings.thinking)}));
        }
        put("thinking", thinking);
    }
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}))
            .collect();
        if let Some(last) = tools.last_mut().filter(|_| style.cache_marks) {
            last["cache_control"] = mark();
        }
        put("tools", Value::Array(tools));
        match &settings.tool_choice {
            ToolChoice::None => put("tool_choice", json!({"type": "none"})),
            // The service refuses a forced call together with thinking.
            ToolChoice::Required if !thinks => put("tool_choice", json!({"type": "any"})),
            ToolChoice::Tool(name) if !thinks => put("tool_choice", json!({"type": "tool", "name": name})),
            _ => None,
        };
    }
    if !request.instructions.trim().is_empty() {
        let mut system = json!({"type": "text", "text": &*request.instructions});
        if style.cache_marks {
            system["cache_control"] = mark();
        }
        put("system", json!([system]));
    }
    for (key, value) in &settings.extra {
        put(key, value.clone());
    }
    head
}

fn encode_thinking(level: ThinkingLevel, max_tokens: u32, style: ThinkingStyle) -> Option<Value> {
    let budget = match level {
        ThinkingLevel::Off => return Some(json!({"type": "disabled"})),
        _ if style == ThinkingStyle::Adaptive => return Some(json!({"type": "adaptive"})),
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High => 24_576,
    };
    // The budget is part of the limit; half of it is left for the answer.
    let budget = if budget < max_tokens { budget } else { (max_tokens / 2).max(LEAST_BUDGET) };
    (budget < max_tokens).then(|| json!({"type": "enabled", "budget_tokens": budget}))
}

fn effort(level: Option<ThinkingLevel>) -> &'static str {
    match level {
        Some(ThinkingLevel::High) => "high",
        Some(ThinkingLevel::Low) => "low",
        _ => "medium",
    }
}

/// The blocks of one message, with commas between them; empty where nothing is sent.
fn encode_message(message: &Message, provider: &str, model: &str) -> String {
    let blocks = match message {
        Message::User(user) => user.content.iter().filter_map(encode_content).collect(),
        Message::Assistant(answer) => encode_answer(answer, answer.provider == provider && answer.model == model),
        Message::ToolResult(result) => vec![encode_result(result)],
        Message::Custom(_) => Vec::new(),
    };
    blocks.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
}

fn encode_content(content: &Content) -> Option<Value> {
    match content {
        // The service refuses text that says nothing.
        Content::Text { text } if text.trim().is_empty() => None,
        Content::Text { text } => Some(json!({"type": "text", "text": text})),
        Content::Image { media_type, .. } if !encode::is_image_type(media_type) => {
            Some(json!({"type": "text", "text": encode::left_out_image(media_type)}))
        }
        Content::Image { data, media_type } => {
            Some(json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}))
        }
    }
}

/// An answer's blocks. Signed ones go back as they came, and only to the model that made them.
fn encode_answer(answer: &AssistantMessage, own: bool) -> Vec<Value> {
    let blocks = answer.parts.iter().filter_map(|part| match part {
        Part::Text { text } if text.trim().is_empty() => None,
        Part::Text { text } => Some(json!({"type": "text", "text": text})),
        Part::Thinking { raw, .. } => raw.clone().filter(|_| own),
        Part::Opaque { raw } => Some(raw.clone()).filter(|_| own),
        Part::ToolCall(call) => Some(json!({
            "type": "tool_use",
            "id": encode_id(&call.id),
            "name": encode::tool_name(&call.name),
            "input": call.arguments,
        })),
    });
    let mut blocks: Vec<Value> = blocks.collect();
    // The service refuses an answer that ends with a thought, as one does that was cut there.
    let is_thought = |block: &mut Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
    while blocks.pop_if(is_thought).is_some() {}
    blocks
}

fn encode_result(result: &ToolResult) -> Value {
    let mut content: Vec<Value> = result.content.iter().filter_map(encode_content).collect();
    if result.is_error && content.is_empty() {
        content.push(json!({"type": "text", "text": "error"}));
    }
    let mut block = json!({"type": "tool_result", "tool_use_id": encode_id(&result.call_id)});
    if !content.is_empty() {
        block["content"] = Value::Array(content);
    }
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

fn encode_id(id: &str) -> String {
    encode::call_id(id, 64, &[])
}
