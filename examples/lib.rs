//! Numbered examples; run one with `cargo run -p examples --example 01_hello`.
