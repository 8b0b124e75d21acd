use agent_core::tool;

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct Position(pub i32);

/// Moves.
#[tool]
fn go(#[arg(default = Position(1))] to: Position) -> i32 {
    to.0
}

fn main() {}
