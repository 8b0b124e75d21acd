//! How long a large session takes to open, and many sessions to list: `cargo bench -p agent-core --bench sessions`.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::path::Path;

use agent_core::message::{AssistantMessage, Message, Part, StopReason, ToolCall, ToolResult, Usage};
use agent_core::session::jsonl::{JsonlStore, SessionHeader};
use agent_core::{Session, json};
use divan::Bencher;
use tempfile::TempDir;

fn main() {
    divan::main();
}

fn create(dir: &Path, id: &str) -> Session {
    let store = JsonlStore::create(dir, id, SessionHeader::new(Path::new("/project"))).unwrap();
    Session::open(id, store).unwrap()
}

/// One turn: an answer with a call, and its result of this text.
fn turn(session: &mut Session, text: &str) {
    let call = ToolCall::from_value(format!("c{}", session.messages().len()), "read", json!({"path": "a.rs"}));
    let answer = AssistantMessage {
        parts: vec![Part::ToolCall(call.clone())],
        stop: StopReason::ToolCalls,
        usage: Usage::default(),
        provider: "p".into(),
        model: "m".into(),
    };
    session.append(Message::Assistant(answer)).unwrap();
    session.append(Message::ToolResult(ToolResult::error(&call, text))).unwrap();
}

/// Rule 3.4: well under a second.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn open_fifty_megabytes(bencher: Bencher<'_, '_>) {
    let dir = TempDir::new().unwrap();
    let mut session = create(dir.path(), "s");
    let text = "fn main() { println!(\"Hello, world\\n\"); }\n".repeat(50);
    while dir.path().join("s.jsonl").metadata().unwrap().len() < 50_000_000 {
        turn(&mut session, &text);
    }
    drop(session);
    bencher.bench(|| Session::open("s", JsonlStore::open(dir.path(), "s").unwrap()).unwrap());
}

/// Rule 3.4: only their heads are read.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn list_ten_thousand_sessions(bencher: Bencher<'_, '_>) {
    let dir = TempDir::new().unwrap();
    let mut session = create(dir.path(), "s");
    session.append(Message::user("Fix the test.")).unwrap();
    turn(&mut session, &"z".repeat(100_000));
    let bytes = std::fs::read(dir.path().join("s.jsonl")).unwrap();
    for at in 0..10_000 {
        std::fs::write(dir.path().join(format!("copy-{at}.jsonl")), &bytes).unwrap();
    }
    bencher.bench(|| JsonlStore::list(dir.path()).unwrap());
}
