use agent_core::tool;

/// Counts.
#[tool]
fn count(#[arg(default = true)] to: u32) -> u32 {
    to
}

fn main() {}
