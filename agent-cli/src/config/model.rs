//! Which model is asked, where it is, and with what key.

use std::collections::BTreeMap;
use std::path::Path;

use agent_core::provider::openai::Quirks;

use super::Environment;
use super::file::{ApiKey, Protocol, ProviderSection};
use crate::error::CliError;

/// The model to ask, and how to reach it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelChoice {
    pub(crate) provider: ProviderConfig,
    /// By the service's own name.
    pub(crate) model: String,
}

/// How to reach a model service.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProviderConfig {
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    /// `None`: the service's own.
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<ApiKey>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) quirks: Option<Quirks>,
    default_model: Option<String>,
    /// The variables and keys that were looked at for a key and an address.
    looked_for: Vec<String>,
}

impl ProviderConfig {
    /// Whether it can be asked: there is a key, or a server on this machine that needs none.
    fn is_usable(&self) -> bool {
        self.api_key.is_some() || self.is_local()
    }

    /// Whether the server is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.base_url.as_deref().is_some_and(is_loopback)
    }
}

/// A model as somebody named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The flag, variable, or key and file.
    from: String,
    value: String,
}

impl Named {
    /// The first one of these that is there.
    pub(crate) fn first(choices: impl IntoIterator<Item = (String, Option<String>)>) -> Option<Self> {
        choices.into_iter().find_map(|(from, value)| Some(Self { from, value: value? }))
    }
}

/// What is known of the two services before anybody says anything.
struct BuiltIn {
    name: &'static str,
    protocol: Protocol,
    key_var: &'static str,
    url_var: &'static str,
    default_model: &'static str,
}

const BUILT_IN: [BuiltIn; 2] = [
    BuiltIn {
        name: "openai",
        protocol: Protocol::OpenAi,
        key_var: "OPENAI_API_KEY",
        url_var: "OPENAI_BASE_URL",
        default_model: "gpt-5",
    },
    BuiltIn {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        key_var: "ANTHROPIC_API_KEY",
        url_var: "ANTHROPIC_BASE_URL",
        default_model: "claude-sonnet-4-5",
    },
];

/// All providers, by name: the built-in ones as environment and file change them, and those of the file.
pub(crate) fn providers(
    sections: &BTreeMap<String, ProviderSection>,
    env: &Environment,
    config_file: &Path,
) -> Result<BTreeMap<String, ProviderConfig>, CliError> {
    let none = ProviderSection::default();
    let mut providers = BTreeMap::new();
    for name in BUILT_IN.iter().map(|built_in| built_in.name).chain(sections.keys().map(String::as_str)) {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == name);
        let section = sections.get(name).unwrap_or(&none);
        let provider = provider(name, section, built_in, env, config_file)?;
        providers.insert(name.to_owned(), provider);
    }
    Ok(providers)
}

fn provider(
    name: &str,
    section: &ProviderSection,
    built_in: Option<&BuiltIn>,
    env: &Environment,
    config_file: &Path,
) -> Result<ProviderConfig, CliError> {
    let place = format!("[providers.{name}] in {}", config_file.display());
    let protocol = section.protocol.or(built_in.map(|built_in| built_in.protocol)).ok_or_else(|| {
        CliError::usage(format!("{place} needs `protocol`")).hint("protocol = \"openai\" or \"anthropic\"")
    })?;
    let mut looked_for = Vec::new();
    let mut variable = |name: &str| {
        looked_for.push(name.to_owned());
        env.text(name)
    };
    let key_var = section.api_key_env.as_deref().or(built_in.map(|built_in| built_in.key_var));
    let key_in_env = key_var.map(&mut variable).transpose()?.flatten();
    let url_in_env = built_in.map(|built_in| variable(built_in.url_var)).transpose()?.flatten();
    let base_url = url_in_env.or(section.base_url.as_deref());
    if let Some(url) = base_url
        && !(url.starts_with("http://") || url.starts_with("https://"))
    {
        let from = match built_in {
            Some(built_in) if url_in_env.is_some() => built_in.url_var.to_owned(),
            _ => format!("`base_url` of {place}"),
        };
        return Err(
            CliError::usage(format!("{from} is not an address: `{url}`")).hint("it begins with http:// or https://")
        );
    }
    if base_url.is_none() && built_in.is_none() {
        return Err(CliError::usage(format!("{place} needs `base_url`")));
    }
    looked_for.push(format!("`api_key` of {place}"));
    Ok(ProviderConfig {
        name: name.to_owned(),
        protocol,
        base_url: base_url.map(str::to_owned),
        api_key: key_in_env.map(|key| ApiKey(key.to_owned())).or_else(|| section.api_key.clone()),
        headers: section.headers.clone(),
        quirks: section.quirks.clone(),
        default_model: section.default_model.clone().or_else(|| built_in.map(|b| b.default_model.to_owned())),
        looked_for,
    })
}

/// The model that was named; without one, the default model of the only provider that can be asked.
pub(crate) fn choose(
    named: Option<&Named>,
    providers: &BTreeMap<String, ProviderConfig>,
    config_file: &Path,
    config_exists: bool,
) -> Result<ModelChoice, CliError> {
    let Some(named) = named else {
        return only_usable(providers, config_file, config_exists);
    };
    let known: Vec<&str> = providers.keys().map(String::as_str).collect();
    let (name, model) = match named.value.split_once('/') {
        Some((name, model)) if !name.is_empty() && !model.is_empty() => (name, model),
        _ => {
            return Err(CliError::usage(format!("{}: `{}` is not PROVIDER/NAME", named.from, named.value))
                .hint(format!("write the provider too, e.g. openai/{}", named.value.trim_matches('/')))
                .hint(format!("providers: {}", known.join(", "))));
        }
    };
    let provider = providers.get(name).ok_or_else(|| {
        CliError::usage(format!("{}: there is no provider `{name}`", named.from))
            .did_you_mean(name, known.iter().copied())
            .hint(format!("providers: {}", known.join(", ")))
            .hint(format!("another one is added in {}: [providers.{name}]", config_file.display()))
    })?;
    if !provider.is_usable() {
        return Err(three_ways(missing_key(provider), &[provider]));
    }
    Ok(ModelChoice { provider: provider.clone(), model: model.to_owned() })
}

fn only_usable(
    providers: &BTreeMap<String, ProviderConfig>,
    config_file: &Path,
    config_exists: bool,
) -> Result<ModelChoice, CliError> {
    let usable: Vec<&ProviderConfig> = providers.values().filter(|provider| provider.is_usable()).collect();
    match usable.as_slice() {
        [] => {
            let all: Vec<&ProviderConfig> = providers.values().collect();
            let mut error = CliError::usage("there is no model to talk to: no key and no server was found");
            for provider in &all {
                error =
                    error.hint(format!("looked for {} (provider {})", provider.looked_for.join(", "), provider.name));
            }
            let exists = if config_exists { "" } else { " (no such file)" };
            Err(three_ways(error.hint(format!("looked in {}{exists}", config_file.display())), &all))
        }
        [provider] => match &provider.default_model {
            Some(model) => Ok(ModelChoice { provider: (*provider).clone(), model: model.clone() }),
            None => Err(CliError::usage(format!("no model is named, and {} has no `default_model`", provider.name))
                .hint(format!("name one: --model {}/NAME", provider.name))),
        },
        several => {
            let names: Vec<&str> = several.iter().map(|provider| provider.name.as_str()).collect();
            let mut error = CliError::usage(format!(
                "no model is named, and several providers could be asked: {}",
                names.join(", ")
            ))
            .hint("name one with --model, AGENT_MODEL, or `model` in the configuration, e.g.");
            for provider in several {
                let model = provider.default_model.as_deref().unwrap_or("NAME");
                error = error.hint(format!("  agent --model {}/{model} …", provider.name));
            }
            Err(error)
        }
    }
}

fn missing_key(provider: &ProviderConfig) -> CliError {
    let error = CliError::usage(format!("there is no key for the provider {}", provider.name));
    error.hint(format!("looked for {}", provider.looked_for.join(", ")))
}

fn three_ways(error: CliError, providers: &[&ProviderConfig]) -> CliError {
    let keys: Vec<&str> = providers.iter().filter_map(|p| p.looked_for.first()).map(String::as_str).collect();
    let keys: Vec<&str> = keys.into_iter().filter(|name| !name.starts_with('`')).collect();
    let key = match keys.as_slice() {
        [] => "put `api_key` into the configuration (empty for a server that needs none)".to_owned(),
        keys => format!("set a key: export {}=…", keys.join("=…  or  export ")),
    };
    error
        .hint("three ways to go on:")
        .hint(format!("  1. {key}"))
        .hint("  2. use a server on this machine: export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 and --model openai/NAME")
        .hint("  3. see it work without either: agent demo")
}

/// Whether an address is on this machine.
fn is_loopback(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    if let Some(rest) = host_and_port.strip_prefix('[') {
        return rest.split(']').next() == Some("::1");
    }
    let host = host_and_port.split(':').next().unwrap_or_default();
    let is_v4_loopback = host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    host.eq_ignore_ascii_case("localhost") || is_v4_loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_6_3_only_this_machine_needs_no_key() {
        for (url, expected) in [
            ("http://127.0.0.1:8080/v1", true),
            ("http://127.8.9.1", true),
            ("http://localhost:11434", true),
            ("http://[::1]:8080/v1", true),
            ("https://user@localhost/v1", true),
            ("http://127.0.0.1.example.org/v1", false),
            ("http://127.0.0.1@example.org/v1", false),
            ("http://localhost.example.org", false),
            ("https://example.org/?at=localhost", false),
            ("http://192.168.1.2/v1", false),
        ] {
            assert_eq!(is_loopback(url), expected, "{url}");
        }
    }
}
