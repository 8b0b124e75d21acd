//! The text of a session's file → its header and its records, and where the whole lines end.

use std::path::Path;

use crate::session::{Entry, SessionError};

use super::{HeaderLine, SessionHeader, VERSION};

/// What a file holds.
pub(super) struct Parsed {
    /// The header; `None` if the file ends before the header does.
    pub(super) header: Option<SessionHeader>,
    pub(super) entries: Vec<Entry>,
    /// Up to here the file is in order; behind it is what a crash left.
    pub(super) whole: usize,
}

/// Reads a file. Its end may be damaged, anything else may not.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Parsed, SessionError> {
    let corrupt = |line: usize, problem: String| SessionError::Corrupt { path: path.display().to_string(), line, problem };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    let header = match lines.next() {
        Some((_, line)) if line.ends_with(b"\n") => {
            parse_header(path, line)?.ok_or_else(|| corrupt(1, "not the header of a session".to_owned()))?
        }
        Some((_, torn)) if !may_be_torn_header(torn) => {
            return Err(corrupt(1, "not the header of a session".to_owned()));
        }
        _ => return Ok(Parsed { header: None, entries: Vec::new(), whole: 0 }),
    };
    let mut entries = Vec::new();
    let mut whole = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut at = whole;
    let mut damage = None;
    for (number, line) in lines {
        at += line.len();
        if line.trim_ascii().is_empty() && line.ends_with(b"\n") {
            continue;
        }
        // A line without its end was never acknowledged, even if it reads well.
        let entry = if line.ends_with(b"\n") { parse_entry(line) } else { Err(Damage::Torn("incomplete".to_owned())) };
        match (entry, damage.take()) {
            (Ok(entry), None) => {
                entries.push(entry);
                whole = at;
            }
            (Err(Damage::Shape(problem)), None) => return Err(corrupt(number + 1, problem)),
            (Err(Damage::Torn(problem)), None) => damage = Some((number + 1, problem)),
            // Good lines behind a bad one: this is not the end of the file, and no crash of ours.
            (Ok(_) | Err(Damage::Shape(_)), Some((line, problem))) => return Err(corrupt(line, problem)),
            (Err(Damage::Torn(_)), earlier) => damage = earlier,
        }
    }
    Ok(Parsed { header: Some(header), entries, whole })
}

/// The header in a file's first line; `None` if it is none.
pub(super) fn parse_header(path: &Path, line: &[u8]) -> Result<Option<SessionHeader>, SessionError> {
    let Ok(line) = serde_json::from_slice::<HeaderLine>(line) else { return Ok(None) };
    if line.r#type != "session" {
        return Ok(None);
    }
    if line.version > VERSION {
        return Err(SessionError::Version { path: path.display().to_string(), found: line.version, known: VERSION });
    }
    Ok(Some(line.header))
}

/// Whether this can be what was written of a header before a crash. Anything else is not ours to cut.
pub(super) fn may_be_torn_header(bytes: &[u8]) -> bool {
    let start = br#"{"type":"session""#;
    let common = bytes.len().min(start.len());
    bytes[..common] == start[..common] || bytes.iter().all(|byte| *byte == 0)
}

/// What is wrong with a line.
enum Damage {
    /// It is no JSON: written half, or never.
    Torn(String),
    /// It is JSON, but no record.
    Shape(String),
}

fn parse_entry(line: &[u8]) -> Result<Entry, Damage> {
    serde_json::from_slice(line).map_err(|error| {
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
        if is_json { Damage::Shape(error.to_string()) } else { Damage::Torn(error.to_string()) }
    })
}
