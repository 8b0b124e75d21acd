//! One prompt, run to its end against a server on loopback.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::scene::{Scene, check};
use crate::server::Answer;

#[test]
fn rule_6_1_the_answer_is_on_standard_output_and_all_else_on_standard_error() {
    let scene =
        Scene::with([Answer::Call("bash", r#"{"command":"echo from the tool"}"#), Answer::Text("All is done.")]);
    check(
        &scene.run(&["say something"]),
        r#"
All is done.
! ● bash  echo from the tool
!   ✓ exit 0
! session $ID; go on with: agent --resume $ID "…"
exit 0
"#,
    );
    let asked = scene.server().asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].body["messages"][1]["content"], "say something");
    assert_eq!(asked[0].key, None);
    assert!(asked[1].body["messages"][3]["content"].to_string().contains("from the tool"), "{}", asked[1].body);
}

#[test]
fn rule_6_1_a_prompt_from_standard_input_is_read_when_it_is_asked_for() {
    let scene = Scene::with([Answer::Text("a"), Answer::Text("b")]);
    check(&scene.run_with_input(&["--no-session", "-"], "from\nstdin ü\n".as_bytes()), "a\nexit 0");
    // Standard input that never ends must not matter to a prompt that is an argument.
    let mut command = scene.command(&["--no-session", "from the argument"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let open_input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(open_input);
    check(&scene.text(&output), "b\nexit 0");
    let asked = scene.server().asked();
    assert_eq!(asked[0].body["messages"][1]["content"], "from\nstdin ü");
    assert_eq!(asked[1].body["messages"][1]["content"], "from the argument");
}

#[test]
fn rule_6_1_json_output_is_lines_with_a_version_and_the_session_first() {
    let scene = Scene::with([Answer::Call("bash", r#"{"command":"true"}"#), Answer::Text("Fine.")]);
    let output = scene.command(&["--output", "json", "go"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["v"] == 1));
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        "session run_started message_started message_finished turn_started message_started tool_call_delta \
         tool_call_delta message_finished tool_started tool_finished turn_finished turn_started message_started \
         text_delta message_finished turn_finished run_finished settled"
            .split(' ')
            .collect::<Vec<_>>()
    );
    assert_eq!(lines[0]["id"].as_str().unwrap(), scene.session_ids()[0]);
    assert_eq!(lines[0]["cwd"], scene.work().to_str().unwrap());
    assert_eq!(lines[0]["model"], "openai/gpt-5");
    assert_eq!(lines[kinds.len() - 2]["reason"]["kind"], "done");
}

#[test]
fn rule_6_4_a_denied_call_is_never_run_and_the_exit_code_is_3() {
    let scene = Scene::with([
        Answer::Call("bash", r#"{"command":"touch made"}"#),
        Answer::Text("I may not."),
        Answer::Call("bash", r#"{"command":"touch made"}"#),
        Answer::Text("I may not."),
    ]);
    check(
        &scene.run(&["--no-session", "--deny", "bash", "make a file"]),
        "
I may not.
! ● bash  touch made
!   ⊘ bash: Denied: the user does not allow the tool `bash` (--deny).
! error: calls of these tools were denied: bash
exit 3
",
    );
    check(
        &scene.run(&["--no-session", "--allow", "read", "make a file"]),
        "
I may not.
! ● bash  touch made
!   ⊘ bash: Denied: the user allows only read (--allow).
! error: calls of these tools were denied: bash
exit 3
",
    );
    assert!(!scene.work().join("made").exists());
}

#[test]
fn rule_6_4_allow_lifts_what_the_configuration_denies() {
    let scene = Scene::with([Answer::Call("bash", r#"{"command":"touch made"}"#), Answer::Text("Made.")])
        .config("[tools]\ndeny = [\"bash\"]\n");
    let text = scene.run(&["--no-session", "--allow", "all", "make a file"]);
    assert!(text.ends_with("exit 0\n"), "{text}");
    assert!(scene.work().join("made").exists());
}

#[test]
fn rule_6_1_the_model_gets_only_the_tools_of_the_list() {
    let scene = Scene::with([Answer::Text("ok")]);
    scene.run(&["--no-session", "--tools", "read", "go"]);
    let asked = scene.server().asked();
    let tools = asked[0].body["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["function"]["name"], "read");
}

#[test]
fn rule_6_2_a_limit_ends_with_4_in_text_and_json() {
    let call = || Answer::Call("bash", r#"{"command":"true"}"#);
    let scene = Scene::with([call(), call()]);
    check(
        &scene.run(&["--no-session", "--max-turns", "1", "go"]),
        "
! ● bash  true
!   ✓ exit 0
! error: a limit ended the run: 1 turns
exit 4
",
    );
    let text = scene.run(&["--no-session", "--output", "json", "--max-turns", "1", "go"]);
    let last = text.lines().rev().find(|line| line.starts_with('{')).unwrap();
    let error: Value = serde_json::from_str(last).unwrap();
    assert_eq!((&error["type"], &error["kind"], &error["exit_code"]), (&"error".into(), &"limit".into(), &4.into()));
    assert!(text.ends_with("exit 4\n"));
}

#[test]
fn rule_6_2_an_unreachable_server_is_a_clear_failure() {
    // A port that was just free: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let scene = Scene::bare().config("[retry]\nattempts = 1\n");
    let url = format!("http://127.0.0.1:{port}/v1");
    let output = scene.command(&["hello"]).env("OPENAI_BASE_URL", &url).output().unwrap();
    let text = scene.text(&output).replace(&port.to_string(), "PORT");
    assert!(text.contains("! error: ") && text.contains("127.0.0.1:PORT"), "{text}");
    assert!(text.contains("!   is the server running, and the base URL right?"), "{text}");
    assert!(text.ends_with("exit 1\n"), "{text}");
}

#[test]
fn rule_6_2_what_the_service_refuses_is_told_in_its_words() {
    let scene = Scene::with([
        Answer::Status(401, r#"{"error":{"message":"Incorrect API key provided"}}"#),
        Answer::Status(404, r#"{"error":{"message":"The model `gpt-5` does not exist"}}"#),
    ]);
    let text = scene.run(&["--no-session", "hello"]);
    assert!(text.contains("Incorrect API key provided") && text.contains("does not accept the key"), "{text}");
    assert!(text.ends_with("exit 1\n"), "{text}");
    let text = scene.run(&["--no-session", "hello"]);
    assert!(text.contains("The model `gpt-5` does not exist") && text.contains("is the model's name right"), "{text}");
    assert!(text.ends_with("exit 1\n"), "{text}");
}

#[test]
fn rule_6_2_a_failed_attempt_is_shown_and_made_again() {
    let scene = Scene::with([Answer::Status(503, r#"{"error":{"message":"busy"}}"#), Answer::Text("There.")])
        .config("[retry]\nfirst_delay = 0.01\n");
    let text = scene.run(&["--no-session", "hello"]);
    assert!(text.starts_with("There.\n! ") && text.contains("busy") && text.contains("attempt 2 in N s"), "{text}");
    assert!(text.ends_with("exit 0\n"), "{text}");
}

#[test]
fn rule_6_2_the_key_is_in_no_output_and_no_file() {
    // Some services repeat the key they refuse.
    let refused = Answer::Status(401, r#"{"error":{"message":"no such key: sk-very-secret"}}"#);
    let scene = Scene::with([refused.clone(), refused]);
    for args in [["-v", "one"], ["--output=json", "two"]] {
        let output = scene.command(&args).env("OPENAI_API_KEY", "sk-very-secret").output().unwrap();
        let text = scene.text(&output);
        assert!(!text.contains("very-secret") && text.contains("no such key: [secret]"), "{text}");
    }
    assert_eq!(scene.server().asked()[0].key.as_deref(), Some("Bearer sk-very-secret"));
    let files = scene.session_files();
    assert_eq!(files.len(), 2);
    for file in files {
        assert!(!fs::read_to_string(file).unwrap().contains("very-secret"));
    }
}

#[test]
fn rule_6_2_an_empty_answer_is_no_success() {
    let scene = Scene::with([Answer::Text("")]);
    check(
        &scene.run(&["--no-session", "go"]),
        "! error: the model gave an empty answer\n!   ask again with --continue\nexit 1",
    );
}

#[test]
fn rule_7_10_control_characters_of_a_model_reach_no_terminal() {
    // Without a terminal, what the model says is passed on as it is: a program may want it.
    let scene = Scene::with([Answer::Text("\x1b[31mred\x1b[0m")]);
    check(&scene.run(&["--no-session", "go"]), "\x1b[31mred\x1b[0m\nexit 0");
}

#[cfg(unix)]
#[test]
fn rule_6_1_a_file_name_that_is_not_utf_8_is_no_obstacle() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let scene =
        Scene::with([Answer::Call("bash", r#"{"command":"for f in *; do echo \"$f\"; done"}"#), Answer::Text("seen")]);
    fs::write(scene.work().join(OsStr::from_bytes(b"caf\xe9.txt")), "x").unwrap();
    let text = scene.run(&["--no-session", "list the files"]);
    assert!(text.starts_with("seen\n") && text.ends_with("exit 0\n"), "{text}");
    // And a directory of such a name can be worked in.
    let dir = scene.work().join(OsStr::from_bytes(b"d\xe9"));
    fs::create_dir(&dir).unwrap();
    let output =
        scene.command(&["tools", "call", "bash", r#"{"command":"echo ok"}"#]).current_dir(dir).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("ok"), "{output:?}");
}
