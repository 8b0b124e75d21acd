//! [`Agent`]: what stays the same between runs. Made by [`AgentBuilder`], immutable, cheap to clone.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::approval::{AllowAll, Approval};
use crate::context::State;
use crate::hooks::Hooks;
use crate::limits::Limits;
use crate::message::{Message, Prices};
use crate::parts::AgentParts;
use crate::provider::{ModelSettings, Provider};
use crate::queue::Delivery;
use crate::run::{self, Run};
use crate::session::Session;
use crate::tool::Tool;
use crate::toolset::{Toolset, ToolsetError};
use crate::turn::RetryPolicy;

/// A model with instructions, tools and limits.
///
/// ```
/// use agent_core::{Agent, Session};
/// use agent_core::provider::scripted::{Reply, ScriptedProvider};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let provider = ScriptedProvider::new([Reply::text("Take an umbrella.")]);
/// let agent = Agent::builder(provider).model("any").build()?;
/// let mut session = Session::in_memory();
/// let outcome = agent.run(&mut session, "What should I take to Oslo?").await?;
/// assert_eq!(outcome.text, "Take an umbrella.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent {
    parts: Arc<AgentParts>,
}

impl Agent {
    /// Begins an agent that asks `provider`.
    pub fn builder(provider: impl Provider + 'static) -> AgentBuilder {
        AgentBuilder {
            parts: AgentParts {
                provider: Arc::new(provider),
                model: String::new(),
                instructions: Arc::from(""),
                tools: Toolset::new(),
                settings: ModelSettings::default(),
                limits: Limits::default(),
                retry: RetryPolicy::default(),
                prices: None,
                hooks: Vec::new(),
                hook_timeout: Duration::from_mins(1),
                approval: Arc::new(AllowAll),
                state: State::default(),
                working_dir: PathBuf::from("."),
                concurrency: 8,
                sequential: false,
                max_result_bytes: 256 * 1024,
                steering: Delivery::default(),
                follow_up: Delivery::default(),
            },
        }
    }

    /// Says something to the model and goes on until it has nothing more to do.
    ///
    /// Nothing happens until the [`Run`] is polled: stream it for events, or await it for the outcome.
    pub fn run<'s>(&self, session: &'s mut Session, prompt: impl Into<Message>) -> Run<'s> {
        run::start(Arc::clone(&self.parts), session, prompt.into())
    }

    /// The tools of the agent, loaded or not.
    pub fn tools(&self) -> &Toolset {
        &self.parts.tools
    }

    /// The model it asks.
    pub fn model(&self) -> &str {
        &self.parts.model
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.parts.model)
            .field("tools", &self.parts.tools)
            .finish_non_exhaustive()
    }
}

/// Builds an [`Agent`].
#[must_use = "an agent comes of `.build()`"]
pub struct AgentBuilder {
    parts: AgentParts,
}

/// Why an agent cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No model was named.
    #[error("no model was named: add `.model(\"…\")`")]
    NoModel,
    /// The tools do not go together, or need state that was not provided.
    #[error(transparent)]
    Tools(#[from] ToolsetError),
}

impl AgentBuilder {
    /// The model, by the service's own name.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.parts.model = model.into();
        self
    }

    /// The system prompt.
    pub fn instructions(mut self, instructions: impl Into<Arc<str>>) -> Self {
        self.parts.instructions = instructions.into();
        self
    }

    /// These tools, after those given before.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.parts.tools = self.parts.tools.and(tools);
        self
    }

    /// One more tool.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.parts.tools = self.parts.tools.with(tool);
        self
    }

    /// How the model is to answer.
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.parts.settings = settings;
        self
    }

    /// When a run ends though the model would go on.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.parts.limits = limits;
        self
    }

    /// How failed requests are sent again.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.parts.retry = policy;
        self
    }

    /// What tokens cost, so that usage has a cost and a cost limit has an effect.
    pub fn prices(mut self, prices: Prices) -> Self {
        self.parts.prices = Some(prices);
        self
    }

    /// One more set of hooks, asked after those given before.
    pub fn hooks(mut self, hooks: impl Hooks + 'static) -> Self {
        self.parts.hooks.push(Arc::new(hooks));
        self
    }

    /// The longest a hook may take; 60 s unless said.
    pub fn hook_timeout(mut self, limit: Duration) -> Self {
        self.parts.hook_timeout = limit;
        self
    }

    /// Who decides whether a call may run; unless said, every call may.
    pub fn approval(mut self, approval: impl Approval + 'static) -> Self {
        self.parts.approval = Arc::new(approval);
        self
    }

    /// Application state, which tools take as [`Dep<T>`](crate::Dep).
    pub fn provide<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.parts.state.insert(value);
        self
    }

    /// Application state that is already shared, also a trait object: `Arc<dyn Clock>` for `Dep<dyn Clock>`.
    pub fn provide_shared<T: Send + Sync + ?Sized + 'static>(mut self, value: Arc<T>) -> Self {
        self.parts.state.insert_shared(value);
        self
    }

    /// The directory tools mean relative paths from; the process's own unless said.
    pub fn working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.parts.working_dir = dir.into();
        self
    }

    /// Most calls that run side by side; 8 unless said.
    pub fn concurrency(mut self, most: usize) -> Self {
        self.parts.concurrency = most;
        self
    }

    /// Every call runs alone, in the order the model made them.
    pub fn sequential(mut self) -> Self {
        self.parts.sequential = true;
        self
    }

    /// Most bytes of text a single result may have; 256 KiB unless said. The rest is cut, and the model told so.
    pub fn max_result_bytes(mut self, most: usize) -> Self {
        self.parts.max_result_bytes = most;
        self
    }

    /// How many steering and follow-up messages are delivered at once; one each unless said.
    pub fn delivery(mut self, steering: Delivery, follow_up: Delivery) -> Self {
        self.parts.steering = steering;
        self.parts.follow_up = follow_up;
        self
    }

    /// The agent, if it is complete and its tools have all they need.
    pub fn build(self) -> Result<Agent, BuildError> {
        if self.parts.model.is_empty() {
            return Err(BuildError::NoModel);
        }
        self.parts.tools.check(&self.parts.state)?;
        Ok(Agent { parts: Arc::new(self.parts) })
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder").field("model", &self.parts.model).finish_non_exhaustive()
    }
}
