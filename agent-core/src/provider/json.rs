//! JSON as services send it: read leniently where the meaning is beyond doubt.

use std::borrow::Cow;

use serde_json::Value;

/// Where halves of surrogate pairs wait for their other half: `U+D800` is kept as this character, and so on.
const HALF_BASE: u32 = 0x0010_F800;

/// What was read, and whether it holds halves of surrogate pairs, which a [`Joiner`] must put together.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) value: Value,
    pub(crate) halves: bool,
}

/// Reads JSON; lone surrogate escapes and raw control characters inside strings are no obstacle.
pub(crate) fn parse(text: &str) -> Option<Parsed> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(Parsed { value, halves: false });
    }
    let (repaired, halves) = repair(text);
    serde_json::from_str(&repaired).ok().map(|value| Parsed { value, halves })
}

/// The same text with raw control characters in strings escaped and lone surrogate escapes made whole with `U+FFFD`;
/// `None` if there are none.
pub(crate) fn repaired(text: &str) -> Option<String> {
    let (repaired, halves) = repair(text);
    if !halves && repaired == text {
        return None;
    }
    Some(if halves { Joiner::default().all(&repaired) } else { repaired })
}

fn repair(text: &str) -> (String, bool) {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut in_string, mut halves) = (false, false);
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let mut taken = next.len_utf8();
        match next {
            '"' => {
                in_string = !in_string;
                out.push(next);
            }
            '\\' if in_string => match escaped_unit(rest) {
                Some(unit @ 0xD800..=0xDFFF) => {
                    let second = escaped_unit(&rest[6..]).filter(|low| (0xDC00..=0xDFFF).contains(low));
                    if unit < 0xDC00 && second.is_some() {
                        taken = 12;
                        out.push_str(&rest[..taken]);
                    } else {
                        taken = 6;
                        halves = true;
                        out.extend(char::from_u32(HALF_BASE + unit - 0xD800));
                    }
                }
                _ => {
                    taken += rest[1..].chars().next().map_or(0, char::len_utf8);
                    out.push_str(&rest[..taken]);
                }
            },
            control if in_string && control < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => out.push(other),
        }
        rest = &rest[taken..];
    }
    (out, halves)
}

/// The code unit of the `\uXXXX` escape `text` begins with.
fn escaped_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Puts halves of surrogate pairs together that came in different pieces of one text.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    high: Option<u32>,
}

impl Joiner {
    /// The next piece as it may be shown; a first half at its end is held back.
    pub(crate) fn join<'t>(&mut self, piece: &'t str) -> Cow<'t, str> {
        if piece.is_empty() || (self.high.is_none() && !piece.chars().any(|c| half(c).is_some())) {
            return Cow::Borrowed(piece);
        }
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            match (self.high.take(), half(c)) {
                (Some(high), Some(low @ 0xDC00..)) => {
                    let joined = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                    out.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                (held, now) => {
                    if held.is_some() {
                        out.push(char::REPLACEMENT_CHARACTER);
                    }
                    match now {
                        None => out.push(c),
                        Some(high @ ..0xDC00) => self.high = Some(high),
                        Some(_) => out.push(char::REPLACEMENT_CHARACTER),
                    }
                }
            }
        }
        Cow::Owned(out)
    }

    /// What is left at the end: a half whose other half never came.
    pub(crate) fn rest(&mut self) -> Option<char> {
        self.high.take().map(|_| char::REPLACEMENT_CHARACTER)
    }

    fn all(mut self, text: &str) -> String {
        let mut out = self.join(text).into_owned();
        out.extend(self.rest());
        out
    }
}

fn half(c: char) -> Option<u32> {
    let unit = u32::from(c).checked_sub(HALF_BASE)?;
    Some(unit + 0xD800)
}

/// A string that says something.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// A whole number, also one written as a string.
pub(crate) fn number(value: &Value, key: &str) -> Option<u64> {
    match value.get(key)? {
        Value::String(text) => text.trim().parse().ok(),
        // Some servers count in floats.
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn whole(number: f64) -> Option<u64> {
    (0.0..1e15).contains(&number).then_some(number as u64)
}

/// At most `limit` bytes of `text`, cut between characters and marked as cut.
pub(crate) fn bounded(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(limit)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surrogate_pair_split_over_two_pieces_is_joined() {
        let mut joiner = Joiner::default();
        let read = |text: &str| parse(text).unwrap().value.as_str().unwrap().to_owned();
        assert_eq!(joiner.join(&read(r#""a\ud83d""#)), "a");
        assert_eq!(joiner.join(&read(r#""\ude00b""#)), "\u{1F600}b");
        assert_eq!(joiner.join(&read(r#""\ud83d""#)), "");
        assert_eq!(joiner.join("x"), "\u{FFFD}x");
        assert_eq!(joiner.join(&read(r#""\ude00\ud800""#)), "\u{FFFD}");
        assert_eq!(joiner.rest(), Some('\u{FFFD}'));
    }

    #[test]
    fn whole_pairs_and_escapes_stay_as_they_are() {
        assert_eq!(repair(r#"{"a\\":"\ud83d\ude00\n\"\u00e9"}"#).0, r#"{"a\\":"\ud83d\ude00\n\"\u00e9"}"#);
        assert_eq!(repaired("{\"a\":\"1\n2\"}").unwrap(), "{\"a\":\"1\\u000a2\"}");
        assert_eq!(repaired(r#"{"a":"\ud83d"}"#).unwrap(), "{\"a\":\"\u{FFFD}\"}");
        assert_eq!(repaired("{\"a\":1}{"), None);
        assert!(parse(r#""\ud8"#).is_none() && parse("\"\\").is_none());
    }
}
