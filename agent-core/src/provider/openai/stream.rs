//! The events of a Chat Completions stream → model events.

use serde_json::{Value, json};

use super::super::assemble::{Assembler, CallIds};
use super::super::http::exchange::{Decode, End, Flow, cut};
use super::super::http::failure;
use super::super::{ErrorKind, ModelRequest, PartKind, ProviderError, json as read};
use super::calls::Calls;
use crate::message::{StopReason, Usage};

const OPEN_TAG: &str = "<think>";
const CLOSE_TAG: &str = "</think>";

pub(super) struct Decoder<'a> {
    service: &'a str,
    parts: Assembler,
    calls: Calls<'a>,
    /// The text or reasoning that grows at the moment.
    prose: Option<(usize, Prose)>,
    tags: Tags,
    finish: Option<String>,
    refused: bool,
    model: Option<String>,
    /// Whether anything came that belongs to the protocol.
    answered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prose {
    Text,
    Thinking,
}

/// Where in an answer that may begin with `<think>` we are.
#[derive(Debug, PartialEq, Eq)]
enum Tags {
    /// The tag may still come; what could be its beginning is held back.
    Before(String),
    /// Inside; what could be the beginning of the closing tag is held back.
    Inside(String),
    /// Behind the closing tag, before the first text.
    Behind,
    /// There is no tag, or no more.
    None,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(service: &'a str, think_tags: bool, request: &'a ModelRequest) -> Self {
        Self {
            service,
            parts: Assembler::default(),
            calls: Calls::new(CallIds::new(request)),
            prose: None,
            tags: if think_tags { Tags::Before(String::new()) } else { Tags::None },
            finish: None,
            refused: false,
            model: None,
            answered: false,
        }
    }

    fn chunk(&mut self, chunk: &Value) -> Result<(), ProviderError> {
        if let Some(error) = failure::error_in(chunk) {
            return Err(failure::from_object(self.service, error));
        }
        let choices = chunk.get("choices").and_then(Value::as_array);
        self.answered |= choices.is_some();
        if self.model.is_none() {
            self.model = read::text(chunk, "model").map(str::to_owned);
        }
        let choice = choices.and_then(|choices| choices.first());
        if let Some(choice) = choice {
            self.choice(choice)?;
        }
        let in_choice = choice.and_then(|choice| choice.get("usage"));
        let groq = chunk.get("x_groq").and_then(|extra| extra.get("usage"));
        if let Some(usage) = chunk.get("usage").or(in_choice).or(groq).filter(|usage| usage.is_object()) {
            self.parts.usage(read_usage(usage));
        }
        Ok(())
    }

    fn choice(&mut self, choice: &Value) -> Result<(), ProviderError> {
        if let Some(error) = failure::error_in(choice) {
            return Err(failure::from_object(self.service, error));
        }
        let delta = choice.get("delta").filter(|delta| delta.is_object()).or_else(|| choice.get("message"));
        if let Some(delta) = delta {
            self.delta(delta);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            if self.finish.as_deref().is_none_or(str::is_empty) {
                self.finish = Some(reason.to_owned());
            }
            match reason {
                "error" => return Err(self.failed(ErrorKind::Server, "the model failed in the middle of its answer")),
                "insufficient_system_resource" => {
                    return Err(self.failed(ErrorKind::Overloaded, "the service ran out of resources"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn failed(&self, kind: ErrorKind, problem: &str) -> ProviderError {
        ProviderError::new(kind, format!("{}: {problem}", self.service))
    }

    fn delta(&mut self, delta: &Value) {
        self.reasoning(delta);
        match delta.get("content") {
            Some(Value::String(text)) => self.content(text),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.content_part(part)),
            _ => {}
        }
        if let Some(refusal) = read::text(delta, "refusal") {
            self.refused = true;
            self.prose(Prose::Text, refusal);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        for call in calls.chain(delta.get("function_call")).filter(|call| call.is_object()) {
            self.end_prose();
            self.calls.take(call, &mut self.parts);
        }
    }

    /// A part of content that comes as a list, as Mistral's does.
    fn content_part(&mut self, part: &Value) {
        match part.get("type").and_then(Value::as_str) {
            Some("text" | "output_text") => {
                if let Some(text) = read::text(part, "text") {
                    self.content(text);
                }
            }
            Some("thinking") => match part.get("thinking") {
                Some(Value::String(text)) => self.prose(Prose::Thinking, text),
                Some(Value::Array(texts)) => {
                    for text in texts.iter().filter_map(|text| read::text(text, "text")) {
                        self.prose(Prose::Thinking, text);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Reasoning, in whichever field it comes; the field is remembered, as only there it may be sent back.
    fn reasoning(&mut self, delta: &Value) {
        let named = ["reasoning_content", "reasoning"].iter().find_map(|&field| Some((field, read::text(delta, field)?)));
        let details = delta.get("reasoning_details").and_then(Value::as_array).filter(|details| !details.is_empty());
        if named.is_none() && details.is_none() {
            return;
        }
        let from_details = || {
            let texts = details.into_iter().flatten();
            texts.filter_map(|detail| read::text(detail, "text").or_else(|| read::text(detail, "summary"))).collect()
        };
        let text: String = named.map_or_else(from_details, |(_, text)| text.to_owned());
        let at = self.prose_at(Prose::Thinking);
        self.parts.add(at, &text);
        let raw = self.parts.raw(at).get_or_insert_with(|| json!({}));
        if let Some((field, _)) = named {
            raw["field"] = json!(field);
        }
        if let Some(details) = details {
            let mut list = raw["reasoning_details"].take();
            merge_details(&mut list, details);
            raw["reasoning_details"] = list;
        }
    }

    /// Text of the answer, which may begin with reasoning between tags.
    fn content(&mut self, text: &str) {
        match std::mem::replace(&mut self.tags, Tags::None) {
            Tags::Before(held) => {
                let held = held + text;
                let start = held.trim_start();
                if let Some(inside) = start.strip_prefix(OPEN_TAG) {
                    self.tags = Tags::Inside(String::new());
                    self.content(inside);
                } else if OPEN_TAG.starts_with(start) && self.prose.is_none() {
                    self.tags = Tags::Before(held);
                } else {
                    self.prose(Prose::Text, &held);
                }
            }
            Tags::Inside(held) => {
                let held = held + text;
                if let Some((thought, behind)) = held.split_once(CLOSE_TAG) {
                    self.prose(Prose::Thinking, thought);
                    self.tags = Tags::Behind;
                    self.content(behind);
                } else {
                    let kept = (1..CLOSE_TAG.len()).rev().find(|&n| held.ends_with(&CLOSE_TAG[..n])).unwrap_or(0);
                    let (thought, maybe_tag) = held.split_at(held.len() - kept);
                    self.prose(Prose::Thinking, thought);
                    self.tags = Tags::Inside(maybe_tag.to_owned());
                }
            }
            Tags::Behind => {
                let text = text.trim_start();
                if text.is_empty() {
                    self.tags = Tags::Behind;
                }
                self.prose(Prose::Text, text);
            }
            Tags::None => self.prose(Prose::Text, text),
        }
    }

    fn prose(&mut self, kind: Prose, text: &str) {
        if !text.is_empty() {
            let at = self.prose_at(kind);
            self.parts.add(at, text);
        }
    }

    /// The place of text or reasoning: that of the piece before, if it was of the same kind.
    fn prose_at(&mut self, kind: Prose) -> usize {
        if let Some((at, growing)) = self.prose
            && growing == kind
        {
            return at;
        }
        self.end_prose();
        let at = self.parts.start(if kind == Prose::Text { PartKind::Text } else { PartKind::Thinking });
        self.prose = Some((at, kind));
        at
    }

    fn end_prose(&mut self) {
        if let Some((at, _)) = self.prose.take() {
            self.parts.finish(at);
        }
    }

    fn complete(&mut self) {
        match std::mem::replace(&mut self.tags, Tags::None) {
            Tags::Before(held) if !held.trim().is_empty() => self.prose(Prose::Text, &held),
            Tags::Inside(held) => self.prose(Prose::Thinking, &held),
            _ => {}
        }
        self.calls.begin_all(&mut self.parts);
        let stop = match self.finish.as_deref() {
            _ if self.refused => StopReason::Refusal,
            Some("refusal") => StopReason::Refusal,
            Some("length" | "max_tokens" | "model_length") => StopReason::Length,
            Some("content_filter") => StopReason::ContentFilter,
            Some("model_context_window_exceeded") => StopReason::ContextFull,
            // What the service calls it does not matter, what is there does.
            _ if !self.calls.is_empty() => StopReason::ToolCalls,
            Some("stop_sequence") => StopReason::StopSequence,
            _ => StopReason::EndTurn,
        };
        self.parts.finish_all(stop, self.model.take());
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, name: Option<&str>, data: &Value) -> Result<Flow, ProviderError> {
        if name == Some("error") {
            return Err(failure::from_object(self.service, data));
        }
        self.chunk(data)?;
        Ok(if self.finish.as_deref().is_some_and(|finish| !finish.is_empty()) { Flow::Ending } else { Flow::More })
    }

    fn whole(&mut self, body: &Value) -> Result<(), ProviderError> {
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        self.chunk(body)?;
        if !self.answered {
            let problem = format!("an answer that is none: {}", read::bounded(&body.to_string(), 300));
            return Err(self.failed(ErrorKind::Protocol, &problem));
        }
        self.complete();
        Ok(())
    }

    fn over(&mut self, end: End) -> Result<(), ProviderError> {
        let said_why = self.finish.as_deref().is_some_and(|finish| !finish.is_empty());
        // Some gateways never say why the model stopped: then the end mark counts, if what is there is whole.
        let marked = end == End::Marked && self.has_substance() && self.calls.all_complete(&self.parts);
        if !said_why && !marked {
            return Err(cut(self.service));
        }
        self.complete();
        Ok(())
    }

    fn parts(&mut self) -> &mut Assembler {
        &mut self.parts
    }

    fn service(&self) -> &str {
        self.service
    }
}

impl Decoder<'_> {
    fn has_substance(&self) -> bool {
        self.prose.is_some() || !self.calls.is_empty()
    }
}

/// Pieces of one detail come with the same type and number: their texts are joined, so that the whole can be sent back.
fn merge_details(list: &mut Value, pieces: &[Value]) {
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return };
    for piece in pieces {
        let same = |last: &&mut Value| {
            piece.get("index").is_some() && last.get("index") == piece.get("index") && last.get("type") == piece.get("type")
        };
        let (Some(last), Some(fields)) = (list.last_mut().filter(same), piece.as_object()) else {
            list.push(piece.clone());
            continue;
        };
        for (key, value) in fields {
            match (last.get_mut(key), value) {
                (Some(Value::String(text)), Value::String(more)) if matches!(key.as_str(), "text" | "summary" | "data") => {
                    text.push_str(more);
                }
                (_, Value::Null) => {}
                _ => last[key] = value.clone(),
            }
        }
    }
}

fn read_usage(usage: &Value) -> Usage {
    let number = |key: &str| read::number(usage, key).unwrap_or_default();
    let detail = |group: &str, key: &str| usage.get(group).and_then(|group| read::number(group, key));
    let cached = detail("prompt_tokens_details", "cached_tokens").or_else(|| read::number(usage, "prompt_cache_hit_tokens"));
    Usage {
        input: number("prompt_tokens"),
        output: number("completion_tokens"),
        cache_read: cached.unwrap_or_default(),
        cache_write: detail("prompt_tokens_details", "cache_write_tokens").unwrap_or_default(),
        reasoning: detail("completion_tokens_details", "reasoning_tokens").unwrap_or_default(),
        cost: usage.get("cost").and_then(Value::as_f64),
        estimated: false,
    }
}
