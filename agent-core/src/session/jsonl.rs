//! [`JsonlStore`]: a session as a file of JSON lines.
//!
//! `<id>.jsonl` has a [header](SessionHeader) as its first line and one [`Entry`] on each further one; lines are only
//! ever added. Beside it may stand `<id>.pid`, the process that writes it now, and `<id>.torn`, what a crash left
//! behind of a line. All are readable by their owner alone.
//!
//! A record is handed to the system in one write before [`append`](SessionStore::append) returns: it survives the end
//! of the process, however that comes. It is not forced onto the disk: a power failure may cost the last records,
//! never the file.
//!
//! The lock is the system's own, on the session's file, so it ends with the process that holds it. On Windows it also
//! keeps others from reading; elsewhere a session can be [read](JsonlStore::read) while it is written.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Entry, SessionError, SessionStore};

mod list;
mod parse;

pub use list::{Listing, SessionHead};
use parse::{Parsed, parse};

/// The format's version. A file with a greater one is refused.
const VERSION: u64 = 1;

/// What is known of a session from its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionHeader {
    /// When it was created, in the caller's notation; RFC 3339 is customary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The directory its tools worked in; empty if not known.
    pub working_dir: String,
}

impl SessionHeader {
    /// A header with this working directory. What of it is not Unicode is replaced by `U+FFFD`.
    pub fn new(working_dir: &Path) -> Self {
        Self { created: None, working_dir: working_dir.to_string_lossy().into_owned() }
    }

    /// The same header with this time of creation.
    pub fn created(mut self, created: impl Into<String>) -> Self {
        self.created = Some(created.into());
        self
    }
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct HeaderLine {
    r#type: String,
    version: u64,
    #[serde(default)]
    id: String,
    #[serde(flatten)]
    header: SessionHeader,
}

/// A session that was opened for reading only.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionLog {
    /// Its header.
    pub header: SessionHeader,
    /// Its records, in the order they were appended.
    pub entries: Vec<Entry>,
    /// What a person should know about the file, a sentence each.
    pub notices: Vec<String>,
}

/// A session's file, open for writing. As long as this lives, no other process can open it for writing.
#[derive(Debug)]
pub struct JsonlStore {
    path: PathBuf,
    file: File,
    length: u64,
    is_damaged: bool,
    header: SessionHeader,
    entries: Vec<Entry>,
    notices: Vec<String>,
}

impl JsonlStore {
    /// Starts a session: creates its file, and the directory if need be. Fails if the session exists.
    pub fn create(dir: &Path, id: &str, header: SessionHeader) -> Result<Self, SessionError> {
        let path = session_path(dir, id)?;
        create_private_dir(dir).map_err(|source| io_error("cannot create", dir, source))?;
        if path.exists() {
            return Err(io_error("cannot create", &path, io::ErrorKind::AlreadyExists.into()));
        }
        // Without a header there is no session to find again, so the file gets its name only when it has one.
        let draft = path.with_extension("new");
        let file = private_file().create_new(true).read(true).append(true).open(&draft);
        let file = file.map_err(|source| io_error("cannot create", &path, source))?;
        let mut store = Self::locked(path, file, id)?;
        let named = store.start(id, header).and_then(|()| {
            // A link, unlike a rename, never takes the place of a session that exists.
            fs::hard_link(&draft, &store.path).map_err(|source| io_error("cannot create", &store.path, source))
        });
        let _ = fs::remove_file(&draft);
        named.map(|()| store)
    }

    /// Opens a session to go on with it.
    ///
    /// What a crash left of a last line is moved to `<id>.torn`, and [`notices`](Self::notices) says so.
    pub fn open(dir: &Path, id: &str) -> Result<Self, SessionError> {
        let path = session_path(dir, id)?;
        let file =
            OpenOptions::new().read(true).append(true).open(&path).map_err(|source| open_error(id, &path, source))?;
        let mut store = Self::locked(path, file, id)?;
        let mut bytes = Vec::new();
        store.file.read_to_end(&mut bytes).map_err(|source| io_error("cannot read", &store.path, source))?;
        store.length = bytes.len() as u64;
        let Parsed { header, entries, whole } = parse(&store.path, &bytes)?;
        store.entries = entries;
        if whole < bytes.len() {
            store.set_aside(&bytes[whole..])?;
        }
        match header {
            Some(header) => store.header = header,
            None => store.start(id, SessionHeader::default())?,
        }
        Ok(store)
    }

    /// Reads a session without opening it for writing: also while another process writes it, and changing nothing.
    pub fn read(dir: &Path, id: &str) -> Result<SessionLog, SessionError> {
        let path = session_path(dir, id)?;
        let bytes = fs::read(&path).map_err(|source| open_error(id, &path, source))?;
        let Parsed { header, entries, whole } = parse(&path, &bytes)?;
        let mut notices = Vec::new();
        if whole < bytes.len() {
            notices.push(format!(
                "{}: {} bytes of an incomplete last line are left out",
                path.display(),
                bytes.len() - whole
            ));
        }
        Ok(SessionLog { header: header.unwrap_or_default(), entries, notices })
    }

    /// All sessions of a directory, the one changed last first. Only the beginning of each file is read.
    ///
    /// A directory that does not exist has none.
    pub fn list(dir: &Path) -> Result<Listing, SessionError> {
        list::list(dir)
    }

    /// The id of the only session that begins with `prefix`; a whole id is always found.
    pub fn find(dir: &Path, prefix: &str) -> Result<String, SessionError> {
        list::find(dir, prefix)
    }

    /// The session's header.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The session's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a person should know about how it was opened, a sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The file as a store, once no other process writes it.
    fn locked(path: PathBuf, file: File, id: &str) -> Result<Self, SessionError> {
        let pid_path = path.with_extension("pid");
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&pid_path).ok().filter(|pid| !pid.is_empty());
                return Err(SessionError::Locked {
                    id: id.to_owned(),
                    holder: holder.map_or_else(|| "an unknown one".to_owned(), |pid| pid.trim().to_owned()),
                });
            }
            Err(TryLockError::Error(source)) => return Err(io_error("cannot lock", &path, source)),
        }
        let store = Self {
            path,
            file,
            length: 0,
            is_damaged: false,
            header: SessionHeader::default(),
            entries: Vec::new(),
            notices: Vec::new(),
        };
        // One left by a process that was killed is written over: the lock itself went with the process.
        let pid_file = private_file().create(true).write(true).truncate(true).open(&pid_path);
        pid_file
            .and_then(|mut file| writeln!(file, "{}", std::process::id()))
            .map_err(|source| io_error("cannot write", &pid_path, source))?;
        Ok(store)
    }

    /// Writes the header.
    fn start(&mut self, id: &str, header: SessionHeader) -> Result<(), SessionError> {
        let line = HeaderLine { r#type: "session".to_owned(), version: VERSION, id: id.to_owned(), header };
        self.write_line(&line)?;
        self.header = line.header;
        Ok(())
    }

    /// Moves the end of the file into the side file.
    fn set_aside(&mut self, torn: &[u8]) -> Result<(), SessionError> {
        let torn_path = self.path.with_extension("torn");
        let side_file = private_file().create(true).append(true).open(&torn_path);
        side_file
            .and_then(|mut file| file.write_all(torn).and_then(|()| file.write_all(b"\n")))
            .map_err(|source| io_error("cannot write", &torn_path, source))?;
        let whole = self.length - torn.len() as u64;
        self.file.set_len(whole).map_err(|source| io_error("cannot shorten", &self.path, source))?;
        self.length = whole;
        self.notices.push(format!(
            "{}: the last line was incomplete; its {} bytes were moved to {}",
            self.path.display(),
            torn.len(),
            torn_path.display(),
        ));
        Ok(())
    }

    fn write_line(&mut self, line: &impl Serialize) -> Result<(), SessionError> {
        let failed = |source| io_error("cannot write", &self.path, source);
        if self.is_damaged {
            return Err(failed(io::Error::other("an earlier record could be neither completed nor removed")));
        }
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        if let Err(source) = self.file.write_all(&text) {
            let error = failed(source);
            self.is_damaged = self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length += text.len() as u64;
        Ok(())
    }
}

impl SessionStore for JsonlStore {
    fn load(&mut self) -> Result<Vec<Entry>, SessionError> {
        Ok(std::mem::take(&mut self.entries))
    }

    fn append(&mut self, entry: &Entry) -> Result<(), SessionError> {
        self.write_line(entry)
    }
}

impl Drop for JsonlStore {
    fn drop(&mut self) {
        // Still locked: nobody else can have written it. Should it stay, the next one writes over it.
        let _ = fs::remove_file(self.path.with_extension("pid"));
        // Closing alone may come late: a child that is just being started has the descriptor too, until it executes.
        let _ = self.file.unlock();
    }
}

fn session_path(dir: &Path, id: &str) -> Result<PathBuf, SessionError> {
    if !is_session_id(id) {
        return Err(SessionError::InvalidId { id: id.to_owned() });
    }
    Ok(dir.join(format!("{id}.jsonl")))
}

fn is_session_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn open_error(id: &str, path: &Path, source: io::Error) -> SessionError {
    match source.kind() {
        io::ErrorKind::NotFound => SessionError::NotFound { id: id.to_owned() },
        _ => io_error("cannot open", path, source),
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> SessionError {
    SessionError::Io { action, path: path.display().to_string(), source }
}

/// Options for a file that only its owner can read.
fn private_file() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes are a thing of Unix"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates what is missing of a directory, for its owner alone.
fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}
