//! The `bash` tool below a supervisor: a program of its own, as the hook belongs at the start of a `main`.
#![expect(clippy::expect_used, clippy::print_stdout, clippy::unwrap_used, reason = "a test without the usual harness")]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
#[path = "bash/cases.rs"]
mod cases;

/// In the environment of a supervisor: be a program that has threads before it calls the hook.
const THREADS_FIRST: &str = "THREADS_FIRST";

#[expect(clippy::disallowed_methods, reason = "this program is told what to be")]
fn main() -> ExitCode {
    if std::env::var_os(THREADS_FIRST).is_some() {
        for _ in 0..4 {
            std::thread::spawn(std::thread::park);
        }
    }
    if let Some(code) = agent_tools::run_supervisor_if_asked() {
        return code;
    }
    #[cfg(target_os = "linux")]
    linux::main();
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use agent_core::ToolContext;
    use agent_tools::bash::{BashSettings, bash};

    use super::cases::{ALL, details, eventually, here, is_running, run, text, with_settings};

    /// As the first argument: be an agent that runs the second one as a command, tells its output and waits.
    const AGENT: &str = "--be-an-agent";

    pub(super) fn main() {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        if let [flag, command] = &arguments[..]
            && flag == AGENT
        {
            return block_on(be_an_agent(command));
        }
        // A name as argument chooses cases, as with the usual harness; its options mean nothing here.
        let wanted = arguments.iter().find(|argument| !argument.starts_with('-')).cloned().unwrap_or_default();
        let mut count = 0;
        let mut chosen = |name: &str| {
            let chosen = name.contains(&wanted);
            if chosen {
                count += 1;
                println!("{name}");
            }
            chosen
        };
        for (name, case) in ALL {
            if chosen(name) {
                block_on(case());
            }
        }
        if chosen("rule_4_6_there_is_no_terminal") {
            block_on(there_is_no_terminal());
        }
        if chosen("rule_4_7_a_process_that_left_session_and_group_is_ended") {
            block_on(a_process_that_left_session_and_group_is_ended());
        }
        if chosen("rule_4_7_an_orphan_of_a_dropped_call_is_ended") {
            block_on(an_orphan_of_a_dropped_call_is_ended());
        }
        if chosen("rule_4_7_a_daemon_outlives_its_call_but_not_the_agent") {
            block_on(a_daemon_outlives_its_call_but_not_the_agent());
        }
        if chosen("rule_4_7_a_killed_agent_takes_a_running_command_along") {
            block_on(a_killed_agent_takes_a_running_command_along());
        }
        if chosen("rule_4_7_a_command_that_kills_its_supervisor_for_good_keeps_its_output") {
            block_on(a_command_that_kills_its_supervisor_for_good_keeps_its_output());
        }
        if chosen("rule_4_7_a_command_that_kills_its_supervisor_politely_ends_itself") {
            block_on(a_command_that_kills_its_supervisor_politely_ends_itself());
        }
        if chosen("rule_4_7_a_command_is_not_found_in_its_supervisor") {
            block_on(a_command_is_not_found_in_its_supervisor());
        }
        if chosen("rule_4_7_a_lost_supervisor_leaves_nothing_behind") {
            block_on(a_lost_supervisor_leaves_nothing_behind());
        }
        if chosen("rule_4_7_a_stopped_supervisor_is_woken_or_ended") {
            block_on(a_stopped_supervisor_is_woken_or_ended());
        }
        if chosen("rule_4_7_a_dropped_call_wakes_a_stopped_supervisor") {
            block_on(a_dropped_call_wakes_a_stopped_supervisor());
        }
        if chosen("rule_4_7_a_killed_agent_wakes_a_stopped_supervisor") {
            block_on(a_killed_agent_wakes_a_stopped_supervisor());
        }
        if chosen("rule_4_7_threads_before_the_hook_do_not_hide_the_end_of_a_command") {
            block_on(threads_before_the_hook_do_not_hide_the_end_of_a_command());
        }
        println!("{count} passed");
    }

    fn block_on(future: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(future);
    }

    async fn there_is_no_terminal() {
        let start = Instant::now();
        let output = run(&here(), "tty; read -r line < /dev/tty", None).await.unwrap();
        assert!(text(&output).contains("not a tty") && text(&output).contains("/dev/tty: "), "{}", text(&output));
        assert!(output.is_error && start.elapsed() < Duration::from_secs(5));
        // The session is the supervisor's, so not this program's.
        let session = |pid: &str| {
            let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            line.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().to_owned()
        };
        let output = run(&here(), "cat /proc/$$/stat; echo $PPID", None).await.unwrap();
        let text = text(&output);
        let (line, supervisor) = text.trim_end().split_once('\n').unwrap();
        assert_eq!(line.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap(), supervisor);
        assert_ne!(session("self"), supervisor);
    }

    async fn a_process_that_left_session_and_group_is_ended() {
        let escape = "trap '' TERM; setsid bash -c 'trap \"\" TERM; (setsid sleep 33 & echo $!; wait); sleep 33' & \
                      echo $!; while :; do sleep 33; done";
        let output = run(&here(), escape, Some(0.5)).await.unwrap();
        assert_eq!(details(&output)["timed_out"], true);
        let text = text(&output);
        let pids: Vec<&str> = text.lines().take(2).collect();
        assert!(pids.iter().all(|pid| pid.parse::<u32>().is_ok() && !is_running(pid)), "{text}");
    }

    async fn an_orphan_of_a_dropped_call_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let context = ToolContext::new(dir.path());
        // A double fork: its parent is gone, and it leads a session of its own.
        let call = run(&context, "(setsid bash -c 'echo $$ > new; mv new pid; exec sleep 33' &); sleep 33", None);
        tokio::select! {
            _ = call => panic!("it does not end by itself"),
            () = eventually("the command starts", || file.exists()) => {}
        }
        let pid = fs::read_to_string(&file).unwrap();
        eventually("the process ends", || !is_running(&pid)).await;
    }

    async fn a_daemon_outlives_its_call_but_not_the_agent() {
        let mut agent = agent("setsid sleep 33 > /dev/null & echo $!; sleep 33 & echo $!");
        let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines().map(Result::unwrap);
        let pids = [lines.next().unwrap(), lines.next().unwrap()];
        lines.find(|line| line == "the call is over").expect("the call ends");
        assert!(pids.iter().all(|pid| is_running(pid)), "{pids:?}");
        agent.kill().unwrap();
        agent.wait().unwrap();
        eventually("the daemons end", || !pids.iter().any(|pid| is_running(pid))).await;
    }

    async fn a_killed_agent_takes_a_running_command_along() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pids");
        let file_name = file.to_str().unwrap();
        let mut agent =
            agent(&format!("sleep 33 & echo $$ $! $PPID > {file_name}.new; mv {file_name}.new {file_name}; wait"));
        eventually("the command starts", || Path::new(&file).exists()).await;
        agent.kill().unwrap();
        agent.wait().unwrap();
        let pids = fs::read_to_string(&file).unwrap();
        eventually("everything ends", || !pids.split_whitespace().any(is_running)).await;
    }

    async fn a_command_that_kills_its_supervisor_politely_ends_itself() {
        // Once it is ready for that: before, it is lost like one that is killed for good.
        let command = "sleep 33 & echo $!; until grep -q '^SigBlk:.*[1-9a-f]' /proc/$PPID/status; do :; done; \
                       kill -TERM $PPID; sleep 33";
        let output = run(&here(), command, None).await.unwrap();
        let text = text(&output);
        // The other process may still be on its way out, and be named.
        assert!(text.ends_with("\nkilled by SIGTERM"), "{text}");
        let pid = text.lines().next().unwrap().to_owned();
        eventually("the process ends", || !is_running(&pid)).await;
    }

    async fn a_command_that_kills_its_supervisor_for_good_keeps_its_output() {
        let output = run(&here(), "echo before; kill -KILL $PPID; sleep 0.2", None).await.unwrap();
        assert!(output.is_error);
        assert!(text(&output).starts_with("before\n\nthe process that watches over the command was killed"));
    }

    async fn a_lost_supervisor_leaves_nothing_behind() {
        // Found by its words, as nobody tells the pid of one that is just being forked.
        let sleep = format!("sleep 341.{}", std::process::id());
        let is_anywhere = || {
            let lines = fs::read_dir("/proc")
                .unwrap()
                .flatten()
                .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            lines
                .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
                .any(|line| line.trim_end().ends_with(&sleep))
        };
        for (command, count) in [
            ("echo $$; kill -KILL $PPID; sleep 341", 1),
            ("trap '' TERM HUP; echo $$; sleep 341 & echo $!; kill -KILL $PPID; wait", 2),
            // Job control gives each its own group; the other has its own session, but not its own parent.
            ("set -m; sleep 341 & echo $!; setsid -w sleep 341 & echo $!; echo $$; kill -KILL $PPID; sleep 341", 3),
        ] {
            let start = Instant::now();
            let output = run(&here(), &command.replace("sleep 341", &sleep), Some(30.0)).await.unwrap();
            let text = text(&output);
            assert!(output.is_error && start.elapsed() < Duration::from_secs(10), "{text}");
            assert!(text.contains("\n\nthe process that watches over the command was killed"), "{text}");
            let pids: Vec<&str> = text.lines().take(count).collect();
            assert!(pids.iter().all(|pid| pid.parse::<u32>().is_ok()), "{text}");
            eventually("everything ends", || !pids.iter().any(|pid| is_running(pid)) && !is_anywhere()).await;
        }
    }

    async fn a_stopped_supervisor_is_woken_or_ended() {
        for (command, count) in [
            ("echo $PPID $$; kill -STOP $PPID; sleep 341", 2),
            ("echo $PPID; kill -STOP $PPID; exit 0", 1),
            // One that is stopped again and again, by a process that takes no request to end.
            ("trap '' TERM; echo $PPID $$; while kill -STOP $PPID; do :; done", 2),
            ("setsid bash -c 'trap \"\" TERM; while kill -STOP '$PPID'; do :; done' & echo $PPID $!; sleep 341", 2),
        ] {
            let start = Instant::now();
            let output = run(&here(), command, Some(0.3)).await.unwrap();
            let text = text(&output);
            assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
            assert!(text.ends_with("\n\ntimed out after 0.3 s, and was stopped with all its processes"), "{text}");
            let pids: Vec<&str> = text.lines().next().unwrap().split(' ').collect();
            assert_eq!(pids.len(), count, "{text}");
            eventually("everything ends", || !pids.iter().any(|pid| is_running(pid))).await;
        }
    }

    async fn a_dropped_call_wakes_a_stopped_supervisor() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pids");
        let context = ToolContext::new(dir.path());
        let call = run(&context, "kill -STOP $PPID; echo $PPID $$ > new; mv new pids; sleep 341", None);
        tokio::select! {
            _ = call => panic!("it does not end by itself"),
            () = eventually("the command starts", || file.exists()) => {}
        }
        let pids = fs::read_to_string(&file).unwrap();
        eventually("everything ends", || !pids.split_whitespace().any(is_running)).await;
    }

    async fn a_killed_agent_wakes_a_stopped_supervisor() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pids");
        let file_name = file.to_str().unwrap();
        let command =
            format!("kill -STOP $PPID; echo $$ $PPID > {file_name}.new; mv {file_name}.new {file_name}; sleep 341");
        let mut agent = agent(&command);
        eventually("the command starts", || file.exists()).await;
        agent.kill().unwrap();
        agent.wait().unwrap();
        let pids = fs::read_to_string(&file).unwrap();
        eventually("everything ends", || !pids.split_whitespace().any(is_running)).await;
    }

    async fn a_command_is_not_found_in_its_supervisor() {
        let command =
            "grep -c -a 'a word [o]f this command' /proc/$PPID/cmdline /proc/$PPID/environ # a word of this command";
        let output = run(&here(), command, None).await.unwrap();
        let text = text(&output);
        assert!(text.lines().filter(|line| line.ends_with(":0")).count() == 2, "{text}");
    }

    async fn threads_before_the_hook_do_not_hide_the_end_of_a_command() {
        let variables = [("PATH", "/usr/bin:/bin"), (super::THREADS_FIRST, "1")];
        let environment = variables.map(|(name, value)| (name.into(), value.into())).to_vec();
        let settings = BashSettings { environment: Some(environment), ..BashSettings::default() };
        let context = with_settings(here(), settings);
        for _ in 0..20 {
            let output = run(&context, "sleep 0.02; echo done", Some(5.0)).await.unwrap();
            assert_eq!(text(&output), "done\n");
        }
    }

    fn agent(command: &str) -> std::process::Child {
        let program = std::env::current_exe().unwrap();
        Command::new(program).args([AGENT, command]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    }

    async fn be_an_agent(command: &str) {
        let output = bash(command.to_owned(), None, &here()).await.unwrap();
        println!("{}\nthe call is over", text(&output));
        std::io::stdout().flush().unwrap();
        std::future::pending::<()>().await;
    }
}
