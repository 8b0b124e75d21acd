//! The configuration file: its keys, and errors that name file, line, column and the nearest key.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;

use agent_core::ModelSettings;
use agent_core::message::Prices;
use agent_core::provider::openai::Quirks;
use serde::{Deserialize, Deserializer};

use super::FileText;
use crate::error::CliError;

/// Everything the file may say.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    /// The model, as `provider/name`.
    pub(crate) model: Option<String>,
    /// The system prompt, in place of the built-in one.
    pub(crate) instructions: Option<String>,
    pub(crate) limits: LimitsSection,
    pub(crate) retry: RetrySection,
    /// How the model is to answer.
    pub(crate) settings: ModelSettings,
    pub(crate) tools: ToolsSection,
    pub(crate) bash: BashSection,
    /// Providers by name: new ones, and changes to the built-in `openai` and `anthropic`.
    pub(crate) providers: BTreeMap<String, ProviderSection>,
    /// Prices by `provider/name`.
    pub(crate) prices: BTreeMap<String, Prices>,
}

/// `[limits]`: when a run ends though the model would go on.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsSection {
    pub(crate) max_turns: Option<u32>,
    pub(crate) max_tokens: Option<u64>,
    /// In US dollars.
    pub(crate) max_cost: Option<Positive>,
    /// In seconds.
    pub(crate) timeout: Option<Positive>,
    /// Turns in a row in which every call failed.
    pub(crate) error_turns: Option<u32>,
    /// Turns in a row that make the very same calls.
    pub(crate) repeated_calls: Option<u32>,
}

/// `[retry]`: how failed requests are sent again.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RetrySection {
    /// Most attempts for one answer, the first one included.
    pub(crate) attempts: Option<NonZero<u32>>,
    /// The pause before the second attempt, in seconds.
    pub(crate) first_delay: Option<Positive>,
    /// The longest pause, in seconds.
    pub(crate) longest_delay: Option<Positive>,
}

/// `[tools]`: which tools the model gets, and which calls may run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolsSection {
    pub(crate) enabled: Option<Vec<String>>,
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) deny: Option<Vec<String>>,
}

/// `[bash]`: how the bash tool runs commands.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(not(unix), expect(dead_code, reason = "there is no bash tool there"))]
pub(crate) struct BashSection {
    /// Seconds a command may take unless the model says otherwise.
    pub(crate) timeout: Option<Positive>,
    /// The most seconds the model may ask for.
    pub(crate) max_timeout: Option<Positive>,
    /// Variables that commands see although they look like secrets; `NAME*` stands for all that begin like this.
    pub(crate) allow_env: Vec<String>,
}

/// `[providers.NAME]`: how to reach a model service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderSection {
    pub(crate) protocol: Option<Protocol>,
    /// E.g. `http://127.0.0.1:11434/v1`.
    pub(crate) base_url: Option<String>,
    /// The key itself; empty for a service that needs none.
    pub(crate) api_key: Option<ApiKey>,
    /// The environment variable that holds the key.
    pub(crate) api_key_env: Option<String>,
    /// Headers sent with every request.
    pub(crate) headers: BTreeMap<String, String>,
    /// Where a Chat Completions server deviates from the protocol.
    pub(crate) quirks: Option<Quirks>,
    /// The model to ask when none is named.
    pub(crate) default_model: Option<String>,
}

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Protocol {
    /// `OpenAI` Chat Completions, which most servers speak.
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

/// A secret. It has no `Display`, and its `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct ApiKey(pub(crate) String);

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// A number above 0 and below a thousand million, whole or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Positive(pub(crate) f64);

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        if number.is_finite() && number > 0.0 && number < 1e9 {
            Ok(Self(number))
        } else {
            Err(serde::de::Error::custom("a number above 0 is expected"))
        }
    }
}

/// Reads the file's text.
pub(crate) fn parse(file: &FileText) -> Result<File, CliError> {
    toml::from_str(&file.text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let (line, column) = position(&file.text, start);
        let place = format!("{}:{line}:{column}", file.path.display());
        match UnknownKey::of(error.message()) {
            Some(UnknownKey { key, known }) => {
                let error = CliError::usage(format!("{place}: unknown key `{key}`"))
                    .did_you_mean(&key, known.iter().map(String::as_str));
                if known.is_empty() { error } else { error.hint(format!("keys here: {}", known.join(", "))) }
            }
            None => CliError::usage(format!("{place}: {}", error.message().trim().replace('\n', ", "))),
        }
    })
}

/// An explicitly named file that cannot be read, or the usual one that exists and cannot be.
pub(crate) fn unreadable(path: &std::path::Path, error: std::io::Error) -> CliError {
    CliError::usage(format!("the configuration file {} cannot be read", PathBuf::from(path).display()))
        .with_source(error)
}

/// What serde says of a key it does not know: ``unknown field `modle`, expected one of `model`, `instructions` ``.
struct UnknownKey {
    key: String,
    known: Vec<String>,
}

impl UnknownKey {
    fn of(message: &str) -> Option<Self> {
        let rest = message.strip_prefix("unknown field ")?;
        let mut names = rest.split('`').skip(1).step_by(2).map(str::to_owned);
        Some(Self { key: names.next()?, known: names.collect() })
    }
}

/// Line and column (in characters) of a byte offset, both from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
