//! A provider whose errors never show a key, whatever the service wrote into them.

use std::sync::Arc;

use agent_core::{ModelEvent, ModelRequest, Provider, ProviderError};
use futures_util::stream::{BoxStream, StreamExt};

/// Shorter ones are words that stand in many texts, and no secrets.
const SHORTEST: usize = 8;

/// Passes on what `inner` gives, with the secrets blacked out where they stand in an error.
pub(crate) struct Discreet {
    inner: Arc<dyn Provider>,
    secrets: Vec<String>,
}

impl Discreet {
    /// A provider that keeps these secrets: its key, and the values of its headers.
    pub(crate) fn new(inner: Arc<dyn Provider>, secrets: impl IntoIterator<Item = String>) -> Self {
        let secrets = secrets.into_iter().map(|secret| secret.trim().to_owned());
        Self { inner, secrets: secrets.filter(|secret| secret.len() >= SHORTEST).collect() }
    }
}

impl Provider for Discreet {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream<'a>(&'a self, request: &'a ModelRequest) -> BoxStream<'a, Result<ModelEvent, ProviderError>> {
        let discreet = |mut error: ProviderError| {
            for secret in &self.secrets {
                error.message = error.message.replace(secret.as_str(), "[secret]");
            }
            error
        };
        self.inner.stream(request).map(move |event| event.map_err(discreet)).boxed()
    }
}
