use agent_core::tool;

pub struct Lost;

/// Looks.
#[tool]
fn whereabouts() -> Result<String, Lost> {
    Err(Lost)
}

fn main() {}
