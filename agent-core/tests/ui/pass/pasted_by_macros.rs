//! What `macro_rules!` pastes is read as if it were written there; nothing that expands warns.
#![deny(warnings)]

use agent_core::{Toolset, tool};

macro_rules! pasted {
    ($vis:vis $name:ident, $tool:literal, $argument:ty, $default:expr, $least:expr, $output:ty, $doc:expr) => {
        #[doc = $doc]
        #[tool(name = $tool, tags = [$tool], label = $tool)]
        $vis fn $name(#[arg(default = $default, length = $least..)] word: $argument, rest: &$output) -> $output {
            format!("{word}{rest}")
        }
    };
}

pasted!(pub(crate) first, "one", &str, "x", 1, String, "The first.");

macro_rules! whole {
    ($function:item) => {
        /// The second.
        #[tool(name = "two")]
        $function
    };
}

whole! {
    fn second(#[arg(default)] count: u8, #[arg(default = (1 + 2))] more: u8, #[arg(example = (3))] most: u8) -> u8 {
        count + more + most
    }
}

const GREATEST: u8 = 9;

#[doc = concat!("The ", "third.")]
/// Of three.
#[tool(name = "three")]
fn third(
    #[doc = concat!("How ", "many.")]
    #[arg(default, range = (1 - 1)..=GREATEST)]
    count: u8,
) -> u8 {
    count
}

fn main() {
    assert_eq!((first("a", &"b".to_owned()), second(1, 2, 3), third(4)), ("ab".to_owned(), 6, 4));
    let definitions = Toolset::linked().definitions();
    let [one, three, two] = &definitions[..] else { panic!("{definitions:?}") };
    assert_eq!((one.description.as_str(), one.label.as_str()), ("The first.", "one"));
    let schema = one.input_schema.to_string();
    assert!(schema.contains(r#"{"type":"string","default":"x","minLength":1}"#), "{schema}");
    assert_eq!(two.description, "The second.");
    assert_eq!(three.description, "The third.\nOf three.");
    let schema = three.input_schema.to_string();
    assert!(schema.contains(r#""description":"How many.""#) && schema.contains(r#""maximum":9"#), "{schema}");
}
