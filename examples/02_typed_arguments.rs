//! What the types of a function say to the model, and what happens to arguments that do not fit.
//!
//! `cargo run -p examples --example 02_typed_arguments`

use agent_core::provider::scripted::{Reply, ScriptedProvider};
use agent_core::{Agent, Session, Toolset, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A unit of temperature.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Celsius,
    Fahrenheit,
}

/// A place on Earth.
#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    /// Degrees north.
    latitude: f64,
    /// Degrees east.
    longitude: f64,
}

#[derive(Serialize)]
struct Forecast {
    place: String,
    days: Vec<f64>,
    unit: Unit,
}

/// Forecast of the highest temperature for the coming days.
#[tool(read_only)]
fn forecast(
    /// Where.
    place: Place,
    /// How many days, from 1 to 7.
    #[arg(default = 3, range = 1..=7)]
    days: u8,
    /// In which unit.
    #[arg(default)]
    unit: Unit,
    /// A name for the place, if it has one.
    name: Option<String>,
) -> Forecast {
    let scale = |celsius: f64| match unit {
        Unit::Celsius => celsius,
        Unit::Fahrenheit => celsius * 9.0 / 5.0 + 32.0,
    };
    let days = (0..days).map(|day| scale(20.0 - place.latitude / 10.0 + f64::from(day))).collect();
    let place = name.unwrap_or_else(|| format!("{}, {}", place.latitude, place.longitude));
    Forecast { place, days, unit }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let oslo = json!({"latitude": 59.9, "longitude": 10.7});
    let model = ScriptedProvider::new([
        // Three mistakes at once: the model is told of all of them, and nothing runs.
        Reply::calling("forecast", json!({"place": {"latitude": "north"}, "unit": "kelvin"})),
        // Harmless slips are read as meant: a number in quotes, an object in a string.
        Reply::calling("forecast", json!({"place": oslo.to_string(), "days": "2", "name": "Oslo"})),
        Reply::text("About 14 degrees."),
    ]);
    let tools = Toolset::linked();
    let (definition, _) = tools.get("forecast").expect("it is linked");
    println!("{}\n", serde_json::to_string_pretty(&definition.input_schema)?);

    let agent = Agent::builder(model).model("scripted").tools(tools).build()?;
    let mut session = Session::in_memory();
    agent.run(&mut session, "How warm will it be in Oslo?").await?;
    for result in session.messages().iter().filter_map(|message| message.as_tool_result()) {
        println!("{}\n{}\n", if result.is_error { "refused:" } else { "ran:" }, result.text());
    }
    Ok(())
}
