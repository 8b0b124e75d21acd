//! What a change did to a file, for people (`diff`) and for programs (`patch`).

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use crate::path::Target;
use crate::truncate;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// After this the rest of a hard comparison is taken as one large change: still right, only less fine.
const PATIENCE: Duration = Duration::from_millis(500);
/// The most bytes of both contents that are compared line by line; the comparison takes several times as much memory.
const MAX_COMPARED: usize = 16 * 1024 * 1024;
/// The longest diff or patch that goes into details, in bytes.
const MAX_DIFF: usize = 256 * 1024;

/// The details of a change: `diff`, `patch` and `first_changed_line`.
///
/// `patch` is `null` where there is none, and `no_patch` then says why: bytes that are not UTF-8, which no JSON holds,
/// more than 256 KiB of it, more than 16 MiB to compare, or no changed line.
pub(crate) fn details(target: &Target, old: Option<&[u8]>, new: &[u8]) -> Value {
    if old.map_or(0, <[u8]>::len) + new.len() > MAX_COMPARED {
        return json!({
            "path": target.shown,
            "diff": "",
            "patch": null,
            "first_changed_line": first_difference(old.unwrap_or_default(), new),
            "no_patch": "the file is too large to be compared line by line",
        });
    }
    let before = lines(old.unwrap_or_default());
    let after = lines(new);
    let deadline = Instant::now() + PATIENCE;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &before, &after, Some(deadline));
    let first = ops.iter().find(|op| op.tag() != DiffTag::Equal).map(|op| op.new_range().start + 1);
    let groups = group_diff_ops(ops, CONTEXT);
    let diff = numbered(&groups, &before, &after);
    let patch = unified(&target.in_patch, old.is_none(), &groups, &before, &after);
    let mut details = json!({
        "path": target.shown,
        "diff": diff,
        "patch": patch.as_ref().ok(),
        "first_changed_line": first,
    });
    if let Err(reason) = patch {
        details["no_patch"] = reason.into();
    }
    details
}

/// The lines of a file, each with its `\n`. A lone `\r` ends no line: `patch` and `git` see it so too.
pub(crate) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The number of the first line that is not the same, from 1.
fn first_difference(old: &[u8], new: &[u8]) -> Option<usize> {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let line = new[..same].split(|byte| *byte == b'\n').count();
    (old.len() != same || new.len() != same).then_some(line)
}

/// Every shown line with the sign of what happened to it.
fn signed<'a>(op: &DiffOp, old: &[&'a [u8]], new: &[&'a [u8]]) -> Vec<(char, usize, &'a [u8])> {
    let numbered =
        |sign, range: Range<usize>, lines: &[&'a [u8]]| range.map(|at| (sign, at + 1, lines[at])).collect::<Vec<_>>();
    if op.tag() == DiffTag::Equal {
        return numbered(' ', op.new_range(), new);
    }
    let mut all = numbered('-', op.old_range(), old);
    all.extend(numbered('+', op.new_range(), new));
    all
}

fn numbered(groups: &[Vec<DiffOp>], old: &[&[u8]], new: &[&[u8]]) -> String {
    let width = old.len().max(new.len()).to_string().len();
    let mut text = String::new();
    for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            text.push_str("...\n");
        }
        for (sign, number, line) in group.iter().flat_map(|op| signed(op, old, new)) {
            let line = String::from_utf8_lossy(line);
            let line = line.trim_end_matches(['\r', '\n']);
            // Writing to a string does not fail.
            let _ = writeln!(text, "{sign}{number:>width$} {line}");
            if text.len() > MAX_DIFF {
                return truncate::clip(&text, MAX_DIFF);
            }
        }
    }
    text
}

/// The change as a unified diff, or why there is none.
fn unified(
    name: &str,
    created: bool,
    groups: &[Vec<DiffOp>],
    old: &[&[u8]],
    new: &[&[u8]],
) -> Result<String, &'static str> {
    if groups.is_empty() {
        return Err("no line changed");
    }
    let mut text = if created { "--- /dev/null\n".to_owned() } else { format!("--- {}\n", header("a", name)) };
    let _ = writeln!(text, "+++ {}", header("b", name));
    for group in groups {
        let ([first, .., last] | [first @ last]) = &group[..] else { continue };
        let before = first.old_range().start..last.old_range().end;
        let after = first.new_range().start..last.new_range().end;
        let _ = writeln!(text, "@@ -{} +{} @@", span(&before), span(&after));
        for (sign, _, line) in group.iter().flat_map(|op| signed(op, old, new)) {
            text.push(sign);
            text.push_str(std::str::from_utf8(line).map_err(|_| "the changed lines are not UTF-8")?);
            if !line.ends_with(b"\n") {
                text.push_str("\n\\ No newline at end of file\n");
            }
            if text.len() > MAX_DIFF {
                return Err("it would be longer than 256 KiB");
            }
        }
    }
    Ok(text)
}

/// A file's name as a patch writes it; what would end it there stands in quotes, escaped as git does it.
fn header(side: &str, name: &str) -> String {
    let name = format!("{side}/{name}");
    let special = |char: char| char.is_ascii_control() || matches!(char, '"' | '\\');
    if name.contains(special) {
        let mut quoted = String::from("\"");
        for char in name.chars() {
            match char {
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                '"' | '\\' => quoted.extend(['\\', char]),
                char if special(char) => {
                    let _ = write!(quoted, "\\{:03o}", u32::from(char));
                }
                char => quoted.push(char),
            }
        }
        return quoted + "\"";
    }
    // A tab after the name lets names with blanks through.
    if name.contains(' ') { name + "\t" } else { name }
}

/// A range of lines as a patch writes it: an empty one is named by the line before it.
fn span(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}
