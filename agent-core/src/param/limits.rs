//! The limits of an argument (`#[arg(range = …)]`, `#[arg(length = …)]`), and the types that can have them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Slot;

/// A type of numbers: what `#[arg(range = …)]` asks of a parameter's type.
#[diagnostic::on_unimplemented(
    message = "`range` limits numbers, and `{Self}` is no type of numbers",
    label = "limits no `{Self}`",
    note = "help: write `length = …` for a text or a list; for a type of your own, put `#[schemars(range(…))]` on it"
)]
pub trait Ranged {}

/// A type of texts, lists or maps: what `#[arg(length = …)]` asks of a parameter's type.
#[diagnostic::on_unimplemented(
    message = "`length` limits texts and lists, and `{Self}` is neither",
    label = "limits no `{Self}`",
    note = "help: write `range = …` for a number; for a type of your own, put `#[schemars(length(…))]` on it"
)]
pub trait Lengthy {}

macro_rules! ranged {
    ($($number:ty),*) => { $(impl Ranged for $number {} #[diagnostic::do_not_recommend] impl Ranged for NonZero<$number> {})* };
}
ranged!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl Ranged for f32 {}
impl Ranged for f64 {}
impl<T: Ranged> Ranged for Option<T> {}

impl Lengthy for str {}
impl Lengthy for String {}
impl Lengthy for Path {}
impl Lengthy for PathBuf {}
impl<T> Lengthy for [T] {}
impl<T> Lengthy for Vec<T> {}
impl<T> Lengthy for VecDeque<T> {}
impl<T> Lengthy for LinkedList<T> {}
impl<T> Lengthy for BTreeSet<T> {}
impl<T, S> Lengthy for HashSet<T, S> {}
impl<K, V> Lengthy for BTreeMap<K, V> {}
impl<K, V, S> Lengthy for HashMap<K, V, S> {}
impl Lengthy for Map<String, Value> {}
impl<T: Lengthy> Lengthy for Option<T> {}
impl<T: Lengthy + ?Sized> Lengthy for Box<T> {}
impl<T: Lengthy + ?Sized> Lengthy for Arc<T> {}
impl<T: Lengthy + ToOwned + ?Sized> Lengthy for Cow<'_, T> {}

/// Asserts that an argument can have a least and a greatest value.
pub fn ranged<T: Ranged>(_: &Slot<T>) {}

/// Asserts that an argument has a length.
pub fn lengthy<T: Lengthy>(_: &Slot<T>) {}

/// The limits of one argument.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    pub(super) minimum: Option<fn() -> Value>,
    pub(super) maximum: Option<fn() -> Value>,
    /// The least length: of a text in characters, of a list in elements.
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
}

impl Limits {
    pub(super) fn describe(&self, facts: &mut Map<String, Value>) {
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                facts.insert(key.to_owned(), value);
            }
        };
        put("minimum", self.minimum.map(|value| value()));
        put("maximum", self.maximum.map(|value| value()));
        put("minLength", self.min_length.map(Value::from));
        put("maxLength", self.max_length.map(Value::from));
    }
}
