use agent_core::tool;

/// Counts.
#[tool]
fn count(#[arg(length = 1..=10)] to: Option<u32>) -> u32 {
    to.unwrap_or_default()
}

fn main() {}
