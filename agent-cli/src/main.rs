//! The `agent` command.
fn main() {}
