//! One request and its answer: bytes → server-sent events (or one JSON body) → a protocol's decoder → model events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;
use sse_stream::{Sse, SseByteStream};

use super::super::assemble::Assembler;
use super::super::{ErrorKind, ModelEvent, ProviderError, json};
use super::Chunks;

/// The largest answer that is taken in one piece.
const LARGEST_WHOLE: usize = 64 * 1024 * 1024;

/// How long a service may take to close an answer behind its end mark; then the connection is given up, not reused.
const CLOSING: Duration = Duration::from_millis(200);

/// How long the end mark may take once the model has said why it stopped.
const ENDING: Duration = Duration::from_secs(5);

/// What a wire protocol makes of an answer.
pub(crate) trait Decode: Send {
    /// Takes one event of the stream.
    fn event(&mut self, name: Option<&str>, data: &Value) -> Result<Flow, ProviderError>;

    /// Takes a whole answer that came instead of a stream.
    fn whole(&mut self, body: &Value) -> Result<(), ProviderError>;

    /// The stream is over: completes the answer, or says that it was cut.
    fn over(&mut self, end: End) -> Result<(), ProviderError>;

    /// The parts and events made so far.
    fn parts(&mut self) -> &mut Assembler;

    /// The service's name, for messages.
    fn service(&self) -> &str;
}

/// How a stream goes on after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// More is to come.
    More,
    /// The answer is there; only figures and the end mark may follow.
    Ending,
    /// That was the end mark; the answer is complete.
    Done,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With `[DONE]`.
    Marked,
    /// The connection was closed.
    Closed,
}

/// The error of a stream that was over too early.
pub(crate) fn cut(service: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Cut, format!("{service}: the answer broke off before its end"))
}

/// Runs one exchange. Nothing happens before the stream is polled; dropping it closes the connection.
pub(crate) fn run<'a, D: Decode + 'a>(
    open: BoxFuture<'a, Result<Chunks, ProviderError>>,
    decoder: D,
) -> BoxStream<'a, Result<ModelEvent, ProviderError>> {
    let exchange = Exchange { state: State::Opening(open), decoder, flow: Flow::More, error: None };
    stream::unfold(exchange, |mut exchange| async move {
        let event = exchange.next().await?;
        Some((event, exchange))
    })
    .boxed()
}

struct Exchange<'a, D> {
    state: State<'a>,
    decoder: D,
    flow: Flow,
    error: Option<ProviderError>,
}

enum State<'a> {
    Opening(BoxFuture<'a, Result<Chunks, ProviderError>>),
    Reading(Events),
    Over,
}

impl<D: Decode> Exchange<'_, D> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ProviderError>> {
        loop {
            if let Some(event) = self.decoder.parts().events.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.error.take() {
                return Some(Err(error));
            }
            if matches!(self.state, State::Over) {
                return None;
            }
            if let Err(error) = self.step().await {
                self.error = Some(error);
                self.state = State::Over;
            }
        }
    }

    /// Goes on until there is something new to tell, or nothing more to come.
    async fn step(&mut self) -> Result<(), ProviderError> {
        match &mut self.state {
            State::Opening(open) => match begin(open.await?, self.decoder.service()).await? {
                Body::Events(events) => self.state = State::Reading(events),
                Body::Whole(body) => {
                    self.state = State::Over;
                    self.decoder.whole(&body)?;
                }
            },
            State::Reading(events) => {
                let next = if self.flow == Flow::Ending {
                    // The answer is complete: silence or a broken connection now costs only the figures.
                    tokio::time::timeout(ENDING, events.next()).await.ok().and_then(Result::ok).flatten()
                } else {
                    events.next().await?
                };
                self.take(next).await?;
            }
            State::Over => {}
        }
        Ok(())
    }

    async fn take(&mut self, event: Option<Sse>) -> Result<(), ProviderError> {
        let State::Reading(events) = &mut self.state else { return Ok(()) };
        let Some(event) = event else {
            self.state = State::Over;
            return self.decoder.over(End::Closed);
        };
        let data = event.data.as_deref().map_or("", str::trim);
        if data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            events.drain().await;
            self.state = State::Over;
            return self.decoder.over(End::Marked);
        }
        let Some(parsed) = json::parse(data) else {
            if events.broken_off() {
                self.state = State::Over;
                return self.decoder.over(End::Closed);
            }
            let problem = format!("{}: an event that is not JSON: {}", self.decoder.service(), json::bounded(data, 300));
            return Err(ProviderError::new(ErrorKind::Protocol, problem));
        };
        self.decoder.parts().halves |= parsed.halves;
        self.flow = match self.decoder.event(event.event.as_deref(), &parsed.value)? {
            // What follows a complete answer does not make it incomplete.
            Flow::More if self.flow == Flow::Ending => Flow::Ending,
            flow => flow,
        };
        if self.flow == Flow::Done {
            events.drain().await;
            self.state = State::Over;
        }
        Ok(())
    }
}

enum Body {
    Events(Events),
    Whole(Value),
}

/// Looks at the first byte that says something: the content type is not to be trusted.
async fn begin(mut chunks: Chunks, service: &str) -> Result<Body, ProviderError> {
    let mut start = Vec::new();
    loop {
        let Some(chunk) = chunks.next().await.transpose()? else { break };
        start.extend_from_slice(&chunk);
        let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&start).trim_ascii_start();
        match text.first() {
            None => {}
            Some(b'{' | b'[' | b'<') => return whole(start, chunks, service).await.map(Body::Whole),
            Some(_) => break,
        }
    }
    Ok(Body::Events(Events::new(stream::iter([Ok(Bytes::from(start))]).chain(chunks).boxed())))
}

async fn whole(mut body: Vec<u8>, mut chunks: Chunks, service: &str) -> Result<Value, ProviderError> {
    while let Some(chunk) = chunks.next().await.transpose()? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST_WHOLE {
            return Err(ProviderError::new(ErrorKind::Protocol, format!("{service}: an answer of more than 64 MB")));
        }
    }
    let text = String::from_utf8_lossy(&body);
    let text = text.trim_start_matches('\u{FEFF}').trim();
    if text.starts_with('<') {
        let problem = format!("{service}: a web page came instead of an answer; check the base URL");
        return Err(ProviderError::new(ErrorKind::Protocol, problem));
    }
    json::parse(text).map(|parsed| parsed.value).ok_or_else(|| cut(service))
}

/// The events of a stream, the last one also where the blank line behind it is missing.
struct Events {
    events: SseByteStream<Chunks>,
    closed: Arc<AtomicBool>,
}

impl Events {
    fn new(chunks: Chunks) -> Self {
        let closed = Arc::new(AtomicBool::new(false));
        let mark = Arc::clone(&closed);
        let blank_line = stream::once(async move {
            mark.store(true, Ordering::Relaxed);
            Ok(Bytes::from_static(b"\n\n"))
        });
        Self { events: SseByteStream::new(chunks.chain(blank_line).boxed()), closed }
    }

    async fn next(&mut self) -> Result<Option<Sse>, ProviderError> {
        match self.events.next().await {
            None => Ok(None),
            Some(Ok(event)) => Ok(Some(event)),
            Some(Err(sse_stream::Error::Body(error))) => match error.downcast::<ProviderError>() {
                Ok(error) => Err(*error),
                Err(error) => Err(ProviderError::new(ErrorKind::Cut, error.to_string())),
            },
            Some(Err(error)) => Err(ProviderError::new(ErrorKind::Protocol, format!("unreadable event stream: {error}"))),
        }
    }

    /// Whether the last event was not closed by the service but by the end of the connection.
    fn broken_off(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Reads the answer to its end, so that the connection can serve the next request.
    async fn drain(&mut self) {
        let read = async { while let Ok(Some(_)) = self.next().await {} };
        let _ = tokio::time::timeout(CLOSING, read).await;
    }
}
