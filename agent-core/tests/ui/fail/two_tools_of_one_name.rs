use agent_core::tool;

mod one {
    /// Greets.
    #[agent_core::tool]
    fn greet() {}
}

/// Greets, too.
#[tool]
fn greet() {}

fn main() {}
