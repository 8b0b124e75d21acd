//! Telling the tool calls of one answer apart, however the server numbers them.

use serde_json::Value;

use super::super::assemble::{Assembler, CallIds};
use super::super::{PartKind, encode, json};

/// The calls of one answer, in order of their first appearance.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    calls: Vec<Call>,
    ids: CallIds<'a>,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    /// The id on the wire; ours may differ.
    id: Option<String>,
    name: String,
    /// What came before the call's part could begin.
    waiting: String,
    part: Option<usize>,
}

/// A piece of a call as it came.
struct Piece<'v> {
    index: Option<u64>,
    id: Option<&'v str>,
    name: Option<&'v str>,
    arguments: String,
    /// The arguments came as JSON, not as text: they are whole.
    whole: bool,
}

impl<'a> Calls<'a> {
    pub(super) fn new(ids: CallIds<'a>) -> Self {
        Self { calls: Vec::new(), ids }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether every call has arguments that can be read: what was cut off in the middle has not.
    pub(super) fn all_complete(&self, parts: &Assembler) -> bool {
        self.calls.iter().all(|call| call.text(parts).trim().is_empty() || call.is_complete(parts))
    }

    /// Takes a piece of a call.
    pub(super) fn take(&mut self, piece: &Value, parts: &mut Assembler) {
        let piece = Piece::of(piece);
        let at = self.place(&piece, parts);
        let call = &mut self.calls[at];
        if piece.index.is_some() {
            call.index = piece.index;
        }
        if let Some(id) = piece.id {
            call.id.get_or_insert_with(|| id.to_owned());
        }
        // Some servers send the whole call once more at its end.
        let repeated = piece.name.is_some() && !piece.arguments.is_empty() && *call.text(parts) == *piece.arguments;
        if repeated && call.is_complete(parts) {
            return;
        }
        match piece.name {
            Some(name) if call.name.is_empty() => name.clone_into(&mut call.name),
            // A name in pieces has no id beside it; a name beside an id is only said again.
            Some(name) if call.name != name && piece.id.is_none() && call.part.is_none() && call.waiting.is_empty() => {
                call.name.push_str(name);
            }
            _ => {}
        }
        // The name is only known to be whole once something follows it.
        let follows = piece.name.is_none() || !piece.arguments.is_empty();
        call.waiting.push_str(&piece.arguments);
        if follows && !call.name.is_empty() {
            self.begin(at, parts);
        }
    }

    /// Begins the calls that are still waiting: nothing more will come.
    pub(super) fn begin_all(&mut self, parts: &mut Assembler) {
        for at in 0..self.calls.len() {
            if self.calls[at].name.is_empty() {
                encode::UNNAMED.clone_into(&mut self.calls[at].name);
            }
            self.begin(at, parts);
        }
    }

    fn begin(&mut self, at: usize, parts: &mut Assembler) {
        let call = &mut self.calls[at];
        let part = *call.part.get_or_insert_with(|| {
            let id = self.ids.give(call.id.as_deref());
            parts.start(PartKind::ToolCall { id, name: call.name.clone() })
        });
        let waiting = std::mem::take(&mut call.waiting);
        parts.add(part, &waiting);
    }

    /// Which call a piece belongs to: by id, then by index, then by order. A new one is made where none fits.
    fn place(&mut self, piece: &Piece<'_>, parts: &Assembler) -> usize {
        let found = match (piece.id, piece.index) {
            (Some(id), index) => self.by_id(id, index, piece, parts),
            (None, Some(_)) => match self.calls.iter().rposition(|call| call.index == piece.index) {
                Some(at) => (!self.begins_another(at, piece, parts)).then_some(at),
                // A new index without a name: the last call went on under another number.
                None if piece.name.is_none() => self.calls.len().checked_sub(1),
                None => None,
            },
            (None, None) => {
                let last = self.calls.len().checked_sub(1);
                last.filter(|&at| {
                    let call = &self.calls[at];
                    let same_name = call.name.is_empty() || piece.name.is_none_or(|name| name == call.name);
                    let name_goes_on = call.id.is_some() && call.waiting.is_empty() && call.part.is_none();
                    (same_name || name_goes_on) && !self.begins_another(at, piece, parts)
                })
            }
        };
        found.unwrap_or_else(|| {
            self.calls.push(Call::default());
            self.calls.len() - 1
        })
    }

    fn by_id(&self, id: &str, index: Option<u64>, piece: &Piece<'_>, parts: &Assembler) -> Option<usize> {
        if let Some(at) = self.calls.iter().rposition(|call| call.id.as_deref() == Some(id)) {
            let moved = index.is_some() && self.calls[at].index.is_some() && self.calls[at].index != index;
            // One id for two calls: the first is complete and another name begins under another number.
            let another = moved && piece.name.is_some() && self.calls[at].is_complete(parts);
            return (!another).then_some(at);
        }
        // The id came after the call's beginning.
        let waiting =
            |call: &Call| call.id.is_none() && (index.is_none() || call.index.is_none() || call.index == index);
        let at = self.calls.len().checked_sub(1)?;
        (waiting(&self.calls[at]) && !self.begins_another(at, piece, parts)).then_some(at)
    }

    /// Whether a piece without an id of its own is the beginning of another call than the one at its place.
    fn begins_another(&self, at: usize, piece: &Piece<'_>, parts: &Assembler) -> bool {
        let call = &self.calls[at];
        let renamed = call.part.is_some() && piece.name.is_some_and(|name| name != call.name);
        let fresh = piece.whole || piece.name.is_some();
        renamed || (fresh && !piece.arguments.is_empty() && call.is_complete(parts))
    }
}

impl Call {
    fn text<'t>(&'t self, parts: &'t Assembler) -> &'t str {
        self.part.map_or(self.waiting.as_str(), |part| parts.text(part))
    }

    fn is_complete(&self, parts: &Assembler) -> bool {
        // The look at the last character spares reading a long text again with each of its pieces.
        let text = self.text(parts).trim_end();
        text.ends_with(['}', '"', ']']) && json::parse(text).is_some()
    }
}

impl<'v> Piece<'v> {
    fn of(piece: &'v Value) -> Self {
        let function = piece.get("function").unwrap_or(piece);
        let (arguments, whole) = match function.get("arguments") {
            None | Some(Value::Null) => (String::new(), false),
            Some(Value::String(text)) => (text.clone(), false),
            Some(other) => (other.to_string(), true),
        };
        let index = json::number(piece, "index");
        Self { index, id: json::text(piece, "id"), name: json::text(function, "name"), arguments, whole }
    }
}
