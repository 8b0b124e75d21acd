//! What fits into one result: the limits every tool keeps, and text cut at them without splitting a character.

/// The most lines a result shows.
pub(crate) const MAX_LINES: usize = 2_000;

/// The most bytes of text a result shows.
pub(crate) const MAX_BYTES: usize = 50 * 1024;

/// The longest start of `text` of at most `limit` bytes that ends between two characters.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// `text` as one line of at most `limit` bytes; `…` marks what was cut.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    if text.len() <= limit { text.to_owned() } else { format!("{}…", head(text, limit)) }
}

/// A count and its noun: `1 line`, `2 lines`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(head("aé", 3), "aé");
        assert_eq!(clip("äöü", 3), "ä…");
        assert_eq!(clip("äöü", 6), "äöü");
    }
}
