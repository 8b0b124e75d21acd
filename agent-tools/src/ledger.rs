//! What a session has seen of each file, so that a change made behind its back is not overwritten unseen.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use agent_core::ToolError;

use crate::path::{self, Target};

/// Files up to this many bytes are told apart by content, larger ones by size and time alone.
const MOST_HASHED: u64 = 1024 * 1024;

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    content: Option<u64>,
}

impl Stamp {
    /// The state the file is in now.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let meta = fs::metadata(path)?;
        let content = if meta.len() <= MOST_HASHED { Some(hash(path::open(path)?)?) } else { None };
        Ok(Self { len: meta.len(), modified: meta.modified().ok(), content })
    }

    /// The state of a file that was read as, or given, these bytes: should another process write between then and now,
    /// its bytes are not taken for these.
    pub(crate) fn left(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        let len = bytes.len() as u64;
        let content = if len <= MOST_HASHED { Some(hash(bytes)?) } else { None };
        Ok(Self { len, modified: fs::metadata(path)?.modified().ok(), content })
    }

    /// Whether both are the same state; where content is known, a mere change of time is none.
    fn same(&self, other: &Self) -> bool {
        match (self.content, other.content) {
            (Some(one), Some(other_content)) => self.len == other.len && one == other_content,
            _ => self.len == other.len && self.modified == other.modified,
        }
    }
}

fn hash(bytes: impl Read) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    let mut bytes = bytes.take(MOST_HASHED + 1);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match bytes.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            read => hasher.write(&buffer[..read]),
        }
    }
}

/// The files a session has read or written, as it last saw them.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    by_path: HashMap<PathBuf, Stamp>,
    /// Files with several names, by device and inode: what one name wrote is no news under another.
    by_link: HashMap<(u64, u64), Stamp>,
}

impl Seen {
    fn stamps(&self, path: &Path) -> impl Iterator<Item = &Stamp> {
        let linked = link(path).and_then(|link| self.by_link.get(&link));
        self.by_path.get(path).into_iter().chain(linked)
    }
}

/// What a file with several names is under all of them; `None` for others, whose inode another file may get.
#[cfg(unix)]
fn link(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = fs::metadata(path).ok()?;
    (meta.nlink() > 1).then(|| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn link(_: &Path) -> Option<(u64, u64)> {
    None
}

impl Ledger {
    /// Remembers the state a call has seen or left.
    pub(crate) fn record(&self, path: &Path, stamp: Stamp) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = link(path) {
            seen.by_link.insert(link, stamp.clone());
        }
        seen.by_path.insert(path.to_owned(), stamp);
    }

    /// Whether the session has read or written the file.
    pub(crate) fn knows(&self, path: &Path) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).stamps(path).next().is_some()
    }

    /// Refuses when the file, which now holds `bytes`, is no longer as the session last saw it. One it never saw passes.
    pub(crate) fn check(&self, target: &Target, bytes: &[u8]) -> Result<(), ToolError> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Stamp::left(&target.real, bytes)?;
        let mut stamps = seen.stamps(&target.real).peekable();
        if stamps.peek().is_none() || stamps.any(|stamp| stamp.same(&now)) {
            return Ok(());
        }
        Err(ToolError::retry(format!(
            "`{0}` has changed on disk since it was last read here, and nothing was written; read `{0}` again, then \
             repeat the change on what it holds now",
            target.shown
        )))
    }
}
