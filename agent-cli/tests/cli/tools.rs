//! `agent tools`: tools without a model.

use serde_json::Value;

use crate::scene::{Scene, check};

#[test]
fn rule_6_2_content_goes_to_standard_output_and_the_exit_code_is_0() {
    let scene = Scene::bare().file("a.txt", "first\nsecond\n");
    let text = scene.run(&["tools", "call", "read", r#"{"path":"a.txt"}"#]);
    assert!(text.contains("first") && text.contains("second") && text.ends_with("exit 0\n"), "{text}");
    check(&scene.run(&["tools", "call", "bash", r#"{"command":"echo hi"}"#]), "hi\nexit 0");
    check(&scene.run_with_input(&["tools", "call", "bash", "-"], br#"{"command":"echo hi"}"#), "hi\nexit 0");
}

#[test]
fn rule_6_2_an_error_result_goes_to_standard_error_and_the_exit_code_is_1() {
    let scene = Scene::bare();
    let text = scene.run(&["tools", "call", "bash", r#"{"command":"echo out; exit 3"}"#]);
    assert!(text.starts_with("! out\n") && text.ends_with("exit 1\n"), "{text}");
    let text = scene.run(&["tools", "call", "read", r#"{"path":"gone.txt"}"#]);
    assert!(text.starts_with("! ") && text.contains("gone.txt") && text.ends_with("exit 1\n"), "{text}");
}

#[test]
fn rule_6_2_an_unknown_tool_is_2_with_the_nearest_name() {
    for command in ["show", "call"] {
        let text = Scene::bare().run(&["tools", command, "raed"]);
        assert!(text.starts_with("! error: there is no tool `raed`\n!   did you mean `read`?\n!   tools: "), "{text}");
        assert!(text.ends_with("exit 2\n"), "{text}");
    }
}

#[test]
fn rule_6_2_arguments_that_cannot_be_read_or_do_not_fit_are_2_with_one_line_for_each_problem() {
    let scene = Scene::bare();
    check(
        &scene.run(&["tools", "call", "read", "{path: 1}"]),
        "
! error: the arguments are not JSON: key must be a string at line 1 column 2
!   what it takes: agent tools show read
exit 2
",
    );
    check(
        &scene.run(&["tools", "call", "read", "[1]"]),
        "
! error: the arguments are not a JSON object
!   what it takes: agent tools show read
exit 2
",
    );
    let text = scene.run(&["tools", "call", "edit", r#"{"path":7,"edits":"x"}"#]);
    let problems: Vec<&str> = text.lines().filter(|line| line.starts_with("!   $.")).collect();
    assert!(text.starts_with("! error: the arguments of edit do not fit\n"), "{text}");
    assert_eq!(problems.len(), 2, "{text}");
    assert!(problems[0].contains("$.path") && problems[1].contains("$.edits"), "{text}");
    assert!(text.ends_with("exit 2\n"), "{text}");
}

#[test]
fn rule_1_8_tools_are_listed_with_their_source() {
    let scene = Scene::bare();
    let text = scene.run(&["tools", "list"]);
    for name in ["bash", "edit", "read", "write"] {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{text}"));
        let source = line.split_whitespace().last().unwrap();
        let (file, number) = source.rsplit_once(':').unwrap();
        assert!(file.contains("src/") && number.parse::<u32>().is_ok(), "{line}");
    }
    let lines = scene.run(&["tools", "list", "--output", "json"]);
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["v"], &first["name"]), (&1.into(), &"bash".into()));
}

#[test]
fn rule_1_8_a_tool_is_shown_with_description_and_schema() {
    let text = Scene::bare().run(&["tools", "show", "read"]);
    assert!(text.starts_with("read (Read") && text.contains("\"path\"") && text.ends_with("exit 0\n"), "{text}");
}
