//! [`Path`]: where in the arguments a check stands, kept on the stack so that a check that passes allocates nothing.

use std::fmt;

use serde_json::Value;

/// How deep checks follow a schema. Beyond it everything fits.
const DEPTH: usize = 256;

/// The way from the root to a value.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    step: Step<'a>,
    depth: usize,
    /// The last reference followed at this very place, and where the check stood before.
    reference: Option<(&'a Path<'a>, &'a Value)>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(super) const ROOT: Path<'static> = Path { step: Step::Root, depth: 0, reference: None };

    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { step: Step::Key(self, key), depth: self.depth + 1, reference: None }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { step: Step::Index(self, index), depth: self.depth + 1, reference: None }
    }

    /// The same place, seen from one schema deeper.
    pub(super) fn deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..*self }
    }

    /// The same place, seen from the schema a reference names; `None` if that schema has led here already: a circle
    /// asks for nothing more.
    pub(super) fn through(&'a self, target: &'a Value) -> Option<Self> {
        let mut at = self;
        while let Some((before, followed)) = at.reference {
            if std::ptr::eq(followed, target) {
                return None;
            }
            at = before;
        }
        Some(Self { depth: self.depth + 1, reference: Some((self, target)), ..*self })
    }

    pub(super) fn is_too_deep(&self) -> bool {
        self.depth > DEPTH
    }

    /// The path as people write it, without the `$` of the root.
    pub(super) fn plain(&self) -> String {
        let full = self.to_string();
        let plain = full.strip_prefix("$.").or_else(|| full.strip_prefix('$')).unwrap_or(&full);
        if plain.is_empty() { full } else { plain.to_owned() }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Step::Root => f.write_str("$"),
            Step::Key(parent, key) if is_plain(key) => write!(f, "{parent}.{key}"),
            Step::Key(parent, key) => write!(f, "{parent}[{}]", Value::from(key)),
            Step::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}
