use agent_core::{Dep, tool};

/// Counts.
#[tool]
fn count(#[arg(description = "The list")] list: Dep<Vec<u32>>) -> usize {
    list.len()
}

fn main() {}
