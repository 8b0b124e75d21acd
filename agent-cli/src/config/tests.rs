use super::*;

fn env(vars: &[(&str, &str)]) -> Environment {
    let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Environment { vars: vars.collect(), current_dir: "/project".into() }
}

#[track_caller]
fn check_places(vars: &[(&str, &str)], config_file: &str, sessions: &str) {
    let places = Places::of(&env(vars)).unwrap();
    assert_eq!(places, Places { config_file: config_file.into(), sessions: sessions.into() });
}

#[cfg(unix)]
#[test]
fn rule_6_1_where_configuration_and_sessions_are() {
    let (config, sessions) = ("/h/.config/agent/config.toml", "/h/.local/state/agent/sessions");
    check_places(&[("HOME", "/h")], config, sessions);
    // Empty and relative count as not set.
    check_places(&[("HOME", "/h"), ("XDG_CONFIG_HOME", ""), ("XDG_STATE_HOME", "state")], config, sessions);
    check_places(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")], "/c/agent/config.toml", sessions);
    check_places(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")], config, "/s/agent/sessions");
    check_places(&[("AGENT_HOME", "/a"), ("XDG_STATE_HOME", "/s")], "/a/config.toml", "/a/sessions");
    check_places(&[("AGENT_HOME", "a")], "/project/a/config.toml", "/project/a/sessions");
    assert!(Places::of(&env(&[])).unwrap_err().to_string().contains("HOME is not set"));
}

fn resolve(flags: &RunArgs, file: &str) -> Config {
    let env = env(&[("HOME", "/h")]);
    let text = FileText { path: "c.toml".into(), text: file.to_owned() };
    Config::resolve(flags, &env, &Places::of(&env).unwrap(), Some(&text)).unwrap()
}

#[test]
fn rule_6_1_limits_of_the_flags_win_one_by_one() {
    let file = "[limits]\nmax_turns = 3\ntimeout = 1.5\nerror_turns = 2\n[retry]\nattempts = 2\nlongest_delay = 9\n";
    let config = resolve(&RunArgs { max_turns: Some(7), ..RunArgs::default() }, file);
    let expected = Limits {
        turns: Some(7),
        wall_time: Some(Duration::from_millis(1500)),
        error_turns: Some(2),
        ..Limits::default()
    };
    assert_eq!(config.limits, expected);
    let expected = RetryPolicy { attempts: 2, longest_delay: Duration::from_secs(9), ..RetryPolicy::default() };
    assert_eq!(config.retry, expected);
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[track_caller]
fn check_refused(allow: Option<&[&str]>, deny: &[&str], file: &str, refused: &[&str]) {
    let flags = RunArgs { allow: allow.map(names), deny: names(deny), ..RunArgs::default() };
    let rules = resolve(&flags, file).tools;
    let all = ["bash", "edit", "read"].into_iter().filter(|tool| rules.refusal(tool).is_some());
    assert_eq!(all.collect::<Vec<_>>(), refused);
}

#[test]
fn rule_6_4_which_calls_are_refused() {
    check_refused(None, &[], "", &[]);
    check_refused(None, &["bash"], "", &["bash"]);
    check_refused(Some(&["read"]), &[], "", &["bash", "edit"]);
    check_refused(Some(&["read", "bash"]), &["bash"], "", &["bash", "edit"]);
    check_refused(Some(&["all"]), &["bash"], "", &["bash"]);
    let file = "[tools]\nallow = [\"read\", \"bash\"]\ndeny = [\"bash\"]\n";
    check_refused(None, &[], file, &["bash", "edit"]);
    check_refused(None, &["read"], file, &["bash", "edit", "read"]);
    check_refused(Some(&["bash"]), &[], file, &["edit", "read"]);
    check_refused(Some(&["edit"]), &[], file, &["bash", "read"]);
    check_refused(Some(&["all"]), &[], file, &[]);
}

#[test]
fn rule_6_2_a_key_is_never_shown() {
    let config = resolve(&RunArgs::default(), "[providers.openai]\napi_key = \"sk-secret\"\n");
    assert!(!format!("{config:?}").contains("sk-secret"));
    assert_eq!(config.model().unwrap().provider.api_key.unwrap().0, "sk-secret");
}

const EXAMPLE: &str = include_str!("../../config.example.toml");

/// The keys that a section has, as the error about an unknown one lists them.
fn keys_of(section: &str) -> Vec<String> {
    let text = format!("{section}\nno_such_key = 1\n");
    let error = file::parse(&FileText { path: "c.toml".into(), text }).unwrap_err().to_string();
    let keys = error.lines().find_map(|line| line.trim().strip_prefix("keys here: ")).unwrap();
    keys.split(", ").map(str::to_owned).collect()
}

#[test]
fn rule_6_1_the_example_is_right_and_shows_every_key() {
    let config = resolve(&RunArgs::default(), EXAMPLE);
    let choice = config.model().unwrap();
    assert_eq!((choice.provider.name.as_str(), choice.model.as_str()), ("local", "qwen2.5-coder"));
    assert!(config.prices_of("local", "qwen2.5-coder").unwrap().is_some());
    for section in ["", "[limits]", "[retry]", "[settings]", "[tools]", "[bash]", "[providers.local]"] {
        for key in keys_of(section) {
            let shown = EXAMPLE.lines().any(|line| {
                line.starts_with(&format!("{key} = ")) || line.starts_with(&format!("[{key}")) && section.is_empty()
            });
            assert!(shown, "{section} {key} is not in the example");
        }
    }
}
