use agent_core::tool;

/// Counts.
#[tool]
fn count(#[arg(default = "ten")] to: u32) -> u32 {
    to
}

fn main() {}
