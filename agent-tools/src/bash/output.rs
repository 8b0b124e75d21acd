//! What a command wrote: its beginning and its end in memory, all of it in a file if that is not enough.

use std::collections::VecDeque;
use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Lines the model is shown at most.
const MAX_LINES: usize = 2_000;
/// Bytes the model is shown at most.
const MAX_BYTES: usize = 50 * 1024;
/// Raw bytes kept of the beginning, and again of the end. More than is shown, as escapes and progress bars shrink.
const KEPT: usize = 256 * 1024;

/// Collects output in bounded memory.
#[derive(Debug)]
pub(super) struct Collector {
    kept: Kept,
    /// Whether what a line showed before it was overwritten is dropped, because memory no longer holds everything.
    folding: bool,
    /// A carriage return was read, and not yet what follows it.
    returned: bool,
    bytes: u64,
    newlines: u64,
    ends_with_newline: bool,
    file: FullOutput,
}

/// The beginning and the end of a stream of bytes.
#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    /// Bytes between head and tail.
    lost: u64,
    tail: VecDeque<u8>,
    /// Where in the stream its last line begins.
    line: u64,
}

/// Output as the model reads it.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) text: String,
    /// Set if something was left out of `text`.
    pub(super) cut: Option<Cut>,
    pub(super) total_lines: u64,
    pub(super) total_bytes: u64,
}

/// What became of output that is too long to show.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) full_output: Option<PathBuf>,
}

impl Collector {
    /// `dir`: where the full output goes if it is needed, `None` for a folder in the temporary directory; `limit`: its size in bytes.
    pub(super) fn new(dir: Option<&Path>, limit: u64) -> Self {
        Self {
            kept: Kept::default(),
            folding: false,
            returned: false,
            bytes: 0,
            newlines: 0,
            ends_with_newline: false,
            file: FullOutput { dir: dir.map(Path::to_owned), limit, state: FileState::Unneeded },
        }
    }

    /// Takes what was read, as it was read.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        let Some(last) = chunk.last() else { return };
        self.ends_with_newline = *last == b'\n';
        self.bytes += chunk.len() as u64;
        #[expect(clippy::naive_bytecount, reason = "the compiler vectorises it well enough")]
        let newlines = chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.newlines += newlines;

        if !self.folding && self.bytes > 2 * KEPT as u64 {
            self.file.begin(&self.kept);
            self.folding = true;
            let so_far = std::mem::take(&mut self.kept).into_bytes();
            self.fold(&so_far);
        }
        self.file.append(chunk);
        if self.folding { self.fold(chunk) } else { self.kept.push(chunk) }
    }

    /// Keeps a chunk, and of a line that overwrites itself (a progress bar) the last state only.
    fn fold(&mut self, chunk: &[u8]) {
        if !self.returned && !chunk.contains(&b'\r') {
            return self.kept.push(chunk);
        }
        for (index, part) in chunk.split(|byte| *byte == b'\r').enumerate() {
            self.returned |= index > 0;
            if part.is_empty() {
                continue;
            }
            if std::mem::take(&mut self.returned) {
                let shown = part.split(|byte| *byte == b'\n').next().unwrap_or_default();
                // What shows nothing, like the end of the line or a change of colour, overwrites nothing.
                if readable(shown).is_empty() {
                    self.kept.push(b"\r");
                } else {
                    self.kept.drop_line();
                }
            }
            self.kept.push(part);
        }
    }

    /// The last lines so far, for someone who watches.
    pub(super) fn latest(&self) -> String {
        const SHOWN: usize = 4 * 1024;
        let Kept { head, lost, tail, .. } = &self.kept;
        let from_tail = tail.len().min(SHOWN);
        let from_head = if *lost == 0 { (SHOWN - from_tail).min(head.len()) } else { 0 };
        let mut bytes = head[head.len() - from_head..].to_vec();
        bytes.extend(tail.range(tail.len() - from_tail..));
        readable(without_split_start(&bytes))
    }

    /// All that is shown, and a notice in the place of what is not.
    pub(super) fn finish(mut self) -> Collected {
        let total_bytes = self.bytes;
        let total_lines = self.newlines + u64::from(self.bytes > 0 && !self.ends_with_newline);
        let (start, end) = if self.kept.lost == 0 {
            let kept = std::mem::take(&mut self.kept).into_bytes();
            let text = readable(&kept);
            if text.len() <= MAX_BYTES && text.lines().count() <= MAX_LINES {
                self.file.discard();
                return Collected { text, cut: None, total_lines, total_bytes };
            }
            self.file.begin(&Kept { head: kept, ..Kept::default() });
            (text.clone(), text)
        } else {
            let Kept { head, tail, .. } = &mut self.kept;
            (readable(without_split_end(head)), readable(without_split_start(tail.make_contiguous())))
        };
        let (head, tail) = (first_lines(&start), last_lines(&end));
        let shown_lines = (head.lines().count() + tail.lines().count()) as u64;
        let shown_bytes = (head.len() + tail.len()) as u64;
        let text = format!(
            "{head}{}[… {} of {total_lines} lines ({} of {total_bytes} bytes) are left out here; {} …]\n{tail}",
            if head.ends_with('\n') { "" } else { "\n" },
            total_lines.saturating_sub(shown_lines),
            total_bytes.saturating_sub(shown_bytes),
            self.file.describe(),
        );
        Collected { text, cut: Some(Cut { full_output: self.file.path() }), total_lines, total_bytes }
    }
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        if let Some(newline) = bytes.iter().rposition(|byte| *byte == b'\n') {
            self.line = self.len() + newline as u64 + 1;
        }
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(first);
        let surplus = (self.tail.len() + rest.len()).saturating_sub(KEPT);
        self.lost += surplus as u64;
        let from_tail = surplus.min(self.tail.len());
        self.tail.drain(..from_tail);
        self.tail.extend(&rest[surplus - from_tail..]);
    }

    /// Forgets the last line, which has no line feed yet.
    fn drop_line(&mut self) {
        let head = self.head.len() as u64;
        if let Some(in_tail) = self.line.checked_sub(head + self.lost) {
            self.tail.truncate(usize::try_from(in_tail).unwrap_or(usize::MAX));
            return;
        }
        self.tail.clear();
        // The line began in what is lost already, or even before.
        self.lost = self.line.saturating_sub(head);
        self.head.truncate(usize::try_from(self.line).unwrap_or(usize::MAX));
    }

    fn len(&self) -> u64 {
        self.head.len() as u64 + self.lost + self.tail.len() as u64
    }

    fn into_bytes(mut self) -> Vec<u8> {
        self.head.extend(self.tail);
        self.head
    }
}

/// The file with everything, made when it turns out to be needed.
#[derive(Debug)]
struct FullOutput {
    dir: Option<PathBuf>,
    limit: u64,
    state: FileState,
}

#[derive(Debug)]
enum FileState {
    Unneeded,
    Open { file: File, path: PathBuf, written: u64 },
    Full { path: PathBuf },
    Failed { reason: String },
}

impl FullOutput {
    /// Makes the file with all that was kept so far, unless there is one.
    fn begin(&mut self, kept: &Kept) {
        if !matches!(self.state, FileState::Unneeded) {
            return;
        }
        self.state = match create(self.dir.as_deref()) {
            Ok((file, path)) => FileState::Open { file, path, written: 0 },
            Err(error) => FileState::Failed { reason: error.to_string() },
        };
        let (front, back) = kept.tail.as_slices();
        for part in [&*kept.head, front, back] {
            self.append(part);
        }
    }

    // Written in place: a write of a pipe's worth of bytes goes to the page cache and takes microseconds.
    fn append(&mut self, bytes: &[u8]) {
        let FileState::Open { file, path, written } = &mut self.state else { return };
        let room = usize::try_from(self.limit - *written).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        if let Err(error) = file.write_all(part) {
            self.state = FileState::Failed { reason: error.to_string() };
            return;
        }
        *written += part.len() as u64;
        if part.len() < bytes.len() {
            self.state = FileState::Full { path: path.clone() };
        }
    }

    /// Removes the file: what is shown is all there is to see.
    fn discard(&mut self) {
        if let Some(path) = self.path() {
            let _ = std::fs::remove_file(path);
        }
    }

    fn path(&self) -> Option<PathBuf> {
        match &self.state {
            FileState::Open { path, .. } | FileState::Full { path } => Some(path.clone()),
            FileState::Unneeded | FileState::Failed { .. } => None,
        }
    }

    fn describe(&self) -> String {
        match &self.state {
            FileState::Unneeded | FileState::Open { .. } => {
                format!("full output: {}", self.path().unwrap_or_default().display())
            }
            FileState::Full { path } => {
                format!("the first {} bytes of the output: {}", self.limit, path.display())
            }
            FileState::Failed { reason } => format!("the full output could not be kept: {reason}"),
        }
    }
}

// A temporary file is created with mode 0600 and a name nobody can guess.
fn create(dir: Option<&Path>) -> io::Result<(File, PathBuf)> {
    let dir = match dir {
        Some(dir) => {
            std::fs::create_dir_all(dir)?;
            dir.to_owned()
        }
        None => private_dir()?,
    };
    let file = tempfile::Builder::new().prefix("bash-").suffix(".txt").tempfile_in(dir)?;
    Ok(file.keep()?)
}

/// Where the files of this process go that have no place of their own: one folder (0700) in the temporary directory.
///
/// It stays, as the texts that name its files do.
fn private_dir() -> io::Result<PathBuf> {
    /// Process-wide like the temporary directory itself, so that its files are together whoever ran the commands.
    static DIR: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut dir = DIR.lock().unwrap_or_else(PoisonError::into_inner);
    match &*dir {
        // It may have been tidied away meanwhile.
        Some(dir) if dir.is_dir() => Ok(dir.clone()),
        _ => {
            let private = Permissions::from_mode(0o700);
            let made = tempfile::Builder::new().prefix("agent-bash-").permissions(private).tempdir()?;
            Ok(dir.insert(made.keep()).clone())
        }
    }
}

/// Bytes and lines shown of either end.
const SHARE: (usize, usize) = (MAX_BYTES / 2, MAX_LINES / 2);

/// As many whole lines from the start as half of the limits allow; if a long line follows, a part of it too.
fn first_lines(text: &str) -> &str {
    let (bytes, lines) = SHARE;
    let mut end = 0;
    for line in text.split_inclusive('\n').take(lines) {
        if end + line.len() > bytes {
            return &text[..if end > bytes / 2 { end } else { text.floor_char_boundary(bytes) }];
        }
        end += line.len();
    }
    &text[..end]
}

/// As many whole lines from the end as half of the limits allow; if a long line precedes, a part of it too.
fn last_lines(text: &str) -> &str {
    let (bytes, lines) = SHARE;
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev().take(lines) {
        let end_length = text.len() - start;
        if end_length + line.len() > bytes {
            return &text[if end_length > bytes / 2 { start } else { text.ceil_char_boundary(text.len() - bytes) }..];
        }
        start -= line.len();
    }
    &text[start..]
}

/// Without the bytes of a character whose beginning is missing.
fn without_split_start(bytes: &[u8]) -> &[u8] {
    let split = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    &bytes[split..]
}

/// Without the bytes of a character whose end is missing.
fn without_split_end(bytes: &[u8]) -> &[u8] {
    match bytes.utf8_chunks().last() {
        Some(chunk) if bytes.ends_with(chunk.invalid()) => &bytes[..bytes.len() - chunk.invalid().len()],
        _ => bytes,
    }
}

/// Bytes as a person would have seen them on a terminal: no escapes, the last state of a line that was overwritten.
///
/// Invalid UTF-8 becomes U+FFFD, other control characters become their pictures (NUL is `␀`).
pub(super) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut line = 0;
    let mut overwrite = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => skip_escape(&mut chars),
            '\r' => overwrite = true,
            '\n' => {
                out.push('\n');
                line = out.len();
                overwrite = false;
            }
            '\x08' if out.len() > line => {
                out.pop();
            }
            '\x07' | '\x08' => {}
            c => {
                if std::mem::take(&mut overwrite) {
                    out.truncate(line);
                }
                out.push(picture(c));
            }
        }
    }
    out
}

fn picture(c: char) -> char {
    match c {
        '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '\u{2421}',
        '\u{80}'..='\u{9f}' => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

/// Skips the rest of an escape sequence (ECMA-48), whose first character is gone already.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        // Strings: titles, links, images. A line feed ends one that was never finished.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                if c == '\x07' || (c == '\x1b' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        _ => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}
