use agent_core::tool;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
pub struct Position(pub i32);

/// Moves.
#[tool]
fn go(#[arg(default)] to: Position) -> i32 {
    to.0
}

fn main() {}
