use agent_core::tool;

/// Greets.
#[tool]
fn greet(
    #[arg(rename = "who")]
    #[arg(example = "you")]
    name: String,
) -> String {
    name
}

fn main() {}
