use agent_core::tool;

pub struct Position(pub i32);

type Outcome<T> = Result<T, std::io::Error>;

/// Looks.
#[tool]
async fn whereabouts() -> Outcome<Position> {
    Ok(Position(1))
}

fn main() {}
