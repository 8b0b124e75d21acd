//! [`FunctionTool`]: a `#[tool]` function as the macro describes it, and the table of those linked into the program.

use std::any::{Any, TypeId};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::future::FutureExt;
use serde_json::{Map, Value};
use tokio_util::task::AbortOnDropHandle;

use crate::context::ToolContext;
use crate::signature::Signature;
use crate::tool::{Effects, Tool, ToolDefinition, ToolError, ToolFuture, ToolOutput, ToolSource};

/// What `#[tool]` makes of a function: constant data and three function pointers.
#[derive(Debug)]
pub struct FunctionTool {
    /// The tool's name.
    pub name: &'static str,
    /// The function's source file, as the compiler names it.
    pub file: &'static str,
    /// The line of the function's `#[tool]`, 1-based.
    pub line: u32,
    /// What the attribute and the doc comment say.
    pub attributes: Attributes,
    /// The function's own type, by which `toolset!` finds the tool.
    pub identity: fn() -> TypeId,
    /// Declares the parameters.
    pub signature: fn(&mut Signature),
    /// Runs the function.
    pub call: fn(ToolContext, Map<String, Value>) -> ToolFuture<'static>,
}

/// The doc comment and the keys of `#[tool(…)]`.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each a word of its own in `#[tool(…)]`")]
pub struct Attributes {
    /// The doc comment, or `description = "…"`.
    pub description: &'static str,
    /// `label = "…"`.
    pub label: Option<&'static str>,
    /// `read_only`.
    pub read_only: bool,
    /// `destructive`.
    pub destructive: bool,
    /// `idempotent`.
    pub idempotent: bool,
    /// `open_world`.
    pub open_world: bool,
    /// `category = "…"`.
    pub category: Option<&'static str>,
    /// `tags = ["…"]`.
    pub tags: &'static [&'static str],
    /// `sequential`.
    pub sequential: bool,
    /// `timeout = "…"`.
    pub timeout: Option<Duration>,
    /// `retries = n`.
    pub retries: u32,
    /// `terminate`.
    pub terminate: bool,
    /// `cold`.
    pub cold: bool,
    /// `hidden`.
    pub hidden: bool,
}

impl Attributes {
    /// A tool of this description and nothing else.
    pub const fn new(description: &'static str) -> Self {
        Self {
            description,
            label: None,
            read_only: false,
            destructive: false,
            idempotent: false,
            open_world: false,
            category: None,
            tags: &[],
            sequential: false,
            timeout: None,
            retries: 0,
            terminate: false,
            cold: false,
            hidden: false,
        }
    }
}

impl FunctionTool {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn file(&self) -> &'static str {
        self.file
    }

    pub(crate) fn line(&self) -> u32 {
        self.line
    }
}

inventory::collect!(FunctionTool);

/// The functions the linker kept, in no particular order.
pub(crate) fn linked() -> impl Iterator<Item = &'static FunctionTool> {
    inventory::iter::<FunctionTool>.into_iter()
}

impl Tool for &'static FunctionTool {
    fn definition(&self) -> ToolDefinition {
        let mut signature = Signature::default();
        (self.signature)(&mut signature);
        let (input_schema, dependencies) = signature.finish();
        let says = &self.attributes;
        let mut definition =
            ToolDefinition::new(self.name).description(says.description.trim_matches('\n')).input_schema(input_schema);
        if let Some(label) = says.label {
            label.clone_into(&mut definition.label);
        }
        definition.effects = Effects {
            read_only: says.read_only,
            destructive: says.destructive,
            idempotent: says.idempotent,
            open_world: says.open_world,
        };
        definition.category = says.category.map(str::to_owned);
        definition.tags = says.tags.iter().map(|&tag| tag.to_owned()).collect();
        definition.sequential = says.sequential;
        definition.timeout = says.timeout;
        definition.retries = says.retries;
        definition.terminate = says.terminate;
        definition.cold = says.cold;
        definition.hidden = says.hidden;
        definition.source = ToolSource::Function { file: self.file, line: self.line };
        definition.dependencies = dependencies;
        definition
    }

    fn call(&self, context: ToolContext, arguments: Map<String, Value>) -> ToolFuture<'_> {
        let call = AssertUnwindSafe((self.call)(context, arguments));
        call.catch_unwind().map(|done| done.unwrap_or_else(|panic| Err(panicked(&*panic)))).boxed()
    }
}

/// Boxes the future of a call; the bound that a future which is not `Send` meets first.
pub fn boxed<F>(call: F) -> ToolFuture<'static>
where
    F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    Box::pin(call)
}

/// Runs a sync function on a thread that may block. A call that is dropped before it began never begins.
pub async fn blocking<F>(call: F) -> Result<ToolOutput, ToolError>
where
    F: FnOnce() -> Result<ToolOutput, ToolError> + Send + 'static,
{
    match AbortOnDropHandle::new(tokio::task::spawn_blocking(call)).await {
        Ok(done) => done,
        Err(error) => Err(match error.try_into_panic() {
            Ok(panic) => panicked(&*panic),
            Err(_) => ToolError::failed("the tool was stopped before it began"),
        }),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ToolError::failed(format!("the tool panicked: {}", text.unwrap_or("no message")))
}

/// The type of a function, which no other function has.
pub fn identity<F: 'static>(_: &F) -> TypeId {
    TypeId::of::<F>()
}
