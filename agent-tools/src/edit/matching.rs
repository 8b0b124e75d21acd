//! Where `old_text` stands in a file: exactly, or once with what a model cannot see evened out.

use std::ops::Range;

/// Every place where `needle` stands in `hay`, also those that overlap.
pub(super) fn exact(hay: &[u8], needle: &[u8]) -> Vec<usize> {
    let Some(first) = needle.first() else { return Vec::new() };
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = hay[from..].iter().position(|byte| byte == first) {
        let at = from + at;
        if hay[at..].starts_with(needle) {
            places.push(at);
        }
        from = at + 1;
    }
    places
}

/// Those of `places` that a replacement from left to right takes.
pub(super) fn apart(places: &[usize], len: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for place in places {
        if kept.last().is_none_or(|last| last + len <= *place) {
            kept.push(*place);
        }
    }
    kept
}

/// A text with every line ending as `\n`, no blanks before one, and plain quotes, dashes and spaces; and the way back.
///
/// Indentation stays as it is: what a line is indented with means something.
#[derive(Debug, Default)]
pub(super) struct Folded {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

/// A stretch of folded bytes and the raw bytes it came from; verbatim unless `changed`.
#[derive(Debug)]
struct Piece {
    folded: usize,
    raw: Range<usize>,
    changed: bool,
}

impl Folded {
    /// Folds a text; blanks at its very end go too, unless `keep_end`.
    pub(super) fn new(raw: &[u8], keep_end: bool) -> Self {
        let mut folded = Self::default();
        let mut at = 0;
        while at < raw.len() {
            let blanks = blanks(&raw[at..]);
            let after = raw.get(at + blanks);
            let line_ends = matches!(after, Some(b'\n' | b'\r')) || (after.is_none() && !keep_end);
            if blanks > 0 && line_ends {
                at += blanks;
                continue;
            }
            let until = at + blanks.max(1);
            while at < until {
                at += folded.push(raw, at);
            }
        }
        folded
    }

    /// Folds the character at `at` and says how many raw bytes it has.
    fn push(&mut self, raw: &[u8], at: usize) -> usize {
        let folded = self.bytes.len();
        if let Some((plain, len)) = plain(&raw[at..]) {
            self.bytes.push(plain);
            self.pieces.push(Piece { folded, raw: at..at + len, changed: true });
            return len;
        }
        self.bytes.push(raw[at]);
        match self.pieces.last_mut() {
            Some(piece) if !piece.changed && piece.raw.end == at => piece.raw.end += 1,
            _ => self.pieces.push(Piece { folded, raw: at..at + 1, changed: false }),
        }
        1
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn piece(&self, folded: usize) -> Option<&Piece> {
        self.pieces[..self.pieces.partition_point(|piece| piece.folded <= folded)].last()
    }

    /// Where the folded byte at `at` begins in the raw text.
    pub(super) fn raw_start(&self, at: usize) -> usize {
        self.piece(at).map_or(0, |piece| piece.raw.start + if piece.changed { 0 } else { at - piece.folded })
    }

    /// Where the folded bytes before `end` end in the raw text; `end` is not 0.
    pub(super) fn raw_end(&self, end: usize) -> usize {
        let piece = self.piece(end.saturating_sub(1));
        piece.map_or(0, |piece| if piece.changed { piece.raw.end } else { piece.raw.start + end - piece.folded })
    }
}

/// How many bytes of blanks (not line endings) the text starts with.
fn blanks(raw: &[u8]) -> usize {
    let mut len = 0;
    loop {
        match raw.get(len) {
            Some(b' ' | b'\t') => len += 1,
            Some(0x80..) => match plain(&raw[len..]) {
                Some((b' ', width)) => len += width,
                _ => return len,
            },
            _ => return len,
        }
    }
}

/// The plain character for the line ending or typographic one the text starts with, and the latter's length.
fn plain(raw: &[u8]) -> Option<(u8, usize)> {
    match raw {
        [b'\r', b'\n', ..] => Some((b'\n', 2)),
        [b'\r', ..] => Some((b'\n', 1)),
        [0xC2, 0xA0, ..] => Some((b' ', 2)),
        // U+2000 to U+200A, U+202F, U+205F and U+3000 are spaces; U+2010 to U+2015 and U+2212 dashes.
        [0xE2, 0x80, 0x80..=0x8A | 0xAF, ..] | [0xE2, 0x81, 0x9F, ..] | [0xE3, 0x80, 0x80, ..] => Some((b' ', 3)),
        [0xE2, 0x80, 0x90..=0x95, ..] | [0xE2, 0x88, 0x92, ..] => Some((b'-', 3)),
        // U+2018 to U+201B and U+2032 are single quotes, U+201C to U+201F and U+2033 double ones.
        [0xE2, 0x80, 0x98..=0x9B | 0xB2, ..] => Some((b'\'', 3)),
        [0xE2, 0x80, 0x9C..=0x9F | 0xB3, ..] => Some((b'"', 3)),
        _ => None,
    }
}

/// A place found by the lenient pass, in folded bytes and in raw ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) folded: Range<usize>,
    pub(super) raw: Range<usize>,
}

/// Every place where `needle` stands in the folded text.
pub(super) fn lenient(hay: &Folded, needle: &[u8]) -> Vec<Place> {
    let kept = Folded::new(needle, true);
    let place = |at: usize, len: usize| {
        let folded = at..at + len;
        Place { raw: hay.raw_start(at)..hay.raw_end(at + len), folded }
    };
    let places = exact(hay.bytes(), kept.bytes());
    if !places.is_empty() {
        return places.into_iter().map(|at| place(at, kept.bytes().len())).collect();
    }
    // Blanks at the end of the needle may be too many only where the line ends as well.
    let cut = Folded::new(needle, false);
    let len = cut.bytes().len();
    let ends = |at: &usize| hay.bytes().get(at + len).is_none_or(|byte| *byte == b'\n');
    exact(hay.bytes(), cut.bytes()).into_iter().filter(ends).map(|at| place(at, len)).collect()
}
