//! The sessions of a directory, read by their heads.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use super::parse::{may_be_torn_header, parse_header};
use super::{SessionHeader, io_error, is_session_id};
use crate::message::Message;
use crate::session::{Entry, Record, SessionError};

/// How much of a file is read at first, in bytes, and how much if the first user message is not yet in it.
const HEAD: [u64; 2] = [8 * 1024, 256 * 1024];
/// How many characters of the first user message are given.
const SHOWN_CHARS: usize = 200;
/// How many sessions an ambiguous beginning names.
const SHOWN_CANDIDATES: usize = 10;

/// The sessions of a directory.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The sessions, the one changed last first.
    pub sessions: Vec<SessionHead>,
    /// Files that look like sessions and are none, or cannot be read: a sentence each.
    pub problems: Vec<String>,
}

/// What a session's head says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionHead {
    /// Its id.
    pub id: String,
    /// Its header.
    pub header: SessionHeader,
    /// The beginning of the first user message, on one line, at most 200 characters; `None` if there is none near the
    /// start of the file.
    pub first_text: Option<String>,
    /// When it was last changed.
    pub modified: SystemTime,
    /// The file's size in bytes.
    pub size: u64,
}

pub(super) fn list(dir: &Path) -> Result<Listing, SessionError> {
    let mut listing = Listing::default();
    for id in ids(dir)? {
        let path = dir.join(format!("{id}.jsonl"));
        match read_head(&path, id) {
            Ok(Some(head)) => listing.sessions.push(head),
            Ok(None) => listing.problems.push(format!("{}: not a session", path.display())),
            Err(error) => listing.problems.push(error.to_string()),
        }
    }
    listing.sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.id.cmp(&b.id)));
    Ok(listing)
}

pub(super) fn find(dir: &Path, prefix: &str) -> Result<String, SessionError> {
    if !is_session_id(prefix) {
        return Err(SessionError::InvalidId { id: prefix.to_owned() });
    }
    let mut candidates: Vec<String> = ids(dir)?.into_iter().filter(|id| id.starts_with(prefix)).collect();
    candidates.sort();
    // Sorted, a whole id comes before all that only begin with it.
    match candidates.first() {
        None => Err(SessionError::NotFound { id: prefix.to_owned() }),
        Some(first) if candidates.len() == 1 || first == prefix => Ok(first.clone()),
        Some(_) => {
            candidates.truncate(SHOWN_CANDIDATES);
            Err(SessionError::Ambiguous { prefix: prefix.to_owned(), candidates })
        }
    }
}

fn ids(dir: &Path) -> Result<Vec<String>, SessionError> {
    let failed = |source| io_error("cannot read", dir, source);
    let files = match fs::read_dir(dir) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut ids = Vec::new();
    for file in files {
        let name = file.map_err(failed)?.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        ids.extend(id.filter(|id| is_session_id(id)).map(str::to_owned));
    }
    Ok(ids)
}

/// The head of a file; `None` if it is no session.
fn read_head(path: &Path, id: String) -> Result<Option<SessionHead>, SessionError> {
    let failed = |source| io_error("cannot read", path, source);
    // Opening a pipe would wait for its other end.
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path).map_err(failed)?;
    let (size, modified) = (metadata.len(), metadata.modified().map_err(failed)?);
    let mut head = Vec::new();
    let mut first_text = None;
    for limit in HEAD {
        if first_text.is_none() && (head.len() as u64) < size {
            (&mut file).take(limit - head.len() as u64).read_to_end(&mut head).map_err(failed)?;
            first_text = head.split(|byte| *byte == b'\n').skip(1).find_map(user_text);
        }
    }
    let header = match head.iter().position(|byte| *byte == b'\n') {
        Some(end) => parse_header(path, &head[..end])?,
        None => may_be_torn_header(&head).then(SessionHeader::default),
    };
    Ok(header.map(|header| SessionHead { id, header, first_text, modified, size }))
}

/// The text of a line that holds a user message with some.
fn user_text(line: &[u8]) -> Option<String> {
    let entry: Entry = serde_json::from_slice(line).ok()?;
    let Record::Message(Message::User(user)) = entry.record else { return None };
    let text = user.content.iter().filter_map(|content| content.as_text()).find(|text| !text.trim().is_empty())?;
    let words = text.split_whitespace();
    let mut line = String::new();
    for word in words {
        if line.chars().count() >= SHOWN_CHARS {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => Some(format!("{}…", &line[..end])),
        None => Some(line),
    }
}
