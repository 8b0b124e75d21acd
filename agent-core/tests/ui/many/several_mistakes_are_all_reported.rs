use agent_core::tool;

#[tool(timeout = "soon", colour = "red")]
fn greet((first, last): (String, String)) -> String {
    first + &last
}

fn main() {
    // The function is still there.
    let _: fn((String, String)) -> String = greet;
}
