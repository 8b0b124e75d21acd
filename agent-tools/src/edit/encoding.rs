//! A file's text as bytes to match in, and the way back to the bytes on disk.

use std::borrow::Cow;
use std::ops::Range;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

/// The length of a UTF-16 byte order mark.
const UTF_16_MARK: usize = 2;

/// The text of a file without its byte order mark, and how it is stored.
#[derive(Debug)]
pub(super) struct Body<'a> {
    /// UTF-8, or the file's own bytes where they are in no encoding known here.
    pub(super) bytes: Cow<'a, [u8]>,
    stored: Stored,
}

#[derive(Debug)]
enum Stored {
    /// As they are, after a mark of this many bytes.
    Plain(usize),
    /// As UTF-16 after its mark.
    Utf16 { big_endian: bool },
}

impl<'a> Body<'a> {
    /// Reads a file's bytes; an error says why they cannot be edited without loss.
    pub(super) fn of(file: &'a [u8]) -> Result<Self, String> {
        let Some((encoding, mark)) = Encoding::for_bom(file) else {
            return Ok(Self { bytes: Cow::Borrowed(file), stored: Stored::Plain(0) });
        };
        if encoding != UTF_16LE && encoding != UTF_16BE {
            return Ok(Self { bytes: Cow::Borrowed(&file[mark..]), stored: Stored::Plain(mark) });
        }
        let big_endian = encoding == UTF_16BE;
        let lossless = encoding.decode_without_bom_handling_and_without_replacement(&file[mark..]);
        let Some(text) = lossless else {
            return Err("it is marked as UTF-16 but is not valid UTF-16; change it with a program instead".to_owned());
        };
        Ok(Self { bytes: Cow::Owned(text.into_owned().into_bytes()), stored: Stored::Utf16 { big_endian } })
    }

    /// Whether the text is UTF-8 or UTF-16.
    pub(super) fn is_unicode(&self) -> bool {
        std::str::from_utf8(&self.bytes).is_ok()
    }

    /// The ranges on disk of ranges of the text, which are in order and apart.
    pub(super) fn on_disk<'r>(&self, ranges: impl Iterator<Item = &'r Range<usize>>) -> Vec<Range<usize>> {
        let mut text = 0;
        let mut disk = match self.stored {
            Stored::Plain(mark) => mark,
            Stored::Utf16 { .. } => UTF_16_MARK,
        };
        let mut forward = |to: usize| {
            let passed = &self.bytes[text..to];
            disk += match self.stored {
                Stored::Plain(_) => passed.len(),
                Stored::Utf16 { .. } => 2 * String::from_utf8_lossy(passed).encode_utf16().count(),
            };
            text = to;
            disk
        };
        ranges.map(|range| forward(range.start)..forward(range.end)).collect()
    }

    /// New text as it is stored in this file.
    pub(super) fn encode<'t>(&self, text: &'t str) -> Cow<'t, [u8]> {
        match self.stored {
            Stored::Plain(_) => Cow::Borrowed(text.as_bytes()),
            Stored::Utf16 { big_endian: true } => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Stored::Utf16 { big_endian: false } => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        }
    }
}
