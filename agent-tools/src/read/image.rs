//! Pictures, known by their first bytes.

use agent_core::{Content, ToolError, ToolOutput};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::path::{self, Target};

/// The largest picture handed to a model, in bytes; services refuse larger ones, and the conversation with them.
const MAX_IMAGE: u64 = 5 * 1024 * 1024;

/// The media type of a picture that a model can look at.
pub(super) fn media_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The picture as content for the model.
pub(super) fn read(target: &Target, media_type: &str, len: u64) -> Result<ToolOutput, ToolError> {
    let shown = &target.shown;
    if len > MAX_IMAGE {
        return Err(ToolError::failed(format!(
            "`{shown}` is a picture ({media_type}) of {len} bytes; more than {MAX_IMAGE} cannot be shown. Make a smaller \
             copy and read that"
        )));
    }
    let data = STANDARD.encode(path::contents(&target.real)?);
    let text = format!("`{shown}`: {media_type}, {len} bytes");
    let image = Content::Image { data: data.into(), media_type: media_type.to_owned() };
    Ok(ToolOutput::content(vec![Content::text(text), image])
        .details(json!({"path": shown, "media_type": media_type, "bytes": len})))
}
