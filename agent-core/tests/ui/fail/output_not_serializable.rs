use agent_core::tool;

pub struct Position(pub i32);

/// Looks.
#[tool]
fn whereabouts() -> Position {
    Position(1)
}

fn main() {}
