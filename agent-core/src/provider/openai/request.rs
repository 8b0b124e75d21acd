//! A [`ModelRequest`] → the body of a Chat Completions request.

use serde_json::{Map, Value, json};

use super::super::encode;
use super::super::{ModelRequest, ThinkingLevel, ToolChoice};
use super::{MaxTokensField, Quirks, SendReasoning};
use crate::message::{AssistantMessage, Content, Message, Part, ToolCall, ToolResult};
use crate::tool::ToolDefinition;

/// What announces the images of tool results, which cannot stand in the results themselves.
const IMAGES_FOLLOW: &str = "Images from the tool results above:";

pub(super) fn body(request: &ModelRequest, provider: &str, quirks: &Quirks) -> Vec<u8> {
    let head = head(request, quirks);
    if head.contains_key("messages") {
        return Value::Object(head).to_string().into_bytes();
    }
    let key = encode::key(("chat", provider, &request.model, quirks));
    let encoded: Vec<_> = request
        .messages
        .iter()
        .map(|message| message.encoded(key, |message| encode_message(message, provider, &request.model, quirks)))
        .collect();
    let instructions = instructions(request, quirks);
    encode::body(head, &pieces(instructions.as_deref(), &encoded))
}

/// The messages with commas between them. A tool result's images wait until the last result of its batch.
fn pieces<'t>(instructions: Option<&'t str>, encoded: &'t [std::sync::Arc<str>]) -> Vec<&'t str> {
    let mut pieces = Vec::with_capacity(encoded.len() * 2 + 2);
    let mut images: Vec<&str> = Vec::new();
    push(&mut pieces, instructions.unwrap_or_default());
    for text in encoded {
        // JSON has no raw newlines: what stands behind one are the images of a result.
        let (message, image) = text.split_once('\n').unwrap_or((text, ""));
        if !message.starts_with(TOOL_MESSAGE) {
            push_images(&mut pieces, &mut images);
        }
        push(&mut pieces, message);
        if !image.is_empty() {
            images.push(image);
        }
    }
    push_images(&mut pieces, &mut images);
    pieces
}

const TOOL_MESSAGE: &str = r#"{"role":"tool""#;

fn push<'t>(pieces: &mut Vec<&'t str>, message: &'t str) {
    if message.is_empty() {
        return;
    }
    if !pieces.is_empty() {
        pieces.push(",");
    }
    pieces.push(message);
}

fn push_images<'t>(pieces: &mut Vec<&'t str>, images: &mut Vec<&'t str>) {
    if images.is_empty() {
        return;
    }
    pieces.push(r#",{"role":"user","content":[{"type":"text","text":""#);
    pieces.push(IMAGES_FOLLOW);
    pieces.push("\"}");
    for image in images.drain(..) {
        pieces.push(",");
        pieces.push(image);
    }
    pieces.push("]}");
}

fn head(request: &ModelRequest, quirks: &Quirks) -> Map<String, Value> {
    let settings = &request.settings;
    let mut head = Map::new();
    let mut put = |key: &str, value: Value| head.insert(key.to_owned(), value);
    put("model", json!(request.model));
    put("stream", json!(true));
    if quirks.stream_options {
        put("stream_options", json!({"include_usage": true}));
    }
    if let Some(limit) = settings.max_output_tokens {
        let field = match quirks.max_tokens_field {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        put(field, json!(limit));
    }
    if let Some(temperature) = settings.temperature {
        put("temperature", json!(temperature));
    }
    if let Some(level) = settings.thinking {
        let effort = match level {
            ThinkingLevel::Off => "none",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
        };
        put("reasoning_effort", json!(effort));
    }
    if !request.tools.is_empty() {
        put("tools", request.tools.iter().map(|tool| encode_tool(tool, quirks)).collect());
        match &settings.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => put("tool_choice", json!("none")),
            ToolChoice::Required => put("tool_choice", json!("required")),
            ToolChoice::Tool(name) => put("tool_choice", json!({"type": "function", "function": {"name": name}})),
        };
        if let Some(parallel) = quirks.parallel_tool_calls {
            put("parallel_tool_calls", json!(parallel));
        }
    }
    for (key, value) in &settings.extra {
        put(key, value.clone());
    }
    head
}

fn encode_tool(tool: &ToolDefinition, quirks: &Quirks) -> Value {
    let mut function = json!({"name": tool.name, "description": tool.description, "parameters": tool.input_schema});
    if quirks.strict {
        function["strict"] = json!(true);
    }
    json!({"type": "function", "function": function})
}

fn instructions(request: &ModelRequest, quirks: &Quirks) -> Option<String> {
    let role = if quirks.developer_role { "developer" } else { "system" };
    let text: &str = &request.instructions;
    (!text.trim().is_empty()).then(|| json!({"role": role, "content": text}).to_string())
}

/// One message; of a tool result also its images, behind a newline. Empty where nothing is sent.
fn encode_message(message: &Message, provider: &str, model: &str, quirks: &Quirks) -> String {
    match message {
        Message::User(user) => encode_user(&user.content),
        Message::Assistant(answer) => {
            let own = answer.provider == provider && answer.model == model;
            encode_answer(answer, own, quirks)
        }
        Message::ToolResult(result) => encode_result(result, quirks),
        Message::Custom(_) => String::new(),
    }
}

fn encode_user(content: &[Content]) -> String {
    match content {
        [Content::Text { text }] => json!({"role": "user", "content": text}).to_string(),
        content => {
            let parts: Vec<Value> = content.iter().filter_map(encode_content).collect();
            if parts.is_empty() { String::new() } else { json!({"role": "user", "content": parts}).to_string() }
        }
    }
}

fn encode_content(content: &Content) -> Option<Value> {
    match content {
        Content::Text { text } if text.trim().is_empty() => None,
        Content::Text { text } => Some(json!({"type": "text", "text": text})),
        Content::Image { media_type, .. } if !encode::is_image_type(media_type) => {
            Some(json!({"type": "text", "text": encode::left_out_image(media_type)}))
        }
        Content::Image { data, media_type } => {
            Some(json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{data}")}}))
        }
    }
}

fn encode_answer(answer: &AssistantMessage, own: bool, quirks: &Quirks) -> String {
    let text = answer.text();
    let calls: Vec<Value> = answer.tool_calls().map(|call| encode_call(call, quirks)).collect();
    if text.trim().is_empty() && calls.is_empty() {
        return String::new();
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    let content = match text.trim().is_empty() {
        false => json!(text),
        true if quirks.empty_content => json!(""),
        true => Value::Null,
    };
    message.insert("content".to_owned(), content);
    let with_reasoning = match quirks.send_reasoning {
        SendReasoning::Never => false,
        SendReasoning::WithCalls => !calls.is_empty(),
        SendReasoning::Always => true,
    };
    if own && with_reasoning {
        put_reasoning(&mut message, answer);
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(message).to_string()
}

/// Puts reasoning back into the field it came in.
fn put_reasoning(message: &mut Map<String, Value>, answer: &AssistantMessage) {
    for part in &answer.parts {
        let Part::Thinking { text, raw: Some(raw) } = part else { continue };
        if let Some(field) = raw["field"].as_str() {
            let so_far = message.get(field).and_then(Value::as_str).unwrap_or_default();
            let joined = format!("{so_far}{text}");
            message.insert(field.to_owned(), Value::String(joined));
        }
        if let Some(details) = raw["reasoning_details"].as_array() {
            let list = message.entry("reasoning_details").or_insert_with(|| json!([]));
            list.as_array_mut().into_iter().for_each(|list| list.extend(details.iter().cloned()));
        }
    }
}

fn encode_call(call: &ToolCall, quirks: &Quirks) -> Value {
    // What could not be read is not sent back: servers parse it, and refuse the whole conversation.
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let function = json!({"name": encode::tool_name(&call.name), "arguments": arguments});
    json!({"id": encode_id(&call.id, quirks), "type": "function", "function": function})
}

fn encode_id(id: &str, quirks: &Quirks) -> String {
    let nine = id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric());
    if quirks.nine_character_ids && !nine {
        return format!("{:016x}", encode::key(id))[7..].to_owned();
    }
    encode::call_id(id, 40, &['.', ':'])
}

fn encode_result(result: &ToolResult, quirks: &Quirks) -> String {
    let id = encode_id(&result.call_id, quirks);
    let (images, texts): (Vec<_>, Vec<_>) =
        result.content.iter().filter_map(encode_content).partition(|content| content["type"] == "image_url");
    let texts: Vec<&str> = texts.iter().filter_map(|text| text["text"].as_str()).collect();
    let mut text = texts.join("\n");
    // The protocol has no field for it.
    if result.is_error && !text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error")) {
        text.insert_str(0, "Error: ");
    }
    if quirks.images_in_tool_messages && !images.is_empty() {
        let mut parts = images;
        if !text.is_empty() {
            parts.insert(0, json!({"type": "text", "text": text}));
        }
        return json!({"role": "tool", "tool_call_id": id, "content": parts}).to_string();
    }
    if text.is_empty() {
        text.push_str(if images.is_empty() { "(no output)" } else { "(an image, which follows)" });
    }
    let message = json!({"role": "tool", "tool_call_id": id, "content": text}).to_string();
    if images.is_empty() {
        return message;
    }
    let images: Vec<String> = images.iter().map(Value::to_string).collect();
    format!("{message}\n{}", images.join(","))
}
