//! Ctrl-C, SIGTERM, and an output that is closed early.
#![cfg(unix)]

use std::io::Read;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scene::{Scene, check};
use crate::server::Answer;

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("bash").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap().success()
    );
}

fn interrupted(scene: &Scene, args: &[&str], name: &str) -> Output {
    let mut child = scene.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    scene.server().wait_until_hanging();
    // The beginning of the answer is out, so it is on its way: wait until the agent shows it.
    let mut shown = Vec::new();
    let stdout = child.stdout.as_mut().unwrap();
    while !String::from_utf8_lossy(&shown).contains("Well,") {
        let mut byte = [0];
        stdout.read_exact(&mut byte).unwrap();
        shown.push(byte[0]);
    }
    let began = Instant::now();
    signal(&child, name);
    let mut output = child.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    shown.append(&mut output.stdout);
    Output { stdout: shown, ..output }
}

#[test]
fn rule_6_6_the_first_signal_ends_the_run_and_keeps_what_came() {
    for name in ["INT", "TERM", "HUP"] {
        let scene = Scene::with([Answer::Hang("Well, it"), Answer::Text("Where was I?")]);
        let output = interrupted(&scene, &["--output", "json", "begin"], name);
        let stdout = String::from_utf8(output.stdout).unwrap();
        let last: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
        assert_eq!((&last["kind"], &last["exit_code"]), (&"interrupted".into(), &130.into()));
        assert!(stdout.contains(r#""type":"settled""#));
        assert_eq!(output.status.code(), Some(130));
        // The session is whole, and the partial answer in it.
        let text = scene.run(&["--continue", "go on"]);
        assert!(text.ends_with("exit 0\n"), "{text}");
        let body = &scene.server().asked()[1].body;
        assert_eq!(body["messages"][2]["content"], "Well, it");
        assert_eq!(body["messages"][3]["content"], "go on");
    }
}

#[test]
fn rule_6_6_a_signal_cancels_a_tool_that_is_called_by_hand() {
    let scene = Scene::bare();
    let args = ["tools", "call", "bash", r#"{"command":"echo $$ > started; sleep 60"}"#];
    let mut child = scene.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !scene.work().join("started").exists() {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "the tool does not start");
        std::thread::yield_now();
    }
    let began = Instant::now();
    signal(&child, "INT");
    let status = child.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(status.code(), Some(130));
}

#[test]
fn rule_6_6_output_closed_early_is_no_error() {
    // More than a pipe holds, so that the writer meets the closed end.
    let scene = Scene::with([Answer::Lines(200_000), Answer::Lines(200_000)]);
    let script = r#""$AGENT" go 2>err | head -1; echo "codes ${PIPESTATUS[*]}"; cat err"#;
    check(&scene.text(&scene.shell(script).output().unwrap()), "line\ncodes 0 0\nexit 0");
    let script =
        r#""$AGENT" --no-session --output json go 2>err | head -1 >first; echo "codes ${PIPESTATUS[*]}"; cat err"#;
    check(&scene.text(&scene.shell(script).output().unwrap()), "codes 0 0\nexit 0");
    let script = r#""$AGENT" --help 2>err | true; echo "codes ${PIPESTATUS[*]}"; cat err"#;
    check(&scene.text(&scene.shell(script).output().unwrap()), "codes 0 0\nexit 0");
}

#[cfg(target_os = "linux")]
#[test]
fn rule_6_6_output_that_cannot_be_written_is_an_error() {
    let scene = Scene::with([Answer::Text("hi")]);
    check(
        &scene.text(&scene.shell(r#""$AGENT" --no-session go >/dev/full"#).output().unwrap()),
        "! error: cannot write to standard output: No space left on device (os error 28)\nexit 1",
    );
}

#[test]
fn rule_6_6_a_closed_standard_error_is_no_error() {
    let scene = Scene::with([Answer::Text("hi")]);
    check(&scene.text(&scene.shell(r#""$AGENT" go 2>&-"#).output().unwrap()), "hi\nexit 0");
}

#[test]
fn rule_6_6_the_second_signal_leaves_at_once_even_if_nobody_reads_the_output() {
    let scene = Scene::with([Answer::Lines(200_000)]);
    let mut child =
        scene.command(&["--no-session", "go"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Output has begun; nobody reads on, so the pipe fills and the writer waits.
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    // Signals that come together count as one: a second one is sent until it is noticed.
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it does not leave");
        signal(&child, "INT");
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
