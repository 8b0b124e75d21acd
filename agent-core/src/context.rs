//! What a tool may reach while it runs: [`ToolContext`], typed application state ([`Dep`]), progress, run variables.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
pub use tokio_util::sync::CancellationToken;

use crate::message::{Content, ContextUpdate};

/// Everything a tool may reach while one call runs. Cheap to clone.
///
/// A tool asks for it with a parameter of type `&ToolContext` or `ToolContext`.
#[derive(Clone)]
pub struct ToolContext {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    call_id: CallId,
    tool_name: String,
    working_dir: PathBuf,
    artifacts_dir: Option<PathBuf>,
    cancellation: CancellationToken,
    progress: Progress,
    state: State,
    session_state: SessionState,
    variables: Variables,
}

impl ToolContext {
    /// A context for a call outside an agent: for tests, and for programs that call tools themselves.
    ///
    /// The working directory is `working_dir`; nothing is provided, nobody listens to progress.
    pub fn new(working_dir: impl Into<PathBuf>) -> Self {
        Self {
            inner: Arc::new(Inner {
                call_id: CallId("call".to_owned()),
                tool_name: String::new(),
                working_dir: working_dir.into(),
                artifacts_dir: None,
                cancellation: CancellationToken::new(),
                progress: Progress::ignored(),
                state: State::default(),
                session_state: SessionState::default(),
                variables: Variables::default(),
            }),
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }

    /// The same context for another call.
    pub fn with_call(self, call_id: impl Into<String>, tool_name: impl Into<String>) -> Self {
        let (call_id, tool_name) = (CallId(call_id.into()), tool_name.into());
        self.change(|inner| {
            inner.call_id = call_id;
            inner.tool_name = tool_name;
        })
    }

    /// The same context with another cancellation token.
    pub fn with_cancellation(self, token: CancellationToken) -> Self {
        self.change(|inner| inner.cancellation = token)
    }

    /// The same context with another receiver of progress.
    pub fn with_progress(self, progress: Progress) -> Self {
        self.change(|inner| inner.progress = progress)
    }

    /// The same context with other application state.
    pub fn with_state(self, state: State) -> Self {
        self.change(|inner| inner.state = state)
    }

    /// The same context with the session's state.
    pub fn with_session_state(self, state: SessionState) -> Self {
        self.change(|inner| inner.session_state = state)
    }

    /// The same context with other run variables.
    pub fn with_variables(self, variables: Variables) -> Self {
        self.change(|inner| inner.variables = variables)
    }

    /// The same context with a directory for files that go with the session.
    pub fn with_artifacts_dir(self, dir: Option<PathBuf>) -> Self {
        self.change(|inner| inner.artifacts_dir = dir)
    }

    /// The id of this call, unique within the conversation.
    pub fn call_id(&self) -> &str {
        &self.inner.call_id
    }

    /// The name under which the tool was called.
    pub fn tool_name(&self) -> &str {
        &self.inner.tool_name
    }

    /// The directory relative paths are meant from.
    pub fn working_dir(&self) -> &Path {
        &self.inner.working_dir
    }

    /// Where a tool may leave files that go with the session (full outputs); `None`: nowhere, use a temporary file.
    pub fn artifacts_dir(&self) -> Option<&Path> {
        self.inner.artifacts_dir.as_deref()
    }

    /// The signal that this call is to stop.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.inner.cancellation
    }

    /// Whether this call is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancellation.is_cancelled()
    }

    /// Reports progress to whoever watches the run; free when nobody does.
    pub fn progress(&self, update: impl Into<ProgressUpdate>) {
        self.inner.progress.report(update);
    }

    /// The receiver of progress, to be moved elsewhere.
    pub fn progress_sink(&self) -> &Progress {
        &self.inner.progress
    }

    /// Application state of type `T`, if the agent was given some.
    ///
    /// A parameter of type [`Dep<T>`] is the same, checked when the agent is built.
    pub fn state<T: ?Sized + 'static>(&self) -> Option<Dep<T>> {
        self.inner.state.get()
    }

    /// State of type `T` that lives as long as the session, made on first use.
    ///
    /// All calls of a session share it: what a tool must remember between calls belongs here.
    pub fn session_state<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.inner.session_state.get_or_default()
    }

    /// The run's variables, as they were when this batch of calls began.
    pub fn variables(&self) -> &Variables {
        &self.inner.variables
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call_id", &self.inner.call_id)
            .field("tool_name", &self.inner.tool_name)
            .field("working_dir", &self.inner.working_dir)
            .finish_non_exhaustive()
    }
}

/// The id of the call a tool runs for, as an injected parameter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallId(pub(crate) String);

impl Deref for CallId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Application state handed to a tool: what was given to [`AgentBuilder::provide`](crate::AgentBuilder::provide).
///
/// As a parameter, `db: Dep<Database>` is filled by its type and never appears in the tool's schema. A trait object,
/// `clock: Dep<dyn Clock>` of a `trait Clock: Send + Sync`, is given as an `Arc<dyn Clock>` to
/// [`AgentBuilder::provide_shared`](crate::AgentBuilder::provide_shared).
/// An agent whose tools need a type that nobody provided does not build.
pub struct Dep<T: ?Sized>(pub Arc<T>);

impl<T> Dep<T> {
    /// Wraps a value, as for a test that calls a tool's function directly.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T: ?Sized> Clone for Dep<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: ?Sized> Deref for Dep<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for Dep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A type some tool needs as [`Dep`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    id: TypeId,
    name: &'static str,
}

impl Dependency {
    /// The dependency on `T`.
    pub fn of<T: ?Sized + 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// The type's name, for people.
    pub fn type_name(&self) -> &'static str {
        self.name
    }
}

/// Application state by type: at most one value of each.
#[derive(Clone, Default)]
pub struct State {
    /// By `TypeId` of `T`, an `Arc<T>`.
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl State {
    /// Adds a value; a second one of the same type takes the first one's place.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.insert_shared(Arc::new(value));
    }

    /// Adds a value that is already shared, also as a trait object: an `Arc<dyn Clock>` for `Dep<dyn Clock>`.
    pub fn insert_shared<T: Send + Sync + ?Sized + 'static>(&mut self, value: Arc<T>) {
        self.values.insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of type `T`.
    pub fn get<T: ?Sized + 'static>(&self) -> Option<Dep<T>> {
        self.values.get(&TypeId::of::<T>())?.downcast_ref::<Arc<T>>().cloned().map(Dep)
    }

    /// Whether the dependency is met.
    pub fn provides(&self, dependency: &Dependency) -> bool {
        self.values.contains_key(&dependency.id)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("types", &self.values.len()).finish()
    }
}

/// What tools keep between the calls of one session, by type. Shared by all clones.
#[derive(Clone, Default)]
pub struct SessionState {
    values: Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

impl SessionState {
    /// The value of type `T`, made on first use.
    pub fn get_or_default<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        // The key is the value's own type, so the cast holds; a fresh value is the harmless answer otherwise.
        Arc::clone(value).downcast::<T>().unwrap_or_default()
    }
}

impl fmt::Debug for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionState").finish_non_exhaustive()
    }
}

/// One report of progress from a running tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgressUpdate {
    /// What to show now.
    pub content: Vec<Content>,
    /// Data for a front end that knows this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<&str> for ProgressUpdate {
    fn from(text: &str) -> Self {
        Self { content: vec![Content::text(text)], details: None }
    }
}

impl From<String> for ProgressUpdate {
    fn from(text: String) -> Self {
        Self { content: vec![Content::text(text)], details: None }
    }
}

impl From<Content> for ProgressUpdate {
    fn from(content: Content) -> Self {
        Self { content: vec![content], details: None }
    }
}

impl From<fmt::Arguments<'_>> for ProgressUpdate {
    fn from(text: fmt::Arguments<'_>) -> Self {
        Self::from(text.to_string())
    }
}

/// Where a tool reports its progress; also an injected parameter.
#[derive(Clone)]
pub struct Progress {
    receiver: Option<Arc<dyn Fn(ProgressUpdate) + Send + Sync>>,
}

impl Progress {
    /// Hands every report to `receiver`, on whatever thread the tool runs.
    pub fn to(receiver: impl Fn(ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self { receiver: Some(Arc::new(receiver)) }
    }

    /// Drops every report unread.
    pub fn ignored() -> Self {
        Self { receiver: None }
    }

    /// Reports progress.
    pub fn report(&self, update: impl Into<ProgressUpdate>) {
        if let Some(receiver) = &self.receiver {
            receiver(update.into());
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("heard", &self.receiver.is_some()).finish()
    }
}

/// The variables of a run: JSON values by name, changed only by [`ContextUpdate`]s, kept in the session's log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Variables {
    values: Arc<Map<String, Value>>,
}

impl Variables {
    /// The value of a variable.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// All variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.values.iter()
    }

    /// Applies one change.
    pub fn apply(&mut self, update: &ContextUpdate) {
        let values = Arc::make_mut(&mut self.values);
        match update {
            ContextUpdate::Set { key, value } => {
                values.insert(key.clone(), value.clone());
            }
            ContextUpdate::Merge { key, value } => {
                merge(values.entry(key.clone()).or_insert(Value::Null), value);
            }
            ContextUpdate::Append { key, value } => {
                let entry = values.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
                match entry {
                    Value::Array(list) => list.push(value.clone()),
                    other => *other = Value::Array(vec![other.take(), value.clone()]),
                }
            }
            ContextUpdate::Delete { key } => {
                values.shift_remove(key);
            }
        }
    }
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}
