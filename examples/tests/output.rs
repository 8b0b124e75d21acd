//! Every example runs offline and prints what is kept beside it in `expected/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The built example; `cargo test` builds them all, a single test target does not.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows itself");
    let built = test.parent().and_then(Path::parent).expect("it stands in deps/").join("examples").join(name);
    if !built.exists() {
        let build = Command::new(env!("CARGO")).args(["build", "-p", "examples", "--example", name]).status();
        assert!(build.expect("cargo starts").success(), "{name} does not build");
    }
    built
}

#[test]
fn every_example_prints_what_it_should() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(here).expect("the folder is readable");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name.starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    names.sort();
    assert!(names.len() >= 4, "the examples are numbered: {names:?}");
    for name in names {
        let output = Command::new(example(&name)).output().expect("the example starts");
        let printed = String::from_utf8(output.stdout).expect("examples print text");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} failed: {errors}");
        let expected = fs::read_to_string(here.join("expected").join(format!("{name}.txt"))).unwrap_or_default();
        assert!(printed == expected, "{name} prints something else.\n--- expected\n{expected}\n--- printed\n{printed}");
    }
}
