//! `agent sessions`: list and show sessions.

use std::time::Instant;

use agent_core::session::Record;
use agent_core::session::jsonl::SessionLog;
use agent_core::{AgentEvent, Content, Message, Part, ToolResult};
use serde_json::json;

use crate::args::{OutputArg, SessionsCommand};
use crate::config::{Environment, Places};
use crate::error::CliError;
use crate::output::{self, Look};
use crate::render::{Renderer, shortened};
use crate::setup;

/// Most characters of a session's first words that a list shows.
const WORDS: usize = 60;

pub(super) fn run(command: SessionsCommand) -> Result<(), CliError> {
    let env = Environment::capture()?;
    let places = Places::of(&env)?;
    match command {
        SessionsCommand::List { output } => list(&places, &output),
        SessionsCommand::Show { id, output } => {
            let (id, log) = setup::read_session(&places, &id)?;
            for notice in &log.notices {
                output::note(notice);
            }
            if output.is_json() {
                show_json(&id, &log)
            } else {
                show(&log, Look::of_stdout(env.no_color()).for_people())
            }
        }
    }
}

fn list(places: &Places, output: &OutputArg) -> Result<(), CliError> {
    let listing = setup::sessions(places)?;
    for problem in &listing.problems {
        output::note(problem);
    }
    if output.is_json() {
        return listing.sessions.iter().try_for_each(|head| {
            output::print_json(&json!({
                "id": head.id,
                "cwd": head.header.working_dir,
                "created": head.header.created,
                "modified": setup::timestamp(head.modified),
                "bytes": head.size,
                "first_text": head.first_text,
            }))
        });
    }
    if listing.sessions.is_empty() {
        output::note(&format!("there are no sessions in {}", places.sessions.display()));
    }
    let look = Look::of_stdout(true).for_people();
    let rows = listing.sessions.iter().map(|head| {
        let words = head.first_text.as_deref().unwrap_or("(nothing was said)");
        [head.id.clone(), head.header.working_dir.clone(), look.safe(&shortened(words, WORDS)).into_owned()]
    });
    output::print(&output::table(&rows.collect::<Vec<_>>()))
}

fn show_json(id: &str, log: &SessionLog) -> Result<(), CliError> {
    let header = json!({
        "type": "session",
        "id": id,
        "cwd": log.header.working_dir,
        "created": log.header.created,
    });
    output::print_json(&header)?;
    log.entries.iter().try_for_each(output::print_json)
}

/// Shows the log as a run is shown, and the person's own words with it.
fn show(log: &SessionLog, look: Look) -> Result<(), CliError> {
    let mut text = Vec::new();
    let mut renderer = Renderer::new(look, look, true);
    for entry in &log.entries {
        match &entry.record {
            Record::Message(message) => show_message(message, look, &mut renderer, &mut text),
            Record::Label(label) => text.extend(format!("label: {}\n", look.safe(label)).into_bytes()),
            Record::ModelChanged { model } => text.extend(format!("model: {}\n", look.safe(model)).into_bytes()),
            _ => {}
        }
    }
    output::print(&String::from_utf8_lossy(&text))
}

fn show_message(message: &Message, look: Look, renderer: &mut Renderer, text: &mut Vec<u8>) {
    match message {
        Message::User(user) => {
            let said: Vec<&str> = user.content.iter().map(|c| c.as_text().unwrap_or("[image]")).collect();
            text.extend(format!("> {}\n", look.safe(&said.join("\n")).replace('\n', "\n> ")).into_bytes());
        }
        Message::Assistant(answer) => {
            for part in &answer.parts {
                match part {
                    Part::Text { text: said } => text.extend(format!("{}\n", look.safe(said.trim_end())).into_bytes()),
                    Part::ToolCall(call) => {
                        let event = AgentEvent::ToolStarted {
                            call: call.clone(),
                            label: call.name.clone(),
                            coerced: Vec::new(),
                        };
                        render(&event, renderer, text);
                    }
                    Part::Thinking { .. } | Part::Opaque { .. } => {}
                }
            }
        }
        Message::ToolResult(result) => {
            let result = ToolResult { content: readable(&result.content), ..result.clone() };
            render(&AgentEvent::ToolFinished { result }, renderer, text);
        }
        Message::Custom(custom) => text.extend(format!("[{}]\n", look.safe(&custom.kind)).into_bytes()),
    }
}

fn render(event: &AgentEvent, renderer: &mut Renderer, text: &mut Vec<u8>) {
    let mut nowhere = std::io::sink();
    // Notes go to the text; a call and its result are all notes.
    let _ = renderer.show(event, Instant::now(), &mut nowhere, text);
}

fn readable(content: &[Content]) -> Vec<Content> {
    let named = |piece: &Content| match piece {
        Content::Image { media_type, .. } => Content::text(format!("[{media_type}]")),
        text @ Content::Text { .. } => text.clone(),
    };
    content.iter().map(named).collect()
}
