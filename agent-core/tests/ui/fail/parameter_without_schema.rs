use agent_core::tool;

#[derive(serde::Deserialize)]
pub struct Position(pub i32);

/// Moves.
#[tool]
fn go(to: Vec<Position>) -> i32 {
    to[0].0
}

fn main() {}
