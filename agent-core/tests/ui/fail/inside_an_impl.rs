use agent_core::tool;

struct Greeter;

impl Greeter {
    /// Greets.
    #[tool]
    fn greet(name: &str) -> String {
        name.to_owned()
    }
}

fn main() {}
