//! From the edits of a call to the ranges that change: all of them against the original, or none.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use agent_core::ToolError;

use super::Edit;
use super::matching::{self, Folded, Place};
use super::nearest;
use crate::truncate::count;

/// One range of the original and what takes its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change<'a> {
    /// The edit it belongs to, from 1.
    pub(super) edit: usize,
    pub(super) range: Range<usize>,
    pub(super) text: Cow<'a, str>,
}

/// What a call will do to a file.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// In file order, none touching another's bytes.
    pub(super) changes: Vec<Change<'a>>,
    /// What the model should know about how its text was matched.
    pub(super) notes: Vec<String>,
}

/// Finds every edit's place in the original text.
pub(super) fn plan<'a>(body: &[u8], edits: &'a [Edit]) -> Result<Plan<'a>, ToolError> {
    let mut plan = Plan::default();
    let mut folded = None;
    let crlf = is_crlf(body);
    for (at, edit) in edits.iter().enumerate() {
        let number = at + 1;
        let which = if edits.len() == 1 { String::new() } else { format!("edit {number}: ") };
        if edit.old_text.is_empty() {
            return Err(refused(&format!("{which}old_text is empty; give the text to replace, or use `write`")));
        }
        if edit.old_text == edit.new_text {
            return Err(refused(&format!("{which}old_text and new_text are the same")));
        }
        let places = matching::exact(body, edit.old_text.as_bytes());
        let len = edit.old_text.len();
        if edit.replace_all {
            let places = matching::apart(&places, len);
            if places.is_empty() {
                let hint = nearest::describe(body, &edit.old_text);
                return Err(refused(&format!("{which}old_text is not in the file (replace_all is exact). {hint}")));
            }
            plan.notes.push(format!("{which}replaced {}", count(places.len(), "place")));
            plan.changes.reserve(places.len());
            for start in places {
                plan.add_exact(body, crlf, number, start, edit);
            }
        } else if let [start] = places[..] {
            plan.add_exact(body, crlf, number, start, edit);
        } else if !places.is_empty() {
            return Err(ambiguous(body, &which, "", places.into_iter()));
        } else {
            let folded = folded.get_or_insert_with(|| Folded::new(body, false));
            plan.add_lenient(body, folded, number, &which, edit)?;
        }
    }
    plan.changes.sort_by_key(|change| (change.range.start, change.range.end));
    for pair in plan.changes.windows(2) {
        if pair[1].range.start < pair[0].range.end || pair[1].range == pair[0].range {
            return Err(overlap(body, &pair[0], &pair[1]));
        }
    }
    plan.notes.dedup();
    Ok(plan)
}

impl<'a> Plan<'a> {
    fn add_exact(&mut self, body: &[u8], crlf: bool, number: usize, start: usize, edit: &'a Edit) {
        let (old, new) = (&edit.old_text, &edit.new_text);
        let mut range = start..start + old.len();
        let mut text = Cow::Borrowed(new.as_str());
        // To the model a CRLF is one `\n`: a match may not take one half of it and leave the other.
        let splits = old.starts_with('\n') && body[..start].ends_with(b"\r");
        let within_line = !old[usize::from(splits)..].contains('\n');
        if within_line && new.contains('\n') && !new.contains('\r') && crlf {
            text = Cow::Owned(new.replace('\n', "\r\n"));
            range.start -= usize::from(splits);
            let note = "new lines end in CRLF as all others of the file";
            if self.notes.last().is_none_or(|last| last != note) {
                self.notes.push(note.to_owned());
            }
        } else if splits && !new.starts_with('\n') {
            range.start -= 1;
        }
        self.changes.push(Change { edit: number, range, text });
    }

    fn add_lenient(
        &mut self,
        body: &[u8],
        folded: &Folded,
        number: usize,
        which: &str,
        edit: &Edit,
    ) -> Result<(), ToolError> {
        let places = matching::lenient(folded, edit.old_text.as_bytes());
        let place = match &places[..] {
            [place] => place,
            [] => {
                let hint = nearest::describe(body, &edit.old_text);
                return Err(refused(&format!("{which}old_text is not in the file. {hint}")));
            }
            _ => {
                let starts = places.iter().map(|place| place.raw.start);
                return Err(ambiguous(body, which, " but for blanks, quotes or line endings", starts));
            }
        };
        let change = adapted(body, folded, place, number, edit);
        if body[change.range.clone()] == *change.text.as_bytes() {
            return Err(refused(&format!(
                "{which}the file already holds new_text at line {}",
                line(body, place.raw.start)
            )));
        }
        self.notes.push(format!(
            "{which}matched at line {} though line endings, trailing blanks or typographic characters differ from \
             old_text",
            line(body, place.raw.start)
        ));
        self.changes.push(change);
        Ok(())
    }
}

/// The change a lenient match makes: lines that `old_text` and `new_text` share at both ends keep the file's bytes,
/// and the others get the line endings of the lines they replace.
fn adapted(body: &[u8], folded: &Folded, place: &Place, number: usize, edit: &Edit) -> Change<'static> {
    let old: Vec<&str> = edit.old_text.split_inclusive('\n').collect();
    let new: Vec<&str> = edit.new_text.split_inclusive('\n').collect();
    let shared = |pair: &(&&str, &&str)| pair.0 == pair.1 && pair.0.ends_with('\n');
    let before = old.iter().zip(&new).take_while(shared).count();
    let (old, new) = (&old[before..], &new[before..]);
    let folded_len = |text: &str| Folded::new(text.as_bytes(), true).bytes().len();
    // A match without the blanks at the end of `old_text` does not end where `old_text` does.
    let whole = folded_len(&edit.old_text) == place.folded.len();
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| whole && old == new).count();
    let head = folded_len(&edit.old_text.split_inclusive('\n').take(before).collect::<String>());
    let tail = folded_len(&old[old.len() - after..].concat());

    let start = if head == 0 { place.raw.start } else { folded.raw_end(place.folded.start + head) };
    let end = if tail == 0 { place.raw.end } else { folded.raw_end(place.folded.end - tail) };
    let range = start..end.max(start);
    let text = new[..new.len() - after].concat();
    let text = with_endings(&text, &endings(&body[range.clone()]), &endings(&body[place.raw.clone()]), body);
    Change { edit: number, range, text: Cow::Owned(text) }
}

/// `text` with the n-th line ending of `replaced`; beyond those the last of `around`, or else the file's.
fn with_endings(text: &str, replaced: &[&str], around: &[&str], body: &[u8]) -> String {
    let usual = around.last().copied().unwrap_or(if is_crlf(body) { "\r\n" } else { "\n" });
    let mut adapted = String::with_capacity(text.len());
    for (at, line) in text.replace("\r\n", "\n").split_inclusive('\n').enumerate() {
        match line.strip_suffix('\n') {
            Some(line) => {
                adapted.push_str(line);
                adapted.push_str(replaced.get(at).copied().unwrap_or(usual));
            }
            None => adapted.push_str(line),
        }
    }
    adapted
}

fn endings(bytes: &[u8]) -> Vec<&'static str> {
    let mut endings = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        let ending = match &rest[at..] {
            [b'\r', b'\n', ..] => "\r\n",
            [b'\r', ..] => "\r",
            _ => "\n",
        };
        endings.push(ending);
        rest = &rest[at + ending.len()..];
    }
    endings
}

/// Whether every line of the text ends in CRLF.
fn is_crlf(body: &[u8]) -> bool {
    let mut before = 0;
    let mut any = false;
    for byte in body {
        if *byte == b'\n' {
            if before != b'\r' {
                return false;
            }
            any = true;
        }
        before = *byte;
    }
    any
}

/// The number of the line a place is in, from 1.
pub(super) fn line(body: &[u8], at: usize) -> usize {
    body[..at].split(|byte| *byte == b'\n').count()
}

fn refused(what: &str) -> ToolError {
    ToolError::retry(format!("{}\nNothing was changed.", what.trim_end()))
}

fn ambiguous(body: &[u8], which: &str, how: &str, places: impl ExactSizeIterator<Item = usize>) -> ToolError {
    const MOST: usize = 50;
    let total = places.len();
    let mut lines = String::new();
    for place in places.take(MOST) {
        let comma = if lines.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(lines, "{comma}{}", line(body, place));
    }
    let more = if total > MOST { format!(" and {} more", total - MOST) } else { String::new() };
    refused(&format!(
        "{which}old_text is in the file {total} times{how}, at lines {lines}{more}. Add lines around it until it is \
         unique, or set replace_all"
    ))
}

fn overlap(body: &[u8], one: &Change<'_>, other: &Change<'_>) -> ToolError {
    let lines = (line(body, one.range.start), line(body, other.range.start));
    refused(&format!(
        "edit {} (line {}) and edit {} (line {}) overlap; make them one edit",
        one.edit, lines.0, other.edit, lines.1
    ))
}
