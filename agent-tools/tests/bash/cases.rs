//! What holds for every command, supervised or not. Each case is run both ways.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a case fails by a panic")]

use std::fs;
use std::future::Future;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_core::context::State;
use agent_core::{CancellationToken, Content, Progress, ToolContext, ToolError, ToolOutput};
use agent_tools::bash::{BashSettings, bash};
use serde_json::Value;

type Case = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        /// All of them, by name.
        pub(crate) const ALL: &[Case] = &[$((stringify!($name), || Box::pin($name()))),*];
    };
}

cases![
    rule_4_9_output_comes_first_and_the_exit_code_last,
    rule_4_9_a_signal_is_named,
    rule_4_6_there_is_no_input_and_nothing_that_waits_for_a_person,
    rule_4_6_secrets_do_not_reach_the_command,
    rule_4_6_a_command_may_be_of_any_length_that_bash_takes,
    rule_4_6_a_command_that_begins_with_a_dash_is_no_option,
    rule_4_7_a_missing_working_directory_is_named,
    rule_4_7_a_daemon_that_holds_the_pipe_is_named_and_not_waited_for,
    rule_4_7_many_daemons_are_counted,
    rule_4_7_a_daemon_that_never_falls_silent_is_not_waited_for,
    rule_4_7_output_right_before_the_exit_is_complete,
    rule_4_7_what_comes_in_small_pieces_after_the_exit_is_complete,
    rule_4_7_a_timeout_ends_grandchildren_and_keeps_output,
    rule_4_7_a_process_that_ignores_term_is_ended,
    rule_4_7_a_stopped_process_is_ended,
    rule_4_7_an_abort_settles_fast_and_keeps_output,
    rule_4_7_a_dropped_call_ends_its_processes,
    rule_4_7_many_calls_leave_no_zombie_and_no_descriptor,
    rule_4_8_a_flood_stays_small_in_memory_and_on_disk,
    rule_4_8_long_output_keeps_both_ends_and_a_private_file_with_all,
    rule_4_8_files_without_a_place_share_a_private_folder,
    rule_4_8_output_is_readable,
    rule_4_8_a_long_progress_bar_shows_its_last_state,
    rule_4_8_progress_shows_the_latest_lines,
];

pub(crate) fn here() -> ToolContext {
    ToolContext::new(std::env::temp_dir())
}

pub(crate) fn with_settings(context: ToolContext, settings: BashSettings) -> ToolContext {
    let mut state = State::default();
    state.insert(settings);
    context.with_state(state)
}

pub(crate) fn text(output: &ToolOutput) -> String {
    output.content.iter().filter_map(Content::as_text).collect()
}

pub(crate) fn details(output: &ToolOutput) -> &Value {
    output.details.as_ref().expect("details")
}

/// Runs a command, within a bound that no case needs.
pub(crate) async fn run(context: &ToolContext, command: &str, timeout: Option<f64>) -> Result<ToolOutput, ToolError> {
    tokio::time::timeout(Duration::from_mins(1), bash(command.to_owned(), timeout, context)).await.expect("in time")
}

async fn run_here(command: &str) -> ToolOutput {
    run(&here(), command, None).await.expect("a result")
}

/// Whether a process runs, from its pid in text.
pub(crate) fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| !rest.starts_with('Z')))
}

/// Waits for a condition another process brings about.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn rule_4_9_output_comes_first_and_the_exit_code_last() {
    let output = run_here("echo out; echo err >&2; echo last; exit 3").await;
    assert!(output.is_error);
    assert_eq!(text(&output), "out\nerr\nlast\n\nexit code 3");
    assert_eq!(details(&output)["exit_code"], 3);
    assert_eq!(details(&output)["signal"], Value::Null);
    assert_eq!(details(&output)["cwd"], std::env::temp_dir().to_str().unwrap());

    let output = run_here("true").await;
    assert_eq!((text(&output).as_str(), output.is_error), ("(no output)", false));
    assert_eq!(details(&output)["exit_code"], 0);
    assert_eq!(text(&run_here("exit 255").await), "(no output)\n\nexit code 255");
}

async fn rule_4_9_a_signal_is_named() {
    let output = run_here("echo before; kill -SEGV $$").await;
    assert_eq!(text(&output), "before\n\nkilled by SIGSEGV");
    assert_eq!((&details(&output)["exit_code"], &details(&output)["signal"]), (&Value::Null, &"SIGSEGV".into()));
    // Real-time signals have numbers only, and the shell may be ended by one as by any other; so may an orphan before it.
    for (signal, name) in [("RTMIN", "SIGRTMIN"), ("RTMIN+3", "SIGRTMIN+3"), ("64", "SIGRTMIN+30")] {
        let command = format!("(bash -c 'kill -RTMAX $$' &) | cat; echo before; kill -{signal} $$");
        let output = run_here(&command).await;
        // The orphan may still be on its way out, and be named.
        let text = text(&output);
        assert!(text.starts_with("before\n\n") && text.ends_with(&format!("killed by {name}")), "{text}");
        assert_eq!((output.is_error, &details(&output)["signal"]), (true, &name.into()));
    }
}

async fn rule_4_6_there_is_no_input_and_nothing_that_waits_for_a_person() {
    assert_eq!(text(&run_here("cat; readlink /proc/self/fd/0").await), "/dev/null\n");
    let output = run_here("echo $PAGER $GIT_PAGER $EDITOR $GIT_TERMINAL_PROMPT $TERM $NO_COLOR").await;
    assert_eq!(text(&output), "cat cat true 0 dumb 1\n");
    // The leader of its own process group: a signal to it meets nobody else.
    assert_eq!(text(&run_here("read -r _ _ _ _ group _ < /proc/$$/stat; [ $group = $$ ] && echo own").await), "own\n");
}

async fn rule_4_6_secrets_do_not_reach_the_command() {
    let variables =
        [("PATH", "/usr/bin:/bin"), ("A_TOKEN", "a"), ("B", "sk-abcdefghijklmnopqrst"), ("C_KEY", "c"), ("D", "d")];
    let settings = BashSettings {
        environment: Some(variables.map(|(name, value)| (name.into(), value.into())).to_vec()),
        allow: vec!["C_KEY".into()],
        ..BashSettings::default()
    };
    let context = with_settings(here(), settings);
    let output = run(&context, "echo \"$A_TOKEN|$B|$C_KEY|$D|$HOME\"", None).await.unwrap();
    assert_eq!(text(&output), "||c|d|\n");
    // Nor may it find them one process up.
    let output = run(&context, "tr '\\0' '\\n' < /proc/$$/environ | grep -c -e A_TOKEN -e ^B=", None).await.unwrap();
    assert_eq!(text(&output), "0\n\nexit code 1");
}

async fn rule_4_6_a_command_may_be_of_any_length_that_bash_takes() {
    let longest = format!("echo ${{#1}} done #{}", "é".repeat(65_000));
    let longest = format!("{longest}{}", "x".repeat(131_071 - longest.len()));
    assert_eq!(text(&run_here(&longest).await), "0 done\n");
    let error = run(&here(), &format!("{longest}x"), None).await.unwrap_err();
    assert!(error.message().contains("131072 bytes, and bash takes 131071 at most"), "{}", error.message());
    assert_eq!(text(&run_here("").await), "(no output)");
    // Bytes that no argument can hold.
    assert!(run(&here(), "echo \0", None).await.is_err());
}

async fn rule_4_6_a_command_that_begins_with_a_dash_is_no_option() {
    for command in ["-x", "--version", "-c", "--", "-"] {
        let output = run_here(command).await;
        assert!(text(&output).ends_with(&format!("{command}: command not found\n\nexit code 127")), "{output:?}");
    }
}

async fn rule_4_7_a_missing_working_directory_is_named() {
    let error = run(&ToolContext::new("/no/such/place"), "true", None).await.unwrap_err();
    assert_eq!(error.message(), "the working directory /no/such/place does not exist");
}

async fn rule_4_7_a_daemon_that_holds_the_pipe_is_named_and_not_waited_for() {
    let start = Instant::now();
    let output = run_here("sleep 30.5 & echo $!").await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let text = text(&output);
    let pid = text.lines().next().unwrap();
    assert_eq!(text, format!("{pid}\n\nstill running: {pid} sleep 30.5"));
    assert_eq!(details(&output)["still_running"], serde_json::json!([format!("{pid} sleep 30.5")]));
    assert!(!output.is_error && is_running(pid));
    // It goes on after the call, and can be ended like any process.
    run_here(&format!("kill {pid}")).await;
    eventually("the daemon ends", || !is_running(pid)).await;
}

async fn rule_4_7_many_daemons_are_counted() {
    for (count, end) in [(5, ""), (6, "; and 1 more"), (300, "; and 295 more")] {
        let command = format!("for i in {{1..{count}}}; do exec sleep 32 > /dev/null & done");
        let output = run_here(&command).await;
        let all = details(&output)["still_running"].as_array().unwrap().clone();
        let pids: Vec<&str> = all.iter().map(|name| name.as_str().unwrap().split(' ').next().unwrap()).collect();
        run_here(&format!("kill {}", pids.join(" "))).await;
        assert_eq!(all.len(), count);
        let text = text(&output);
        assert!(text.starts_with("(no output)\n\nstill running: ") && text.ends_with(end), "{text}");
        assert!(text.matches("; ").count() <= 5 && text.len() < 600, "{text}");
    }
}

async fn rule_4_7_a_daemon_that_never_falls_silent_is_not_waited_for() {
    let start = Instant::now();
    let output = run_here("(while sleep 0.01; do echo tick; done) & echo $! > /dev/null; echo pid=$!").await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let text = text(&output);
    let pid = text.lines().find_map(|line| line.strip_prefix("pid=")).unwrap().to_owned();
    assert!(text.contains("still running: "), "{text}");
    // Its pipe is read on, so it does not die of its next lines.
    run_here("sleep 0.1").await;
    assert!(is_running(&pid));
    run_here(&format!("kill {pid}")).await;
    eventually("the daemon ends", || !is_running(&pid)).await;
}

async fn rule_4_7_output_right_before_the_exit_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let context = here().with_artifacts_dir(Some(dir.path().into()));
    for _ in 0..5 {
        let command = "sleep 30.5 & head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end; kill $!";
        let output = run(&context, command, None).await.expect("a result");
        // The killed process may still be on its way out, and be named.
        assert!(text(&output).contains("x\nthe end"));
        assert_eq!(details(&output)["truncation"]["total_bytes"], 3_000_009);
    }
}

async fn rule_4_7_what_comes_in_small_pieces_after_the_exit_is_complete() {
    // The shell does not wait for the loop behind `>( )`, which writes a line at a time.
    let output = run_here("seq 300 > >(while read -r line; do echo $line; done)").await;
    let text = text(&output);
    let numbers: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(numbers.len(), 300, "{text}");
}

async fn rule_4_7_a_timeout_ends_grandchildren_and_keeps_output() {
    let output = run(&here(), "bash -c 'sleep 31 & echo $!; wait' & wait", Some(0.3)).await.unwrap();
    let text = text(&output);
    let pid = text.lines().next().unwrap().to_owned();
    assert_eq!(text, format!("{pid}\n\ntimed out after 0.3 s, and was stopped with all its processes"));
    assert!(output.is_error && !is_running(&pid));
    assert_eq!((&details(&output)["timed_out"], &details(&output)["aborted"]), (&true.into(), &false.into()));

    let settings = BashSettings { max_timeout: Duration::from_millis(200), ..BashSettings::default() };
    let output = run(&with_settings(here(), settings), "sleep 31", Some(1e300)).await.unwrap();
    assert!(details(&output)["timed_out"] == true, "{output:?}");
    for wrong in [0.0, 1e-12, 0.000_9, -1.0, f64::NAN, f64::NEG_INFINITY] {
        let error = run(&here(), "true", Some(wrong)).await.unwrap_err();
        assert!(error.message().starts_with("timeout must be at least 0.001 seconds, not "), "{}", error.message());
    }
    let output = run(&here(), "sleep 31", Some(0.001)).await.unwrap();
    assert!(self::text(&output).ends_with("timed out after 0.001 s, and was stopped with all its processes"));
}

async fn rule_4_7_a_process_that_ignores_term_is_ended() {
    let command = "trap '' TERM; (trap '' TERM; while :; do sleep 31; done) & echo $!; while :; do sleep 31; done";
    let start = Instant::now();
    let output = run(&here(), command, Some(0.3)).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(details(&output)["signal"], "SIGKILL");
    assert!(!is_running(text(&output).lines().next().unwrap()));
}

async fn rule_4_7_a_stopped_process_is_ended() {
    let settings = BashSettings { grace: Duration::from_secs(20), ..BashSettings::default() };
    // The shell stays, as its end would make the kernel wake the stopped process.
    let command = "trap : TERM; (trap 'echo woken; exit' TERM; kill -STOP $BASHPID) & echo $!; wait; wait";
    let start = Instant::now();
    let output = run(&with_settings(here(), settings), command, Some(0.3)).await.unwrap();
    // Woken to be ended politely, long before the grace is over.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(text(&output).contains("\nwoken\n"), "{}", text(&output));
    assert!(!is_running(text(&output).lines().next().unwrap()));
}

async fn rule_4_7_an_abort_settles_fast_and_keeps_output() {
    let token = CancellationToken::new();
    let context = here().with_cancellation(token.clone());
    // The first progress says that the command's first line is known.
    let aborted_at = Arc::new(Mutex::new(None));
    let when = Arc::clone(&aborted_at);
    let context = context.with_progress(Progress::to(move |_| {
        when.lock().unwrap().get_or_insert_with(Instant::now);
        token.cancel();
    }));
    let output = run(&context, "echo partial; trap '' TERM; while :; do sleep 31; done", None).await.unwrap();
    // The loop waits 600 ms before it drops a call; the rest is for a busy machine.
    let settled_in = aborted_at.lock().unwrap().expect("progress").elapsed();
    assert!(settled_in < Duration::from_millis(1_200), "{settled_in:?}");
    assert_eq!(text(&output), "partial\n\naborted, and stopped with all its processes");
    assert!(output.is_error && details(&output)["aborted"] == true);
}

async fn rule_4_7_a_dropped_call_ends_its_processes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pid");
    let context = ToolContext::new(dir.path());
    let call = run(&context, "sleep 31 & echo $! > new; mv new pid; wait", None);
    tokio::select! {
        _ = call => panic!("it does not end by itself"),
        () = eventually("the command starts", || file.exists()) => {}
    }
    let pid = fs::read_to_string(&file).unwrap();
    eventually("the process ends", || !is_running(&pid)).await;
}

async fn rule_4_7_many_calls_leave_no_zombie_and_no_descriptor() {
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    run_here("true").await;
    let before = descriptors();
    for _ in 0..100 {
        run_here("true | cat").await;
    }
    eventually("all descriptors are closed", || descriptors() <= before).await;
    eventually("all children are collected", || zombies() == 0).await;
}

fn zombies() -> usize {
    let own = std::process::id().to_string();
    let stats = fs::read_dir("/proc").unwrap().flatten();
    let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let rests = stats.filter_map(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()));
    rests.filter(|rest| rest.starts_with(&format!("Z {own} "))).count()
}

fn peak_memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn rule_4_8_a_flood_stays_small_in_memory_and_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let settings = BashSettings { max_output_file: 5_000_000, ..BashSettings::default() };
    let context = with_settings(here().with_artifacts_dir(Some(dir.path().into())), settings);
    let before = peak_memory_kb();
    let output = run(&context, "yes | head -c 200000000", None).await.unwrap();
    assert!(peak_memory_kb() < before + 30_000, "{before} kB became {} kB", peak_memory_kb());
    assert_eq!(details(&output)["truncation"]["total_lines"], 100_000_000);
    let file = details(&output)["truncation"]["full_output"].as_str().unwrap();
    assert_eq!(fs::metadata(file).unwrap().len(), 5_000_000);
    assert!(text(&output).contains(&format!("the first 5000000 bytes of the output: {file}")));
}

async fn rule_4_8_long_output_keeps_both_ends_and_a_private_file_with_all() {
    let dir = tempfile::tempdir().unwrap();
    let context = here().with_artifacts_dir(Some(dir.path().join("new")));
    let output = run(&context, "seq 2000", None).await.unwrap();
    assert!(details(&output)["truncation"].is_null() && !dir.path().join("new").exists());

    for (command, full) in [("seq 2001", 2_001), ("seq 300000", 300_000)] {
        let output = run(&context, command, None).await.unwrap();
        let text = text(&output);
        assert!(text.starts_with("1\n2\n") && text.ends_with(&format!("\n{full}\n")), "{text}");
        assert!(text.contains("\n1000\n[… ") && text.lines().count() == 2_001);
        assert!(text.contains(&format!("{} of {full} lines", full - 2_000)), "{text}");
        let file = Path::new(details(&output)["truncation"]["full_output"].as_str().unwrap());
        let all = fs::read_to_string(file).unwrap();
        assert!(text.contains(file.to_str().unwrap()) && file.starts_with(dir.path()));
        assert!(all.lines().eq((1..=full).map(|number| number.to_string())));
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // One line without end, of characters with three bytes each.
    let output = run(&context, "yes € | head -c 400000 | tr -d '\\n'", None).await.unwrap();
    assert!(text(&output).len() < 52 * 1024 && text(&output).contains("€\n[… "), "{}", text(&output).len());
    assert!(!text(&output).contains('\u{fffd}'));
}

async fn rule_4_8_files_without_a_place_share_a_private_folder() {
    let file_of = |output: &ToolOutput| -> PathBuf {
        details(output)["truncation"]["full_output"].as_str().expect("a file").into()
    };
    let (first, second) = (file_of(&run_here("seq 3000").await), file_of(&run_here("seq 300000").await));
    let folder = first.parent().unwrap();
    assert!(first != second && second.parent() == Some(folder) && folder.parent() == Some(&std::env::temp_dir()));
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&second).unwrap().lines().count(), 300_000);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
    // Someone tidies up, and the next one has a folder all the same.
    fs::remove_dir_all(folder).unwrap();
    let third = file_of(&run_here("seq 3000").await);
    assert_eq!(fs::metadata(&third).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_dir_all(third.parent().unwrap()).unwrap();
}

async fn rule_4_8_output_is_readable() {
    for (command, readable) in [
        (r"printf '\xe2\x82'; sleep 0.1; printf '\xac\n'", "€\n"),
        (r"printf 'a\xffb\xe2\x82\n'", "a\u{fffd}b\u{fffd}\n"),
        (r"printf 'a\0b\n'", "a␀b\n"),
        (r"printf '\e[1;31mred\e[0m \e]8;;http://x\e\\link\e]8;;\a\e(B\n'", "red link\n"),
        (r"printf ' 1%%\r 50%%\r100%%\r\nnext\r\n'", "100%\nnext\n"),
        (r"printf 'abx\bc\n'", "abc\n"),
        ("for i in $(seq 20000); do printf '\\r%d of 20000' $i; done", "20000 of 20000"),
    ] {
        assert_eq!(text(&run_here(command).await), readable, "{command}");
    }
}

async fn rule_4_8_a_long_progress_bar_shows_its_last_state() {
    let dir = tempfile::tempdir().unwrap();
    let context = here().with_artifacts_dir(Some(dir.path().into()));
    let bar = |start: &str, end: &str| format!("seq -f '{start}%.0f of 300000{end}' 300000 | tr -d '\\n'");
    // Returns before or after each state, with an escape that clears the line, and among ordinary lines.
    for (command, shown) in [
        (bar("\r", ""), "300000 of 300000"),
        (bar("", "\r"), "300000 of 300000"),
        (format!("{}; echo", bar("\r\x1b[K", "")), "300000 of 300000\n"),
        (
            format!("echo before; {}; echo; echo after", bar("\x1b[32m", "\x1b[0m\r")),
            "before\n300000 of 300000\nafter\n",
        ),
        (format!("{}; echo; {0}", bar("\r", "")), "300000 of 300000\n300000 of 300000"),
    ] {
        let output = run(&context, &command, None).await.unwrap();
        assert_eq!(text(&output), shown, "{command:?}");
        assert!(details(&output)["truncation"].is_null());
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a file nobody is told of");

    // Where lines are left out, the file has every state of the bar.
    let command = format!("{}; echo; seq 300000; {0}", bar("\r", ""));
    let output = run(&context, &command, None).await.unwrap();
    let text = text(&output);
    assert!(text.starts_with("300000 of 300000\n1\n2\n") && text.ends_with("\n300000\n300000 of 300000"), "{text}");
    assert!(text.lines().count() <= 2_001 && !text.contains('\r'));
    let file = details(&output)["truncation"]["full_output"].as_str().unwrap();
    assert!(fs::read_to_string(file).unwrap().starts_with("\r1 of 300000\r2 of 300000\r3 of"));

    // Ordinary lines of another system, more than memory keeps.
    let output = run(&context, "seq 200000 | sed 's/$/\\r/'", None).await.unwrap();
    let text = self::text(&output);
    assert!(text.starts_with("1\n2\n3\n") && text.ends_with("\n199999\n200000\n"), "{text}");
}

async fn rule_4_8_progress_shows_the_latest_lines() {
    let dir = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let context = here()
        .with_artifacts_dir(Some(dir.path().into()))
        .with_progress(Progress::to(move |update| sink.lock().unwrap().push(update)));
    run(&context, "seq 5000; sleep 0.3; echo done; sleep 0.3", None).await.unwrap();
    let seen = seen.lock().unwrap();
    let texts: Vec<_> = seen.iter().filter_map(|update| update.content.first()?.as_text()).collect();
    assert!(texts.iter().any(|text| text.ends_with("\n5000\n")) && texts.last().unwrap().ends_with("\n5000\ndone\n"));
    assert!(texts.iter().all(|text| text.len() <= 4096) && texts.len() < 8, "{}", texts.len());
}
