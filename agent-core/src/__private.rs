//! What code expanded from `#[tool]` names. Not part of the API.

pub use std::time::Duration;

pub use inventory;

pub use crate::function::{Attributes, FunctionTool, blocking, boxed, identity};
pub use crate::param::{Call, FromText, Known, Lend, Slot, argument, lengthy, param, ranged, shown, shown_argument};
pub use crate::reply::{
    FailWithNothing, FailWithSources, FailWithText, Failure, ReplyAny, ReplyNothing, Returned, SplitPlain, Success,
    check,
};
pub use crate::signature::Signature;
pub use crate::toolset::{assert_linked, with_function};

/// Converts a function's split return value, by method lookup on the concrete types.
#[doc(hidden)]
#[macro_export]
macro_rules! __reply {
    ($value:expr) => {{
        use $crate::__private::*;
        match $value {
            ::core::result::Result::Ok(value) => Success(value).reply(),
            ::core::result::Result::Err(error) => Failure(error).reply(),
        }
    }};
}
pub use crate::__reply as reply;
