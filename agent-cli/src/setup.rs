//! Where everything is put together: the only file that names concrete providers and stores.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::provider::anthropic::Anthropic;
use agent_core::provider::http::{HttpClient, HttpOptions};
use agent_core::provider::openai::OpenAi;
use agent_core::{Agent, Approval, Decision, Provider, Session, ToolCall, ToolDefinition, Toolset};
use futures_util::future::BoxFuture;

use crate::args::{DirArg, RunArgs};
use crate::config::file::{self, Protocol};
use crate::config::model::{ModelChoice, ProviderConfig};
use crate::config::{Config, Environment, FileText, Places, ToolRules};
use crate::error::CliError;

/// What the model is told first, unless the person says otherwise.
const INSTRUCTIONS: &str = "\
You are a coding agent on the command line. You work in the current directory with the tools you are given.

Look before you change anything: read the files concerned. Make the smallest change that does what was asked, in the \
style of what is there. When something can be checked (a test, a build, a run), check it, and say what came of it. \
Nobody answers questions while you work: where something is open, decide, and say how. When you are done, say briefly \
what you did and what is left.";

/// The configuration, from flags, environment and file.
pub(crate) fn config(flags: &RunArgs, env: &Environment, places: &Places) -> Result<Config, CliError> {
    let (path, must_exist) = match &flags.config {
        Some(path) => (env.current_dir.join(path), true),
        None => (places.config_file.clone(), false),
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => Some(FileText { path, text }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => None,
        Err(error) => return Err(file::unreadable(&path, error)),
    };
    Config::resolve(flags, env, places, text.as_ref())
}

/// The directory to work in, without symbolic links, so that a session finds its directory again.
pub(crate) fn working_dir(arg: &DirArg, env: &Environment) -> Result<PathBuf, CliError> {
    let dir = arg.dir.as_ref().map_or_else(|| env.current_dir.clone(), |dir| env.current_dir.join(dir));
    let failed = |error| CliError::usage(format!("cannot work in {}", dir.display())).with_source(error);
    let dir = fs::canonicalize(&dir).map_err(failed)?;
    if dir.is_dir() { Ok(dir) } else { Err(failed(io::Error::from(io::ErrorKind::NotADirectory))) }
}

/// All tools there are.
pub(crate) fn all_tools() -> Result<Toolset, CliError> {
    Ok(agent_tools::coding())
}

/// The agent that the configuration describes.
pub(crate) fn agent(config: &Config, choice: &ModelChoice, dir: &Path) -> Result<Agent, CliError> {
    let tools = all_tools()?;
    known_names(&config.tools, &tools)?;
    let enabled = config.tools.enabled.as_ref();
    let tools = tools.filtered(|tool| enabled.is_none_or(|list| list.names.contains(&tool.name)));
    let mut builder = Agent::builder(provider(&choice.provider))
        .model(&choice.model)
        .instructions(config.instructions.as_deref().unwrap_or(INSTRUCTIONS))
        .tools(tools)
        .working_dir(dir)
        .settings(config.settings.clone())
        .limits(config.limits.clone())
        .retry(config.retry.clone())
        .approval(Rules(config.tools.clone()));
    if let Some(prices) = config.prices_of(&choice.provider.name, &choice.model)? {
        builder = builder.prices(prices);
    }
    builder.build().map_err(|error| CliError::failed("the agent cannot be built").with_source(error))
}

/// A name of a tool that is not there would silently do nothing.
fn known_names(rules: &ToolRules, tools: &Toolset) -> Result<(), CliError> {
    let known: Vec<&str> = tools.names_and_labels().into_iter().map(|(name, _)| name).collect();
    for list in rules.lists() {
        if let Some(unknown) = list.names.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(CliError::usage(format!("{}: there is no tool `{unknown}`", list.from))
                .did_you_mean(unknown, known.iter().copied())
                .hint(format!("tools: {}", known.join(", "))));
        }
    }
    Ok(())
}

fn provider(config: &ProviderConfig) -> Arc<dyn Provider> {
    let key = config.api_key.as_ref().map(|key| key.0.clone());
    // A server on this machine is never behind a proxy.
    let client = HttpClient::new(HttpOptions { system_proxy: !config.is_local(), ..HttpOptions::default() });
    match config.protocol {
        Protocol::OpenAi => {
            let url = config.base_url.as_deref().unwrap_or("https://api.openai.com/v1");
            let provider = OpenAi::new(url, key).name(&config.name).with_client(client);
            let provider = match &config.quirks {
                Some(quirks) => provider.quirks(quirks.clone()),
                None => provider,
            };
            Arc::new(config.headers.iter().fold(provider, |provider, (name, value)| provider.header(name, value)))
        }
        Protocol::Anthropic => {
            let url = config.base_url.as_deref().unwrap_or("https://api.anthropic.com");
            let provider = Anthropic::new(url, key).name(&config.name).with_client(client);
            Arc::new(config.headers.iter().fold(provider, |provider, (name, value)| provider.header(name, value)))
        }
    }
}

/// Allows and denies by the person's rules. It never asks: nobody is there to answer.
struct Rules(ToolRules);

impl Approval for Rules {
    fn decide<'a>(&'a self, _: &'a ToolCall, tool: &'a ToolDefinition) -> BoxFuture<'a, Decision> {
        let decision = match self.0.refusal(&tool.name) {
            Some(reason) => Decision::Deny { reason },
            None => Decision::Allow,
        };
        Box::pin(std::future::ready(decision))
    }
}

/// A session that a run can go on with.
pub(crate) struct Opened {
    pub(crate) session: Session,
    /// Whether it is kept when the process ends.
    pub(crate) kept: bool,
    /// What the person should know about it.
    pub(crate) notice: Option<String>,
}

/// The session that the flags ask for: a new one, one to go on with, or one that is not kept.
pub(crate) fn session(flags: &RunArgs, _places: &Places, _dir: &Path) -> Result<Opened, CliError> {
    let _ = flags;
    Ok(Opened { session: Session::in_memory(), kept: false, notice: None })
}
