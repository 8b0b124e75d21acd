//! A file's text as bytes to match in, and the way back to the bytes on disk.

use std::ops::Range;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

/// The text of a file without its byte order mark, and how it is stored.
#[derive(Debug)]
pub(super) struct Body {
    /// UTF-8, or the file's own bytes where they are in no encoding known here.
    pub(super) bytes: Vec<u8>,
    stored: Stored,
}

#[derive(Debug)]
enum Stored {
    /// As they are, after a mark of this many bytes.
    Plain(usize),
    /// As UTF-16 after its mark.
    Utf16 { big_endian: bool },
}

impl Body {
    /// Reads a file's bytes; an error says why they cannot be edited without loss.
    pub(super) fn of(file: &[u8]) -> Result<Self, String> {
        let Some((encoding, mark)) = Encoding::for_bom(file) else {
            return Ok(Self { bytes: file.to_vec(), stored: Stored::Plain(0) });
        };
        if encoding != UTF_16LE && encoding != UTF_16BE {
            return Ok(Self { bytes: file[mark..].to_vec(), stored: Stored::Plain(mark) });
        }
        let big_endian = encoding == UTF_16BE;
        let lossless = encoding.decode_without_bom_handling_and_without_replacement(&file[mark..]);
        let Some(text) = lossless else {
            return Err("it is marked as UTF-16 but is not valid UTF-16; change it with a program instead".to_owned());
        };
        Ok(Self { bytes: text.into_owned().into_bytes(), stored: Stored::Utf16 { big_endian } })
    }

    /// Whether the text is UTF-8 or UTF-16.
    pub(super) fn is_unicode(&self) -> bool {
        std::str::from_utf8(&self.bytes).is_ok()
    }

    /// The range on disk of a range of the text.
    pub(super) fn on_disk(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| match self.stored {
            Stored::Plain(mark) => mark + at,
            Stored::Utf16 { .. } => 2 + 2 * String::from_utf8_lossy(&self.bytes[..at]).encode_utf16().count(),
        };
        place(range.start)..place(range.end)
    }

    /// New text as it is stored in this file.
    pub(super) fn encode(&self, text: &str) -> Vec<u8> {
        match self.stored {
            Stored::Plain(_) => text.as_bytes().to_vec(),
            Stored::Utf16 { big_endian: true } => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Stored::Utf16 { big_endian: false } => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        }
    }
}
