//! [`OpenAi`]: the Chat Completions protocol, which nearly every server and gateway speaks.

use std::fmt;

use futures_util::FutureExt;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use super::http::exchange;
use super::http::{self, HttpClient, Post};
use super::{ErrorKind, ModelEvent, ModelRequest, Provider, ProviderError};

mod calls;
mod request;
mod stream;

/// A service that speaks Chat Completions.
///
/// What a server does differently from others is told by its [`Quirks`]; how it is reached and how long it is waited
/// for, by its [`HttpClient`].
#[derive(Clone)]
pub struct OpenAi {
    name: String,
    base_url: String,
    key: Option<String>,
    headers: Vec<(String, String)>,
    quirks: Quirks,
    client: HttpClient,
}

impl OpenAi {
    /// The service at `base_url`, the version included: `https://api.openai.com/v1`, `http://127.0.0.1:11434/v1`.
    ///
    /// `key` is sent as a bearer token; local servers need none.
    pub fn new(base_url: impl Into<String>, key: impl Into<Option<String>>) -> Self {
        let base_url = base_url.into();
        Self {
            name: "openai".to_owned(),
            quirks: Quirks::known(&base_url),
            base_url,
            key: key.into(),
            headers: Vec::new(),
            client: HttpClient::default(),
        }
    }

    /// The same service under another [name](Provider::name): answers remember it, and get their own reasoning back
    /// only from the service of the same name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same service with one more header in each request, over what would be sent without it.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same service with these deviations from the protocol.
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// The same service, reached through this client, which may be shared with others.
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = client;
        self
    }

    fn post(&self, request: &ModelRequest) -> Result<Post<'_>, ProviderError> {
        let base = self.base_url.trim().trim_end_matches('/').trim_end_matches("/chat/completions");
        let url = http::endpoint(&self.name, base, "/chat/completions")?;
        let bearer =
            self.key.as_deref().filter(|key| !key.trim().is_empty()).map(|key| format!("Bearer {}", key.trim()));
        let key: Vec<_> = bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let headers = http::headers(&self.name, &key, &self.headers)?;
        let body = request::body(request, &self.name, &self.quirks);
        Ok(Post { service: &self.name, url, headers, body })
    }

    /// Adds which quirk to set, where the server refuses something that not every server knows.
    fn advise(mut error: ProviderError) -> ProviderError {
        const ADVICE: [(&str, &str); 6] = [
            ("stream_options", "stream_options = false"),
            ("parallel_tool_calls", "parallel_tool_calls unset"),
            ("max_completion_tokens", "max_tokens_field = \"max_completion_tokens\" or \"max_tokens\""),
            ("max_tokens", "max_tokens_field = \"max_completion_tokens\" or \"max_tokens\""),
            ("developer", "developer_role = false"),
            ("strict", "strict = false"),
        ];
        if error.kind == ErrorKind::BadRequest
            && let Some((_, advice)) = ADVICE.iter().find(|(field, _)| error.message.contains(field))
        {
            error.message += "; if this server does not know the field, set its quirk ";
            error.message += advice;
        }
        error
    }
}

impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream<'a>(&'a self, request: &'a ModelRequest) -> BoxStream<'a, Result<ModelEvent, ProviderError>> {
        let open = async move { self.client.post(self.post(request)?).await.map_err(Self::advise) };
        let decoder = stream::Decoder::new(&self.name, self.quirks.think_tags, request);
        exchange::run(open.boxed(), decoder)
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .field("quirks", &self.quirks)
            .finish_non_exhaustive()
    }
}

/// Where a server deviates from the protocol, and what it may be sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of a configuration file, read by name")]
pub struct Quirks {
    /// The field that carries the limit of output tokens.
    pub max_tokens_field: MaxTokensField,
    /// Whether the server is asked for token figures (`stream_options`).
    pub stream_options: bool,
    /// Whether instructions are sent as the `developer` instead of the `system`.
    pub developer_role: bool,
    /// What is sent as `parallel_tool_calls`; nothing unless set.
    pub parallel_tool_calls: Option<bool>,
    /// Whether tools are declared `strict`, so that the server enforces their schemas.
    pub strict: bool,
    /// Whether an answer that only calls tools is sent back with empty text instead of `null`.
    pub empty_content: bool,
    /// Whether tool results may hold images; where not, they follow in a message of their own.
    pub images_in_tool_messages: bool,
    /// Which answers are sent back with their reasoning.
    pub send_reasoning: SendReasoning,
    /// Whether `<think>…</think>` at the beginning of an answer is taken for reasoning.
    pub think_tags: bool,
    /// Whether call ids are sent as nine letters and digits, as Mistral wants them.
    pub nine_character_ids: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            max_tokens_field: MaxTokensField::MaxTokens,
            stream_options: true,
            developer_role: false,
            parallel_tool_calls: None,
            strict: false,
            empty_content: false,
            images_in_tool_messages: false,
            send_reasoning: SendReasoning::WithCalls,
            think_tags: true,
            nine_character_ids: false,
        }
    }
}

impl Quirks {
    /// What is known of the service at this address, whom [`OpenAi::new`] meets with the same; the defaults otherwise.
    pub fn known(base_url: &str) -> Self {
        let mut quirks = Self::default();
        if base_url.contains("://api.openai.com") {
            quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        }
        quirks.nine_character_ids = base_url.contains("://api.mistral.ai");
        quirks
    }
}

/// The field that carries the limit of output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`, which most servers know.
    MaxTokens,
    /// `max_completion_tokens`, which `OpenAI`'s reasoning models want.
    MaxCompletionTokens,
}

/// Which answers are sent back with their reasoning. Only the service and model that gave it ever gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendReasoning {
    /// None.
    Never,
    /// Those that call tools: what services want that have to go on with a thought.
    WithCalls,
    /// All.
    Always,
}
