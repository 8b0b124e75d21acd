use agent_core::tool;

/// Counts.
#[tool]
fn count(#[arg(default = -1, range = 0..=10)] to: i32) -> i32 {
    to
}

fn main() {}
