//! Random edits against an oracle that knows nothing but bytes.

use std::ops::Range;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::Place;

/// Every place of `needle`, by looking at each.
fn places(hay: &[u8], needle: &[u8]) -> Vec<usize> {
    (0..hay.len()).filter(|at| hay[*at..].starts_with(needle)).collect()
}

/// Text of few different characters, so that repetitions and overlaps are common.
fn random_text(rng: &mut Rng, longest: usize) -> String {
    let pieces = ["a", "b", "ä", "\n", "x y", "\t", "€"];
    (0..rng.usize(..=longest)).map(|_| pieces[rng.usize(..pieces.len())]).collect()
}

/// What the file becomes when every edit is exact; `None` when the call has to be refused.
fn expected(file: &[u8], edits: &[(String, String, bool)]) -> Option<Vec<u8>> {
    let mut changes: Vec<(Range<usize>, &str)> = Vec::new();
    for (old, new, all) in edits {
        if old.is_empty() || old == new {
            return None;
        }
        let found = places(file, old.as_bytes());
        if *all {
            let mut end = 0;
            for at in &found {
                if *at >= end {
                    end = at + old.len();
                    changes.push((*at..end, new));
                }
            }
            if found.is_empty() {
                return None;
            }
        } else if found.len() == 1 {
            changes.push((found[0]..found[0] + old.len(), new));
        } else {
            return None;
        }
    }
    changes.sort_by_key(|(range, _)| range.start);
    if changes.windows(2).any(|pair| pair[1].0.start < pair[0].0.end) {
        return None;
    }
    let mut after = file.to_vec();
    for (range, new) in changes.into_iter().rev() {
        after.splice(range, new.bytes());
    }
    (after != file).then_some(after)
}

#[tokio::test]
async fn rule_4_1_random_exact_edits_do_what_a_byte_oracle_says() {
    let mut rng = Rng::with_seed(0x0ED1_7CA5);
    let (mut done, mut refused) = (0, 0);
    let mut place = Place::new();
    for case in 0..2_000 {
        if case % 500 == 0 {
            place = Place::new();
        }
        let mut file = random_text(&mut rng, 40).into_bytes();
        if rng.u8(..4) == 0 {
            file.insert(0, 0xFF);
            file.push(0xE9);
        }
        let name = format!("f{case}");
        place.put(&name, &file);
        let valid = String::from_utf8(file.clone()).ok();
        let edits: Vec<(String, String, bool)> = (0..rng.usize(1..4))
            .map(|_| {
                // Mostly a piece of the file itself, else there would be few matches.
                let piece = valid.as_ref().filter(|_| rng.u8(..8) > 0).and_then(|text| {
                    let from = text.floor_char_boundary(rng.usize(..=text.len()));
                    let to = text.floor_char_boundary((from + rng.usize(1..12)).min(text.len()));
                    text.get(from..to).map(str::to_owned)
                });
                (piece.unwrap_or_else(|| random_text(&mut rng, 3)), random_text(&mut rng, 4), rng.u8(..3) == 0)
            })
            .collect();
        let list: Vec<Value> =
            edits.iter().map(|(old, new, all)| json!({"old_text": old, "new_text": new, "replace_all": all})).collect();
        let result = place.call("edit", json!({"path": name, "edits": list})).await;
        let after = place.bytes(&name);
        match (expected(&file, &edits), result) {
            (Some(expected), Ok(_)) => {
                assert_eq!(after, expected, "case {case}: {edits:?} on {file:?}");
                done += 1;
            }
            (None, Err(_)) => {
                assert_eq!(after, file, "case {case}: a refused edit left a trace");
                refused += 1;
            }
            // Blanks before a line's end may match leniently where the oracle sees nothing.
            (None, Ok(output)) => {
                assert!(crate::text(&output).contains("differ from old_text"), "case {case}: {edits:?}")
            }
            (Some(_), Err(error)) => panic!("case {case}: {error}: {edits:?} on {file:?}"),
        }
    }
    assert!(done > 300 && refused > 300, "the cases are lopsided: {done} done, {refused} refused");
}
