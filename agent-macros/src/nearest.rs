//! Which of the known words was meant.

/// The known word nearest to `word`, if one is near.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let best = known.iter().copied().min_by_key(|candidate| distance(word, candidate))?;
    (distance(word, best) <= 1 + word.len() / 3).then_some(best)
}

/// How many letters must be added, removed or changed to make `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn rule_1_7_a_typo_finds_its_key_and_a_strange_word_finds_none() {
        let known = ["timeout", "read_only", "tags"];
        assert_eq!(nearest("timout", &known), Some("timeout"));
        assert_eq!(nearest("readonly", &known), Some("read_only"));
        assert_eq!(nearest("zebra", &known), None);
    }
}
