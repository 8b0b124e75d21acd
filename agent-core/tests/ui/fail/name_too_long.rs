use agent_core::tool;

/// Greets.
#[tool]
fn a_name_that_goes_on_and_on_until_it_is_longer_than_any_provider_would_take() {}

fn main() {}
