//! What the tests of the wire protocols stand on.

pub(crate) mod answer;
pub(crate) mod server;
pub(crate) mod strict;
pub(crate) mod wire;
