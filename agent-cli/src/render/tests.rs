use std::cell::RefCell;
use std::rc::Rc;

use agent_core::ErrorKind;
use agent_core::event::Role;
use agent_core::message::{AssistantMessage, StopReason};
use serde_json::json;

use super::*;

const PLAIN: Look = Look { color: false, terminal: false };
const TERMINAL: Look = Look { color: true, terminal: true };
/// A terminal whose owner wants no colours.
const UNCOLORED: Look = Look { color: false, terminal: true };

fn text(text: &str) -> AgentEvent {
    AgentEvent::TextDelta { index: 0, text: text.to_owned() }
}

fn thought(text: &str) -> AgentEvent {
    AgentEvent::ThinkingDelta { index: 0, text: text.to_owned() }
}

fn begun() -> AgentEvent {
    AgentEvent::MessageStarted { role: Role::Assistant }
}

fn finished(text: &str) -> AgentEvent {
    let message = AssistantMessage {
        parts: vec![agent_core::Part::Text { text: text.to_owned() }],
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
    };
    AgentEvent::MessageFinished { message: Message::Assistant(message) }
}

fn started(tool: &str, arguments: Value) -> AgentEvent {
    let call = ToolCall::from_value("c", tool, arguments);
    AgentEvent::ToolStarted { call, label: tool.to_owned(), coerced: Vec::new() }
}

fn result(text: &str, is_error: bool, details: Value) -> AgentEvent {
    let call = ToolCall::from_value("c", "bash", json!({}));
    let result = ToolResult { is_error, details: Some(details), ..ToolResult::error(&call, text) };
    AgentEvent::ToolFinished { result }
}

/// Where answer and notes meet, as on a terminal.
#[derive(Clone, Default)]
struct Screen(Rc<RefCell<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All that is written, in its order; each event comes 1.5 s after the one before.
fn rendered(look: Look, verbose: bool, events: &[AgentEvent]) -> String {
    let mut renderer = Renderer::new(look, look, verbose);
    let began = Instant::now();
    let screen = Screen::default();
    for (event, tick) in events.iter().zip(0..) {
        let now = began + Duration::from_millis(1500) * tick;
        renderer.show(event, now, &mut screen.clone(), &mut screen.clone()).unwrap();
    }
    String::from_utf8(screen.0.take()).unwrap()
}

#[test]
fn rule_6_1_an_answer_streams_and_ends_its_line() {
    assert_eq!(rendered(UNCOLORED, false, &[begun(), text("Hel"), text("lo")]), "Hello");
    assert_eq!(rendered(UNCOLORED, false, &[begun(), text("Hel"), text("lo"), finished("Hello")]), "Hello\n");
    assert_eq!(rendered(PLAIN, false, &[begun(), text("Hello\n"), finished("Hello\n")]), "Hello\n");
    // A service that does not stream gives the text with the finished message.
    assert_eq!(rendered(PLAIN, false, &[begun(), finished("Hello")]), "Hello\n");
}

#[test]
fn rule_6_1_an_answer_that_broke_off_is_said_to() {
    let discarded = AgentEvent::MessageDiscarded { error: "cut".to_owned() };
    let retry = AgentEvent::RetryScheduled {
        attempt: 2,
        delay: Duration::from_millis(500),
        kind: ErrorKind::Cut,
        error: "cut".to_owned(),
    };
    let events = [begun(), text("Hel"), discarded, retry, begun(), text("Hello"), finished("Hello")];
    let expected = "Hel\nthe answer above broke off and does not count\ncut; attempt 2 in 0.5 s\nHello\n";
    assert_eq!(rendered(UNCOLORED, false, &events), expected);
    // A program that reads the answer never sees the part that does not count.
    assert_eq!(rendered(PLAIN, false, &events), "cut; attempt 2 in 0.5 s\nHello\n");
}

#[test]
fn rule_6_1_thinking_is_shown_only_when_asked_for() {
    let events = [begun(), thought("Hmm"), text("So"), finished("So")];
    assert_eq!(rendered(PLAIN, false, &events), "So\n");
    assert_eq!(rendered(PLAIN, true, &events), "Hmm\nSo\n");
}

#[test]
fn rule_6_1_a_call_and_its_outcome_are_a_line_each() {
    for (events, expected) in [
        (
            [
                started("bash", json!({"timeout": 5, "command": "cargo test\n  --all"})),
                result("x", false, json!({"exit_code": 0})),
            ],
            "● bash  cargo test ⏎ --all\n  ✓ exit 0 · 1.5 s\n",
        ),
        (
            [started("bash", json!({"command": "false"})), result("x", true, json!({"exit_code": 1}))],
            "● bash  false\n  ✗ exit 1 · 1.5 s\n",
        ),
        (
            [
                started("bash", json!({"command": "x"})),
                result("said\n\ntimed out", true, json!({"exit_code": null, "signal": "SIGTERM", "timed_out": true})),
            ],
            "● bash  x\n  ✗ timed out · 1.5 s\n",
        ),
        (
            [
                started("bash", json!({"command": "x"})),
                result("said", true, json!({"exit_code": null, "signal": "SIGSEGV", "timed_out": false})),
            ],
            "● bash  x\n  ✗ killed by SIGSEGV · 1.5 s\n",
        ),
        (
            [started("read", json!({"path": "a.rs"})), result("no such file\nmore", true, json!(null))],
            "● read  a.rs\n  ✗ no such file · 1.5 s\n",
        ),
        (
            [started("edit", json!({"path": "a.rs"})), result("x", false, json!({"diff": "-old\n+new\n"}))],
            "● edit  a.rs\n  ✓ 1.5 s\n    -old\n    +new\n",
        ),
        ([started("count", json!({"to": 3})), result("x", false, json!(null))], "● count  {\"to\":3}\n  ✓ 1.5 s\n"),
        ([started("now", json!({})), result("x", false, json!(null))], "● now\n  ✓ 1.5 s\n"),
    ] {
        assert_eq!(rendered(PLAIN, false, &events), expected);
    }
}

#[test]
fn rule_7_10_control_characters_reach_no_terminal() {
    let evil = "a\x1b]0;title\x07b\u{9b}31mc\r\td\n";
    let call = started("bash", json!({"command": "echo \x1b[2J"}));
    let output = result("\x1b[31mred", true, json!({"exit_code": 1}));
    let shown = rendered(TERMINAL, true, &[begun(), text(evil), thought("\x1b[1m"), call, output]);
    let own = ["\x1b[2m", "\x1b[31m", "\x1b[36m", "\x1b[0m"];
    let rest = own.iter().fold(shown, |text, code| text.replace(code, ""));
    assert!(rest.starts_with("a]0;titleb31mc\td\n"), "{rest:?}");
    assert!(!rest.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{rest:?}");
}

#[test]
fn rule_6_1_a_long_output_is_shown_by_its_ends() {
    let long: Vec<String> = (1..=100).map(|line| line.to_string()).collect();
    let shown = rendered(PLAIN, true, &[result(&long.join("\n"), false, json!(null))]);
    assert!(shown.contains("    20\n    … 60 more lines …\n    81\n"), "{shown}");
}

#[test]
fn rule_6_1_outcomes_of_calls_side_by_side_are_told_apart() {
    let call = |id: &str, tool: &str| AgentEvent::ToolStarted {
        call: ToolCall::from_value(id, tool, json!({"path": "a"})),
        label: tool.to_owned(),
        coerced: Vec::new(),
    };
    let done = |id: &str, tool: &str| {
        let call = ToolCall::from_value(id, tool, json!({}));
        AgentEvent::ToolFinished { result: ToolResult { is_error: false, ..ToolResult::error(&call, "") } }
    };
    let events = [call("1", "read"), call("2", "write"), done("2", "write"), done("1", "read")];
    let expected = "● read  a\n● write  a\n  ✓ 1.5 s\n  ✓ read · 4.5 s\n";
    assert_eq!(rendered(PLAIN, false, &events), expected);
}
