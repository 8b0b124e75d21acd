//! Names that are near to a wrong one.

/// How many names are given at most.
const SUGGESTIONS: usize = 3;
/// Names longer than this, in characters, are only compared as wholes.
const COMPARED_LENGTH: usize = 100;

/// Those of `known` that someone who wrote `wanted` may have meant, the nearest first, three at most.
///
/// Case and `-`/`_` do not count; a few wrong, missing, added or swapped characters are near, and so is a name that
/// contains the wanted one or is contained in it.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = normal(wanted);
    let mut near: Vec<(usize, &str)> =
        known.into_iter().filter_map(|name| Some((distance(&wanted, &normal(name))?, name))).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(SUGGESTIONS);
    near.into_iter().map(|(_, name)| name).collect()
}

fn normal(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).flat_map(char::to_lowercase).collect()
}

/// How far two names are apart; `None` if too far to be meant.
fn distance(wanted: &[char], name: &[char]) -> Option<usize> {
    if wanted == name {
        return Some(0);
    }
    if wanted.len().max(name.len()) > COMPARED_LENGTH {
        return None;
    }
    let allowed = (wanted.len().max(name.len()) / 3).max(1);
    let edits = edits(wanted, name);
    if edits <= allowed && edits < wanted.len().max(name.len()) {
        return Some(edits);
    }
    let (short, long) = if wanted.len() < name.len() { (wanted, name) } else { (name, wanted) };
    let contained = short.len() >= 3 && long.windows(short.len()).any(|part| part == short);
    contained.then_some(edits.max(allowed + 1))
}

/// How many characters must be changed, added, removed or swapped with their neighbour.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}
