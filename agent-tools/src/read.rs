//! The `read` tool: a file's text, a picture, or what else is there.

mod directory;
mod image;
mod lines;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::PoisonError;

use agent_core::{ToolContext, ToolError, ToolOutput, tool};
use encoding_rs::{Encoding, UTF_8};
use serde_json::json;

use self::lines::{Lines, Transcoded};
use crate::ledger::{Ledger, Stamp};
use crate::path::{self, PathLocks, Target};
use crate::truncate::{MAX_BYTES, MAX_LINES, count, head};

/// How much of a file is looked at to tell what it is, in bytes.
const SAMPLE: usize = 8 * 1024;
/// Up to this size the lines after those shown are counted too, to say how many there are.
const MOST_COUNTED: u64 = 16 * 1024 * 1024;

/// Reads a file: text, or a picture (PNG, JPEG, GIF, WebP). A directory is listed.
///
/// Shows at most 2000 lines or 50 KiB; a notice at the end says how to go on with `offset`.
#[tool(read_only)]
pub fn read(
    /// The file, relative to the working directory or absolute.
    path: &str,
    /// The first line to show, from 1.
    #[arg(range = 1..)]
    offset: Option<usize>,
    /// How many lines to show at most.
    #[arg(range = 1..)]
    limit: Option<usize>,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let target = path::resolve(cx, path)?;
    let shown = &target.shown;
    let meta = match fs::metadata(&target.real) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(path::missing(&target)),
        Err(error) => return Err(ToolError::failed(format!("cannot read `{shown}`: {error}"))),
    };
    if meta.is_dir() {
        return directory::list(&target.real, shown);
    }
    // Opening a FIFO would wait for somebody to write to it.
    if !meta.is_file() {
        return Err(ToolError::retry(format!("`{shown}` {}", path::NO_FILE)));
    }
    let lock = cx.session_state::<PathLocks>().of(&target.real);
    let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
    let unreadable = |error: io::Error| path::unreadable(&target, "read", &error);
    let stamp = Stamp::of(&target.real).map_err(unreadable)?;
    let mut file = path::open(&target.real).map_err(unreadable)?;
    let mut sample = Vec::with_capacity(SAMPLE);
    Read::by_ref(&mut file).take(SAMPLE as u64).read_to_end(&mut sample).map_err(unreadable)?;

    let output = if let Some(media_type) = image::media_type(&sample) {
        image::read(&target, media_type, meta.len())?
    } else if is_binary(&sample) {
        binary(shown, &sample, meta.len())
    } else {
        let window =
            Window { first: offset.unwrap_or(1).max(1), limit: limit.unwrap_or(MAX_LINES).clamp(1, MAX_LINES) };
        text(cx, file, &target, &sample, window)?
    };
    cx.session_state::<Ledger>().record(&target.real, stamp);
    Ok(output)
}

/// Bytes no text has: a NUL outside of UTF-16, or too many control characters.
fn is_binary(sample: &[u8]) -> bool {
    if Encoding::for_bom(sample).is_some() {
        return false;
    }
    let control = |byte: &&u8| matches!(byte, 0..=6 | 14..=26 | 28..=31 | 127);
    sample.contains(&0) || sample.iter().filter(control).count() * 10 > sample.len()
}

fn binary(shown: &str, sample: &[u8], len: u64) -> ToolOutput {
    let kind = match sample {
        [0x7F, b'E', b'L', b'F', ..] => "an ELF program or library",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive (or a document made of one)",
        [0x1F, 0x8B, ..] => "gzip data",
        [b'%', b'P', b'D', b'F', ..] => "a PDF document",
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => "an SQLite database",
        _ => "binary data",
    };
    let mut text = format!("`{shown}` is {kind}, {len} bytes; it is not shown as text. The first bytes are:");
    for byte in sample.iter().take(32) {
        // Writing to a string does not fail.
        let _ = write!(text, " {byte:02x}");
    }
    ToolOutput::text(text).details(json!({"path": shown, "kind": kind, "bytes": len}))
}

/// The lines asked for.
#[derive(Debug, Clone, Copy)]
struct Window {
    first: usize,
    limit: usize,
}

/// What was shown of a text, and why no more.
#[derive(Debug, Default)]
struct View {
    text: String,
    shown: usize,
    lossy: bool,
    /// The whole length of the line that was cut, if one was.
    cut_line: Option<usize>,
    /// How many bytes of it are shown.
    cut_at: usize,
    /// Whether control characters were made visible.
    controls: bool,
    /// Whether the next line has a NUL in it, which no text has.
    binary_next: bool,
    /// Lines in the file, where they were counted to the end.
    total: Option<usize>,
}

fn text(
    cx: &ToolContext,
    mut file: File,
    target: &Target,
    sample: &[u8],
    window: Window,
) -> Result<ToolOutput, ToolError> {
    let (encoding, mark) = Encoding::for_bom(sample).unwrap_or((UTF_8, 0));
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(mark as u64))?;
    let cancellation = cx.cancellation().clone();
    let view = if encoding == UTF_8 {
        view(&mut Lines::new(file, cancellation), window, len)
    } else {
        let text = Transcoded::new(file, encoding.new_decoder_without_bom_handling());
        view(&mut Lines::new(text, cancellation), window, len)
    };
    let view = view.map_err(|error| path::unreadable(target, "read", &error))?;
    let shown = &target.shown;
    if view.shown == 0 && view.binary_next {
        return Ok(ToolOutput::text(format!(
            "`{shown}` holds binary data from line {} on (a NUL byte is in it); it is not shown as text.",
            window.first
        ))
        .details(json!({"path": shown, "kind": "binary data", "bytes": len})));
    }
    if view.shown == 0 {
        let total = view.total.unwrap_or_default();
        return if total == 0 && window.first == 1 {
            Ok(ToolOutput::text(format!("`{shown}` is empty.")).details(json!({"path": shown, "total_lines": 0})))
        } else {
            Err(ToolError::retry(format!(
                "offset {} is beyond the end of `{shown}`, which has {}",
                window.first,
                count(total, "line")
            )))
        };
    }
    let mut text = view.text;
    let last = window.first + view.shown - 1;
    if let Some(len) = view.cut_line {
        let at = view.cut_at;
        let _ =
            write!(text, "\n[Line {last} has {len} bytes and was cut at {at}; an offset cannot show the rest of it");
        // Bytes of another encoding, or ones shown as others, are not counted like that on disk.
        if encoding == UTF_8 && !view.lossy && !view.controls {
            let _ = write!(text, ", but `sed -n {last}p FILE | tail -c +{} | head -c 20000` can", at + 1);
        }
        text.push(']');
    }
    if view.binary_next {
        let _ = write!(text, "\n[Line {} holds binary data (a NUL byte is in it); not shown from there on]", last + 1);
    } else if view.total != Some(last) {
        let of = view.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let _ = write!(text, "\n[Lines {}-{last}{of} shown; go on with offset={}]", window.first, last + 1);
    }
    if view.lossy {
        text.push_str("\n[Not valid UTF-8: \u{FFFD} stands for bytes that are no text]");
    }
    if view.controls {
        text.push_str("\n[Control characters are shown as pictures: \u{241B} stands for the byte 1b, and so on]");
    }
    let details = json!({
        "path": shown,
        "encoding": encoding.name(),
        "first_line": window.first,
        "last_line": last,
        "total_lines": view.total,
    });
    Ok(ToolOutput::text(text).details(details))
}

/// Reads the lines of the window, as far as they fit.
fn view<R: Read>(lines: &mut Lines<R>, window: Window, len: u64) -> io::Result<View> {
    let mut view = View::default();
    for skipped in 0..window.first - 1 {
        if lines.next(0)?.is_none() {
            view.total = Some(skipped);
            return Ok(view);
        }
    }
    while view.shown < window.limit {
        // One byte more than fits tells a line that is too long.
        let Some(line) = lines.next(MAX_BYTES + 3)? else {
            view.total = Some(window.first - 1 + view.shown);
            return Ok(view);
        };
        if line.start.contains(&0) {
            view.binary_next = true;
            return Ok(view);
        }
        let decoded = String::from_utf8_lossy(&line.start);
        let (decoded, controls) = pictured(&decoded);
        let separator = usize::from(view.shown > 0);
        let fits = view.text.len() + separator + decoded.len() <= MAX_BYTES;
        if !fits && view.shown > 0 {
            return count_rest(lines, window.first + view.shown, len, view);
        }
        view.lossy |= line.len <= MAX_BYTES && std::str::from_utf8(&line.start).is_err();
        if separator > 0 {
            view.text.push('\n');
        }
        view.controls |= controls;
        let kept = head(&decoded, MAX_BYTES);
        view.text.push_str(kept);
        view.shown += 1;
        if !fits {
            view.cut_line = Some(line.len);
            view.cut_at = kept.len();
            break;
        }
    }
    count_rest(lines, window.first - 1 + view.shown, len, view)
}

/// The text with its control characters replaced by their pictures (U+2400 on), and whether there were any.
///
/// Raw they would act on the terminal of whoever looks at the result.
fn pictured(text: &str) -> (Cow<'_, str>, bool) {
    let acts = |char: char| char.is_ascii_control() && !matches!(char, '\t' | '\n' | '\r');
    if !text.contains(acts) {
        return (Cow::Borrowed(text), false);
    }
    let picture = |char: char| match char {
        '\u{7F}' => '\u{2421}',
        char if acts(char) => char::from_u32(0x2400 + u32::from(char)).unwrap_or(char::REPLACEMENT_CHARACTER),
        char => char,
    };
    (Cow::Owned(text.chars().map(picture).collect()), true)
}

/// Finds the number of lines when the file is small enough to be read to its end for that.
fn count_rest<R: Read>(lines: &mut Lines<R>, so_far: usize, len: u64, mut view: View) -> io::Result<View> {
    let mut total = so_far;
    if len <= MOST_COUNTED {
        while lines.next(0)?.is_some() {
            total += 1;
        }
        view.total = Some(total);
    } else if lines.at_end()? {
        view.total = Some(so_far);
    }
    Ok(view)
}
