//! [`Session`]: the append-only log of a conversation. [`SessionStore`]: where it is kept.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::context::{SessionState, Variables};
use crate::history::{self, HistoryMessage};
use crate::message::{ContextUpdate, Message, Usage};
use crate::queue::MessageQueue;

mod decode;
pub mod jsonl;
pub mod memory;

/// One record of a session's log. Records form a tree: each names its parent, nothing is ever rewritten.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its number in the log, from 1.
    pub id: u64,
    /// The record it goes on from; `None` for the first one.
    pub parent: Option<u64>,
    /// What it records.
    #[serde(flatten)]
    pub record: Record,
}

/// What an [`Entry`] records.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A message.
    Message(Message),
    /// Another model answers from now on.
    ModelChanged {
        /// The model.
        model: String,
    },
    /// The run's variables changed.
    ContextUpdated(ContextUpdate),
    /// A name for people, given to the session.
    Label(String),
    /// A kind of record this version does not know: kept, and ignored.
    Unknown(Map<String, Value>),
}

// By hand, because an unknown kind must survive: serde's `other` drops what it does not know.
impl Serialize for Record {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Known<'a> {
            Message { message: &'a Message },
            ModelChanged { model: &'a str },
            ContextUpdated { update: &'a ContextUpdate },
            Label { label: &'a str },
        }
        match self {
            Self::Message(message) => Known::Message { message }.serialize(serializer),
            Self::ModelChanged { model } => Known::ModelChanged { model }.serialize(serializer),
            Self::ContextUpdated(update) => Known::ContextUpdated { update }.serialize(serializer),
            Self::Label(label) => Known::Label { label }.serialize(serializer),
            Self::Unknown(fields) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Known {
            Message { message: Message },
            ModelChanged { model: String },
            ContextUpdated { update: ContextUpdate },
            Label { label: String },
        }
        let fields = Map::deserialize(deserializer)?;
        let known = ["message", "model_changed", "context_updated", "label"];
        if !fields.get("type").and_then(Value::as_str).is_some_and(|kind| known.contains(&kind)) {
            return Ok(Self::Unknown(fields));
        }
        Ok(match serde_json::from_value(Value::Object(fields)).map_err(serde::de::Error::custom)? {
            Known::Message { message } => Self::Message(message),
            Known::ModelChanged { model } => Self::ModelChanged { model },
            Known::ContextUpdated { update } => Self::ContextUpdated(update),
            Known::Label { label } => Self::Label(label),
        })
    }
}

/// Where a session's log is kept.
pub trait SessionStore: Send {
    /// All records so far, in the order they were appended. Asked once, before anything is appended.
    fn load(&mut self) -> Result<Vec<Entry>, SessionError>;

    /// Adds a record. When this returns, the record survives the end of the process.
    fn append(&mut self, entry: &Entry) -> Result<(), SessionError>;
}

/// Why a session's log cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Another process writes it.
    #[error("the session {id} is in use by process {holder}")]
    Locked {
        /// The session.
        id: String,
        /// The process that holds it; `an unknown one` if it left no trace.
        holder: String,
    },
    /// There is no such session.
    #[error("there is no session `{id}`")]
    NotFound {
        /// The session.
        id: String,
    },
    /// Not an id a session can have.
    #[error("`{id}` cannot name a session: an id is 1 to 128 of `A-Z a-z 0-9 _ -`")]
    InvalidId {
        /// The id.
        id: String,
    },
    /// More than one session's id begins like this.
    #[error("`{prefix}` is the beginning of several sessions: {}", candidates.join(", "))]
    Ambiguous {
        /// The beginning.
        prefix: String,
        /// The sessions, sorted; the first ten.
        candidates: Vec<String>,
    },
    /// A newer version wrote it, in a form this one does not know.
    #[error("{path} has format version {found}; this version reads up to {known}")]
    Version {
        /// The file.
        path: String,
        /// Its version.
        found: u64,
        /// The newest version known.
        known: u64,
    },
    /// A record in the middle cannot be read.
    #[error("{path}, line {line}: not a record of a session: {problem}")]
    Corrupt {
        /// The file.
        path: String,
        /// The line, 1-based.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The store failed.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was tried, e.g. `cannot write`.
        action: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A conversation: its log, and the state that goes with it.
///
/// Everything is in the store before anyone acts on it.
pub struct Session {
    id: String,
    store: Box<dyn SessionStore>,
    messages: Vec<HistoryMessage>,
    variables: Variables,
    usage: Usage,
    last_entry: u64,
    tip: Option<u64>,
    state: SessionState,
    queue: MessageQueue,
    artifacts_dir: Option<PathBuf>,
}

impl Session {
    /// A conversation that is kept nowhere but in memory.
    pub fn in_memory() -> Self {
        Self::empty("memory".to_owned(), Box::new(memory::MemoryStore::default()))
    }

    fn empty(id: String, store: Box<dyn SessionStore>) -> Self {
        Self {
            id,
            store,
            messages: Vec::new(),
            variables: Variables::default(),
            usage: Usage::default(),
            last_entry: 0,
            tip: None,
            state: SessionState::default(),
            queue: MessageQueue::default(),
            artifacts_dir: None,
        }
    }

    /// Opens the conversation a store holds; an empty store gives an empty one.
    ///
    /// Calls that have no result, because the process ended, get one in the log that says they were interrupted.
    pub fn open(id: impl Into<String>, mut store: impl SessionStore + 'static) -> Result<Self, SessionError> {
        let entries = store.load()?;
        let mut session = Self::empty(id.into(), Box::new(store));
        session.last_entry = entries.iter().map(|entry| entry.id).max().unwrap_or(0);
        session.tip = entries.last().map(|entry| entry.id);
        for entry in branch(entries) {
            session.apply(entry.record);
        }
        for result in history::open_calls(&session.messages) {
            session.append(Message::ToolResult(result))?;
        }
        Ok(session)
    }

    /// The same session, with a directory for files that go with it.
    pub fn with_artifacts_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.artifacts_dir = Some(dir.into());
        self
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// All messages of the log's current branch.
    pub fn messages(&self) -> &[HistoryMessage] {
        &self.messages
    }

    /// The variables, as the log has them.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Tokens of all runs so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Where messages for a coming or present run wait.
    pub fn queue(&self) -> &MessageQueue {
        &self.queue
    }

    /// State that tools share between calls of this session.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Where files that go with the session are kept.
    pub fn artifacts_dir(&self) -> Option<&Path> {
        self.artifacts_dir.as_deref()
    }

    /// Adds a message to the log: first to the store, then to what the next request carries.
    pub fn append(&mut self, message: Message) -> Result<(), SessionError> {
        self.record(Record::Message(message))
    }

    /// Adds a record to the log.
    pub fn record(&mut self, record: Record) -> Result<(), SessionError> {
        let entry = Entry { id: self.last_entry + 1, parent: self.tip, record };
        self.store.append(&entry)?;
        self.last_entry = entry.id;
        self.tip = Some(entry.id);
        self.apply(entry.record);
        Ok(())
    }

    fn apply(&mut self, record: Record) {
        match record {
            Record::Message(message) => {
                match &message {
                    Message::Assistant(answer) => self.usage += answer.usage,
                    Message::ToolResult(result) => self.usage += result.usage.unwrap_or_default(),
                    Message::User(_) | Message::Custom(_) => {}
                }
                self.messages.push(message.into());
            }
            Record::ContextUpdated(update) => self.variables.apply(&update),
            Record::ModelChanged { .. } | Record::Label(_) | Record::Unknown(_) => {}
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}

/// The records from the first one to the last one appended, along the parents.
fn branch(entries: Vec<Entry>) -> Vec<Entry> {
    let parents: HashMap<u64, Option<u64>> = entries.iter().map(|entry| (entry.id, entry.parent)).collect();
    let mut on_branch = HashSet::new();
    let mut at = entries.last().map(|entry| entry.id);
    while let Some(id) = at {
        // A parent that repeats would be a circle: a damaged log, read as far as it makes sense.
        if !on_branch.insert(id) {
            break;
        }
        at = parents.get(&id).copied().flatten();
    }
    entries.into_iter().filter(|entry| on_branch.contains(&entry.id)).collect()
}
