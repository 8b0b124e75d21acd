use std::cell::RefCell;

use agent_core::{Dep, tool};

/// Counts.
#[tool]
fn count(counter: Dep<RefCell<u32>>) -> u32 {
    *counter.borrow()
}

fn main() {}
