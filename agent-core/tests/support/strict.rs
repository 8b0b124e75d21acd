//! What real services refuse: each check gives the reason in words.

use std::collections::HashSet;

use serde_json::Value;

type Verdict = Result<(), String>;

fn refuse<T>(why: impl Into<String>) -> Result<T, String> {
    Err(why.into())
}

/// What a Chat Completions service says to a request.
pub(crate) fn check_chat(body: &Value) -> Verdict {
    let messages = body["messages"].as_array().ok_or("no messages")?;
    if body["tools"].as_array().is_some_and(Vec::is_empty) {
        return refuse("empty tools");
    }
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            return refuse(format!("message {at}: calls without results: {open:?}"));
        }
        match role {
            "system" | "developer" if at == 0 => chat_content(at, &message["content"])?,
            "user" => chat_content(at, &message["content"])?,
            "assistant" => open = chat_answer(at, message)?,
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let found = open.iter().position(|call| *call == id);
                open.remove(found.ok_or(format!("message {at}: a result without a call: {id}"))?);
                if !message["content"].is_string() || message["content"] == "" {
                    return refuse(format!("message {at}: a result is text"));
                }
            }
            other => return refuse(format!("message {at}: role {other:?} out of place")),
        }
    }
    if !open.is_empty() {
        return refuse(format!("calls without results: {open:?}"));
    }
    Ok(())
}

fn chat_content(at: usize, content: &Value) -> Verdict {
    match content {
        Value::String(text) if !text.is_empty() => Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts.iter().try_for_each(|part| match part["type"].as_str() {
            Some("text") if part["text"].as_str().is_some_and(|text| !text.is_empty()) => Ok(()),
            Some("image_url")
                if part["image_url"]["url"].as_str().is_some_and(|url| url.starts_with("data:image/")) =>
            {
                Ok(())
            }
            _ => refuse(format!("message {at}: bad part {part}")),
        }),
        _ => refuse(format!("message {at}: empty content")),
    }
}

fn chat_answer(at: usize, message: &Value) -> Result<Vec<&str>, String> {
    let Some(calls) = message.get("tool_calls") else {
        chat_content(at, &message["content"])?;
        return Ok(Vec::new());
    };
    let calls = calls.as_array().filter(|calls| !calls.is_empty()).ok_or("empty tool_calls")?;
    let mut ids = Vec::new();
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if ids.contains(&id) {
            return refuse(format!("message {at}: the id {id} twice"));
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
        if id.is_empty() || id.len() > 40 || !id.chars().all(allowed) {
            return refuse(format!("message {at}: bad id {id:?}"));
        }
        ids.push(id);
        good_name(&call["function"]["name"])?;
        let arguments = call["function"]["arguments"].as_str().ok_or("arguments are text")?;
        serde_json::from_str::<serde_json::Map<String, Value>>(arguments)
            .map_err(|error| format!("arguments: {error}"))?;
    }
    Ok(ids)
}

fn good_name(name: &Value) -> Verdict {
    let name = name.as_str().unwrap_or_default();
    let good =
        (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if good { Ok(()) } else { refuse(format!("bad name {name:?}")) }
}

/// What a Messages service says to a request.
pub(crate) fn check_messages(body: &Value) -> Verdict {
    let max_tokens = body["max_tokens"].as_u64().ok_or("max_tokens is missing")?;
    if let Some(budget) = body["thinking"]["budget_tokens"].as_u64() {
        if budget < 1024 || budget >= max_tokens {
            return refuse(format!("budget {budget} of {max_tokens}"));
        }
        if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
            return refuse("a forced call with thinking");
        }
        if body.get("temperature").is_some() {
            return refuse("temperature with thinking");
        }
    }
    let marks = body.to_string().matches("\"cache_control\"").count();
    if marks > 4 {
        return refuse(format!("{marks} cache marks"));
    }
    let messages = body["messages"].as_array().ok_or("no messages")?;
    let (mut open, mut used, mut last_role) = (Vec::new(), HashSet::new(), "assistant");
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == last_role || !matches!(role, "user" | "assistant") {
            return refuse(format!("message {at}: role {role:?} after {last_role:?}"));
        }
        last_role = role;
        let blocks = message["content"].as_array().filter(|blocks| !blocks.is_empty());
        let blocks = blocks.ok_or(format!("message {at}: no content"))?;
        if role == "user" {
            open = user_blocks(at, blocks, open)?;
        } else {
            open = answer_blocks(at, blocks)?;
            if let Some(again) = open.iter().find(|id| !used.insert(**id)) {
                return refuse(format!("message {at}: the id {again} again"));
            }
        }
        if !open.is_empty() && at + 1 == messages.len() {
            return refuse(format!("calls without results: {open:?}"));
        }
    }
    Ok(())
}

fn user_blocks<'v>(at: usize, blocks: &'v [Value], mut open: Vec<&'v str>) -> Result<Vec<&'v str>, String> {
    let mut others = false;
    for block in blocks {
        if block["type"] == "tool_result" {
            let id = block["tool_use_id"].as_str().unwrap_or_default();
            if others {
                return refuse(format!("message {at}: the result {id} stands behind other content"));
            }
            let found = open.iter().position(|call| *call == id);
            open.remove(found.ok_or(format!("message {at}: a result without a call: {id}"))?);
            block["content"].as_array().into_iter().flatten().try_for_each(|inner| plain_block(at, inner))?;
        } else {
            others = true;
            plain_block(at, block)?;
        }
    }
    if open.is_empty() { Ok(open) } else { refuse(format!("message {at}: calls without results: {open:?}")) }
}

fn plain_block(at: usize, block: &Value) -> Verdict {
    match block["type"].as_str() {
        Some("text") if block["text"].as_str().is_some_and(|text| !text.trim().is_empty()) => Ok(()),
        Some("image") if block["source"]["data"].as_str().is_some_and(|data| !data.is_empty()) => Ok(()),
        _ => refuse(format!("message {at}: bad block {block}")),
    }
}

fn answer_blocks(at: usize, blocks: &[Value]) -> Result<Vec<&str>, String> {
    let mut ids = Vec::new();
    if blocks.last().is_some_and(|last| last["type"] == "thinking" || last["type"] == "redacted_thinking") {
        return refuse(format!("message {at}: the last block is a thought"));
    }
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_use") => {
                let id = block["id"].as_str().unwrap_or_default();
                let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                if ids.contains(&id) || id.is_empty() || id.len() > 64 || !id.chars().all(allowed) {
                    return refuse(format!("message {at}: bad or repeated id {id:?}"));
                }
                if !block["input"].is_object() {
                    return refuse(format!("message {at}: input is an object"));
                }
                good_name(&block["name"])?;
                ids.push(id);
            }
            Some("thinking") if block["signature"].as_str().is_some_and(|signature| !signature.is_empty()) => {}
            Some("redacted_thinking") if block["data"].is_string() => {}
            Some("server_tool_use") => {}
            _ => plain_block(at, block)?,
        }
        if matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
            && block.get("cache_control").is_some()
        {
            return refuse(format!("message {at}: a cache mark on thinking"));
        }
    }
    Ok(ids)
}
