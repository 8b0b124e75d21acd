//! A store that forgets everything when it is dropped.

use super::{Entry, SessionError, SessionStore};

/// Keeps the log in memory. Clones share it, so that a test can look at what was written, in the order it was.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    entries: std::sync::Arc<std::sync::Mutex<Vec<Entry>>>,
}

impl MemoryStore {
    /// Everything written so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl SessionStore for MemoryStore {
    fn load(&mut self) -> Result<Vec<Entry>, SessionError> {
        Ok(self.entries())
    }

    fn append(&mut self, entry: &Entry) -> Result<(), SessionError> {
        self.lock().push(entry.clone());
        Ok(())
    }
}
