use agent_core::tool;

/// Counts.
#[tool]
fn count(#[arg(range = 1..10)] to: u32) -> u32 {
    to
}

fn main() {}
