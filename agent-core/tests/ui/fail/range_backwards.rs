use agent_core::tool;

/// Counts.
#[tool]
fn count(#[arg(range = 10..=1)] to: u32) -> u32 {
    to
}

fn main() {}
