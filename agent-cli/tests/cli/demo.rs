//! `agent demo`: real loop, real tools, recorded model. Change the program, and the outcome changes.

use std::fs;

use crate::scene::Scene;

const PROGRAM: &str = include_str!("../../src/command/demo/duration.sh");

#[test]
fn rule_6_3_the_demo_finds_and_fixes_the_bug() {
    let text = Scene::bare().run(&["demo"]);
    for part in [
        "! ● bash  bash test.sh\n!   ✗ exit 1",
        "FAIL  3723 -> 1h62m03s, expected 1h02m03s",
        "! ● read  duration.sh",
        "! ● edit  duration.sh",
        "\n-minutes=$((total / 60))\n+minutes=$((total % 3600 / 60))\n",
        "\n$ bash test.sh\nok    59 -> 0h00m59s\nok    3599 -> 0h59m59s\nok    3723 -> 1h02m03s\nok    86400 -> 24h00m00s\n",
    ] {
        assert!(text.contains(part), "not shown: {part}\n--- came\n{text}");
    }
    assert!(text.ends_with("exit 0\n"), "{text}");
}

/// What the demo makes of another program in the place of its own.
fn demo_on(program: &str) -> (String, String) {
    let scene = Scene::bare().file("duration.sh", program);
    let text = scene.run(&["demo", "--dir", "."]);
    (text, fs::read_to_string(scene.work().join("duration.sh")).unwrap())
}

#[test]
fn rule_6_3_on_a_program_with_another_bug_the_demo_fails_and_says_so() {
    let other = PROGRAM.replace("seconds=$((total % 60))", "seconds=$((total % 61))");
    let (text, after) = demo_on(&other);
    assert!(text.contains("There is more wrong here than I was recorded to find."), "{text}");
    assert!(text.contains("! error: the test still fails\n") && text.ends_with("exit 1\n"), "{text}");
    assert_eq!(after, other.replace("total / 60)", "total % 3600 / 60)"), "its edit was made all the same");
}

#[test]
fn rule_6_3_on_a_program_where_its_edit_finds_nothing_the_demo_changes_nothing() {
    let other = PROGRAM.replace("total", "all");
    let (text, after) = demo_on(&other);
    assert!(text.contains("The line I meant to change is not in this program:"), "{text}");
    assert!(text.contains("\nduration.sh is unchanged.\n") && text.contains("FAIL  3723"), "{text}");
    assert!(text.ends_with("! error: the test still fails\nexit 1\n"), "{text}");
    assert_eq!(after, other);
}

#[test]
fn rule_6_3_on_a_program_without_the_bug_there_is_nothing_to_fix() {
    let right = PROGRAM.replace("total / 60)", "total % 3600 / 60)");
    let (text, after) = demo_on(&right);
    assert!(text.contains("There is nothing to fix, so I changed nothing."), "{text}");
    assert!(
        text.contains("! error: nothing was fixed: the test passed before\n") && text.ends_with("exit 1\n"),
        "{text}"
    );
    assert_eq!(after, right);
}

#[test]
fn rule_6_3_the_scratch_directory_goes_unless_it_is_to_be_kept() {
    let scene = Scene::bare();
    let scratch = |args: &[&str]| {
        let mut command = scene.command(args);
        command.env("TMPDIR", scene.work());
        assert!(command.output().unwrap().status.success());
        let entries =
            fs::read_dir(scene.work()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.filter(|name| name.starts_with("agent-demo-")).count()
    };
    assert_eq!(scratch(&["demo"]), 0);
    assert_eq!(scratch(&["demo", "--keep"]), 1);
}
