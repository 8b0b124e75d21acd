//! House rules that a machine can check: direction of imports, size of files, names, nothing printed by libraries.

use std::fs;
use std::path::{Path, PathBuf};

const CRATES: [(&str, &str); 4] =
    [("agent-macros", "lib.rs"), ("agent-core", "lib.rs"), ("agent-tools", "lib.rs"), ("agent-cli", "main.rs")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above this package")
}

/// All Rust files below a folder, by name.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return files };
    for path in entries.map(|entry| entry.expect("a readable folder").path()) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The file's code without its unit tests and comments, with line numbers from 1.
fn production_lines(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    lines
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .collect()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[test]
fn a_module_imports_only_from_modules_above_it() {
    let mut wrong = Vec::new();
    for (name, entry) in CRATES {
        let source = root().join(name).join("src");
        let entry_text = read(&source.join(entry));
        let order: Vec<&str> = entry_text.lines().filter_map(module_of).collect();
        for file in rust_files(&source) {
            let inside = file.strip_prefix(&source).expect("it is inside");
            let first = inside.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
            let module = first.trim_end_matches(".rs");
            let Some(place) = order.iter().position(|known| *known == module) else { continue };
            let text = read(&file);
            for (number, line) in production_lines(&text) {
                for used in line.split("crate::").skip(1).map(leading_word) {
                    if order.iter().position(|known| *known == used).is_some_and(|other| other > place) {
                        wrong.push(format!(
                            "{}:{number}: `{module}` uses `{used}`, which stands below it",
                            shown(&file)
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The module a line declares.
fn module_of(line: &str) -> Option<&str> {
    let rest = ["pub mod ", "pub(crate) mod ", "mod "].iter().find_map(|start| line.strip_prefix(start))?;
    rest.strip_suffix(';')
}

fn leading_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

#[test]
fn a_crate_knows_only_what_stands_left_of_it() {
    for (at, (name, _)) in CRATES.iter().enumerate() {
        let manifest = read(&root().join(name).join("Cargo.toml"));
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for (right, _) in &CRATES[at + 1..] {
            assert!(!dependencies.lines().any(|line| line.starts_with(right)), "{name} depends on {right}");
        }
    }
}

#[test]
fn files_stay_small() {
    let mut wrong = Vec::new();
    for (name, _) in CRATES {
        for folder in ["src", "tests", "benches"] {
            for file in rust_files(&root().join(name).join(folder)) {
                let lines = production_lines(&read(&file)).len();
                if lines > 500 {
                    wrong.push(format!("{}: {lines} lines", shown(&file)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "more than 500 lines:\n{}", wrong.join("\n"));
}

#[test]
fn names_say_what_a_thing_is() {
    let banned = ["manager", "util", "utils", "helper", "helpers", "common", "misc", "handler"];
    let mut wrong = Vec::new();
    for (name, _) in CRATES {
        for file in rust_files(&root().join(name)) {
            if file.iter().any(|part| part == "target") {
                continue;
            }
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if banned.iter().any(|word| stem.split('_').any(|part| part == *word)) {
                wrong.push(shown(&file));
            }
            for (number, line) in production_lines(&read(&file)) {
                let declared = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| {
                    let (before, after) = line.split_once(kind)?;
                    matches!(before.trim(), "" | "pub" | "pub(crate)" | "pub(super)").then(|| leading_word(after))
                });
                let lower = declared.unwrap_or_default().to_lowercase();
                if banned.iter().any(|word| lower.ends_with(word)) {
                    wrong.push(format!("{}:{number}: {}", shown(&file), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn entry_files_hold_no_logic() {
    for (name, entry) in CRATES.iter().filter(|(_, entry)| *entry == "lib.rs").chain([&("agent-cli", "main.rs")]) {
        let lines = production_lines(&read(&root().join(name).join("src").join(entry))).len();
        assert!(lines <= 80, "{name}/src/{entry} has {lines} lines of code");
    }
}

#[test]
fn nothing_is_left_unfinished() {
    let mut wrong = Vec::new();
    for (name, _) in CRATES {
        for file in rust_files(&root().join(name).join("src")) {
            for (number, line) in production_lines(&read(&file)) {
                if ["todo!(", "unimplemented!(", "dbg!("].iter().any(|mark| line.contains(mark)) {
                    wrong.push(format!("{}:{number}: {}", shown(&file), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
