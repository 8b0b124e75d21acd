//! The configuration file, the environment, and which of them wins.

use crate::scene::{Scene, check};
use crate::server::{Answer, Server};

#[test]
fn rule_6_3_without_a_key_or_a_server_it_says_what_was_looked_for_and_how_to_go_on() {
    check(
        &Scene::bare().run(&["hello"]),
        "
! error: there is no model to talk to: no key and no server was found
!   looked for ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, `api_key` of [providers.anthropic] in $HOME/config.toml (provider anthropic)
!   looked for OPENAI_API_KEY, OPENAI_BASE_URL, `api_key` of [providers.openai] in $HOME/config.toml (provider openai)
!   looked in $HOME/config.toml (no such file)
!   three ways to go on:
!     1. set a key: export ANTHROPIC_API_KEY=…  or  export OPENAI_API_KEY=…
!     2. use a server on this machine: export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 and --model openai/NAME
!     3. see it work without either: agent demo
exit 2
",
    );
}

#[test]
fn rule_6_3_a_named_model_without_a_key_says_which_key() {
    check(
        &Scene::bare().run(&["--model", "openai/gpt-5", "hello"]),
        "
! error: there is no key for the provider openai
!   looked for OPENAI_API_KEY, OPENAI_BASE_URL, `api_key` of [providers.openai] in $HOME/config.toml
!   three ways to go on:
!     1. set a key: export OPENAI_API_KEY=…
!     2. use a server on this machine: export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 and --model openai/NAME
!     3. see it work without either: agent demo
exit 2
",
    );
}

#[test]
fn rule_6_2_an_unknown_key_is_named_with_file_line_and_nearest_key() {
    let scene = Scene::with([]).config("instructions = \"be brief\"\nmodle = \"openai/x\"\n");
    check(
        &scene.run(&["hello"]),
        "
! error: $HOME/config.toml:2:1: unknown key `modle`
!   did you mean `model`?
!   keys here: model, instructions, limits, retry, settings, tools, bash, providers, prices
exit 2
",
    );
    let scene = Scene::with([]).config("[limits]\nmax_turns = 3\n\nmax_turn = 4\n");
    check(
        &scene.run(&["hello"]),
        "
! error: $HOME/config.toml:4:1: unknown key `max_turn`
!   did you mean `max_turns`?
!   keys here: max_turns, max_tokens, max_cost, timeout, error_turns, repeated_calls
exit 2
",
    );
}

#[test]
fn rule_6_2_a_wrong_type_is_named_with_file_line_and_column() {
    for (config, told) in [
        ("[limits]\nmax_turns = \"three\"\n", "config.toml:2:13: invalid type: string \"three\", expected u32"),
        ("[limits]\ntimeout = -1\n", "config.toml:2:11: a number above 0 is expected"),
        ("model = \n", "config.toml:1:9: "),
        ("[providers.x]\nprotocol = \"openai\"\n", "[providers.x] in $HOME/config.toml needs `base_url`"),
        ("[providers.x]\nbase_url = \"http://127.0.0.1\"\n", "[providers.x] in $HOME/config.toml needs `protocol`"),
        ("[providers.x]\nprotocol = \"openai\"\nbase_url = \"127.0.0.1\"\n", "is not an address: `127.0.0.1`"),
        ("[tools]\ndeny = [\"bsh\"]\n", "`tools.deny` in $HOME/config.toml: there is no tool `bsh`"),
    ] {
        let text = Scene::with([]).config(config).run(&["hello"]);
        assert!(text.contains(told) && text.ends_with("exit 2\n"), "{config}\n--- came\n{text}");
    }
}

#[test]
fn rule_6_2_a_configuration_that_cannot_be_read_is_an_error() {
    let scene = Scene::with([]);
    check(
        &scene.run(&["--config", "gone.toml", "hello"]),
        "! error: the configuration file $WORK/gone.toml cannot be read: No such file or directory (os error 2)\nexit 2",
    );
    std::fs::write(scene.home().join("config.toml"), b"model = \"\xff\"").unwrap();
    check(
        &scene.run(&["hello"]),
        "! error: the configuration file $HOME/config.toml cannot be read: stream did not contain valid UTF-8\nexit 2",
    );
}

#[test]
fn rule_6_1_a_refused_model_name_says_what_is_wrong_with_it() {
    let scene = Scene::with([]);
    check(
        &scene.run(&["--model", "gpt-5", "hello"]),
        "
! error: --model: `gpt-5` is not PROVIDER/NAME
!   write the provider too, e.g. openai/gpt-5
!   providers: anthropic, openai
exit 2
",
    );
    check(
        &scene.run(&["--model", "opnai/gpt-5", "hello"]),
        "
! error: --model: there is no provider `opnai`
!   did you mean `openai`?
!   providers: anthropic, openai
!   another one is added in $HOME/config.toml: [providers.opnai]
exit 2
",
    );
}

#[test]
fn rule_6_1_flags_win_over_the_environment_and_that_over_the_file() {
    let scene =
        Scene::with([Answer::Text("a"), Answer::Text("b"), Answer::Text("c")]).config("model = \"openai/of-file\"\n");
    scene.run(&["hello"]);
    scene.command(&["hello"]).env("AGENT_MODEL", "openai/of-environment").output().unwrap();
    scene
        .command(&["--model", "openai/of-flag", "hello"])
        .env("AGENT_MODEL", "openai/of-environment")
        .output()
        .unwrap();
    let models: Vec<String> =
        scene.server().asked().iter().map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(models, ["of-file", "of-environment", "of-flag"]);
}

#[test]
fn rule_6_1_two_usable_providers_and_no_model_is_an_error() {
    let scene = Scene::with([]);
    let output = scene.command(&["hello"]).env("ANTHROPIC_API_KEY", "k").output().unwrap();
    check(
        &scene.text(&output),
        "
! error: no model is named, and several providers could be asked: anthropic, openai
!   name one with --model, AGENT_MODEL, or `model` in the configuration, e.g.
!     agent --model anthropic/claude-sonnet-4-5 …
!     agent --model openai/gpt-5 …
exit 2
",
    );
}

#[test]
fn rule_6_1_a_configured_provider_is_asked_with_its_key_and_headers() {
    let server = Server::start([Answer::Text("hi")]);
    let scene = Scene::bare().config(&format!(
        "model = \"mine/some/model\"\n[providers.mine]\nprotocol = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"MY_KEY\"\n",
        server.url
    ));
    let output = scene.command(&["--no-session", "hello"]).env("MY_KEY", "secret-key").output().unwrap();
    check(&scene.text(&output), "hi\nexit 0");
    let asked = &server.asked()[0];
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.key.as_deref(), Some("Bearer secret-key"));
    assert_eq!(asked.body["model"], "some/model");
}

#[test]
fn rule_6_2_a_cost_limit_without_prices_is_an_error() {
    check(
        &Scene::with([]).run(&["--max-cost", "1", "hello"]),
        "
! error: a cost limit needs prices, and those of openai/gpt-5 are not known
!   in $HOME/config.toml: [prices.\"openai/gpt-5\"] with input and output in dollars per million tokens
exit 2
",
    );
}

#[cfg(unix)]
#[test]
fn rule_4_6_the_bash_section_says_how_long_commands_take_and_which_secrets_they_see() {
    let scene = Scene::with([
        Answer::Call("bash", r#"{"command":"echo \"$MY_TOKEN,$OTHER_TOKEN\" > seen; sleep 60"}"#),
        Answer::Text("Stopped."),
    ])
    .config("[bash]\ntimeout = 0.5\nallow_env = [\"MY_*\"]\n");
    let output = scene.command(&["--no-session", "go"]).env("MY_TOKEN", "a").env("OTHER_TOKEN", "b").output().unwrap();
    let text = scene.text(&output);
    assert!(text.contains("!   ✗ timed out · N s\n") && text.ends_with("exit 0\n"), "{text}");
    assert_eq!(std::fs::read_to_string(scene.work().join("seen")).unwrap(), "a,\n");
}
