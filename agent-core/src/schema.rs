//! temp
use serde_json::{Map, Value};
pub struct Checked { pub arguments: Map<String, Value>, pub coerced: Vec<String> }
pub fn check_arguments(_s: &Value, arguments: Map<String, Value>) -> Result<Checked, String> { Ok(Checked{arguments, coerced: vec![]}) }
pub fn nearest<'a>(_w: &str, _k: impl IntoIterator<Item=&'a str>) -> Vec<&'a str> { vec![] }
