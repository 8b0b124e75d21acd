//! Where everything is put together: the only file that names concrete providers and stores.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use agent_core::context::State;
use agent_core::provider::anthropic::Anthropic;
use agent_core::provider::http::{HttpClient, HttpOptions};
use agent_core::provider::openai::OpenAi;
use agent_core::session::SessionError;
use agent_core::session::jsonl::{JsonlStore, Listing, SessionHeader, SessionLog};
use agent_core::{Agent, Approval, Decision, Provider, Session, ToolCall, ToolDefinition, Toolset};
use agent_tools::Home;
use futures_util::future::BoxFuture;

use crate::args::{DirArg, RunArgs};
use crate::config::file::{self, Protocol};
use crate::config::model::{ModelChoice, ProviderConfig};
use crate::config::{Config, Environment, FileText, Places, ToolRules};
use crate::error::CliError;
use crate::secrets::Discreet;

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

/// All tools there are. Two of one name, or one that needs what nobody provides, are found before any is called.
pub(crate) fn all_tools() -> Result<Toolset, CliError> {
    let tools = agent_tools::coding();
    let checked = tools.check(&State::default());
    checked.map_err(|error| CliError::failed("the tools do not go together").with_source(error))?;
    Ok(tools)
}

/// What tools are given when they are called outside of an agent.
pub(crate) fn tool_state(env: &Environment) -> State {
    let mut state = State::default();
    if let Some(home) = env.home() {
        state.insert(Home(home));
    }
    state
}

/// The agent that the configuration describes.
pub(crate) fn agent(config: &Config, choice: &ModelChoice, env: &Environment, dir: &Path) -> Result<Agent, CliError> {
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
    #[cfg(unix)]
    {
        builder = builder.provide(bash_settings(&config.bash));
    }
    if let Some(home) = env.home() {
        builder = builder.provide(Home(home));
    }
    if let Some(prices) = config.prices_of(&choice.provider.name, &choice.model)? {
        builder = builder.prices(prices);
    }
    builder.build().map_err(|error| CliError::failed("the agent cannot be built").with_source(error))
}

#[cfg(unix)]
fn bash_settings(section: &file::BashSection) -> agent_tools::bash::BashSettings {
    use std::time::Duration;

    use agent_tools::bash::BashSettings;

    let usual = BashSettings::default();
    let duration = |seconds: Option<file::Positive>, usual| seconds.map_or(usual, |s| Duration::from_secs_f64(s.0));
    let default_timeout = duration(section.timeout, usual.default_timeout);
    // A limit above the usual most is meant, so it raises that.
    let max_timeout = duration(section.max_timeout, usual.max_timeout).max(default_timeout);
    BashSettings { default_timeout, max_timeout, allow: section.allow_env.clone(), ..usual }
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

fn provider(config: &ProviderConfig) -> Discreet {
    let key = config.api_key.as_ref().map(|key| key.0.clone());
    let secrets: Vec<String> = key.iter().chain(config.headers.values()).cloned().collect();
    // A server on this machine is never behind a proxy.
    let client = HttpClient::new(HttpOptions { system_proxy: !config.is_local(), ..HttpOptions::default() });
    let provider: Arc<dyn Provider> = match config.protocol {
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
    };
    Discreet::new(provider, secrets)
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
    pub(crate) notices: Vec<String>,
}

/// The session that the flags ask for: a new one, one to go on with, or one that is not kept.
pub(crate) fn session(flags: &RunArgs, places: &Places, dir: &Path) -> Result<Opened, CliError> {
    if flags.no_session {
        return Ok(Opened { session: Session::in_memory(), kept: false, notices: Vec::new() });
    }
    let sessions = &places.sessions;
    let (old, mut notices) = match &flags.resume {
        Some(prefix) => (Some(find_session(places, prefix)?), Vec::new()),
        None if flags.continue_newest => newest_session(places, dir).map(|(id, skipped)| (Some(id), skipped))?,
        None => (None, Vec::new()),
    };
    let id = old.clone().unwrap_or_else(|| session_id(SystemTime::now(), fastrand::u32(..)));
    let store = match old {
        Some(id) => JsonlStore::open(sessions, &id),
        None => JsonlStore::create(sessions, &id, SessionHeader::new(dir).created(timestamp(SystemTime::now()))),
    };
    let store = store.map_err(|error| session_error(error, places))?;
    notices.extend_from_slice(store.notices());
    let artifacts = sessions.join(&id);
    let session = Session::open(id, store).map_err(|error| session_error(error, places))?;
    Ok(Opened { session: session.with_artifacts_dir(artifacts), kept: true, notices })
}

/// All sessions, the one changed last first.
pub(crate) fn sessions(places: &Places) -> Result<Listing, CliError> {
    JsonlStore::list(&places.sessions).map_err(|error| session_error(error, places))
}

/// The records of the session whose id is, or begins with, `prefix`; and its id.
pub(crate) fn read_session(places: &Places, prefix: &str) -> Result<(String, SessionLog), CliError> {
    let id = find_session(places, prefix)?;
    let log = JsonlStore::read(&places.sessions, &id).map_err(|error| session_error(error, places))?;
    Ok((id, log))
}

fn find_session(places: &Places, prefix: &str) -> Result<String, CliError> {
    JsonlStore::find(&places.sessions, prefix).map_err(|error| session_error(error, places))
}

/// The session of this directory that was changed last, and what is wrong with files that might have been it.
fn newest_session(places: &Places, dir: &Path) -> Result<(String, Vec<String>), CliError> {
    let listing = sessions(places)?;
    let wanted = dir.to_string_lossy();
    let newest = listing.sessions.into_iter().find(|head| head.header.working_dir == wanted);
    let skipped: Vec<String> = listing.problems.iter().map(|problem| format!("skipped: {problem}")).collect();
    if let Some(head) = newest {
        return Ok((head.id, skipped));
    }
    let error = CliError::usage(format!("there is no session of {} to go on with", dir.display()));
    Err(skipped.into_iter().fold(error, CliError::hint).hint("all sessions: agent sessions list"))
}

/// A name that is wrong is a matter of the command line; a file that cannot be used is a failure.
fn session_error(error: SessionError, places: &Places) -> CliError {
    match error {
        SessionError::NotFound { id } => {
            let listing = JsonlStore::list(&places.sessions).unwrap_or_default();
            CliError::usage(format!("there is no session `{id}`"))
                .did_you_mean(&id, listing.sessions.iter().map(|head| head.id.as_str()))
                .hint("all sessions: agent sessions list")
        }
        SessionError::InvalidId { .. } | SessionError::Ambiguous { .. } => CliError::usage(error.to_string()),
        SessionError::Locked { .. } => {
            CliError::failed(error.to_string()).hint("wait for it to end, or begin another session")
        }
        error => CliError::failed(error.to_string()),
    }
}

/// An id that sorts by time: `20261201-022345-8f3a1c`, in UTC, with six random hexadecimal digits.
fn session_id(now: SystemTime, random: u32) -> String {
    let time = timestamp(now).replace(['-', ':', 'Z'], "").replace('T', "-");
    format!("{time}-{:06x}", random & 0xff_ffff)
}

/// A time as RFC 3339 writes it, in UTC.
pub(crate) fn timestamp(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn rule_6_1_ids_of_sessions_sort_by_time() {
        for (seconds, id, time) in [
            (0, "19700101-000000-00beef", "1970-01-01T00:00:00Z"),
            (951_782_399, "20000228-235959-00beef", "2000-02-28T23:59:59Z"),
            (951_868_799, "20000229-235959-00beef", "2000-02-29T23:59:59Z"),
            (1_796_091_825, "20261201-022345-00beef", "2026-12-01T02:23:45Z"),
            (4_107_542_400, "21000301-000000-00beef", "2100-03-01T00:00:00Z"),
        ] {
            let moment = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(session_id(moment, 0xff00_beef), id);
            assert_eq!(timestamp(moment), time);
        }
    }
}
