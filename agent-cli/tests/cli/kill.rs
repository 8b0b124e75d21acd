//! `kill -9` at any moment: every session opens, every call has one result, nothing that was said is lost.
#![cfg(unix)]

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scene::Scene;
use crate::server::Answer;

const TURNS: usize = 20;
const KILLS: u32 = 50;

/// Twenty turns that each write a file, by turns with `write` and with `bash`.
fn script() -> Vec<Answer> {
    let call = |turn: usize| {
        let (tool, arguments) = if turn.is_multiple_of(2) {
            ("write", json!({"path": format!("{turn}.txt"), "content": format!("written in turn {turn}\n")}))
        } else {
            ("bash", json!({"command": format!("echo run in turn {turn} | tee {turn}.txt")}))
        };
        Answer::Call(tool, arguments.to_string().leak())
    };
    (0..TURNS).map(call).chain([Answer::Text("all written")]).collect()
}

/// Starts the run and, unless it is to go on to its end, kills it after `moment`. Gives the events that were heard.
fn run(scene: &Scene, moment: Option<Duration>) -> Vec<Value> {
    let mut command = scene.command(&["--output", "json", "write the files"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut heard = String::new();
        let _ = stdout.read_to_string(&mut heard);
        heard
    });
    if let Some(moment) = moment {
        std::thread::sleep(moment);
        child.kill().unwrap();
    }
    child.wait().unwrap();
    let heard = reader.join().unwrap();
    // A line without its end was cut by the kill.
    let whole = heard.rfind('\n').map_or("", |end| &heard[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All messages that events said are in the log.
fn acknowledged(events: &[Value]) -> Vec<Value> {
    let told = |event: &Value| match event["type"].as_str() {
        Some("message_finished") => Some(event["message"].clone()),
        Some("tool_finished") => {
            let mut result = event["result"].clone();
            result["role"] = json!("tool_result");
            Some(result)
        }
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

/// All messages in the only session of the scene.
fn logged(scene: &Scene) -> Vec<Value> {
    let [file] = &scene.session_files()[..] else { return Vec::new() };
    let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records.filter(|record| record["type"] == "message").map(|record| record["message"].clone()).collect()
}

/// Each call of a request is followed by exactly one result with its id, before anyone else speaks.
#[track_caller]
fn check_pairs(messages: &[Value]) {
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let call = open.iter().position(|id| **id == message["tool_call_id"]).expect("a result has its call");
            open.remove(call);
        } else {
            assert!(open.is_empty(), "calls without results before {message}");
            open = message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["id"]).collect();
        }
    }
    assert!(open.is_empty(), "calls without results at the end");
}

#[test]
fn rule_3_2_a_kill_at_any_moment_loses_nothing_that_was_acknowledged() {
    let scene = Scene::with(script());
    let began = Instant::now();
    let events = run(&scene, None);
    let whole = began.elapsed();
    assert_eq!(acknowledged(&events).len(), 2 * TURNS + 2, "the run goes through when nobody kills it");

    let (mut killed_early, mut killed_late) = (0, 0);
    for number in 0..KILLS {
        let scene = Scene::with(script().into_iter().chain([Answer::Text("going on")]));
        let moment = whole * number / KILLS + Duration::from_micros(u64::from(number * 97 % 1000));
        let acknowledged = acknowledged(&run(&scene, Some(moment)));
        let logged = logged(&scene);
        let lost: Vec<&Value> = acknowledged.iter().filter(|message| !logged.contains(message)).collect();
        assert!(lost.is_empty(), "killed after {moment:?}, lost {lost:?}");
        if scene.session_ids().is_empty() {
            killed_early += 1;
            continue;
        }
        killed_late += u32::from(acknowledged.len() > 2);

        let before = scene.server().asked().len();
        let text = scene.run(&["--continue", "go on"]);
        assert!(text.ends_with("exit 0\n"), "killed after {moment:?}: {text}");
        let asked = scene.server().asked();
        let first = asked[before].body["messages"].as_array().unwrap();
        check_pairs(first);
        let shown = scene.run(&["sessions", "show", &scene.session_ids()[0], "--output", "json"]);
        assert!(shown.ends_with("exit 0\n"), "{shown}");
    }
    assert!(killed_late > KILLS / 4, "the moments are spread over the run: {killed_early} early, {killed_late} late");
}
