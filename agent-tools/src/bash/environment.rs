//! The environment of a command: no secrets, and nothing that waits for a person.

use std::ffi::{OsStr, OsString};

/// Programs that would open a pager, an editor or a prompt get one that returns at once; colours are off.
const NEUTRAL: [(&str, &str); 12] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
];
/// Would have programs colour their output all the same.
const FORCED_COLOUR: [&str; 3] = ["CLICOLOR_FORCE", "FORCE_COLOR", "COLORTERM"];

const SECRET_NAME_PARTS: [&str; 9] =
    ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY"];
const SECRET_NAME_STARTS: [&str; 1] = ["AWS_"];
const SECRET_NAME_ENDS: [&str; 5] = ["TOKEN", "_PAT", "_AUTH", "_PWD", "_KEY"];

/// How keys of well-known services begin, and how long one is at least.
const SECRET_VALUE_STARTS: [(&str, usize); 15] = [
    ("sk-", 20),
    ("sk_live_", 20),
    ("rk_live_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 20),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("npm_", 30),
    ("hf_", 20),
];

/// The environment for a command: `variables` without secrets, except those allowed, and with everything neutralised.
///
/// `allow` holds names, or beginnings of names followed by `*`.
pub(super) fn for_command(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    allow: &[String],
) -> Vec<(OsString, OsString)> {
    let replaced = |name: &OsStr| {
        NEUTRAL.iter().any(|(neutral, _)| name == *neutral) || FORCED_COLOUR.iter().any(|forced| name == *forced)
    };
    let mut environment: Vec<_> = variables
        .into_iter()
        .filter(|(name, value)| {
            let name_text = name.to_string_lossy();
            is_allowed(&name_text, allow)
                || !(replaced(name) || is_secret_name(&name_text) || is_secret_value(&value.to_string_lossy()))
        })
        .collect();
    for (name, value) in NEUTRAL {
        if !is_allowed(name, allow) {
            environment.push((name.into(), value.into()));
        }
    }
    environment
}

fn is_allowed(name: &str, allow: &[String]) -> bool {
    allow.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    })
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAME_PARTS.iter().any(|part| name.contains(part))
        || SECRET_NAME_STARTS.iter().any(|start| name.starts_with(start))
        // The shell's own variables, which hold directories.
        || (SECRET_NAME_ENDS.iter().any(|end| name.ends_with(end)) && !matches!(&*name, "PWD" | "OLD_PWD"))
}

fn is_secret_value(value: &str) -> bool {
    (value.contains("-----BEGIN") && value.contains("PRIVATE KEY"))
        || has_password_in_url(value)
        || value.split([' ', ',', ';', '=', ':', '"', '\'', '\n']).any(is_secret_word)
}

fn is_secret_word(word: &str) -> bool {
    let known = SECRET_VALUE_STARTS.iter().any(|(start, length)| word.starts_with(start) && word.len() >= *length);
    let slack = word.strip_prefix("xox").is_some_and(|rest| rest.len() > 10 && rest[1..].starts_with('-'));
    let json_web_token = word.starts_with("eyJ") && word.len() > 30 && word.matches('.').count() == 2;
    known || slack || json_web_token
}

/// `scheme://user:password@host`.
fn has_password_in_url(value: &str) -> bool {
    value.split_once("://").is_some_and(|(_, rest)| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, value: &str, allow: &[&str]) -> bool {
        let allow: Vec<String> = allow.iter().map(ToString::to_string).collect();
        let environment = for_command([(name.into(), value.into())], &allow);
        environment.contains(&(name.into(), value.into()))
    }

    #[test]
    fn rule_4_6_secrets_are_known_by_name() {
        for name in ["OPENAI_API_KEY", "GITHUB_TOKEN", "db_password", "AWS_REGION", "MY_SECRET_THING", "SIGNING_KEY"] {
            assert!(!kept(name, "x", &[]), "{name}");
        }
        for name in ["PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "KEYBOARD", "TOKENIZERS_PARALLELISM"] {
            assert!(kept(name, "x", &[]), "{name}");
        }
    }

    #[test]
    fn rule_4_6_secrets_are_known_by_the_shape_of_their_value() {
        let token = format!("eyJ{}.eyJ{}.abc", "a".repeat(20), "b".repeat(20));
        for value in [
            "sk-abcdefghijklmnopqrst",
            "Bearer sk-abcdefghijklmnopqrst",
            "ghp_abcdefghijklmnopqrstuvwx",
            "AKIAABCDEFGHIJKLMNOP",
            "xoxb-1234567890-abc",
            "postgres://me:pass@host/db",
            &token,
        ] {
            assert!(!kept("HARMLESS", value, &[]), "{value}");
        }
        for value in ["sk-short", "https://example.org/a:b@c", "xoxé", "/usr/bin:/bin", "eyJ"] {
            assert!(kept("HARMLESS", value, &[]), "{value}");
        }
    }

    #[test]
    fn rule_4_6_the_allow_list_wins() {
        assert!(kept("GITHUB_TOKEN", "ghp_abcdefghijklmnopqrstuvwx", &["GITHUB_TOKEN"]));
        assert!(kept("AWS_REGION", "eu-north-1", &["AWS_*"]));
        assert!(!kept("GITHUB_TOKEN", "x", &["GITHUB"]));
        assert!(kept("TERM", "xterm", &["TERM"]) && !kept("TERM", "xterm", &[]));
    }
}
