//! What may stand as a parameter of a `#[tool]` function: [`Param`], [`Inject`], [`Lend`].
//!
//! The macro never reads a type's name. Each parameter becomes a [`Slot`] whose one bound, [`Param`], is met either from
//! the model (`Deserialize + JsonSchema`) or from the agent ([`Inject`]); the compiler infers which.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::context::{CallId, CancellationToken, Dep, Dependency, Progress, ToolContext};
use crate::schema;
use crate::signature::Signature;
use crate::tool::ToolError;

mod limits;

use limits::Limits;
pub use limits::{lengthy, ranged};

/// A value that the agent hands to a tool; it is never in the tool's schema and the model cannot set it.
///
/// Implement it to give tools something of your own made from the [`ToolContext`]. A type that is also
/// `Deserialize + JsonSchema` would be ambiguous; hand such a one in as [`Dep`].
///
/// ```
/// use agent_core::{Inject, ToolContext, ToolError, tool};
///
/// struct Attempt(u64);
///
/// impl Inject for Attempt {
///     fn inject(context: &ToolContext) -> Result<Self, ToolError> {
///         Ok(Self(context.variables().get("attempt").and_then(|value| value.as_u64()).unwrap_or(1)))
///     }
/// }
///
/// /// Which attempt is this?
/// #[tool]
/// fn which_attempt(attempt: Attempt) -> u64 {
///     attempt.0
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something the agent can inject",
    label = "not injectable",
    note = "implement `agent_core::Inject` for it, or take it as `Dep<{Self}>` and give it to the agent with `.provide(…)`"
)]
pub trait Inject: Sized + 'static {
    /// The value for one call.
    fn inject(context: &ToolContext) -> Result<Self, ToolError>;

    /// What must have been provided for that; checked when the agent is built.
    fn dependencies() -> Vec<Dependency> {
        Vec::new()
    }
}

impl Inject for ToolContext {
    fn inject(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(context.clone())
    }
}

impl Inject for CancellationToken {
    fn inject(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(context.cancellation().clone())
    }
}

impl Inject for Progress {
    fn inject(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(context.progress_sink().clone())
    }
}

impl Inject for CallId {
    fn inject(context: &ToolContext) -> Result<Self, ToolError> {
        Ok(Self(context.call_id().to_owned()))
    }
}

impl<T: ?Sized + 'static> Inject for Dep<T> {
    fn inject(context: &ToolContext) -> Result<Self, ToolError> {
        // An agent does not build without it, so this is for callers that bring their own context.
        context
            .state()
            .ok_or_else(|| ToolError::fatal(format!("nobody provided `{}`", Dependency::of::<T>().type_name())))
    }

    fn dependencies() -> Vec<Dependency> {
        vec![Dependency::of::<T>()]
    }
}

/// A type that may be a parameter of a tool. `Source`, the model or the agent, is inferred.
///
/// Not to be implemented: a type gets it from `Deserialize + JsonSchema`, or from [`Inject`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "neither readable from the model's arguments nor injectable",
    note = "help: for an argument the model fills in, add `#[derive(serde::Deserialize, schemars::JsonSchema)]` to `{Self}`",
    note = "help: for state the program owns, write `Dep<{Self}>` and give it to the agent with `.provide(…)`"
)]
pub trait Param<Source>: Sized + 'static {
    #[doc(hidden)]
    fn declare(slot: &Slot<Self>, signature: &mut Signature);

    #[doc(hidden)]
    fn take(slot: &Slot<Self>, call: &mut Call) -> Result<Self, Refused>;
}

/// A value that can go to the thread a call runs on. Apart from [`Param`], so that each gets an error of its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool: calls run on other threads",
    label = "cannot be sent to another thread",
    note = "help: what a `Dep` holds is shared by all calls: put what changes into a `Mutex`, not into a `RefCell` or `Cell`; a trait object needs `trait …: Send + Sync`",
    note = "help: anything else must be `Send`: `Arc` instead of `Rc`, for example"
)]
pub trait Carried {}

// The part that is not `Send` would be named instead, without saying what to do.
#[diagnostic::do_not_recommend]
impl<T: Send + 'static> Carried for T {}

/// The type itself, and no type at all if it is not `Send`: nothing else is then said about it.
pub trait Known {
    /// The type itself.
    type Type;
}

impl<T: Carried> Known for T {
    type Type = T;
}

/// Marks a [`Param`] the model fills in.
#[derive(Debug)]
pub enum FromModel {}

/// Marks a [`Param`] the agent fills in.
#[derive(Debug)]
pub enum FromAgent {}

impl<T: Inject> Param<FromAgent> for T {
    fn declare(_: &Slot<Self>, signature: &mut Signature) {
        signature.depends_on(T::dependencies());
    }

    fn take(_: &Slot<Self>, call: &mut Call) -> Result<Self, Refused> {
        T::inject(&call.context).map_err(|error| {
            call.failure.get_or_insert(error);
            Refused
        })
    }
}

impl<T: DeserializeOwned + JsonSchema + 'static> Param<FromModel> for T {
    fn declare(slot: &Slot<Self>, signature: &mut Signature) {
        let required = slot.default.is_none() && absent::<T>().is_none();
        signature.argument::<T>(slot.name, required, &slot.facts());
    }

    fn take(slot: &Slot<Self>, call: &mut Call) -> Result<Self, Refused> {
        let value = match (call.arguments.shift_remove(slot.name), slot.default) {
            (None, Some(default)) => return Ok(default()),
            // A model that spells an optional argument out as `null` means to leave it out.
            (Some(Value::Null), Some(default)) => {
                return Ok(serde_json::from_value(Value::Null).unwrap_or_else(|_| default()));
            }
            (None, None) => {
                return absent::<T>()
                    .ok_or_else(|| call.refuse(format!("{}: expected {}, got nothing", slot.name, expected::<T>())));
            }
            (Some(value), _) => value,
        };
        serde_json::from_value(value)
            .map_err(|error| call.refuse(format!("{}: {}", slot.name, in_our_words(&error.to_string()))))
    }
}

/// A type that can be read from the model's arguments; what `#[arg(…)]` asks of a parameter's type.
#[diagnostic::on_unimplemented(
    message = "`#[arg(…)]` describes an argument of the model, and `{Self}` cannot be read from one",
    label = "not an argument of the model",
    note = "help: remove `#[arg(…)]` from an injected parameter",
    note = "help: for an argument, add `#[derive(serde::Deserialize, schemars::JsonSchema)]` to `{Self}`"
)]
pub trait Argument<Source>: Param<FromModel> {}

impl<T: Param<FromModel>> Argument<FromModel> for T {}
impl<T: Never> Argument<FromAgent> for T {}

/// An argument whose values can be shown in the schema, as a default or an example.
#[diagnostic::on_unimplemented(
    message = "a parameter of type `{Self}` cannot have a default or an example",
    label = "not an argument of the model that can be shown in the schema",
    note = "help: the model reads both in the schema: add `#[derive(serde::Serialize)]` to `{Self}`, next to `Deserialize` and `JsonSchema`",
    note = "help: remove `#[arg(…)]` from an injected parameter"
)]
pub trait ShownArgument<Source>: Param<FromModel> + Serialize {}

impl<T: Param<FromModel> + Serialize> ShownArgument<FromModel> for T {}
impl<T: Never> ShownArgument<FromAgent> for T {}

/// Implemented by nothing. With a second impl to choose from, the compiler reports the trait itself, once, and not
/// each bound of the only impl.
pub trait Never: Param<FromModel> + Serialize {}

/// What a text in `default = "…"` or `example = "…"` turns into.
#[diagnostic::on_unimplemented(
    message = "a text cannot be a default or an example of type `{Self}`",
    label = "not made from a text",
    note = "help: write a value of type `{Self}`, without quotes if it is a number"
)]
pub trait FromText: Sized {
    #[doc(hidden)]
    fn from_text(text: &'static str) -> Self;
}

// The impls of `From` that rustc would list instead are those of all crates in the tree.
#[diagnostic::do_not_recommend]
impl<T: From<&'static str>> FromText for T {
    fn from_text(text: &'static str) -> Self {
        text.into()
    }
}

/// A type that a tool can borrow: `&str`, `&Path`, `&[T]` and any `&T`.
///
/// `Owned` is read from the arguments or injected; the function gets a reference to it.
#[diagnostic::on_unimplemented(
    message = "a tool cannot borrow `{Self}`",
    label = "has no owned counterpart",
    note = "help: `&str`, `&Path`, `&[T]` and `&T` of a sized type can be borrowed; take anything else owned"
)]
pub trait Lend {
    /// What holds the value while the function runs.
    type Owned;

    /// The reference the function gets.
    fn lend(owned: &Self::Owned) -> &Self;
}

impl Lend for str {
    type Owned = String;

    fn lend(owned: &String) -> &str {
        owned
    }
}

impl Lend for Path {
    type Owned = PathBuf;

    fn lend(owned: &PathBuf) -> &Path {
        owned
    }
}

impl<T> Lend for [T] {
    type Owned = Vec<T>;

    fn lend(owned: &Vec<T>) -> &[T] {
        owned
    }
}

impl<T> Lend for T {
    type Owned = T;

    fn lend(owned: &T) -> &T {
        owned
    }
}

/// One parameter of a tool, as the macro describes it.
pub struct Slot<T> {
    name: &'static str,
    description: Option<&'static str>,
    default: Option<fn() -> T>,
    shown: Option<fn(&T) -> Value>,
    example: Option<fn() -> T>,
    limits: Limits,
    declare: fn(&Self, &mut Signature),
    take: fn(&Self, &mut Call) -> Result<T, Refused>,
}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A parameter of either source.
pub fn param<T: Param<Source>, Source>(name: &'static str) -> Slot<T> {
    Slot {
        name,
        description: None,
        default: None,
        shown: None,
        example: None,
        limits: Limits::default(),
        declare: T::declare,
        take: T::take,
    }
}

/// A parameter with `#[arg(…)]`: an argument of the model.
pub fn argument<T: Argument<Source>, Source>(name: &'static str) -> Slot<T> {
    param::<T, FromModel>(name)
}

/// An argument with a default or an example.
pub fn shown_argument<T: ShownArgument<Source>, Source>(name: &'static str) -> Slot<T> {
    Slot { shown: Some(shown), ..param::<T, FromModel>(name) }
}

impl<T> Slot<T> {
    /// The same slot with a description for the model.
    pub fn description(self, description: &'static str) -> Self {
        Self { description: Some(description), ..self }
    }

    /// The same slot with the value of an argument that is left out.
    pub fn default(self, default: fn() -> T) -> Self {
        Self { default: Some(default), ..self }
    }

    /// The same slot with an example.
    pub fn example(self, example: fn() -> T) -> Self {
        Self { example: Some(example), ..self }
    }

    /// The same slot with a least and a greatest value.
    pub fn range(self, minimum: Option<fn() -> Value>, maximum: Option<fn() -> Value>) -> Self {
        Self { limits: Limits { minimum, maximum, ..self.limits }, ..self }
    }

    /// The same slot with a least and a greatest length.
    pub fn length(self, min_length: Option<usize>, max_length: Option<usize>) -> Self {
        Self { limits: Limits { min_length, max_length, ..self.limits }, ..self }
    }

    /// Adds the parameter to the schema or to the dependencies.
    pub fn declare(&self, signature: &mut Signature) {
        (self.declare)(self, signature);
    }

    /// The value for one call.
    pub fn take(&self, call: &mut Call) -> Result<T, Refused> {
        (self.take)(self, call)
    }

    fn facts(&self) -> Map<String, Value> {
        let mut facts = Map::new();
        if let Some(description) = self.description {
            facts.insert("description".to_owned(), description.trim_matches('\n').into());
        }
        if let (Some(shown), Some(default)) = (self.shown, self.default) {
            facts.insert("default".to_owned(), shown(&default()));
        }
        if let (Some(shown), Some(example)) = (self.shown, self.example) {
            facts.insert("examples".to_owned(), Value::Array(vec![shown(&example())]));
        }
        self.limits.describe(&mut facts);
        facts
    }
}

/// The JSON of a default or an example. A value that cannot be JSON (a map with odd keys) is shown as `null`.
pub fn shown<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The arguments of one call while they are handed out to the parameters.
#[derive(Debug)]
pub struct Call {
    context: ToolContext,
    arguments: Map<String, Value>,
    known: &'static [&'static str],
    problems: Vec<String>,
    failure: Option<ToolError>,
}

/// An argument could not be had; [`Call::finish`] says why.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the arguments do not fit")]
pub struct Refused;

impl Call {
    /// A call whose parameters are still to be taken.
    pub fn new(context: ToolContext, arguments: Map<String, Value>, known: &'static [&'static str]) -> Self {
        Self { context, arguments, known, problems: Vec::new(), failure: None }
    }

    fn refuse(&mut self, problem: String) -> Refused {
        self.problems.push(problem);
        Refused
    }

    /// All problems at once, when every parameter has had its turn; what is left over nobody asked for.
    pub fn finish(mut self) -> Result<(), ToolError> {
        for name in self.arguments.keys() {
            self.problems.push(unknown_argument(name, self.known));
        }
        match (self.problems.is_empty(), self.failure) {
            (false, _) => Err(ToolError::retry(self.problems.join("\n"))),
            (true, Some(failure)) => Err(failure),
            (true, None) => Ok(()),
        }
    }
}

fn unknown_argument(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return format!("{name}: unknown argument; the tool takes none");
    }
    let near = schema::nearest(name, known.iter().copied());
    let guess = near.first().map(|known| format!("did you mean `{known}`? ")).unwrap_or_default();
    format!("{name}: unknown argument; {guess}known are {}", known.join(", "))
}

/// The value of a `T` that is left out, if it may be (`Option` and what wraps one).
fn absent<T: DeserializeOwned>() -> Option<T> {
    struct Absent;

    impl<'de> Deserializer<'de> for Absent {
        type Error = serde::de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(serde::de::Error::custom("missing"))
        }

        fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            visitor.visit_none()
        }

        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            visitor.visit_newtype_struct(self)
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
            seq tuple tuple_struct map struct enum identifier ignored_any
        }
    }

    T::deserialize(Absent).ok()
}

fn expected<T: JsonSchema>() -> String {
    let schema = T::json_schema(&mut SchemaGenerator::default());
    match schema.get("type").and_then(Value::as_str) {
        Some(kind @ ("array" | "integer" | "object")) => format!("an {kind}"),
        Some(kind) => format!("a {kind}"),
        None => "a value".to_owned(),
    }
}

/// `invalid type: string "x", expected u32` is `expected u32, got string "x"`.
fn in_our_words(error: &str) -> String {
    let strip = |prefix| error.strip_prefix(prefix);
    strip("invalid type: ")
        .or_else(|| strip("invalid value: "))
        .or_else(|| strip("unknown variant "))
        .and_then(|rest| rest.split_once(", expected "))
        .map_or_else(|| error.to_owned(), |(got, expected)| format!("expected {expected}, got {got}"))
}
