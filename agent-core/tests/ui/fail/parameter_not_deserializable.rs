use agent_core::tool;

pub struct Position(pub i32);

/// Moves.
#[tool]
fn go(to: Position) -> i32 {
    to.0
}

fn main() {}
