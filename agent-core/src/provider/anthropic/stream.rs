//! The events of a Messages stream → model events.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::assemble::{Assembler, CallIds};
use super::super::http::exchange::{Decode, End, Flow, cut};
use super::super::http::failure;
use super::super::{ErrorKind, ModelRequest, PartKind, ProviderError, encode, json as read};
use crate::message::{StopReason, Usage};

pub(super) struct Decoder<'a> {
    service: &'a str,
    parts: Assembler,
    ids: CallIds<'a>,
    /// By the service's own numbers.
    blocks: HashMap<u64, Block>,
    called: bool,
    stop: Option<String>,
    model: Option<String>,
    usage: Value,
}

/// A block that grows.
enum Block {
    /// Has no part before there is some text: the service sends empty ones.
    Text(Option<usize>),
    Thinking { part: usize, raw: Value },
    Call { part: usize, input: Value },
    Opaque { part: usize, raw: Value, input: String },
}

impl<'a> Decoder<'a> {
    pub(super) fn new(service: &'a str, request: &'a ModelRequest) -> Self {
        Self {
            service,
            parts: Assembler::default(),
            ids: CallIds::new(request),
            blocks: HashMap::new(),
            called: false,
            stop: None,
            model: None,
            usage: json!({}),
        }
    }

    fn start_message(&mut self, message: &Value) {
        self.model = read::text(message, "model").map(str::to_owned);
        self.note_usage(message.get("usage"));
    }

    fn start_block(&mut self, number: u64, block: &Value) {
        // A number that is used again means that the end of the block before it got lost.
        self.stop_block(number);
        let started = match block.get("type").and_then(Value::as_str) {
            Some("text") => Block::Text(None),
            Some("thinking") => {
                let raw = json!({"type": "thinking", "thinking": "", "signature": ""});
                Block::Thinking { part: self.parts.start(PartKind::Thinking), raw }
            }
            Some("redacted_thinking") => {
                Block::Thinking { part: self.parts.start(PartKind::Thinking), raw: block.clone() }
            }
            Some("tool_use") => {
                self.called = true;
                let id = self.ids.give(read::text(block, "id"));
                let name = read::text(block, "name").unwrap_or(encode::UNNAMED).to_owned();
                let part = self.parts.start(PartKind::ToolCall { id, name });
                Block::Call { part, input: block.get("input").cloned().unwrap_or_default() }
            }
            _ => Block::Opaque { part: self.parts.start_opaque(), raw: block.clone(), input: String::new() },
        };
        let whole = matches!(started, Block::Opaque { .. });
        self.blocks.insert(number, started);
        if whole {
            return;
        }
        // Some services put the beginning of the text, or all of it, into the block itself.
        for key in ["text", "thinking", "signature"] {
            if let Some(piece) = read::text(block, key) {
                self.grow(number, key, piece);
            }
        }
    }

    fn delta(&mut self, number: u64, delta: &Value) {
        let keys: &[&str] = match delta.get("type").and_then(Value::as_str) {
            Some("text_delta") => &["text"],
            Some("thinking_delta") => &["thinking"],
            Some("signature_delta") => &["signature"],
            Some("input_json_delta") => &["partial_json"],
            _ => &[],
        };
        for key in keys {
            if let Some(piece) = read::text(delta, key) {
                self.grow(number, key, piece);
            }
        }
    }

    fn grow(&mut self, number: u64, key: &str, piece: &str) {
        // Text whose beginning got lost is still text.
        let missing = || Block::Text(None);
        let block = match self.blocks.get_mut(&number) {
            Some(block) => block,
            None if key == "text" => self.blocks.entry(number).or_insert_with(missing),
            None => return,
        };
        match (block, key) {
            (Block::Text(part), "text") => {
                let part = *part.get_or_insert_with(|| self.parts.start(PartKind::Text));
                self.parts.add(part, piece);
            }
            (Block::Thinking { part, raw }, "thinking" | "signature") if raw["type"] == "thinking" => {
                if let Value::String(so_far) = &mut raw[key] {
                    so_far.push_str(piece);
                }
                if key == "thinking" {
                    self.parts.add(*part, piece);
                }
            }
            (Block::Call { part, .. }, "partial_json") => self.parts.add(*part, piece),
            (Block::Opaque { input, .. }, "partial_json") => input.push_str(piece),
            (Block::Opaque { raw, .. }, "text") if raw["text"].is_string() => {
                if let Value::String(so_far) = &mut raw["text"] {
                    so_far.push_str(piece);
                }
            }
            _ => {}
        }
    }

    fn stop_block(&mut self, number: u64) {
        match self.blocks.remove(&number) {
            None | Some(Block::Text(None)) => {}
            Some(Block::Text(Some(part))) => self.parts.finish(part),
            Some(Block::Thinking { part, raw }) => {
                // Without its signature the service would refuse it.
                let sendable = raw["type"] != "thinking" || raw["signature"] != "";
                *self.parts.raw(part) = sendable.then_some(raw);
                self.parts.finish(part);
            }
            Some(Block::Call { part, input }) => {
                let in_block = input.as_object().is_none_or(|input| !input.is_empty()) && !input.is_null();
                if self.parts.text(part).trim().is_empty() && in_block {
                    self.parts.add(part, &input.to_string());
                }
                self.parts.finish(part);
            }
            Some(Block::Opaque { part, mut raw, input }) => {
                if let Some(input) = read::parse(&input) {
                    raw["input"] = input.value;
                }
                *self.parts.raw(part) = Some(raw);
                self.parts.finish(part);
            }
        }
    }

    /// Figures are snapshots: a later one replaces an earlier one, except by nothing.
    fn note_usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.and_then(Value::as_object) else { return };
        for (key, value) in usage {
            if !value.is_null() && (value != &json!(0) || self.usage.get(key).is_none()) {
                self.usage[key] = value.clone();
            }
        }
        let number = |key: &str| read::number(&self.usage, key).unwrap_or_default();
        let (read, written) = (number("cache_read_input_tokens"), number("cache_creation_input_tokens"));
        let usage = Usage {
            input: number("input_tokens").saturating_add(read).saturating_add(written),
            output: number("output_tokens"),
            cache_read: read,
            cache_write: written,
            ..Usage::default()
        };
        self.parts.usage(usage);
    }

    fn complete(&mut self) {
        let mut open: Vec<u64> = self.blocks.keys().copied().collect();
        open.sort_unstable();
        for number in open {
            self.stop_block(number);
        }
        let stop = match self.stop.as_deref() {
            Some("max_tokens") => StopReason::Length,
            Some("refusal") => StopReason::Refusal,
            Some("pause_turn") => StopReason::Pause,
            Some("model_context_window_exceeded") => StopReason::ContextFull,
            // What the service calls it does not matter, what is there does.
            _ if self.called => StopReason::ToolCalls,
            Some("stop_sequence") => StopReason::StopSequence,
            _ => StopReason::EndTurn,
        };
        self.parts.finish_all(stop, self.model.take());
    }
}

impl Decode for Decoder<'_> {
    fn event(&mut self, name: Option<&str>, data: &Value) -> Result<Flow, ProviderError> {
        if let Some(error) = failure::error_in(data) {
            return Err(failure::from_object(self.service, error));
        }
        let number = read::number(data, "index").unwrap_or_default();
        match data.get("type").and_then(Value::as_str).or(name) {
            Some("message_start") => self.start_message(&data["message"]),
            Some("content_block_start") => self.start_block(number, &data["content_block"]),
            Some("content_block_delta") => self.delta(number, &data["delta"]),
            Some("content_block_stop") => self.stop_block(number),
            Some("message_delta") => {
                if let Some(stop) = read::text(&data["delta"], "stop_reason") {
                    self.stop = Some(stop.to_owned());
                }
                self.note_usage(data.get("usage"));
            }
            Some("message_stop") => {
                self.complete();
                return Ok(Flow::Done);
            }
            Some("error") => return Err(failure::from_object(self.service, data)),
            _ => {}
        }
        Ok(if self.stop.is_some() { Flow::Ending } else { Flow::More })
    }

    fn whole(&mut self, body: &Value) -> Result<(), ProviderError> {
        if let Some(error) = failure::error_in(body) {
            return Err(failure::from_object(self.service, error));
        }
        let Some(blocks) = body.get("content").and_then(Value::as_array) else {
            let shown = body.to_string();
            let problem = format!("{}: an answer that is none: {}", self.service, read::bounded(&shown, 300));
            return Err(ProviderError::new(ErrorKind::Protocol, problem));
        };
        self.start_message(body);
        for (number, block) in (0_u64..).zip(blocks) {
            self.start_block(number, block);
            self.stop_block(number);
        }
        self.stop = read::text(body, "stop_reason").map(str::to_owned);
        self.complete();
        Ok(())
    }

    fn over(&mut self, _: End) -> Result<(), ProviderError> {
        // The reason to stop comes behind everything else: only the end mark is missing then.
        if self.stop.is_none() {
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
