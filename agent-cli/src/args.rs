//! The command line, as clap reads it, and what a person may have meant by its words.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::error::CliError;

/// An LLM agent that reads, edits and runs things in the current directory.
#[derive(Debug, Parser)]
#[command(
    name = "agent",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = AFTER_HELP,
    override_usage = "agent [OPTIONS] PROMPT\n       agent [OPTIONS] -        (the prompt is read from standard input)\n       agent <COMMAND>"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

const AFTER_HELP: &str = "\
Tools run without asking, with your rights, in the current directory: bash can do whatever you can. --tools, --allow \
and --deny narrow that. Nothing is ever asked; a call that is not allowed is denied.

Exit codes: 0 done, 1 the run failed, 2 usage or configuration, 3 something was denied, 4 a limit, 130 interrupted.

Configuration: $XDG_CONFIG_HOME/agent/config.toml (~/.config/agent/config.toml)
Sessions:      $XDG_STATE_HOME/agent/sessions     (~/.local/state/agent/sessions)
AGENT_HOME moves both. AGENT_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL are read.";

/// What to do instead of running a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List, show and call tools, without a model
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// List and show sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// See the agent fix a bug, without a key: the real loop and the real tools on a recorded model
    Demo(DemoArgs),
}

/// Options of a run.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line, read by name")]
pub(crate) struct RunArgs {
    /// What the agent is to do, as one argument; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<String>,
    /// Run one prompt and exit (as a prompt given as an argument does anyway)
    #[arg(short, long)]
    pub(crate) print: bool,
    /// The model to ask
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// The system prompt, in place of the built-in one
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// Give the model these tools only
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// Let these tools run, and deny all others [default: all]
    #[arg(long, value_name = "TOOL,…|all", value_delimiter = ',')]
    pub(crate) allow: Option<Vec<String>>,
    /// Deny every call of these tools
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Go on with the newest session of this directory
    #[arg(long = "continue", conflicts_with_all = ["resume", "no_session"])]
    pub(crate) continue_newest: bool,
    /// Go on with this session; the beginning of its id is enough
    #[arg(long, value_name = "ID", conflicts_with = "no_session")]
    pub(crate) resume: Option<String>,
    /// Keep no session
    #[arg(long)]
    pub(crate) no_session: bool,
    /// End after this many answers of the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// End when this many tokens are used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// End when this much is spent; needs the model's prices in the configuration
    #[arg(long, value_name = "DOLLARS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) max_cost: Option<f64>,
    /// End after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) timeout: Option<f64>,
    /// Read this configuration file instead of the usual one
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Show reasoning and what tools put out
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) dir: DirArg,
    #[command(flatten)]
    pub(crate) output: OutputArg,
}

/// Where to work.
#[derive(Debug, Default, Args)]
pub(crate) struct DirArg {
    /// Work in this directory
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// What standard output holds.
#[derive(Debug, Default, Args)]
pub(crate) struct OutputArg {
    /// What standard output holds
    #[arg(long = "output", value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: OutputFormat,
}

impl OutputArg {
    /// Whether it is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.format == OutputFormat::Json
    }
}

/// What standard output holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for people
    #[default]
    Text,
    /// Lines of JSON for programs
    Json,
}

/// Commands about tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools: name, label and where each comes from
    List {
        #[command(flatten)]
        output: OutputArg,
    },
    /// Show what a tool does and what arguments it takes
    Show {
        /// The tool
        name: String,
        #[command(flatten)]
        output: OutputArg,
    },
    /// Run one tool in the current directory; exit code 1 if it says it failed, 2 if it cannot be called like that
    Call {
        /// The tool
        name: String,
        /// Its arguments as a JSON object; `-` reads them from standard input
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
        #[command(flatten)]
        dir: DirArg,
        #[command(flatten)]
        output: OutputArg,
    },
}

/// Commands about sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions, newest first
    List {
        #[command(flatten)]
        output: OutputArg,
    },
    /// Show what was said and done in a session
    Show {
        /// The session; the beginning of its id is enough
        id: String,
        #[command(flatten)]
        output: OutputArg,
    },
}

/// Options of the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Work in this directory, on the program and test that are there; what is missing is put there first
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Leave the scratch directory in place
    #[arg(long, conflicts_with = "dir")]
    pub(crate) keep: bool,
}

/// Where the prompt comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// It was an argument.
    Text(String),
    /// It is to be read from standard input.
    Stdin,
}

/// Reads the command line. Help and version are clap errors too, of their own kind.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(words)
}

/// Whether the command line asks for JSON, as far as can be seen when it cannot be read.
pub(crate) fn asks_for_json(words: &[OsString]) -> bool {
    words.iter().any(|word| word == "--output=json")
        || words.windows(2).any(|pair| pair[0] == "--output" && pair[1] == "json")
}

impl RunArgs {
    /// The prompt, unless the words look like something else that was meant.
    pub(crate) fn prompt(&self) -> Result<Prompt, CliError> {
        let Some(first) = self.words.first() else {
            return Err(CliError::usage("no prompt was given")
                .hint("three ways to give one:")
                .hint("  agent \"fix the failing test\"")
                .hint("  agent -p \"fix the failing test\"")
                .hint("  echo \"fix the failing test\" | agent -"));
        };
        let commands: Vec<String> = Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
        if !self.print && commands.contains(&first.as_str()) {
            return Err(CliError::usage(format!("`{first}` came after an option, and would be a prompt there"))
                .hint(format!("options go behind the command: agent {} …", self.words.join(" "))));
        }
        if self.words.len() > 1 {
            return Err(CliError::usage(format!("one prompt was expected, {} words came", self.words.len()))
                .did_you_mean(first, commands)
                .hint(format!("quote the prompt: agent \"{}\"", self.words.join(" "))));
        }
        let near = agent_core::schema::nearest(first, commands.iter().copied());
        if !self.print && !near.is_empty() && !first.contains(char::is_whitespace) {
            return Err(CliError::usage(format!("there is no command `{first}`"))
                .did_you_mean(first, commands)
                .hint(format!("to send it to the model: agent -p {first}")));
        }
        match first.as_str() {
            "-" => Ok(Prompt::Stdin),
            text if text.trim().is_empty() => Err(CliError::usage("the prompt is empty")),
            text => Ok(Prompt::Text(text.to_owned())),
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "a number above 0 is expected".to_owned())?;
    if number.is_finite() && number > 0.0 && number < 1e9 {
        Ok(number)
    } else {
        Err("a number above 0 is expected".to_owned())
    }
}
