//! The real binary, from the outside: command line, environment and files in; output, exit code and files out.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod scene;
mod server;

mod configuration;
mod demo;
mod kill;
mod prompt;
mod sessions;
mod signals;
mod tools;
mod usage;
