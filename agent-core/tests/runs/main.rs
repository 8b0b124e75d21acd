//! The loop, from script to transcript: a scripted model in, the run's events as text out.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod abort;
mod calls;
mod hooks;
mod limits;
mod queue;
mod retries;
mod transcript;
