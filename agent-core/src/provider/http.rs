//! [`HttpClient`]: what the wire protocols send their requests with. One client keeps its connections between requests.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use rustls::crypto::ring;

use super::{ErrorKind, ProviderError};

pub(crate) mod exchange;
pub(crate) mod failure;

/// Of the body of an answer that is an error, no more than this is read.
const LONGEST_ERROR_BODY: usize = 64 * 1024;

/// A service has this long to finish telling what is wrong.
const ERROR_BODY_LIMIT: Duration = Duration::from_secs(3);

/// How an [`HttpClient`] connects and how long it waits. There is no limit on a whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// The longest time to connect, TLS included; 10 s.
    pub connect_timeout: Duration,
    /// The longest time from the request to the answer's first byte; 10 minutes, as a model on a CPU reads its prompt
    /// before it says anything.
    pub first_byte_timeout: Duration,
    /// The longest silence within an answer; 5 minutes. A keep-alive comment breaks the silence.
    pub idle_timeout: Duration,
    /// Whether the proxy that the environment or the system names is used; not unless asked for.
    pub system_proxy: bool,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(5),
            system_proxy: false,
        }
    }
}

/// An HTTP/1.1 client that keeps connections alive, never follows a redirect and trusts the system's certificates.
///
/// Cheap to clone; clones share their connections. TLS is rustls with ring, set up for this client alone: no
/// process-wide choice is made.
#[derive(Debug, Clone, Default)]
pub struct HttpClient {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    options: HttpOptions,
    // Reading the system's certificates takes milliseconds: not done for a server that is spoken to in the clear.
    plain: OnceLock<Client>,
    secure: OnceLock<Client>,
}

/// The pieces of an answer's body as they arrive, each within its time limit.
pub(crate) type Chunks = BoxStream<'static, Result<Bytes, ProviderError>>;

/// A request that only waits for being sent.
#[derive(Debug)]
pub(crate) struct Post<'a> {
    /// The service's name, for messages.
    pub(crate) service: &'a str,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl HttpClient {
    /// A client with these options. Nothing is opened or read before the first request.
    pub fn new(options: HttpOptions) -> Self {
        Self { shared: Arc::new(Shared { options, ..Shared::default() }) }
    }

    /// Sends a request; gives the body of a good answer.
    pub(crate) async fn post(&self, post: Post<'_>) -> Result<Chunks, ProviderError> {
        let options = &self.shared.options;
        let Post { service, url, headers, body } = post;
        let send = self.client(&url)?.post(url.clone()).headers(headers).body(body).send();
        let response = match tokio::time::timeout(options.first_byte_timeout, send).await {
            Err(_) => return Err(silence(service, options.first_byte_timeout)),
            Ok(Err(error)) => return Err(unreachable(service, &url, error)),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_success() {
            return Ok(chunks(service, response, options));
        }
        if status.is_redirection() {
            return Err(redirected(service, &url, &response));
        }
        let headers = response.headers().clone();
        Err(failure::from_answer(service, status, &headers, &error_body(response).await))
    }

    fn client(&self, url: &Url) -> Result<&Client, ProviderError> {
        let options = &self.shared.options;
        let secure = url.scheme() == "https" || options.system_proxy;
        let cell = if secure { &self.shared.secure } else { &self.shared.plain };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let client = build(options, secure)?;
        Ok(cell.get_or_init(|| client))
    }
}

fn build(options: &HttpOptions, secure: bool) -> Result<Client, ProviderError> {
    let broken = |what: &dyn std::fmt::Display| {
        ProviderError::new(ErrorKind::Connection, format!("the HTTP client cannot be set up: {what}"))
    };
    let crypto = Arc::new(ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&crypto))
        .with_safe_default_protocol_versions()
        .map_err(|error| broken(&error))?;
    let mut tls = if secure {
        let verifier = rustls_platform_verifier::Verifier::new(crypto).map_err(|error| broken(&error))?;
        // Rustls calls every verifier but its own dangerous; this one is the system's.
        tls.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
    } else {
        tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
    };
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(options.connect_timeout)
        .tcp_nodelay(true)
        .user_agent(concat!("agent-core/", env!("CARGO_PKG_VERSION")));
    let client = if options.system_proxy { client } else { client.no_proxy() };
    client.build().map_err(|error| broken(&root_cause(error)))
}

fn chunks(service: &str, response: Response, options: &HttpOptions) -> Chunks {
    let state = (response, options.first_byte_timeout, options.idle_timeout, service.to_owned());
    let chunks = stream::try_unfold(state, |(mut response, limit, idle, service)| async move {
        match tokio::time::timeout(limit, response.chunk()).await {
            Err(_) => Err(silence(&service, limit)),
            Ok(Ok(Some(chunk))) => Ok(Some((chunk, (response, idle, idle, service)))),
            Ok(Ok(None)) => Ok(None),
            Ok(Err(error)) => Err(ProviderError::new(
                ErrorKind::Cut,
                format!("{service}: the connection broke in the middle of the answer: {}", root_cause(error)),
            )),
        }
    });
    chunks.boxed()
}

/// As much of an error's body as is worth reading.
async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= LONGEST_ERROR_BODY {
                break;
            }
        }
    };
    // A body that does not end is no reason to lose what it said so far.
    let _ = tokio::time::timeout(ERROR_BODY_LIMIT, read).await;
    body.truncate(LONGEST_ERROR_BODY);
    body
}

fn silence(service: &str, limit: Duration) -> ProviderError {
    ProviderError::new(ErrorKind::Idle, format!("{service}: nothing came for {limit:?}"))
}

fn unreachable(service: &str, url: &Url, error: reqwest::Error) -> ProviderError {
    let (problem, advice) = if error.is_connect() && error.is_timeout() {
        ("no connection in time to", "check the address and the network")
    } else if error.is_connect() {
        ("cannot connect to", "check that the server runs and that the address is right")
    } else {
        ("no answer from", "the server closed the connection or does not speak HTTP")
    };
    let message = format!("{service}: {problem} {}: {}; {advice}", shown(url), root_cause(error));
    ProviderError::new(ErrorKind::Connection, message)
}

fn redirected(service: &str, url: &Url, response: &Response) -> ProviderError {
    let status = response.status().as_u16();
    let target = response.headers().get(header::LOCATION).map_or("nowhere".into(), |target| {
        super::json::bounded(&String::from_utf8_lossy(target.as_bytes()), 300).into_owned()
    });
    let message = format!(
        "{service}: {} redirects to {target} (HTTP {status}); redirects are not followed, as they would carry the key \
         along: set the base URL to the right address",
        shown(url)
    );
    ProviderError::new(ErrorKind::NotFound, message).with_status(status)
}

/// The address without what may be secret in it.
fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// The innermost cause, which says more than what is wrapped around it.
fn root_cause(error: reqwest::Error) -> String {
    // The address may hold a key; it is shown by `shown` alone.
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// The address of an endpoint, for the base URL a person wrote.
pub(crate) fn endpoint(service: &str, base: &str, path: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(&format!("{base}{path}")).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.filter(Url::has_host).ok_or_else(|| {
        let problem = format!("{service}: the base URL `{base}` is not an address like https://example.org/v1");
        ProviderError::new(ErrorKind::BadRequest, problem)
    })
}

/// The headers of a request: `fixed` ones, then the caller's own, which take their places.
pub(crate) fn headers(
    service: &str,
    fixed: &[(&'static str, &str)],
    own: &[(String, String)],
) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    let own = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in fixed.iter().copied().chain(own) {
        let bad = || {
            let problem = format!("{service}: the header `{name}` or its value holds characters HTTP does not allow");
            ProviderError::new(ErrorKind::BadRequest, problem)
        };
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        value.set_sensitive(matches!(parsed.as_str(), "authorization" | "x-api-key"));
        headers.insert(parsed, value);
    }
    Ok(headers)
}
