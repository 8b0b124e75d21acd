//! Sessions: kept, gone on with, listed, shown, and what happens when their files are not as they should be.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::scene::{Scene, check};
use crate::server::Answer;

fn messages(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter().skip(1);
    messages.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn rule_6_1_a_session_is_gone_on_with_by_continue_and_by_the_beginning_of_its_id() {
    let scene = Scene::with([Answer::Text("A1"), Answer::Text("A2"), Answer::Text("A3")]);
    scene.run(&["Q1"]);
    scene.run(&["--continue", "Q2"]);
    let id = scene.session_ids().remove(0);
    scene.run(&["--resume", &id[..id.len() - 1], "Q3"]);
    assert_eq!(scene.session_ids(), [id]);
    assert_eq!(messages(&scene.server().asked()[2].body), ["Q1", "A1", "Q2", "A2", "Q3"]);
}

#[test]
fn rule_6_1_continue_means_this_directory() {
    let scene = Scene::with([Answer::Text("A1"), Answer::Text("A2")]);
    fs::create_dir(scene.work().join("other")).unwrap();
    scene.run(&["Q1"]);
    check(
        &scene.run(&["-C", "other", "--continue", "Q2"]),
        "
! error: there is no session of $WORK/other to go on with
!   all sessions: agent sessions list
exit 2
",
    );
    scene.run(&["-C", "other", "Q2"]);
    assert_eq!(scene.session_ids().len(), 2);
}

#[test]
fn rule_6_2_an_unknown_session_is_an_error_with_near_ids() {
    let scene = Scene::with([Answer::Text("A1")]);
    scene.run(&["Q1"]);
    let id = scene.session_ids().remove(0);
    let wrong = format!("{}zzz", &id[..id.len() - 3]);
    let expected = format!(
        "
! error: there is no session `{wrong}`
!   did you mean `$ID`?
!   all sessions: agent sessions list
exit 2
"
    );
    check(&scene.run(&["--resume", &wrong, "Q2"]), &expected);
    check(&scene.run(&["sessions", "show", &wrong]), &expected);
    assert_eq!(scene.server().asked().len(), 1);
}

#[test]
fn rule_6_2_an_id_that_is_a_path_is_refused() {
    let text = Scene::with([]).run(&["--resume", "../../etc/passwd", "Q"]);
    assert!(
        text.starts_with("! error: `../../etc/passwd` cannot name a session") && text.ends_with("exit 2\n"),
        "{text}"
    );
}

#[test]
fn rule_6_1_no_session_keeps_nothing() {
    let scene = Scene::with([Answer::Text("A")]);
    check(&scene.run(&["--no-session", "Q"]), "A\nexit 0");
    assert!(!scene.home().join("sessions").exists());
}

#[test]
fn rule_3_2_a_torn_tail_is_set_aside_and_said() {
    let scene = Scene::with([Answer::Text("A1"), Answer::Text("A2")]);
    scene.run(&["Q1"]);
    let file = scene.session_files().remove(0);
    OpenOptions::new().append(true).open(&file).unwrap().write_all(br#"{"id":3,"par"#).unwrap();
    check(
        &scene.run(&["--continue", "Q2"]),
        r#"
A2
! $HOME/sessions/$ID.jsonl: the last line was incomplete; its 12 bytes were moved to $HOME/sessions/$ID.torn
! session $ID; go on with: agent --resume $ID "…"
exit 0
"#,
    );
    assert_eq!(messages(&scene.server().asked()[1].body), ["Q1", "A1", "Q2"]);
    assert_eq!(fs::read_to_string(file.with_extension("torn")).unwrap(), "{\"id\":3,\"par\n");
}

#[test]
fn rule_6_2_a_damaged_session_is_a_failure_and_left_as_it_is() {
    let scene = Scene::with([Answer::Text("A1")]);
    scene.run(&["Q1"]);
    let file = scene.session_files().remove(0);
    let damaged = fs::read_to_string(&file).unwrap().replacen("{\"id\":1", "{\"id\"=1", 1);
    fs::write(&file, &damaged).unwrap();
    let text = scene.run(&["--continue", "Q2"]);
    assert!(text.starts_with("! error: $HOME/sessions/$ID.jsonl, line 2: not a record of a session"), "{text}");
    assert!(text.ends_with("exit 1\n"), "{text}");
    assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
    assert_eq!(scene.server().asked().len(), 1);
}

#[cfg(unix)]
#[test]
fn rule_6_2_a_session_file_that_cannot_be_opened_is_a_failure() {
    let scene = Scene::with([Answer::Text("A1")]);
    scene.run(&["Q1"]);
    let file = scene.session_files().remove(0);
    // A directory in its place: unlike a mode, also an obstacle to the superuser.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let id = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let text = scene.run(&["--resume", &id, "Q2"]).replace(&id, "$ID");
    check(&text, "! error: cannot open $HOME/sessions/$ID.jsonl: Is a directory (os error 21)\nexit 1");
}

#[test]
fn rule_3_3_a_session_in_use_names_its_process() {
    let scene = Scene::with([Answer::Hang("Well, "), Answer::Text("never")]);
    let mut first = scene.command(&["Q1"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    scene.server().wait_until_hanging();
    let text = scene.run(&["--continue", "Q2"]).replace(&first.id().to_string(), "$PID");
    first.kill().unwrap();
    first.wait().unwrap();
    check(
        &text,
        "
! error: the session $ID is in use by process $PID
!   wait for it to end, or begin another session
exit 1
",
    );
}

#[cfg(unix)]
#[test]
fn rule_6_2_a_full_disk_is_a_clear_failure_that_loses_nothing() {
    let long = "x".repeat(3000);
    let scene = Scene::with([Answer::Text("A1"), Answer::Text("A2")]);
    scene.run(&["Q1"]);
    let file = scene.session_files().remove(0);
    let before = fs::read_to_string(&file).unwrap();
    // Files may grow to 2 KiB: the long prompt no longer fits.
    let output = scene.shell(&format!("ulimit -f 2; \"$AGENT\" --continue {long}")).output().unwrap();
    check(
        &scene.text(&output),
        r#"
! session $ID; go on with: agent --resume $ID "…"
! error: cannot write $HOME/sessions/$ID.jsonl: File too large (os error 27)
!   nothing that was written so far is lost
exit 1
"#,
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    assert_eq!(scene.server().asked().len(), 1, "nothing is asked on the strength of what is not in the log");
    // With room again, it goes on.
    scene.run(&["--continue", "Q2"]);
    assert_eq!(messages(&scene.server().asked()[1].body), ["Q1", "A1", "Q2"]);
}

#[cfg(unix)]
#[test]
fn rule_6_2_a_new_session_that_cannot_be_written_is_a_failure_and_nothing_is_asked() {
    let scene = Scene::with([Answer::Text("A1")]);
    let text = scene.text(&scene.shell(r#"ulimit -f 0; "$AGENT" Q1"#).output().unwrap());
    assert!(text.starts_with("! error: cannot write $HOME/sessions/") && text.ends_with("exit 1\n"), "{text}");
    assert!(text.contains("File too large (os error 27)"), "{text}");
    assert!(scene.server().asked().is_empty());
    // A directory that cannot be made is the same.
    std::fs::remove_dir_all(scene.home().join("sessions")).unwrap();
    std::fs::write(scene.home().join("sessions"), "").unwrap();
    let text = scene.run(&["Q1"]);
    assert!(text.starts_with("! error: cannot create $HOME/sessions") && text.ends_with("exit 1\n"), "{text}");
}

#[test]
fn rule_6_1_sessions_are_listed_and_shown() {
    let scene = Scene::with([Answer::Call("bash", r#"{"command":"echo hi"}"#), Answer::Text("Said hi.")]);
    check(&scene.run(&["sessions", "list"]), "! there are no sessions in $HOME/sessions\nexit 0");
    scene.run(&["Say hi,\nplease"]);
    let id = scene.session_ids().remove(0);
    check(&scene.run(&["sessions", "list"]), "$ID  $WORK  Say hi, please\nexit 0");
    check(
        &scene.run(&["sessions", "show", &id]),
        "
> Say hi,
> please
● bash  echo hi
  ✓ exit 0
    hi
Said hi.
exit 0
",
    );
    let lines: Vec<Value> = scene
        .run(&["sessions", "show", &id, "--output", "json"])
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    assert_eq!(lines.len(), 5);
    assert!(lines.iter().all(|line| line["v"] == 1));
    assert_eq!(lines[0]["type"], "session");
    assert_eq!(lines[4]["message"]["parts"][0]["text"], "Said hi.");
    let head: Value =
        serde_json::from_str(scene.run(&["sessions", "list", "--output", "json"]).lines().next().unwrap()).unwrap();
    assert_eq!((&head["id"], &head["first_text"]), (&"$ID".into(), &"Say hi, please".into()));
}

#[test]
fn rule_6_2_a_beginning_of_several_ids_names_them() {
    let scene = Scene::with([Answer::Text("A1"), Answer::Text("A2")]);
    scene.run(&["Q1"]);
    scene.run(&["Q2"]);
    check(&scene.run(&["--resume", "2", "Q3"]), "! error: `2` is the beginning of several sessions: $ID, $ID\nexit 2");
}

#[test]
fn rule_6_1_continue_says_which_sessions_it_could_not_look_at() {
    let scene = Scene::with([Answer::Text("one"), Answer::Text("two")]);
    scene.run(&["alpha"]);
    fs::write(scene.home().join("sessions").join("99991231-000000-ffffff.jsonl"), "no header\n").unwrap();
    let text = scene.run(&["--continue", "beta"]);
    assert!(text.contains("! skipped: $HOME/sessions/$ID.jsonl: not a session"), "{text}");
    assert!(text.ends_with("exit 0\n"), "{text}");
}
