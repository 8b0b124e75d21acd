//! Rule 1.13: each program in `ui/fail` makes one mistake and gets one error, at its tokens, with a line that shows
//! the fix; those in `ui/many` make several and get them all at once.
//!
//! The expected texts belong to the toolchain in `rust-version`; renew them with `TRYBUILD=overwrite`.

#[test]
fn rule_1_13_one_mistake_is_one_error() {
    let programs = trybuild::TestCases::new();
    programs.pass("tests/ui/pass/*.rs");
    programs.compile_fail("tests/ui/fail/*.rs");
    programs.compile_fail("tests/ui/many/*.rs");
}

#[test]
fn rule_1_13_every_error_shows_the_fix() {
    let mut seen = 0;
    for entry in std::fs::read_dir("tests/ui/fail").expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "stderr") {
            let text = std::fs::read_to_string(&path).expect("readable");
            assert_eq!(text.lines().filter(|line| line.starts_with("error")).count(), 1, "{}:\n{text}", path.display());
            assert!(
                text.contains("help: ") || OWN_WORDS.iter().any(|own| path.ends_with(own)),
                "{}:\n{text}",
                path.display()
            );
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen} programs");
}

/// Mistakes that the compiler itself explains well.
const OWN_WORDS: [&str; 2] = ["two_tools_of_one_name.stderr", "default_of_another_type.stderr"];
