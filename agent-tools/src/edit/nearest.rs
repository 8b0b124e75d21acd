//! What to say when `old_text` is nowhere: the lines that come nearest, and in what they differ.

use std::fmt::Write as _;

use super::matching::Folded;
use crate::truncate::{clip, count};

/// File lines looked at; the rest of a huge file is not worth the wait.
const MOST_LINES: usize = 50_000;
/// Places shown, lines shown at each, and bytes shown of each line.
const MOST_PLACES: usize = 3;
const MOST_SHOWN: usize = 6;
const LINE_BYTES: usize = 200;
/// The least likeness of two lines worth showing, from 0 to 100.
const LEAST: usize = 50;

/// A few lines about the places in `body` that come nearest to `old_text`; empty when none is near.
pub(super) fn describe(body: &[u8], old_text: &str) -> String {
    let unended = old_text.strip_suffix('\n').filter(|_| !body.ends_with(b"\n"));
    if unended.is_some_and(|text| body.ends_with(text.as_bytes())) {
        return "The file's last line has no newline: leave the one at the end of old_text out.".to_owned();
    }
    if old_text.contains(char::REPLACEMENT_CHARACTER) && std::str::from_utf8(body).is_err() {
        return "old_text holds the replacement character U+FFFD, which `read` shows in place of bytes that are not \
                UTF-8; the file has those bytes there. Give only the text before or after them."
            .to_owned();
    }
    let lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').take(MOST_LINES).collect();
    let wanted: Vec<&str> = old_text.lines().collect();
    // The longest line says most about where the text is meant to be.
    let Some((offset, anchor)) =
        wanted.iter().enumerate().max_by_key(|(at, line)| (line.trim().len(), usize::MAX - at))
    else {
        return String::new();
    };
    let anchor_pairs = pairs(anchor.as_bytes());
    let mut near: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (likeness(&anchor_pairs, &pairs(line)), at))
        .filter(|(likeness, _)| *likeness >= LEAST)
        .collect();
    near.sort_by_key(|(likeness, at)| (usize::MAX - likeness, *at));
    near.truncate(MOST_PLACES);
    let Some((_, best)) = near.first().copied() else { return String::new() };

    let mut text = String::from("The nearest lines are:\n");
    for (place, (_, at)) in near.iter().enumerate() {
        if place > 0 && wanted.len() > 1 {
            text.push_str("   ...\n");
        }
        let first = at.saturating_sub(offset);
        for (number, line) in lines.iter().enumerate().skip(first).take(wanted.len().min(MOST_SHOWN)) {
            let line = String::from_utf8_lossy(line);
            // Writing to a string does not fail.
            let _ = writeln!(text, "{:>6}: {}", number + 1, clip(line.trim_end_matches('\r'), LINE_BYTES));
        }
    }
    let first = best.saturating_sub(offset);
    let differing = wanted.iter().enumerate().find_map(|(at, wanted_line)| {
        let line = String::from_utf8_lossy(lines.get(first + at)?);
        let line = line.trim_end_matches('\r');
        // The first and the last line of old_text may be part of a line.
        let part =
            (at == 0 && line.ends_with(wanted_line)) || (at + 1 == wanted.len() && line.starts_with(wanted_line));
        if part { None } else { difference(wanted_line, line).map(|what| format!("Line {}: {what}.", first + at + 1)) }
    });
    text.push_str(&differing.unwrap_or_default());
    text
}

/// In what a wanted line differs from the file's, when it can be said in a few words.
fn difference(wanted: &str, line: &str) -> Option<String> {
    let folded = |text: &str| Folded::new(text.as_bytes(), false).bytes().to_vec();
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    if folded(wanted) == folded(line) {
        return None;
    }
    if wanted.trim() == line.trim() {
        let (there, here) = (indentation(line), indentation(wanted));
        return Some(format!("the file indents with {there}, old_text with {here}"));
    }
    if wanted.trim().to_lowercase() == line.trim().to_lowercase() {
        return Some("upper and lower case differ".to_owned());
    }
    if dense(wanted) == dense(line) {
        return Some("the blanks inside the line differ".to_owned());
    }
    let quotes = |text: &str| text.replace(['\'', '`'], "\"");
    if quotes(wanted.trim()) == quotes(line.trim()) {
        return Some("the quotes differ".to_owned());
    }
    let same = wanted.chars().zip(line.chars()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str| clip(&text.chars().skip(same).collect::<String>(), 40);
    Some(format!("from character {} on the file has `{}`, old_text `{}`", same + 1, rest(line), rest(wanted)))
}

fn indentation(line: &str) -> String {
    let start = &line[..line.len() - line.trim_start().len()];
    let tabs = start.matches('\t').count();
    let spaces = start.matches(' ').count();
    match (tabs, spaces) {
        (0, 0) => "nothing".to_owned(),
        (0, _) => count(spaces, "space"),
        (_, 0) => count(tabs, "tab"),
        _ => format!("{} and {}", count(tabs, "tab"), count(spaces, "space")),
    }
}

/// The pairs of neighbouring bytes of a line without its blanks, sorted.
fn pairs(line: &[u8]) -> Vec<[u8; 2]> {
    const MOST: usize = 500;
    let dense: Vec<u8> =
        line.iter().filter(|byte| !byte.is_ascii_whitespace()).take(MOST).map(u8::to_ascii_lowercase).collect();
    let mut pairs: Vec<[u8; 2]> = dense.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    pairs.sort_unstable();
    pairs
}

/// How alike two lines are by their pairs (Dice's coefficient), from 0 to 100.
fn likeness(one: &[[u8; 2]], other: &[[u8; 2]]) -> usize {
    let (mut a, mut b, mut shared) = (0, 0, 0_usize);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => a += 1,
            std::cmp::Ordering::Greater => b += 1,
            std::cmp::Ordering::Equal => (a, b, shared) = (a + 1, b + 1, shared + 1),
        }
    }
    (200 * shared).checked_div(one.len() + other.len()).unwrap_or(0)
}
