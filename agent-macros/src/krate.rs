//! Under which name the user's crate knows `agent-core`.

use std::path::{Path, PathBuf};

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

const PACKAGE: &str = "agent-core";

/// `::agent_core`, or what the dependency was renamed to in the manifest of the crate being compiled.
pub(crate) fn path() -> TokenStream {
    let dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let name = dir.as_deref().and_then(renamed).unwrap_or_else(|| PACKAGE.replace('-', "_"));
    let name = Ident::new(&name, Span::call_site());
    quote!(::#name)
}

/// Looks into the crate's manifest, then up into the workspace's.
fn renamed(dir: &Path) -> Option<String> {
    let manifest = |dir: &Path| std::fs::read_to_string(dir.join("Cargo.toml")).ok();
    let own = manifest(dir)?;
    match find(&own) {
        Found::Named => None,
        Found::Renamed(name) => Some(name),
        Found::Nothing => dir.ancestors().skip(1).filter_map(manifest).find_map(|text| match find(&text) {
            // A workspace's list counts only for the names the crate inherits.
            Found::Renamed(name) if own.contains(name.as_str()) || own.contains(&name.replace('_', "-")) => Some(name),
            _ => None,
        }),
    }
}

#[derive(Debug, PartialEq)]
enum Found {
    Named,
    Renamed(String),
    Nothing,
}

/// Reads just enough TOML: `name = { package = "agent-core" }` and `[dependencies.name]` with `package = "agent-core"`.
fn find(manifest: &str) -> Found {
    let mut table_name = None;
    let mut in_dependencies = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.split(']').next().unwrap_or_default();
            in_dependencies = table.ends_with("dependencies");
            table_name = table.split_once("dependencies.").map(|(_, name)| ident_of(name));
            if table_name.as_deref() == Some("agent_core") {
                return Found::Named;
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let renames = if key.trim() == "package" { names_package(value) } else { names_package_inside(value) };
        match (&table_name, renames) {
            (Some(name), true) => return Found::Renamed(name.clone()),
            (None, true) if in_dependencies => return Found::Renamed(ident_of(key)),
            (None, false) if in_dependencies && ident_of(key) == "agent_core" => return Found::Named,
            _ => {}
        }
    }
    Found::Nothing
}

fn names_package(value: &str) -> bool {
    value.trim().trim_matches(['"', '\'']).starts_with(PACKAGE)
}

fn names_package_inside(table: &str) -> bool {
    let Some((_, rest)) = table.split_once("package") else { return false };
    rest.trim_start().strip_prefix('=').is_some_and(|value| {
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        value.strip_prefix(PACKAGE).is_some_and(|after| after.starts_with(['"', '\'']))
    })
}

/// `my-agent.workspace` is `my_agent`.
fn ident_of(key: &str) -> String {
    let name = key.trim().split('.').next().unwrap_or_default();
    name.trim_matches(['"', '\'']).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::{Found, find};

    #[test]
    fn the_dependency_is_found_under_its_own_or_another_name() {
        let renamed = Found::Renamed("my_agent".to_owned());
        for (manifest, found) in [
            ("[dependencies]\nagent-core = \"1\"", Found::Named),
            ("[dependencies]\nagent-core.workspace = true", Found::Named),
            ("[dev-dependencies.agent-core]\nversion = \"1\"", Found::Named),
            ("[dependencies]\nmy-agent = { package = \"agent-core\", version = \"1\" }", renamed),
            ("[dependencies.x]\npackage = \"agent-core\"", Found::Renamed("x".to_owned())),
            ("[target.'cfg(unix)'.dependencies]\nx = {package='agent-core'}", Found::Renamed("x".to_owned())),
            ("[package]\nname = \"agent-core\"", Found::Nothing),
            ("[dependencies]\nx = { package = \"agent-core-extras\" }", Found::Nothing),
        ] {
            assert_eq!(find(manifest), found, "{manifest}");
        }
    }
}
