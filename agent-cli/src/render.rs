//! [`AgentEvent`]s → text. Pure: what it writes depends only on the events, the clock readings and the looks given.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use agent_core::{AgentEvent, EndReason, Message, ToolCall, ToolResult, Usage};
use serde_json::Value;

use crate::output::Look;

const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const CYAN: &str = "36";

/// Most characters of a call that are shown.
const CALL_WIDTH: usize = 100;
/// Most lines of a diff or of a tool's text that are shown.
const SHOWN_LINES: usize = 40;

/// Writes a run as text: the model's words to one place, everything else to another.
#[derive(Debug)]
pub(crate) struct Renderer {
    answer: Look,
    notes: Look,
    verbose: bool,
    /// Calls that are running, and since when.
    running: HashMap<String, Instant>,
    /// The call whose line was written last, with nothing of other calls behind it.
    last_call: Option<String>,
    /// Bytes of the present message's text that were written.
    written: usize,
    /// Whether the answer's last line is still open.
    open_line: bool,
    /// Whether reasoning is being shown, and its line is open.
    open_thought: bool,
}

impl Renderer {
    /// A renderer for these looks of answer and notes. `verbose` shows reasoning and what tools put out.
    pub(crate) fn new(answer: Look, notes: Look, verbose: bool) -> Self {
        Self {
            answer,
            notes,
            verbose,
            running: HashMap::new(),
            last_call: None,
            written: 0,
            open_line: false,
            open_thought: false,
        }
    }

    /// Writes what there is to see of an event. Errors are those of `answer`; nobody can be told of those of `notes`.
    pub(crate) fn show(
        &mut self,
        event: &AgentEvent,
        now: Instant,
        answer: &mut dyn Write,
        notes: &mut dyn Write,
    ) -> io::Result<()> {
        match event {
            AgentEvent::MessageStarted { .. } => self.written = 0,
            // A program that reads the answer gets it whole: an attempt that breaks off is no part of it.
            AgentEvent::TextDelta { text, .. } if self.answer.terminal => {
                self.end_thought(notes);
                self.text(text, answer)?;
            }
            AgentEvent::ThinkingDelta { text, .. } if self.verbose => {
                self.end_line(answer)?;
                let _ = write!(notes, "{}", self.notes.paint(DIM, &self.notes.safe(text)));
                self.open_thought = true;
            }
            AgentEvent::MessageFinished { message } => {
                self.end_thought(notes);
                self.finish_message(message, answer)?;
            }
            AgentEvent::MessageDiscarded { .. } => {
                self.end_thought(notes);
                if self.open_line {
                    self.end_line(answer)?;
                    self.note(notes, YELLOW, "the answer above broke off and does not count");
                }
            }
            AgentEvent::ToolStarted { call, coerced, .. } => {
                self.running.insert(call.id.clone(), now);
                self.last_call = Some(call.id.clone());
                self.call_line(call, coerced, notes);
            }
            AgentEvent::ToolFinished { result } => self.result_line(result, now, notes),
            AgentEvent::ToolDenied { result } => {
                self.running.remove(&result.call_id);
                let reason = result.text();
                self.note(notes, YELLOW, &format!("  ⊘ {}: {}", result.tool_name, reason));
            }
            AgentEvent::RetryScheduled { attempt, delay, error, .. } => {
                let pause = seconds(*delay);
                self.note(notes, YELLOW, &format!("{error}; attempt {attempt} in {pause}"));
            }
            AgentEvent::ModelChanged { model } => self.note(notes, DIM, &format!("{model} answers from now on")),
            AgentEvent::RunFinished { reason, usage, .. } => {
                self.end_thought(notes);
                self.end_line(answer)?;
                if self.verbose && usage.total() > 0 {
                    self.note(notes, DIM, &spent(*usage));
                }
                if *reason == EndReason::Aborted {
                    self.note(notes, YELLOW, "aborted");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str, answer: &mut dyn Write) -> io::Result<()> {
        if !text.is_empty() {
            self.written += text.len();
            self.open_line = !text.ends_with('\n');
            answer.write_all(self.answer.safe(text).as_bytes())?;
        }
        Ok(())
    }

    /// Text that no delta brought is written now, and an open line is ended.
    fn finish_message(&mut self, message: &Message, answer: &mut dyn Write) -> io::Result<()> {
        if let Message::Assistant(message) = message {
            self.text(message.text().get(self.written..).unwrap_or_default(), answer)?;
            self.end_line(answer)?;
        }
        Ok(())
    }

    fn end_line(&mut self, answer: &mut dyn Write) -> io::Result<()> {
        if std::mem::take(&mut self.open_line) {
            answer.write_all(b"\n")?;
        }
        Ok(())
    }

    fn end_thought(&mut self, notes: &mut dyn Write) {
        if std::mem::take(&mut self.open_thought) {
            let _ = notes.write_all(b"\n");
        }
    }

    fn note(&self, notes: &mut dyn Write, code: &str, text: &str) {
        let _ = writeln!(notes, "{}", self.notes.paint(code, &self.notes.safe(text)));
    }

    fn call_line(&self, call: &ToolCall, coerced: &[String], notes: &mut dyn Write) {
        let look = self.notes;
        let what = shortened(&look.safe(&subject(call)), CALL_WIDTH);
        let line = format!("{} {}  {what}", look.paint(CYAN, "●"), look.safe(&call.name));
        let _ = writeln!(notes, "{}", line.trim_end());
        if self.verbose {
            for sentence in coerced {
                self.note(notes, DIM, &format!("  {sentence}"));
            }
        }
    }

    fn result_line(&mut self, result: &ToolResult, now: Instant, notes: &mut dyn Write) {
        let look = self.notes;
        let took = self.running.remove(&result.call_id).map(|began| now.duration_since(began));
        let mut facts = ending(result);
        if result.is_error && facts.is_empty() {
            facts.push(shortened(result.text().lines().next().unwrap_or_default(), CALL_WIDTH));
        }
        facts.extend(took.filter(|took| *took >= Duration::from_millis(100)).map(seconds));
        if facts.is_empty() {
            facts.push("done".to_owned());
        }
        // Beside other calls, the line above may be about another one.
        if self.last_call.take().as_ref() != Some(&result.call_id) {
            facts.insert(0, result.tool_name.clone());
        }
        let mark = if result.is_error { look.paint(RED, "✗") } else { look.paint(GREEN, "✓") };
        let _ = writeln!(notes, "  {mark} {}", look.safe(&facts.join(" · ")));
        match detail(result, "diff").as_ref().and_then(Value::as_str) {
            Some(diff) if !result.is_error => self.diff(diff, notes),
            _ if self.verbose => self.lines(&result.text(), notes),
            _ => {}
        }
    }

    fn diff(&self, diff: &str, notes: &mut dyn Write) {
        write_diff(diff, self.notes, "    ", notes);
    }

    fn lines(&self, text: &str, notes: &mut dyn Write) {
        for line in bounded(text) {
            self.note(notes, DIM, &format!("    {line}"));
        }
    }
}

/// Writes a diff, coloured where that is understood, each line behind `indent`.
pub(crate) fn write_diff(diff: &str, look: Look, indent: &str, to: &mut dyn Write) {
    for line in bounded(diff) {
        let line = look.safe(&line);
        let painted = match line.chars().next() {
            Some('+') => look.paint(GREEN, &line),
            Some('-') => look.paint(RED, &line),
            Some('@') => look.paint(CYAN, &line),
            _ => line.into_owned(),
        };
        let _ = writeln!(to, "{indent}{painted}");
    }
}

/// The lines of a text, the middle left out if there are many.
fn bounded(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= SHOWN_LINES {
        return lines.into_iter().map(str::to_owned).collect();
    }
    let half = SHOWN_LINES / 2;
    let (head, tail) = (&lines[..half], &lines[lines.len() - half..]);
    let gap = format!("… {} more lines …", lines.len() - SHOWN_LINES);
    head.iter().map(|line| (*line).to_owned()).chain([gap]).chain(tail.iter().map(|line| (*line).to_owned())).collect()
}

/// What a call is about, in one line: its command or path, else its first text, else all of its arguments.
fn subject(call: &ToolCall) -> String {
    let text = |key: &str| call.arguments.get(key).and_then(Value::as_str);
    let told = text("command").or_else(|| text("path")).or_else(|| call.arguments.values().find_map(Value::as_str));
    match told {
        Some(told) => told.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ⏎ "),
        None if call.arguments.is_empty() => call.unreadable.clone().unwrap_or_default(),
        None => Value::Object(call.arguments.clone()).to_string(),
    }
}

/// How a command came to its end, if the tool ran one.
fn ending(result: &ToolResult) -> Vec<String> {
    let flag = |key: &str| detail(result, key) == Some(Value::Bool(true));
    if flag("timed_out") {
        return vec!["timed out".to_owned()];
    }
    if flag("aborted") {
        return vec!["interrupted".to_owned()];
    }
    let exit = detail(result, "exit_code").map(|code| format!("exit {code}"));
    let signal = detail(result, "signal").and_then(|name| Some(format!("killed by {}", name.as_str()?)));
    exit.or(signal).into_iter().collect()
}

fn detail(result: &ToolResult, key: &str) -> Option<Value> {
    result.details.as_ref()?.get(key).filter(|value| !value.is_null()).cloned()
}

/// The first `width` characters of a text.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn spent(usage: Usage) -> String {
    let cost = usage.cost.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    let cached = if usage.cache_read > 0 { format!(" ({} from the cache)", usage.cache_read) } else { String::new() };
    format!("{} tokens in{cached}, {} out{cost}", usage.input, usage.output)
}

#[cfg(test)]
mod tests;
