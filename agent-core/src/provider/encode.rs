//! What the request builders of the wire protocols share.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

/// What an empty name is sent as; no tool is called so, and the model is told.
pub(crate) const UNNAMED: &str = "unnamed";

/// A number that stands for everything an encoding depends on besides the message.
pub(crate) fn key(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// An id every service accepts: `id` itself where it is of at most `longest` allowed characters, otherwise one made of
/// it. The same id always gives the same one, and different ids give different ones.
pub(crate) fn call_id(id: &str, longest: usize, also: &[char]) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || also.contains(&c);
    if !id.is_empty() && id.len() <= longest && id.chars().all(allowed) {
        return id.to_owned();
    }
    let head: String = id.chars().map(|c| if allowed(c) { c } else { '_' }).take(longest - 17).collect();
    format!("{head}_{:016x}", key(id))
}

/// A tool name every service accepts: 1 to 64 of `[A-Za-z0-9_-]`. Models make up names that are not.
pub(crate) fn tool_name(name: &str) -> String {
    if name.is_empty() {
        return UNNAMED.to_owned();
    }
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(64).collect()
}

/// The body of a request: `head`'s fields, then `messages`, whose bytes stand last so that a longer conversation
/// begins with the same bytes.
pub(crate) fn body(head: Map<String, Value>, messages: &[&str]) -> Vec<u8> {
    let mut head = Value::Object(head).to_string();
    head.pop();
    let separator = if head.len() > 1 { "," } else { "" };
    let size = messages.iter().map(|message| message.len()).sum::<usize>();
    let mut body = Vec::with_capacity(head.len() + size + 16);
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(separator.as_bytes());
    body.extend_from_slice(b"\"messages\":[");
    for piece in messages {
        body.extend_from_slice(piece.as_bytes());
    }
    body.extend_from_slice(b"]}");
    body
}

/// Whether a service takes images of this type.
pub(crate) fn is_image_type(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

/// What is sent in the place of an image that no service takes.
pub(crate) fn left_out_image(media_type: &str) -> String {
    format!("[an image of type {media_type}, which the model cannot see]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_kept_where_allowed_and_mapped_to_distinct_ones_otherwise() {
        assert_eq!(call_id("toolu_01-x", 64, &[]), "toolu_01-x");
        let (a, b) = (call_id("functions.read:0", 64, &[]), call_id("functions_read:0", 64, &[]));
        assert_ne!(a, b);
        assert!(a.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-'), "{a}");
        assert_eq!(call_id(&"é".repeat(300), 40, &[]).len(), 40);
        assert_eq!(call_id("functions.read:0", 40, &['.', ':']), "functions.read:0");
    }
}
