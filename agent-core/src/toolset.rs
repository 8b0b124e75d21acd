//! [`Toolset`]: tools by unique name, in order, as a cheap value.

use std::fmt;
use std::sync::Arc;

use crate::context::State;
use crate::tool::{Tool, ToolDefinition};

/// Tools by unique name, in order. A value: every change gives a new one, clones share the tools themselves.
///
/// A name that comes twice is not resolved in silence: the first one stays and [`problems`](Self::problems) says so;
/// an agent does not build from a toolset with problems.
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Vec<ToolsetEntry>,
    problems: Vec<ToolsetError>,
}

#[derive(Clone)]
struct ToolsetEntry {
    definition: Arc<ToolDefinition>,
    tool: Arc<dyn Tool>,
}

/// What is wrong with a toolset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsetError {
    /// Two tools have one name.
    #[error(
        "two tools are named `{name}`: one from {first}, one from {second}; rename one with `#[tool(name = \"…\")]`, or leave one out with `without`"
    )]
    Duplicate {
        /// The name.
        name: String,
        /// Where the first one comes from.
        first: String,
        /// Where the second one comes from.
        second: String,
    },
    /// A name outside the rule.
    #[error("`{name}` cannot name a tool ({source_text}): a name is 1 to 64 of `A-Z a-z 0-9 _ -`")]
    Name {
        /// The name.
        name: String,
        /// Where the tool comes from.
        source_text: String,
    },
    /// A function in `toolset![…]` that is no tool.
    #[error("`{function}` is no tool: put `#[tool]` on the function")]
    NotATool {
        /// The function's path.
        function: &'static str,
    },
    /// A tool needs state that nobody provided.
    #[error("the tool `{tool}` needs `{type_name}`: give the agent one with `{}`", provided_with(type_name))]
    MissingDependency {
        /// The tool.
        tool: String,
        /// The type it needs.
        type_name: &'static str,
    },
    /// More than one thing is wrong; as text, a line for each.
    #[error("{}", lines(.0))]
    Several(Vec<Self>),
}

fn provided_with(type_name: &str) -> &'static str {
    if type_name.starts_with("dyn ") { ".provide_shared(Arc::new(…))" } else { ".provide(…)" }
}

fn lines(errors: &[ToolsetError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl Toolset {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// All `#[tool]` functions linked into this program, sorted by name.
    ///
    /// A crate whose tools nobody names is not linked at all; mention it once (`use my_tools as _;`) to keep it.
    pub fn linked() -> Self {
        let mut functions: Vec<_> = crate::function::linked().collect();
        functions.sort_by_key(|function| (function.name(), function.file(), function.line()));
        functions.into_iter().fold(Self::new(), Self::with)
    }

    /// The same tools and one more, last in order.
    pub fn with(self, tool: impl Tool + 'static) -> Self {
        self.with_shared(Arc::new(tool))
    }

    /// The same tools and one more that is already shared.
    pub fn with_shared(mut self, tool: Arc<dyn Tool>) -> Self {
        let definition = Arc::new(tool.definition());
        self.push(ToolsetEntry { definition, tool });
        self
    }

    pub(crate) fn with_problem(mut self, problem: ToolsetError) -> Self {
        self.problems.push(problem);
        self
    }

    /// These tools, then those of `other`.
    pub fn and(mut self, other: Self) -> Self {
        for entry in other.tools {
            self.push(entry);
        }
        self.problems.extend(other.problems);
        self
    }

    fn push(&mut self, entry: ToolsetEntry) {
        let definition = &entry.definition;
        if !is_tool_name(&definition.name) {
            let (name, source_text) = (definition.name.clone(), definition.source.to_string());
            self.problems.push(ToolsetError::Name { name, source_text });
        } else if let Some((first, _)) = self.get(&definition.name) {
            self.problems.push(ToolsetError::Duplicate {
                name: definition.name.clone(),
                first: first.source.to_string(),
                second: definition.source.to_string(),
            });
        } else {
            self.tools.push(entry);
        }
    }

    /// The same tools without the one of this name.
    pub fn without(self, name: &str) -> Self {
        self.filtered(|definition| definition.name != name)
    }

    /// Those tools that `keep` accepts. Problems of a name that is no longer there are gone too.
    pub fn filtered(mut self, keep: impl Fn(&ToolDefinition) -> bool) -> Self {
        self.tools.retain(|entry| keep(&entry.definition));
        let names: Vec<String> = self.iter().map(|(definition, _)| definition.name.clone()).collect();
        self.problems.retain(|problem| match problem {
            ToolsetError::Duplicate { name, .. } => names.contains(name),
            _ => true,
        });
        self
    }

    /// The same tools, each name with `prefix` before it.
    pub fn prefixed(self, prefix: &str) -> Self {
        let mut prefixed = Self { tools: Vec::new(), problems: self.problems };
        for mut entry in self.tools {
            let definition = Arc::make_mut(&mut entry.definition);
            definition.name = format!("{prefix}{}", definition.name);
            prefixed.push(entry);
        }
        prefixed
    }

    /// No tools and no problems.
    pub fn cleared(self) -> Self {
        Self::new()
    }

    /// The tool of this name, with its definition.
    pub fn get(&self, name: &str) -> Option<(&Arc<ToolDefinition>, &Arc<dyn Tool>)> {
        self.iter().find(|(definition, _)| definition.name == name)
    }

    /// All tools with their definitions, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<ToolDefinition>, &Arc<dyn Tool>)> {
        self.tools.iter().map(|entry| (&entry.definition, &entry.tool))
    }

    /// All definitions, in order.
    pub fn definitions(&self) -> Vec<Arc<ToolDefinition>> {
        self.tools.iter().map(|entry| Arc::clone(&entry.definition)).collect()
    }

    /// What each tool is called by the model and by people, in order.
    pub fn names_and_labels(&self) -> Vec<(&str, &str)> {
        self.iter().map(|(definition, _)| (definition.name.as_str(), definition.label.as_str())).collect()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// What keeps an agent from being built of these tools.
    pub fn problems(&self) -> &[ToolsetError] {
        &self.problems
    }

    /// The problems, and the state that tools need and `state` does not hold: all of them, as
    /// [`Several`](ToolsetError::Several) if there is more than one.
    pub fn check(&self, state: &State) -> Result<(), ToolsetError> {
        let mut errors = self.problems.clone();
        for (definition, _) in self.iter() {
            let missing = definition.dependencies.iter().filter(|dependency| !state.provides(dependency));
            errors.extend(missing.map(|dependency| ToolsetError::MissingDependency {
                tool: definition.name.clone(),
                type_name: dependency.type_name(),
            }));
        }
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(ToolsetError::Several(errors)),
        }
    }
}

impl fmt::Debug for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(definition, _)| &definition.name)).finish()
    }
}

fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The toolset and the tool made of `function`; a function without `#[tool]` is one of the toolset's problems.
pub fn with_function<F: 'static>(tools: Toolset, function: &F) -> Toolset {
    let wanted = crate::function::identity(function);
    match crate::function::linked().find(|tool| (tool.identity)() == wanted) {
        Some(tool) => tools.with(tool),
        None => tools.with_problem(ToolsetError::NotATool { function: std::any::type_name::<F>() }),
    }
}

/// A [`Toolset`] of the named `#[tool]` functions, in this order.
///
/// Functions are named by path, also through a re-export: `toolset![get_weather, weather::get_forecast]`. What is
/// no `#[tool]` becomes one of the toolset's [problems](Toolset::problems).
///
/// ```
/// use agent_core::{tool, toolset};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: f64, b: f64) -> f64 {
///     a + b
/// }
///
/// let tools = toolset![add];
/// assert_eq!(tools.names_and_labels(), [("add", "Add")]);
/// ```
#[macro_export]
macro_rules! toolset {
    ($($function:path),* $(,)?) => {{
        let tools = $crate::Toolset::new();
        $(let tools = $crate::__private::with_function(tools, &$function);)*
        tools
    }};
}

/// Panics unless tools of these names are linked into the program, and says which are not.
///
/// For a test of the program itself: a crate that the program names nowhere is dropped by the linker, and its tools
/// with it.
///
/// ```
/// use agent_core::{assert_linked, tool};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: f64, b: f64) -> f64 {
///     a + b
/// }
///
/// assert_linked!("add");
/// ```
///
/// ```should_panic
/// agent_core::assert_linked!("not_there");
/// ```
#[macro_export]
macro_rules! assert_linked {
    ($($name:expr),+ $(,)?) => {
        $crate::__private::assert_linked(&[$($name),+])
    };
}

/// The check of [`assert_linked!`](crate::assert_linked).
#[doc(hidden)]
#[track_caller]
pub fn assert_linked(names: &[&str]) {
    let linked = Toolset::linked();
    let missing: Vec<&str> = names.iter().copied().filter(|name| linked.get(name).is_none()).collect();
    assert!(
        missing.is_empty(),
        "not linked into this program: {}. Mention their crate once, anywhere: `use that_crate as _;`. Linked are {linked:?}",
        missing.join(", "),
    );
}
