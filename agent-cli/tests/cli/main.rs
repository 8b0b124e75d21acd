//! The real binary, from the outside: command line, environment and files in; output, exit code and files out.

mod scene;
mod server;

mod configuration;
mod demo;
mod prompt;
mod sessions;
mod signals;
mod tools;
mod usage;
