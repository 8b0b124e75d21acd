//! A model service on the loopback interface that says exactly what a script says, byte by byte.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// One answer of the server.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    head: String,
    pieces: Vec<Vec<u8>>,
    chunked: bool,
    then: Then,
    every: Option<Duration>,
}

/// What comes after the pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    End,
    Close,
    Hang,
}

impl Reply {
    /// A good stream of server-sent events, in one piece.
    pub(crate) fn sse(body: impl Into<Vec<u8>>) -> Self {
        Self::status("200 OK", "content-type: text/event-stream\r\n", body)
    }

    /// Any status, any headers.
    pub(crate) fn status(status: &str, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        let head = format!("HTTP/1.1 {status}\r\n{headers}");
        Self { head, pieces: vec![body.into()], chunked: true, then: Then::End, every: None }
    }

    /// The same bytes, each one sent alone.
    pub(crate) fn byte_by_byte(mut self) -> Self {
        self.pieces = self.pieces.concat().into_iter().map(|byte| vec![byte]).collect();
        self
    }

    /// The same bytes, cut in two at `at`.
    pub(crate) fn split_at(mut self, at: usize) -> Self {
        let whole = self.pieces.concat();
        let (head, tail) = whole.split_at(at);
        self.pieces = vec![head.to_vec(), tail.to_vec()];
        self
    }

    /// The same piece again and again, with pauses between.
    pub(crate) fn every(mut self, pause: Duration, times: usize, last: impl Into<Vec<u8>>) -> Self {
        self.pieces = vec![self.pieces.concat(); times];
        self.pieces.push(last.into());
        self.every = Some(pause);
        self
    }

    /// The connection is closed behind the body, whose length nothing tells.
    pub(crate) fn close(mut self) -> Self {
        self.chunked = false;
        self.then = Then::Close;
        self
    }

    /// The connection is closed in the middle of the body.
    pub(crate) fn break_off(mut self) -> Self {
        self.then = Then::Close;
        self
    }

    /// Nothing more comes, and nothing is closed.
    pub(crate) fn hang(mut self) -> Self {
        self.then = Then::Hang;
        self
    }

    /// Nothing at all is sent, not even a status.
    pub(crate) fn silent() -> Self {
        Self { head: String::new(), ..Self::sse("").hang() }
    }

    /// The same reply from an old server, which closes the connection behind each answer.
    pub(crate) fn http_1_0(mut self) -> Self {
        self.head = self.head.replace("HTTP/1.1", "HTTP/1.0");
        self.close()
    }

    /// The same body, compressed.
    pub(crate) fn gzip(mut self) -> Self {
        self.pieces = vec![gzip(&self.pieces.concat())];
        self.head.push_str("content-encoding: gzip\r\n");
        self
    }

    /// Whether its body has any bytes.
    pub(crate) fn says_something(&self) -> bool {
        self.pieces.iter().any(|piece| !piece.is_empty())
    }

    async fn send(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        if self.head.is_empty() {
            return Ok(());
        }
        let framing = if self.chunked { "transfer-encoding: chunked\r\n\r\n" } else { "connection: close\r\n\r\n" };
        stream.write_all(format!("{}{framing}", self.head).as_bytes()).await?;
        for piece in self.pieces.iter().filter(|piece| !piece.is_empty()) {
            if let Some(pause) = self.every {
                tokio::time::sleep(pause).await;
            }
            if self.chunked {
                let mut framed = format!("{:x}\r\n", piece.len()).into_bytes();
                framed.extend_from_slice(piece);
                framed.extend_from_slice(b"\r\n");
                stream.write_all(&framed).await?;
            } else {
                stream.write_all(piece).await?;
            }
            stream.flush().await?;
        }
        if self.chunked && self.then == Then::End {
            stream.write_all(b"0\r\n\r\n").await?;
        }
        Ok(())
    }
}

/// The gzip format around uncompressed blocks, which every reader of it accepts.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks = bytes.chunks(10_000);
    let last = blocks.len() - 1;
    for (number, block) in blocks.enumerate() {
        let length = u16::try_from(block.len()).unwrap();
        out.push(u8::from(number == last));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let crc = !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    });
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_le_bytes());
    out
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// The first line and the headers, in lower case.
    pub(crate) head: String,
    /// The body's bytes.
    pub(crate) bytes: Vec<u8>,
}

impl Recorded {
    /// The body as JSON.
    pub(crate) fn body(&self) -> Value {
        serde_json::from_slice(&self.bytes).expect("the request's body is JSON")
    }
}

/// The server. It gives one reply a request, in order, and the last one again when they run out.
pub(crate) struct Server {
    /// Where it listens: `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Recorded>>,
    opened: watch::Sender<usize>,
    closed: watch::Sender<usize>,
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies.into_iter().collect()),
            requests: Mutex::default(),
            opened: watch::Sender::new(0),
            closed: watch::Sender::new(0),
        });
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                shared.opened.send_modify(|n| *n += 1);
                tokio::spawn(async move {
                    serve(stream, &shared).await;
                    shared.closed.send_modify(|n| *n += 1);
                });
            }
        });
        Self { url, shared }
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.shared.opened.borrow()
    }

    /// Waits until the client has closed a connection.
    pub(crate) async fn disconnected(&self) {
        self.shared.closed.subscribe().wait_for(|n| *n > 0).await.unwrap();
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let mut read = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut read).await {
        shared.requests.lock().unwrap().push(request);
        let reply = {
            let mut replies = shared.replies.lock().unwrap();
            if replies.len() > 1 { replies.pop_front().unwrap() } else { replies.front().cloned().unwrap() }
        };
        // A client that goes away in the middle of an answer shows as an error here.
        if reply.send(&mut stream).await.is_err() || reply.then == Then::Close {
            return;
        }
        if reply.then == Then::Hang {
            let mut rest = [0];
            while matches!(stream.read(&mut rest).await, Ok(1..)) {}
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<Recorded> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            let length = length.expect("a request tells the length of its body");
            if read.len() >= end + 4 + length {
                let bytes = read[end + 4..end + 4 + length].to_vec();
                read.drain(..end + 4 + length);
                return Some(Recorded { head, bytes });
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => read.extend_from_slice(&buffer[..n]),
        }
    }
}
