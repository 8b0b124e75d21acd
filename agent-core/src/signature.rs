//! [`Signature`]: the schema and the dependencies of a tool, put together from its parameters.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::context::Dependency;

/// The arguments a tool takes from the model and the state it takes from the agent.
#[derive(Debug)]
pub struct Signature {
    generator: SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<Value>,
    dependencies: Vec<Dependency>,
}

impl Default for Signature {
    fn default() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
        Self {
            generator: settings.into_generator(),
            properties: Map::new(),
            required: Vec::new(),
            dependencies: Vec::new(),
        }
    }
}

impl Signature {
    pub(crate) fn depends_on(&mut self, dependencies: Vec<Dependency>) {
        for dependency in dependencies {
            if !self.dependencies.contains(&dependency) {
                self.dependencies.push(dependency);
            }
        }
    }

    pub(crate) fn argument<T: JsonSchema>(&mut self, name: &str, required: bool, facts: &Map<String, Value>) {
        let mut schema = self.generator.subschema_for::<T>();
        NeutralFormats.transform(&mut schema);
        let mut property = match schema.to_value() {
            Value::Object(property) => property,
            // `true`: anything goes.
            _ => Map::new(),
        };
        if required {
            self.required.push(name.into());
        } else {
            // Left out rather than null: several providers refuse a list of types.
            property = without_null(property);
        }
        let sized = self.kind_of(&property);
        for (key, value) in facts {
            let keyword = sized_keyword(key, &sized);
            // A type's own limit stays where it is the narrower one.
            if !property.get(keyword).is_some_and(|own| is_narrower(keyword, own, value)) {
                property.insert(keyword.to_owned(), value.clone());
            }
        }
        self.properties.insert(name.to_owned(), Value::Object(property));
    }

    /// The JSON type of a property, looked up in the definitions if it is a reference.
    fn kind_of(&self, property: &Map<String, Value>) -> Value {
        let reference = property.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        let target = reference.and_then(|name| self.generator.definitions().get(name));
        target.and_then(|target| target.get("type")).or_else(|| property.get("type")).cloned().unwrap_or_default()
    }

    /// The JSON Schema of the arguments (draft 2020-12), and the dependencies.
    pub(crate) fn finish(mut self) -> (Value, Vec<Dependency>) {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema["additionalProperties"] = Value::Bool(false);
        let mut definitions = self.generator.take_definitions(true);
        if !definitions.is_empty() {
            for definition in definitions.values_mut() {
                if let Ok(schema) = <&mut Schema>::try_from(definition) {
                    NeutralFormats.transform(schema);
                }
            }
            schema["$defs"] = Value::Object(definitions);
        }
        (schema, self.dependencies)
    }
}

/// Turns a `format` that only this language knows (`uint32`) into the limits it stands for: a model knows those, and
/// they are checked along with everything else.
struct NeutralFormats;

impl Transform for NeutralFormats {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some([minimum, maximum]) = schema.get("format").and_then(Value::as_str).and_then(limits_of_format) {
            schema.remove("format");
            for (keyword, limit) in [("minimum", minimum), ("maximum", maximum)] {
                if !limit.is_null() && schema.get(keyword).is_none() {
                    schema.insert(keyword.to_owned(), limit);
                }
            }
        }
        transform_subschemas(self, schema);
    }
}

/// The least and the greatest value of a number format, `null` where there is none.
fn limits_of_format(format: &str) -> Option<[Value; 2]> {
    Some(match format {
        "int8" => [i8::MIN.into(), i8::MAX.into()],
        "int16" => [i16::MIN.into(), i16::MAX.into()],
        "int32" => [i32::MIN.into(), i32::MAX.into()],
        "int64" => [i64::MIN.into(), i64::MAX.into()],
        "int" => [isize::MIN.into(), isize::MAX.into()],
        "uint8" => [0.into(), u8::MAX.into()],
        "uint16" => [0.into(), u16::MAX.into()],
        "uint32" => [0.into(), u32::MAX.into()],
        "uint" => [0.into(), usize::MAX.into()],
        // 128 bits as far as an integer in JSON reaches here: what is beyond is read as a float, which is no integer.
        "int128" => [i64::MIN.into(), u64::MAX.into()],
        "uint64" | "uint128" => [0.into(), u64::MAX.into()],
        "float" => [(-GREATEST_F32).into(), GREATEST_F32.into()],
        "double" => [Value::Null, Value::Null],
        _ => return None,
    })
}

/// The shortest number that is read as the greatest `f32`; a greater one would become infinite.
const GREATEST_F32: f64 = 3.402_823_5e38;

fn without_null(mut property: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            property.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(variants)) = property.get_mut("anyOf") {
        variants.retain(|variant| *variant != json!({"type": "null"}));
        if let [Value::Object(only)] = variants.as_slice() {
            let only = only.clone();
            property.shift_remove("anyOf");
            property.extend(only);
        }
    }
    property
}

fn is_narrower(keyword: &str, own: &Value, other: &Value) -> bool {
    match (keyword, own.as_f64(), other.as_f64()) {
        ("minimum" | "minLength" | "minItems" | "minProperties", Some(own), Some(other)) => own > other,
        ("maximum" | "maxLength" | "maxItems" | "maxProperties", Some(own), Some(other)) => own < other,
        _ => false,
    }
}

fn sized_keyword<'a>(key: &'a str, kind: &Value) -> &'a str {
    match (key, kind.as_str()) {
        ("minLength", Some("array")) => "minItems",
        ("maxLength", Some("array")) => "maxItems",
        ("minLength", Some("object")) => "minProperties",
        ("maxLength", Some("object")) => "maxProperties",
        _ => key,
    }
}
