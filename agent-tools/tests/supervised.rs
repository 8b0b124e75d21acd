//! The `bash` tool below a supervisor: a program of its own, as the hook belongs at the start of a `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = agent_tools::run_supervisor_if_asked() {
        return code;
    }
    ExitCode::SUCCESS
}
