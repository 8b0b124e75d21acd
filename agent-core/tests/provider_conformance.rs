//! Every wire protocol against a server on the loopback interface that says what real services say, also when they
//! are wrong. The names of the cases follow the traps they are for.
#![cfg_attr(
    all(feature = "anthropic", feature = "openai"),
    expect(clippy::expect_used, clippy::unwrap_used, reason = "a failed expectation is how a test fails")
)]
#![cfg(all(feature = "anthropic", feature = "openai"))]

mod support;

#[path = "provider_conformance/chat.rs"]
mod chat;
#[path = "provider_conformance/every_protocol.rs"]
mod every_protocol;
#[path = "provider_conformance/failures.rs"]
mod failures;
#[path = "provider_conformance/messages.rs"]
mod messages;
#[path = "provider_conformance/requests.rs"]
mod requests;
#[path = "provider_conformance/transport.rs"]
mod transport;
