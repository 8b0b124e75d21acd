//! `edit`: rules 4.1 to 4.5.

use std::fs;
use std::process::{Command, Stdio};

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{Agent, Session, ToolResult};
use serde_json::{Value, json};

use crate::{Place, details, names};

fn one(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"old_text": old, "new_text": new}]})
}

#[tokio::test]
async fn rule_4_1_bytes_outside_of_the_match_never_change() {
    for (name, before, old, new, after) in [
        ("crlf", &b"a\r\nb\r\nc\r\n"[..], "b", "B", &b"a\r\nB\r\nc\r\n"[..]),
        ("mixed", b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
        ("lone cr", b"a\rb\rc", "b", "B", b"a\rB\rc"),
        ("bom", b"\xEF\xBB\xBFa\nb", "a", "x", b"\xEF\xBB\xBFx\nb"),
        ("no final newline", b"a\nb", "b", "c", b"a\nc"),
        ("trailing blanks", b"a  \nb\t\n", "b", "c", b"a  \nc\t\n"),
        ("not utf-8", b"caf\xE9\nb\xFF\n", "caf", "CAF", b"CAF\xE9\nb\xFF\n"),
        ("utf-16le", b"\xFF\xFEa\0\n\0b\0", "b", "\u{e9}", b"\xFF\xFEa\0\n\0\xE9\0"),
        ("utf-16be", b"\xFE\xFF\0a\xD8\x3D\xDE\0\0b", "b", "cd", b"\xFE\xFF\0a\xD8\x3D\xDE\0\0c\0d"),
        ("crlf kept for new lines", b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
        ("a crlf goes as a whole", b"a\r\nb\r\nc\r\n", "\nb", "", b"a\r\nc\r\n"),
        ("a crlf stays as a whole", b"a\r\nb\r\n", "\nb", "\nx\ny", b"a\r\nx\r\ny\r\n"),
        ("half a crlf in a mixed file", b"a\r\nb\nc\n", "\nb\n", "\nB\n", b"a\r\nB\nc\n"),
        ("mixed takes new lines as they are", b"a\r\nb\n", "a", "a\nx", b"a\nx\r\nb\n"),
    ] {
        let place = Place::new();
        place.put("f", before);
        place.call("edit", one("f", old, new)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(place.bytes("f"), after, "{name}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn rule_4_1_mode_symlink_and_hard_link_stay() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let place = Place::new();
    place.put("f", "one\n");
    fs::set_permissions(place.path("f"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("f", place.path("link")).unwrap();
    place.call("edit", one("link", "one", "two")).await.unwrap();
    assert!(place.path("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::metadata(place.path("f")).unwrap().mode() & 0o7777, 0o750);
    fs::hard_link(place.path("f"), place.path("hard")).unwrap();
    place.call("edit", one("f", "two", "3")).await.unwrap();
    assert_eq!(place.bytes("hard"), b"3\n");
    assert_eq!(names(place.dir.path()), ["f", "hard", "link"]);
}

#[tokio::test]
async fn rule_4_2_edits_match_the_original_all_or_none() {
    let place = Place::new();
    place.put("f", "a\nb\nc\n");
    let swap = json!({"path": "f", "edits": [
        {"old_text": "a", "new_text": "b"}, {"old_text": "b", "new_text": "a"},
    ]});
    place.call("edit", swap).await.unwrap();
    assert_eq!(place.bytes("f"), b"b\na\nc\n");
    let touched = fs::metadata(place.path("f")).unwrap().modified().unwrap();
    for (edits, says) in [
        (
            json!([{"old_text": "b\na", "new_text": "x"}, {"old_text": "a\nc", "new_text": "y"}]),
            "edit 1 (line 1) and edit 2 (line 2) overlap",
        ),
        (
            json!([{"old_text": "b", "new_text": "x"}, {"old_text": "zzz", "new_text": "y"}]),
            "edit 2: old_text is not in the file",
        ),
        (json!([{"old_text": "", "new_text": "x"}]), "old_text is empty"),
        (json!([{"old_text": "b", "new_text": "b"}]), "are the same"),
        (json!([{"old_text": "b", "new_text": "x"}, {"old_text": "b", "new_text": "y"}]), "overlap"),
        (json!([]), "edits is empty"),
    ] {
        let message = place.refusal("edit", json!({"path": "f", "edits": edits})).await;
        assert!(message.contains(says), "{message}");
        assert_eq!(place.bytes("f"), b"b\na\nc\n");
        assert_eq!(fs::metadata(place.path("f")).unwrap().modified().unwrap(), touched);
    }
}

#[tokio::test]
async fn rule_4_2_several_edits_keep_their_places_in_utf16() {
    let place = Place::new();
    let utf16 = |text: &str| {
        [0xFFu8, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect::<Vec<u8>>()
    };
    place.put("f", utf16("😀a\r\n€b\r\nc"));
    let edits = json!([{"old_text": "c", "new_text": "C"}, {"old_text": "a\n€", "new_text": "A\n€"}]);
    place.call("edit", json!({"path": "f", "edits": edits})).await.unwrap();
    assert_eq!(place.bytes("f"), utf16("😀A\r\n€b\r\nC"));
    place.put("g", b"\xFF\xFEa\0\x00\xD8");
    assert!(place.refusal("edit", one("g", "a", "b")).await.contains("not valid UTF-16"));
}

#[tokio::test]
async fn rule_4_3_one_lenient_pass_changes_just_the_matched_bytes() {
    for (name, before, old, new, after) in [
        ("line endings", "x\r\na\r\nb\r\ny", "a\nb", "A\nb", "x\r\nA\r\nb\r\ny"),
        ("more lines than before", "a\r\nb\r\ny\n", "a\nb\n", "A\nB\nC\n", "A\r\nB\r\nC\r\ny\n"),
        ("crlf in old_text only", "a\nb\n", "a\r\nb\r\n", "a\r\nc\r\n", "a\nc\n"),
        ("trailing blanks in the file", "f(  \n  x)\t\n", "f(\n  x)", "f(\n  y)", "f(  \n  y)\t\n"),
        ("trailing blanks in old_text", "a\nb\n", "a  \nb ", "a  \nc", "a\nc\n"),
        ("typographic", "say \u{201C}hi\u{201D} \u{2014} now\n", "say \"hi\" - now", "say no", "say no\n"),
        ("no-break space", "a\u{a0}b\n", "a b", "c", "c\n"),
        (
            "shared lines keep their bytes",
            "\u{201C}a\u{201D}\nb\t\nc\n",
            "\"a\"\nb\nc\n",
            "\"a\"\nB\nc\n",
            "\u{201C}a\u{201D}\nB\nc\n",
        ),
    ] {
        let place = Place::new();
        place.put("f", before);
        let said = place.text("edit", one("f", old, new)).await;
        assert_eq!(String::from_utf8(place.bytes("f")).unwrap(), after, "{name}");
        assert!(said.contains("differ from old_text"), "{name}: {said}");
    }
}

#[tokio::test]
async fn rule_4_3_an_exact_match_wins_and_is_counted_exactly() {
    let place = Place::new();
    place.put("f", "a b\na\u{a0}b\n");
    let said = place.text("edit", one("f", "a b", "c")).await;
    assert!(!said.contains("differ"), "{said}");
    assert_eq!(place.bytes("f"), "c\na\u{a0}b\n".as_bytes());
    place.put("g", "aaa\n");
    assert!(place.refusal("edit", one("g", "aa", "b")).await.contains("2 times, at lines 1, 1"));
}

#[tokio::test]
async fn rule_4_3_what_is_not_unique_is_refused_with_its_lines() {
    let place = Place::new();
    place.put("f", "x\ny\nx\n\nx\n");
    let message = place.refusal("edit", one("f", "x", "z")).await;
    assert!(message.contains("3 times, at lines 1, 3, 5."), "{message}");
    place.put("g", "a \nb\na\t\nb\n");
    let message = place.refusal("edit", one("g", "a\nb", "z")).await;
    assert!(message.contains("2 times but for blanks, quotes or line endings, at lines 1, 3"), "{message}");
}

#[tokio::test]
async fn rule_4_3_indentation_is_never_guessed() {
    let place = Place::new();
    place.put("f", "fn a() {\n\tlet x = 1;\n}\n");
    let message = place.refusal("edit", one("f", "{\n    let x = 1;", "{\n    let x = 2;")).await;
    assert!(message.contains("     2: \tlet x = 1;"), "{message}");
    assert!(message.contains("Line 2: the file indents with 1 tab, old_text with 4 spaces"), "{message}");
}

#[tokio::test]
async fn rule_4_3_no_match_names_the_nearest_lines_and_what_differs() {
    let place = Place::new();
    place.put("f", "one\nlet greeting = 'hello';\nlet Other = compute(1);\n");
    for (old, line, differs) in [
        ("let greeting = \"hello\";", "     2: let greeting = 'hello';", "the quotes differ"),
        ("let other = compute(1);", "     3: let Other = compute(1);", "upper and lower case differ"),
        ("let Other = compute(2);", "     3: let Other = compute(1);", "the file has `1);`, old_text `2);`"),
    ] {
        let message = place.refusal("edit", one("f", old, "x")).await;
        assert!(message.contains(line) && message.contains(differs), "{message}");
    }
    place.put("g", "a\nend");
    let message = place.refusal("edit", one("g", "a\nend\n", "x\n")).await;
    assert!(message.contains("last line has no newline"), "{message}");
    let message = place.refusal("edit", one("f", "qqqqqqqqqqqqq", "x")).await;
    assert_eq!(message, "old_text is not in the file.\nNothing was changed.");
}

#[tokio::test]
async fn rule_4_3_a_replacement_character_from_a_lossy_read_is_explained() {
    let place = Place::new();
    place.put("f", b"caf\xE9 au lait\n");
    let read = place.text("read", json!({"path": "f"})).await;
    let message = place.refusal("edit", one("f", read.lines().next().unwrap(), "tea")).await;
    assert!(message.contains("U+FFFD") && message.contains("not UTF-8"), "{message}");
    place.put("g", "caf\u{E9}\n");
    assert!(!place.refusal("edit", one("g", "caf\u{FFFD}", "tea")).await.contains("U+FFFD"));
}

#[tokio::test]
async fn rule_4_4_replace_all_is_exact_and_counts() {
    let place = Place::new();
    place.put("f", "x x\nx\u{a0}x\n");
    let all = |old: &str| json!({"path": "f", "edits": [{"old_text": old, "new_text": "yy", "replace_all": true}]});
    assert!(place.text("edit", all("x")).await.contains("4 replacements"));
    assert_eq!(place.bytes("f"), "yy yy\nyy\u{a0}yy\n".as_bytes());
    place.put("f", "a\u{a0}b\n");
    assert!(place.refusal("edit", all("a b")).await.contains("has changed on disk"));
    place.text("read", json!({"path": "f"})).await;
    assert!(place.refusal("edit", all("a b")).await.contains("replace_all is exact"));
}

#[tokio::test]
async fn rule_4_5_the_details_show_the_change() {
    let place = Place::new();
    place.put("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10");
    let output = place.call("edit", one("f", "9\n10", "9\nten\n")).await.unwrap();
    let details = details(&output);
    assert_eq!(details["first_changed_line"], 10);
    assert_eq!(details["diff"], "  7 7\n  8 8\n  9 9\n-10 10\n+10 ten\n");
    assert_eq!(
        details["patch"],
        "--- a/f\n+++ b/f\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n\\ No newline at end of file\n+ten\n"
    );
}

#[tokio::test]
async fn rule_4_5_the_patch_applies_to_the_original() {
    for program in [&["patch", "--binary", "-s", "-p1", "-i", "p"][..], &["git", "apply", "p"]] {
        if Command::new(program[0]).arg("--version").stdout(Stdio::null()).status().is_err() {
            eprintln!("skipped: there is no `{}`", program[0]);
            continue;
        }
        for (name, before, old, new) in [
            ("f", "a\nb\nc\n", "b", "B\nBB"),
            ("with blank.txt", "a\r\nb\r\nc", "c", "d\n"),
            ("grün", "a\rb\rc\nd\r", "d\r", "e"),
            ("a \"quoted\" name", "a\n", "a\n", ""),
            ("a\tname\u{1}", "a\n", "a", "b"),
            ("./sub/../g", "a\n", "a", "b"),
            ("g", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx"),
        ] {
            let place = Place::new();
            fs::create_dir(place.path("sub")).unwrap();
            place.put(name, before);
            let output = place.call("edit", one(name, old, new)).await.unwrap();
            let after = place.bytes(name);
            place.put(name, before);
            place.put("p", details(&output)["patch"].as_str().unwrap());
            let mut command = Command::new(program[0]);
            let applied = command.args(&program[1..]).current_dir(place.dir.path()).output().unwrap();
            assert!(applied.status.success(), "{program:?} on {before:?}: {applied:?}");
            // `patch` takes away a file that becomes empty.
            assert_eq!(fs::read(place.path(name)).unwrap_or_default(), after, "{program:?} on {before:?}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn rule_4_5_the_patch_names_the_real_file() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap().join("o");
    place.put("f", "x\n");
    fs::write(&outside, "x\n").unwrap();
    fs::create_dir(place.path("sub")).unwrap();
    std::os::unix::fs::symlink("sub", place.path("link")).unwrap();
    place.put("new\nline", "x\n");
    let absolute = place.path("f").to_str().unwrap().to_owned();
    let outside = outside.to_str().unwrap();
    let plain = |name: &str| format!("--- a/{name}\n+++ b/{name}\n");
    for (path, header) in [
        ("sub/../f", plain("f")),
        (&absolute, plain("f")),
        (outside, plain(&outside[1..])),
        ("new\nline", "--- \"a/new\\nline\"\n+++ \"b/new\\nline\"\n".to_owned()),
        ("link/new", "--- /dev/null\n+++ b/sub/new\n".to_owned()),
    ] {
        let output = place.call("write", json!({"path": path, "content": path})).await.unwrap();
        let patch = details(&output)["patch"].as_str().unwrap();
        assert!(patch.starts_with(&header), "{path}: {patch}");
    }
}

#[tokio::test]
async fn rule_4_5_a_huge_file_is_not_compared_line_by_line() {
    let place = Place::new();
    let body = "a line\r\n".repeat(1_200_000);
    place.put("f", format!("first\r\n{body}"));
    let edits = json!([{"old_text": "a line", "new_text": "a\nb", "replace_all": true}]);
    let output = place.call("edit", json!({"path": "f", "edits": edits})).await.unwrap();
    assert!(details(&output)["patch"].is_null());
    assert_eq!(details(&output)["first_changed_line"], 2);
    assert_eq!(details(&output)["no_patch"], "the file is too large to be compared line by line");
    assert!(crate::text(&output).lines().count() <= 3, "one note for all places");
    assert!(place.bytes("f") == format!("first\r\n{}", body.replace("a line", "a\r\nb")).into_bytes());
}

#[tokio::test]
async fn rule_4_5_the_details_say_why_there_is_no_patch() {
    let place = Place::new();
    place.put("f", b"caf\xE9\n");
    let output = place.call("edit", one("f", "caf", "kaf")).await.unwrap();
    assert!(details(&output)["patch"].is_null());
    assert_eq!(details(&output)["no_patch"], "the changed lines are not UTF-8");
}

#[tokio::test]
async fn rule_4_2_a_file_that_changed_since_it_was_read_is_refused() {
    let place = Place::new();
    place.put("f", "one\n");
    place.text("read", json!({"path": "f"})).await;
    place.put("f", "one and more\n");
    let message = place.refusal("edit", one("f", "one", "two")).await;
    assert!(message.contains("read `f` again"), "{message}");
    assert_eq!(place.bytes("f"), b"one and more\n");
    place.text("read", json!({"path": "f"})).await;
    place.text("edit", one("f", "one", "two")).await;
    place.text("edit", one("f", "two", "three")).await;
    assert_eq!(place.bytes("f"), b"three and more\n");
}

#[cfg(unix)]
#[tokio::test]
async fn rule_4_2_a_write_under_another_name_of_the_file_is_no_foreign_change() {
    let place = Place::new();
    place.put("f", "one\n");
    fs::hard_link(place.path("f"), place.path("hard")).unwrap();
    place.text("read", json!({"path": "f"})).await;
    place.text("edit", one("hard", "one", "two")).await;
    place.text("edit", one("f", "two", "three")).await;
    place.put("hard", "foreign\n");
    let message = place.refusal("edit", one("f", "foreign", "mine")).await;
    assert!(message.contains("has changed on disk"), "{message}");
    assert_eq!(place.bytes("hard"), b"foreign\n");
}

#[tokio::test]
async fn rule_4_2_calls_on_one_file_never_interleave() {
    let place = Place::new();
    let lines: Vec<String> = (0..40).map(|at| format!("<{at}>\n")).collect();
    place.put("f", lines.concat());
    let calls = (0..40).map(|at| place.call("edit", one("f", &format!("<{at}>"), &format!("[{at}]"))));
    for result in futures_util::future::join_all(calls).await {
        result.unwrap();
    }
    assert_eq!(String::from_utf8(place.bytes("f")).unwrap(), lines.concat().replace('<', "[").replace('>', "]"));
}

#[tokio::test]
async fn rule_4_2_an_agent_edits_what_it_read_also_with_edits_as_a_json_string() {
    let place = Place::new();
    place.put("f", "one\ntwo\n");
    let edits = json!([{"old_text": "two", "new_text": "2"}]).to_string();
    let model = ScriptedProvider::new([
        Reply::calling("read", json!({"path": "f", "limit": 10})),
        Reply::calling("edit", json!({"path": "f", "edits": edits})),
        Reply::text("Done."),
    ]);
    let agent = Agent::builder(model)
        .model("scripted")
        .working_dir(place.dir.path())
        .tools(agent_tools::coding())
        .build()
        .unwrap();
    let mut session = Session::in_memory();
    agent.run(&mut session, "Make it 2.").await.unwrap();
    let results: Vec<String> =
        session.messages().iter().filter_map(|message| message.as_tool_result()).map(ToolResult::text).collect();
    assert_eq!(results, ["one\ntwo", "Edited `f`: 1 replacement, first at line 2."]);
    assert_eq!(place.bytes("f"), b"one\n2\n");
}

#[test]
fn rule_2_2_an_unknown_field_of_an_edit_is_refused_with_the_nearest_name() {
    let tools = agent_tools::coding();
    let (definition, _) = tools.get("edit").expect("the tool");
    let arguments = json!({"path": "f", "edits": [{"old_text": "a", "new_text": "b", "replaceall": true}]});
    let arguments = arguments.as_object().unwrap().clone();
    let problems = agent_core::schema::check_arguments(&definition.input_schema, arguments).unwrap_err();
    assert_eq!(problems.to_string(), "$.edits[0].replaceall: unknown property; did you mean `replace_all`?");
}
