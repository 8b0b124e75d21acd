//! Flags, environment and file → [`Config`]. Everything here is a pure function of what it is given.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_core::message::Prices;
use agent_core::{Limits, ModelSettings, RetryPolicy};

use crate::args::RunArgs;
use crate::error::CliError;

pub(crate) mod file;
pub(crate) mod model;

use file::{BashSection, File};
use model::{Named, ProviderConfig};

/// The environment variables and the current directory of the process, as they were when it began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    pub(crate) vars: HashMap<OsString, OsString>,
    pub(crate) current_dir: PathBuf,
}

impl Environment {
    /// What the process was started with.
    pub(crate) fn capture() -> Result<Self, CliError> {
        let current_dir = std::env::current_dir()
            .map_err(|error| CliError::usage("the current directory cannot be used").with_source(error))?;
        Ok(Self { vars: std::env::vars_os().collect(), current_dir })
    }

    /// A variable that is set to something.
    fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A variable that is set to something, which must be text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, CliError> {
        let not_text = || CliError::usage(format!("{name} is not UTF-8 text"));
        self.var(name).map(|value| value.to_str().ok_or_else(not_text)).transpose()
    }

    /// An absolute path in a variable; a relative one counts as not set, as the XDG rules want it.
    fn path(&self, name: &str) -> Option<PathBuf> {
        self.var(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The person's home directory.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.path("HOME").or_else(|| self.path("USERPROFILE"))
    }

    /// Whether the person wants no colours.
    pub(crate) fn no_color(&self) -> bool {
        self.var("NO_COLOR").is_some() || self.var("TERM") == Some(OsStr::new("dumb"))
    }
}

/// Where configuration and sessions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// The configuration file, whether or not it exists.
    pub(crate) config_file: PathBuf,
    /// The directory of all sessions, whether or not it exists.
    pub(crate) sessions: PathBuf,
}

impl Places {
    /// Where they are in this environment.
    pub(crate) fn of(env: &Environment) -> Result<Self, CliError> {
        if let Some(home) = env.var("AGENT_HOME") {
            let home = env.current_dir.join(home);
            return Ok(Self { config_file: home.join("config.toml"), sessions: home.join("sessions") });
        }
        let home = env.home();
        let under = |variable: &str, usual: &str| {
            env.path(variable).or_else(|| Some(home.as_ref()?.join(usual))).map(|base| base.join("agent")).ok_or_else(
                || {
                    CliError::usage("there is no place for configuration and sessions: HOME is not set")
                        .hint("set HOME, or AGENT_HOME to a directory for both")
                },
            )
        };
        Ok(Self {
            config_file: under("XDG_CONFIG_HOME", ".config")?.join("config.toml"),
            sessions: under("XDG_STATE_HOME", ".local/state")?.join("sessions"),
        })
    }
}

/// The text of a configuration file.
#[derive(Debug, Clone)]
pub(crate) struct FileText {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Everything that is decided before a run, but for the model, which [`Config::model`] chooses when one is needed.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) instructions: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) retry: RetryPolicy,
    pub(crate) settings: ModelSettings,
    pub(crate) tools: ToolRules,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no bash tool there"))]
    pub(crate) bash: BashSection,
    pub(crate) prices: BTreeMap<String, Prices>,
    file: PathBuf,
    file_exists: bool,
    named: Option<Named>,
    providers: BTreeMap<String, ProviderConfig>,
}

/// Which tools the model gets, and which calls may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolRules {
    /// Only these are given to the model; `None`: all.
    pub(crate) enabled: Option<NameList>,
    /// Only these may run; `None`: all.
    pub(crate) allow: Option<NameList>,
    /// These may not run.
    pub(crate) deny: Vec<NameList>,
}

/// Names of tools, and who gave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameList {
    pub(crate) names: Vec<String>,
    /// The flag, or the key and its file.
    pub(crate) from: String,
}

impl ToolRules {
    /// Why a call of this tool may not run; `None`: it may.
    pub(crate) fn refusal(&self, tool: &str) -> Option<String> {
        let in_list = |list: &&NameList| list.names.iter().any(|name| name == tool);
        if let Some(list) = self.deny.iter().find(in_list) {
            return Some(format!("Denied: the user does not allow the tool `{tool}` ({}).", list.from));
        }
        let allow = self.allow.as_ref().filter(|list| !in_list(list))?;
        Some(format!("Denied: the user allows only {} ({}).", allow.names.join(", "), allow.from))
    }

    /// All lists of names, to be checked against the tools there are.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &NameList> {
        self.enabled.iter().chain(&self.allow).chain(&self.deny)
    }
}

impl Config {
    /// Puts everything together. Flags win over the environment, and that over the file.
    pub(crate) fn resolve(
        flags: &RunArgs,
        env: &Environment,
        places: &Places,
        text: Option<&FileText>,
    ) -> Result<Self, CliError> {
        let file = text.map(file::parse).transpose()?.unwrap_or_default();
        let config_file = text.map_or_else(|| places.config_file.clone(), |text| text.path.clone());
        let providers = model::providers(&file.providers, env, &config_file)?;
        let named = Named::first([
            ("--model".to_owned(), flags.model.clone()),
            ("AGENT_MODEL".to_owned(), env.text("AGENT_MODEL")?.map(str::to_owned)),
            (format!("`model` in {}", config_file.display()), file.model.clone()),
        ]);
        Ok(Self {
            instructions: flags.instructions.clone().or_else(|| file.instructions.clone()),
            limits: limits(flags, &file),
            retry: retry(&file),
            settings: file.settings.clone(),
            tools: tool_rules(flags, &file, &config_file),
            bash: file.bash,
            prices: file.prices,
            file_exists: text.is_some(),
            file: config_file,
            named,
            providers,
        })
    }

    /// The model to ask, and how to reach it.
    pub(crate) fn model(&self) -> Result<model::ModelChoice, CliError> {
        model::choose(self.named.as_ref(), &self.providers, &self.file, self.file_exists)
    }

    /// The model's prices. A cost limit without them would never be reached, so that is an error.
    pub(crate) fn prices_of(&self, provider: &str, model: &str) -> Result<Option<Prices>, CliError> {
        let name = format!("{provider}/{model}");
        let prices = self.prices.get(&name).copied();
        if prices.is_none() && self.limits.cost.is_some() {
            return Err(CliError::usage(format!("a cost limit needs prices, and those of {name} are not known")).hint(
                format!(
                    "in {}: [prices.\"{name}\"] with input and output in dollars per million tokens",
                    self.file.display()
                ),
            ));
        }
        Ok(prices)
    }
}

fn limits(flags: &RunArgs, file: &File) -> Limits {
    let usual = Limits::default();
    Limits {
        turns: flags.max_turns.or(file.limits.max_turns),
        tokens: flags.max_tokens.or(file.limits.max_tokens),
        cost: flags.max_cost.or(file.limits.max_cost.map(|cost| cost.0)),
        wall_time: flags.timeout.or(file.limits.timeout.map(|seconds| seconds.0)).map(Duration::from_secs_f64),
        error_turns: file.limits.error_turns.or(usual.error_turns),
        repeated_calls: file.limits.repeated_calls.or(usual.repeated_calls),
    }
}

fn retry(file: &File) -> RetryPolicy {
    let usual = RetryPolicy::default();
    let duration = |seconds: Option<file::Positive>, usual| seconds.map_or(usual, |s| Duration::from_secs_f64(s.0));
    RetryPolicy {
        attempts: file.retry.attempts.map_or(usual.attempts, std::num::NonZero::get),
        first_delay: duration(file.retry.first_delay, usual.first_delay),
        longest_delay: duration(file.retry.longest_delay, usual.longest_delay),
    }
}

/// A flag takes the place of the file's list; what the file denies stays denied unless `--allow` names it.
fn tool_rules(flags: &RunArgs, file: &File, config_file: &Path) -> ToolRules {
    let of_flag =
        |names: &Option<Vec<String>>, flag: &str| names.clone().map(|names| NameList { names, from: flag.to_owned() });
    let of_file = |names: &Option<Vec<String>>, key: &str| {
        names.clone().map(|names| NameList { names, from: format!("`tools.{key}` in {}", config_file.display()) })
    };
    let is_all = |list: &NameList| list.names.iter().any(|name| name == "all");
    let allow_flag = of_flag(&flags.allow, "--allow");
    let lifted = |name: &String| allow_flag.as_ref().is_some_and(|list| is_all(list) || list.names.contains(name));
    let mut denied_by_file = of_file(&file.tools.deny, "deny");
    if let Some(list) = &mut denied_by_file {
        list.names.retain(|name| !lifted(name));
    }
    let denied_by_flag =
        (!flags.deny.is_empty()).then(|| NameList { names: flags.deny.clone(), from: "--deny".to_owned() });
    ToolRules {
        enabled: of_flag(&flags.tools, "--tools").or_else(|| of_file(&file.tools.enabled, "enabled")),
        allow: allow_flag.clone().or_else(|| of_file(&file.tools.allow, "allow")).filter(|list| !is_all(list)),
        deny: denied_by_flag.into_iter().chain(denied_by_file).collect(),
    }
}

#[cfg(test)]
mod tests;
