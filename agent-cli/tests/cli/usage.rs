//! What a person may type, and what they are told when it makes no sense.

use crate::scene::{Scene, check};

#[test]
fn rule_6_1_without_a_prompt_the_three_ways_to_give_one_are_shown() {
    check(
        &Scene::bare().run(&[]),
        r#"
! error: no prompt was given
!   three ways to give one:
!     agent "fix the failing test"
!     agent -p "fix the failing test"
!     echo "fix the failing test" | agent -
exit 2
"#,
    );
}

#[test]
fn rule_6_1_an_empty_prompt_is_refused_wherever_it_comes_from() {
    let scene = Scene::with([]);
    check(&scene.run(&["  "]), "! error: the prompt is empty\nexit 2");
    check(&scene.run_with_input(&["-"], b" \n"), "! error: the prompt on standard input is empty\nexit 2");
    check(
        &scene.run_with_input(&["-"], b"\xff\xfe"),
        "! error: the prompt on standard input is not UTF-8 text\nexit 2",
    );
    assert!(scene.server().asked().is_empty());
}

#[test]
fn rule_6_2_an_unknown_flag_is_an_error_with_the_nearest_one() {
    check(
        &Scene::bare().run(&["--modle", "x", "hello"]),
        "
! error: unexpected argument '--modle' found
!   tip: a similar argument exists: '--model'
!   For more information, try '--help'.
exit 2
",
    );
}

#[test]
fn rule_6_2_a_value_out_of_range_is_an_error() {
    for args in
        [["--max-turns", "0"], ["--timeout", "-1"], ["--timeout", "nan"], ["--output", "yaml"], ["--max-tokens", "x"]]
    {
        let text = Scene::bare().run(&[args[0], args[1], "hello"]);
        assert!(text.ends_with("exit 2\n") && text.contains(args[0]), "{args:?}: {text}");
    }
}

#[test]
fn rule_6_1_a_misspelt_command_is_never_sent_to_a_model() {
    let scene = Scene::with([]);
    check(
        &scene.run(&["tolls", "list"]),
        r#"
! error: one prompt was expected, 2 words came
!   did you mean `tools`?
!   quote the prompt: agent "tolls list"
exit 2
"#,
    );
    check(
        &scene.run(&["sesions"]),
        "
! error: there is no command `sesions`
!   did you mean `sessions`?
!   to send it to the model: agent -p sesions
exit 2
",
    );
    check(
        &scene.run(&["--output", "text", "tools", "list"]),
        "
! error: `tools` came after an option, and would be a prompt there
!   options go behind the command: agent tools list …
exit 2
",
    );
    assert!(scene.server().asked().is_empty());
}

#[test]
fn rule_6_1_several_words_are_to_be_quoted() {
    check(
        &Scene::bare().run(&["fix", "the", "test"]),
        r#"
! error: one prompt was expected, 3 words came
!   quote the prompt: agent "fix the test"
exit 2
"#,
    );
}

#[test]
fn rule_6_2_a_usage_error_is_also_a_line_of_json_if_json_was_asked_for() {
    check(
        &Scene::bare().run(&["--output", "json"]),
        r#"
{"v":1,"type":"error","kind":"usage","exit_code":2,"message":"no prompt was given","hints":["three ways to give one:","  agent \"fix the failing test\"","  agent -p \"fix the failing test\"","  echo \"fix the failing test\" | agent -"]}
! error: no prompt was given
!   three ways to give one:
!     agent "fix the failing test"
!     agent -p "fix the failing test"
!     echo "fix the failing test" | agent -
exit 2
"#,
    );
}

#[test]
fn rule_6_1_help_and_version_go_to_standard_output() {
    let scene = Scene::bare();
    check(&scene.run(&["--version"]), &format!("agent {}\nexit 0", env!("CARGO_PKG_VERSION")));
    let help = scene.run(&["--help"]);
    assert!(help.ends_with("exit 0\n") && !help.contains("\n! "), "{help}");
    for part in ["tools", "sessions", "demo", "--resume", "Exit codes:", "without asking", "AGENT_HOME"] {
        assert!(help.contains(part), "the help does not mention {part}:\n{help}");
    }
}

#[test]
fn rule_6_2_a_working_directory_that_is_none_is_an_error() {
    let scene = Scene::with([]).file("a.txt", "");
    check(
        &scene.run(&["-C", "nowhere", "hello"]),
        "! error: cannot work in $WORK/nowhere: No such file or directory (os error 2)\nexit 2",
    );
    check(&scene.run(&["-C", "a.txt", "hello"]), "! error: cannot work in $WORK/a.txt: not a directory\nexit 2");
}

#[test]
fn rule_6_1_an_unknown_tool_in_a_list_is_an_error_with_the_nearest_name() {
    let scene = Scene::with([]);
    for flag in ["--tools", "--allow", "--deny"] {
        let text = scene.run(&[flag, "read,bsh", "hello"]);
        assert!(text.contains(&format!("! error: {flag}: there is no tool `bsh`\n!   did you mean `bash`?")), "{text}");
        assert!(text.ends_with("exit 2\n"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn rule_6_2_a_prompt_that_is_not_utf_8_is_an_error() {
    let scene = Scene::with([]);
    check(
        &scene.text(&scene.shell(r#""$AGENT" $'caf\xe9'"#).output().unwrap()),
        "
! error: invalid UTF-8 was detected in one or more arguments
!   For more information, try '--help'.
exit 2
",
    );
}

#[test]
fn rule_6_2_a_group_of_commands_without_one_shows_what_there_is() {
    check(
        &Scene::bare().run(&["sessions"]),
        "
! error: a command is missing
!   List and show sessions
!
!   Usage: agent sessions <COMMAND>
!
!   Commands:
!     list  List the sessions, newest first
!     show  Show what was said and done in a session
!
!   Options:
!     -h, --help  Print help
exit 2
",
    );
}
