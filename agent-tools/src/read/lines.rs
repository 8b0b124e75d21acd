//! A file's text line by line, holding no more of it than is shown.

use std::io::{self, BufRead, BufReader, Read};

use agent_core::CancellationToken;
use encoding_rs::{CoderResult, Decoder};

/// Lines of any length from bytes.
#[derive(Debug)]
pub(super) struct Lines<R> {
    source: BufReader<R>,
    cancellation: CancellationToken,
}

/// What one line is, with as much of it as was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The start of the line, without its ending where all of it is here.
    pub(super) start: Vec<u8>,
    /// The length of the whole line, in bytes, with its ending.
    pub(super) len: usize,
}

impl<R: Read> Lines<R> {
    /// Reading fails once `cancellation` says so: skipping to a far line of a huge file takes its time.
    pub(super) fn new(source: R, cancellation: CancellationToken) -> Self {
        Self { source: BufReader::with_capacity(64 * 1024, source), cancellation }
    }

    /// Whether no line is left.
    pub(super) fn at_end(&mut self) -> io::Result<bool> {
        Ok(self.source.fill_buf()?.is_empty())
    }

    /// The next line, of which at most `keep` bytes are kept; `None` at the end.
    pub(super) fn next(&mut self, keep: usize) -> io::Result<Option<Line>> {
        let mut line = Line::default();
        loop {
            if self.cancellation.is_cancelled() {
                return Err(io::Error::other("cancelled"));
            }
            let buffer = self.source.fill_buf()?;
            if buffer.is_empty() {
                return Ok((line.len > 0).then_some(line));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(buffer.len(), |end| end + 1);
            let room = keep.saturating_sub(line.start.len());
            line.start.extend_from_slice(&buffer[..taken.min(room)]);
            line.len += taken;
            self.source.consume(taken);
            if end.is_some() {
                if line.start.ends_with(b"\n") {
                    line.start.pop();
                    if line.start.ends_with(b"\r") {
                        line.start.pop();
                    }
                }
                return Ok(Some(line));
            }
        }
    }
}

/// Another encoding's bytes, read as UTF-8.
pub(super) struct Transcoded<R> {
    source: R,
    decoder: Decoder,
    raw: Vec<u8>,
    ready: Vec<u8>,
    finished: bool,
}

impl<R: Read> Transcoded<R> {
    pub(super) fn new(source: R, decoder: Decoder) -> Self {
        Self { source, decoder, raw: Vec::new(), ready: Vec::new(), finished: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 16 * 1024];
        let read = self.source.read(&mut buffer)?;
        self.raw.extend_from_slice(&buffer[..read]);
        let mut text = vec![0; 64 * 1024];
        let (result, used, written, _) = self.decoder.decode_to_utf8(&self.raw, &mut text, read == 0);
        self.ready.extend_from_slice(&text[..written]);
        self.raw.drain(..used);
        self.finished = read == 0 && result == CoderResult::InputEmpty;
        Ok(())
    }
}

impl<R: Read> Read for Transcoded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() && !self.finished {
            self.refill()?;
        }
        let len = self.ready.len().min(into.len());
        into[..len].copy_from_slice(&self.ready[..len]);
        self.ready.drain(..len);
        Ok(len)
    }
}
