//! [`Anthropic`]: the Messages protocol.

use std::fmt;

use futures_util::FutureExt;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use super::http::{self, HttpClient, Post, exchange};
use super::{ModelEvent, ModelRequest, Provider, ProviderError};

mod request;
mod stream;

/// The version of the protocol spoken here.
const VERSION: &str = "2023-06-01";

/// A service that speaks the Messages protocol.
#[derive(Clone)]
pub struct Anthropic {
    name: String,
    base_url: String,
    key: Option<String>,
    headers: Vec<(String, String)>,
    style: Style,
    client: HttpClient,
}

/// What of a request is a matter of taste or of the model's age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Style {
    thinking: ThinkingStyle,
    cache_marks: bool,
}

impl Anthropic {
    /// The service at `base_url`, e.g. `https://api.anthropic.com`; a version at its end does no harm.
    ///
    /// `key` is sent as `x-api-key`. A service that wants a bearer token gets it by
    /// [`header("authorization", "Bearer …")`](Self::header).
    pub fn new(base_url: impl Into<String>, key: impl Into<Option<String>>) -> Self {
        Self {
            name: "anthropic".to_owned(),
            base_url: base_url.into(),
            key: key.into(),
            headers: Vec::new(),
            style: Style { thinking: ThinkingStyle::Budget, cache_marks: true },
            client: HttpClient::default(),
        }
    }

    /// The same service under another [name](Provider::name): answers remember it, and get their own thinking back
    /// only from the service of the same name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same service with one more header in each request (`anthropic-beta`, for one), over what would be sent
    /// without it.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same service, told in this way how much the model may think.
    pub fn thinking_style(mut self, style: ThinkingStyle) -> Self {
        self.style.thinking = style;
        self
    }

    /// The same service without marks that tell it what to cache.
    pub fn without_cache_marks(mut self) -> Self {
        self.style.cache_marks = false;
        self
    }

    /// The same service, reached through this client, which may be shared with others.
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = client;
        self
    }

    fn post(&self, request: &ModelRequest) -> Result<Post<'_>, ProviderError> {
        let base = self.base_url.trim().trim_end_matches('/').trim_end_matches("/v1").trim_end_matches('/');
        let url = http::endpoint(&self.name, base, "/v1/messages")?;
        let key = self.key.as_deref().map(str::trim).filter(|key| !key.is_empty()).map(|key| ("x-api-key", key));
        let fixed: Vec<_> = key.into_iter().chain([("anthropic-version", VERSION)]).collect();
        let headers = http::headers(&self.name, &fixed, &self.headers)?;
        let body = request::body(request, &self.name, self.style);
        Ok(Post { service: &self.name, url, headers, body })
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream<'a>(&'a self, request: &'a ModelRequest) -> BoxStream<'a, Result<ModelEvent, ProviderError>> {
        let open = async move { self.client.post(self.post(request)?).await };
        exchange::run(open.boxed(), stream::Decoder::new(&self.name, request))
    }
}

impl fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anthropic")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .field("style", &self.style)
            .finish_non_exhaustive()
    }
}

/// How a model is told how much it may think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingStyle {
    /// With a budget of tokens.
    #[default]
    Budget,
    /// With an effort, within which the model decides for itself: what the newest models want.
    Adaptive,
}
