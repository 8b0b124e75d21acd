use serde_json::json;

use super::*;

/// Holds `arguments` against `schema`; gives them as JSON and what was coerced, or the problems as text.
fn check(schema: &Value, arguments: &Value) -> String {
    match check_arguments(schema, arguments.as_object().unwrap().clone()) {
        Ok(checked) if checked.coerced.is_empty() => {
            assert_eq!(Value::Object(checked.arguments), *arguments, "changed without saying so");
            "fits".to_owned()
        }
        Ok(checked) => {
            let again = check_arguments(schema, checked.arguments.clone()).expect("what was coerced fits");
            assert!(again.coerced.is_empty(), "coerced twice: {:?}", again.coerced);
            format!("{} {}", Value::Object(checked.arguments), checked.coerced.join("; "))
        }
        Err(problems) => problems.to_string(),
    }
}

/// An object schema with one optional property `x`.
fn x(schema: &Value) -> Value {
    json!({"type": "object", "properties": {"x": schema}})
}

fn table(rows: &[(Value, Value, &str)]) {
    for (schema, value, expected) in rows {
        let said = check(&x(schema), &json!({"x": value}));
        assert_eq!(said, *expected, "schema {schema}, value {value}");
    }
}

#[test]
fn rule_2_2_each_keyword_is_checked_and_named() {
    table(&[
        (json!({"type": "string"}), json!("a"), "fits"),
        (json!({"type": "string"}), json!(3), "$.x: expected a string, got 3"),
        (json!({"type": ["string", "integer"]}), json!(true), "$.x: expected a string or an integer, got true"),
        (json!({"type": "number"}), json!(3), "fits"),
        (
            json!({"enum": ["celsius", "kelvin"]}),
            json!("kelvni"),
            "$.x: expected one of \"celsius\", \"kelvin\", got \"kelvni\"; did you mean \"kelvin\"?",
        ),
        (json!({"const": 4}), json!(4.0), "fits"),
        (json!({"const": 4}), json!(5), "$.x: expected 4, got 5"),
        (json!({"minimum": 1, "maximum": 3}), json!(0), "$.x: expected at least 1, got 0"),
        (json!({"minimum": 1, "maximum": 3}), json!(4), "$.x: expected at most 3, got 4"),
        (json!({"exclusiveMinimum": 1}), json!(1), "$.x: expected more than 1, got 1"),
        (json!({"exclusiveMaximum": 1.5}), json!(1.5), "$.x: expected less than 1.5, got 1.5"),
        (json!({"multipleOf": 0.1}), json!(0.3), "fits"),
        (json!({"multipleOf": 5}), json!(7), "$.x: expected a multiple of 5, got 7"),
        (json!({"maxLength": 2}), json!("äöü"), "$.x: expected at most 2 characters, got 3"),
        (json!({"minLength": 3}), json!("äöü"), "fits"),
        (json!({"items": {"type": "string"}}), json!(["a", 3]), "$.x[1]: expected a string, got 3"),
        (
            json!({"prefixItems": [{"type": "integer"}], "items": false}),
            json!([1, 2]),
            "$.x[1]: nothing is allowed here",
        ),
        (json!({"minItems": 2}), json!([1]), "$.x: expected at least 2 items, got 1"),
        (json!({"uniqueItems": true}), json!([1, 2, 1]), "$.x[2]: expected no item twice, got 1 again"),
        (json!({"maxProperties": 1}), json!({"a": 1, "b": 2}), "$.x: expected at most 1 properties, got 2"),
        (
            json!({"additionalProperties": {"type": "integer"}}),
            json!({"a b": "c"}),
            "$.x[\"a b\"]: expected an integer, got \"c\"",
        ),
        (
            json!({"patternProperties": {"^n_": {"type": "integer"}}, "additionalProperties": false}),
            json!({"n_a": 1, "z": 1}),
            "$.x.z: expected what matches `^n_` as the property's name, got \"z\"",
        ),
        (
            json!({"patternProperties": {r"^\d+$": {"type": "integer"}}, "additionalProperties": false}),
            json!({"17": "?"}),
            "$.x.17: expected an integer, got \"?\"",
        ),
        (json!({"not": {"type": "null"}}), json!(null), "{} x: null read as absent"),
        (json!({"not": {"type": "string"}}), json!("s"), "$.x: expected anything but a string, got \"s\""),
        (json!({"type": "string", "nullable": true}), json!(null), "fits"),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 0}]}), json!(5), "$.x: expected at most 0, got 5"),
        (json!({"format": "uri", "pattern": "^z", "x-unknown": 1}), json!("a"), "fits"),
        (json!(true), json!({"any": ["thing"]}), "fits"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
            json!(3),
            "$.x: expected a string or an array, got 3",
        ),
    ]);
}

#[test]
fn rule_2_2_all_problems_come_at_once_with_their_paths() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file to edit.\nMore."},
            "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}},
        },
        "required": ["path", "edits"],
        "additionalProperties": false,
        "$defs": {"Edit": {"type": "object", "properties": {"old_text": {"type": "string"}}, "required": ["old_text"]}},
    });
    let said = check(&schema, &json!({"edits": [{"old_text": 3}, {}], "pth": "a"}));
    let expected = "\
$.path: required, a string (The file to edit.)
$.edits[0].old_text: expected a string, got 3
$.edits[1].old_text: required, a string
$.pth: unknown property; did you mean `path`?";
    assert_eq!(said, expected);
    let many: Vec<Value> = (0..30).map(|_| json!({})).collect();
    assert!(
        check(&schema, &json!({"path": "a", "edits": many}))
            .ends_with("$.edits[19].old_text: required, a string\nand 10 more")
    );
}

#[test]
fn rule_2_2_a_union_reports_the_closest_form() {
    let shape = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
    ]});
    let external = json!({"oneOf": [
        {"type": "string", "enum": ["none"]},
        {"type": "object", "properties": {"Named": {"type": "array", "items": {"type": "string"}}}, "required": ["Named"], "additionalProperties": false},
        {"type": "object", "properties": {"At": {"type": "integer"}}, "required": ["At"], "additionalProperties": false},
    ]});
    let documented =
        json!({"oneOf": [{"const": "a", "type": "string", "description": "A"}, {"const": "b", "type": "string"}]});
    table(&[
        (shape.clone(), json!({"kind": "square", "side": 2}), "fits"),
        (shape.clone(), json!({"kind": "square", "r": 2}), "$.x.side: required, a number"),
        (
            shape.clone(),
            json!({"kind": "sqare"}),
            "$.x.kind: expected one of \"circle\", \"square\", got \"sqare\"; did you mean \"square\"?",
        ),
        (
            shape,
            json!({"kind": "square", "side": "2"}),
            "{\"x\":{\"kind\":\"square\",\"side\":2}} x.side: \"2\" read as 2",
        ),
        (
            external.clone(),
            json!({"Named": [1, 2, 3]}),
            "$.x.Named[0]: expected a string, got 1\n$.x.Named[1]: expected a string, got 2\n$.x.Named[2]: expected a string, got 3",
        ),
        (external, json!({"At": "5"}), "{\"x\":{\"At\":5}} x.At: \"5\" read as 5"),
        (documented, json!("z"), "$.x: expected one of \"a\", \"b\", got \"z\""),
    ]);
}

/// An object with these properties, all of them required, and no others.
fn closed(properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[test]
fn rule_2_2_an_enum_without_a_known_variant_names_them_all() {
    let external = json!({"oneOf": [
        {"type": "string", "enum": ["A", "Off"]},
        closed(&json!({"B": closed(&json!({"n": {"type": "integer"}}))})),
        closed(&json!({"Color": {"type": "string"}})),
    ]});
    let newtypes = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "all"}}, "required": ["kind"]},
        {"$ref": "#/properties/x/$defs/Some", "properties": {"kind": {"const": "some"}}, "required": ["kind"]},
    ], "$defs": {"Some": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}});
    let listed = "expected one of \"A\", \"Off\", {\"B\": …}, {\"Color\": …}";
    table(&[
        (external.clone(), json!({"B": {"n": 1}}), "fits"),
        (external.clone(), json!({"B": {}}), "$.x.B.n: required, an integer"),
        (external.clone(), json!(5), &format!("$.x: {listed}, got 5")),
        (external.clone(), json!("zzz"), &format!("$.x: {listed}, got \"zzz\"")),
        (external.clone(), json!("B"), &format!("$.x: {listed}, got \"B\"; did you mean {{\"B\": …}}?")),
        (external.clone(), json!({}), &format!("$.x: {listed}, got an object")),
        (
            external.clone(),
            json!({"Colour": "red"}),
            &format!("$.x: {listed}, got {{\"Colour\": …}}; did you mean {{\"Color\": …}}?"),
        ),
        (external.clone(), json!({"Off": null}), &format!("$.x: {listed}, got {{\"Off\": …}}; did you mean \"Off\"?")),
        (external, json!({"B": {"n": 1}, "Color": "red"}), &format!("$.x: {listed}, got an object")),
        (newtypes.clone(), json!({"n": 1}), "$.x.kind: required, one of \"all\", \"some\""),
        (newtypes.clone(), json!({"kind": "none"}), "$.x.kind: expected one of \"all\", \"some\", got \"none\""),
        (newtypes, json!({"kind": "some"}), "$.x.n: required, an integer"),
    ]);
}

#[test]
fn rule_2_2_forms_that_are_equally_close_are_all_named() {
    let one =
        |name: &str, kind: &str| json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]});
    let two = json!({"anyOf": [one("a", "integer"), one("b", "string")]});
    let many: Vec<Value> = ["a", "b", "c", "d", "e", "f", "g"].map(|name| one(name, "string")).to_vec();
    // Both have the property, so it tells nothing apart, and its problem hides no other.
    let unit = |name: &str| closed(&json!({"unit": {"enum": ["m", "s"]}, name: {"type": "integer"}}));
    table(&[
        (two.clone(), json!({}), "$.x: fits no form: either $.x.a: required, an integer; or $.x.b: required, a string"),
        (two, json!({"a": "?"}), "$.x.a: expected an integer, got \"?\""),
        (
            json!({"anyOf": many}),
            json!({}),
            "$.x: fits no form: either $.x.a: required, a string; or $.x.b: required, a string; or $.x.c: required, a string; or $.x.d: required, a string; or $.x.e: required, a string; and 2 more",
        ),
        (
            json!({"anyOf": [unit("a"), unit("b")]}),
            json!({"unit": "k", "a": 1.5}),
            "$.x.unit: expected one of \"m\", \"s\", got \"k\"\n$.x.a: expected an integer, got 1.5",
        ),
        (
            json!({"anyOf": [unit("a"), {"type": "null"}]}),
            json!({"unit": "k", "a": 1.5}),
            "$.x.unit: expected one of \"m\", \"s\", got \"k\"\n$.x.a: expected an integer, got 1.5",
        ),
    ]);
}

#[test]
fn rule_2_2_a_name_that_must_be_a_number_says_so() {
    let keys =
        |pattern: &str| json!({"type": "object", "patternProperties": {pattern: true}, "additionalProperties": false});
    let mut both = keys(r"^\d+$");
    both["properties"] = json!({"name": {"type": "string"}});
    table(&[
        (
            keys(r"^\d+$"),
            json!({"-1": 1}),
            "$.x.-1: expected a whole number of at least 0 as the property's name, got \"-1\"",
        ),
        (keys(r"^-?\d+$"), json!({"one": 1}), "$.x.one: expected a whole number as the property's name, got \"one\""),
        (both, json!({"zzz": 1}), "$.x.zzz: unknown property; known are `name` and a whole number of at least 0"),
    ]);
}

#[test]
fn rule_2_3_what_cannot_lose_meaning_is_coerced() {
    let limits = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    table(&[
        (json!({"type": "integer"}), json!("5"), "{\"x\":5} x: \"5\" read as 5"),
        (json!({"type": "integer"}), json!("20.0"), "{\"x\":20} x: \"20.0\" read as 20"),
        (json!({"type": "integer"}), json!(5.0), "{\"x\":5} x: 5.0 read as 5"),
        (json!({"type": "number"}), json!("0.5"), "{\"x\":0.5} x: \"0.5\" read as 0.5"),
        (json!({"type": "boolean"}), json!("true"), "{\"x\":true} x: \"true\" read as true"),
        (json!({"type": ["integer", "null"]}), json!("5"), "{\"x\":5} x: \"5\" read as 5"),
        (json!({"type": "array"}), json!("[1,2]"), "{\"x\":[1,2]} x: \"[1,2]\" read as an array of 2 items"),
        (
            limits.clone(),
            json!("{\"n\": \"7\"}"),
            "{\"x\":{\"n\":7}} x: \"{\\\"n\\\": \\\"7\\\"}\" read as an object; x.n: \"7\" read as 7",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!("a"),
            "{\"x\":[\"a\"]} x: \"a\" read as an array of 1 item",
        ),
        (
            json!({"type": ["array", "null"], "items": {"type": "integer"}}),
            json!(4),
            "{\"x\":[4]} x: 4 read as an array of 1 item",
        ),
        (json!({"type": "string"}), json!(null), "{} x: null read as absent"),
        (json!({"anyOf": [limits, {"type": "null"}]}), json!({"n": "7"}), "{\"x\":{\"n\":7}} x.n: \"7\" read as 7"),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}),
            json!("true"),
            "{\"x\":true} x: \"true\" read as true",
        ),
        (json!({"enum": [1, 2]}), json!("2"), "{\"x\":2} x: \"2\" read as 2"),
    ]);
}

#[test]
fn rule_2_3_what_could_lose_meaning_is_refused() {
    table(&[
        (json!({"type": "integer"}), json!("abc"), "$.x: expected an integer, got \"abc\""),
        (json!({"type": "integer"}), json!("5.5"), "$.x: expected an integer, got \"5.5\""),
        (json!({"type": "integer"}), json!(5.5), "$.x: expected an integer, got 5.5"),
        (json!({"type": "integer"}), json!(1e300), "$.x: expected an integer, got 1e+300"),
        (
            json!({"type": "number"}),
            json!("123456789012345678901234"),
            "$.x: expected a number, got \"123456789012345678901234\"",
        ),
        (json!({"type": "boolean"}), json!(1), "$.x: expected a boolean, got 1"),
        (json!({"type": "boolean"}), json!("yes"), "$.x: expected a boolean, got \"yes\""),
        (json!({"type": "array"}), json!("[1, 2"), "$.x: expected an array, got \"[1, 2\""),
        (json!({"type": "array"}), json!({"a": 1}), "$.x: expected an array, got an object"),
        (json!({"type": "array", "items": {"type": "integer"}}), json!("a"), "$.x: expected an array, got \"a\""),
        (json!({"enum": ["5"]}), json!(5), "$.x: expected \"5\", got 5"),
        (json!({"type": "null"}), json!(5), "$.x: expected null, got 5"),
        (json!({"type": ["null"]}), json!(5), "$.x: expected null, got 5"),
        (
            json!({"anyOf": [{"type": "object"}, {"type": "array"}]}),
            json!(5),
            "$.x: expected an object or an array, got 5",
        ),
    ]);
    let required = json!({"properties": {"x": {"type": "string"}}, "required": ["x"]});
    assert_eq!(check(&required, &json!({"x": null})), "$.x: expected a string, got null");
}

#[test]
fn rule_2_3_a_value_that_fits_is_never_touched() {
    let schema = json!({"properties": {
        "either": {"type": ["string", "integer"]},
        "union": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]},
        "nullable": {"type": ["string", "null"]},
        "wrong": {"type": "integer"},
    }});
    let said = check(&schema, &json!({"either": "5", "union": "[1]", "nullable": null, "free": "1", "wrong": "1"}));
    assert_eq!(said, r#"{"either":"5","union":"[1]","nullable":null,"free":"1","wrong":1} wrong: "1" read as 1"#);
}

#[test]
fn rule_2_2_schemas_that_refer_to_themselves_end() {
    let tree = json!({
        "$ref": "#/definitions/Node",
        "definitions": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/definitions/Node"}, "n": {"type": "integer"}}}},
    });
    assert_eq!(check(&tree, &json!({"next": {"next": {"n": "x"}}})), "$.next.next.n: expected an integer, got \"x\"");
    let circle = json!({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}, {"$ref": "#/$defs/B"}]}, "B": {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]}}});
    assert_eq!(check(&circle, &json!({})), "fits");
}

#[test]
fn rule_2_2_near_names() {
    let known = ["read_file", "write_file", "bash", "search_web"];
    for (wanted, expected) in [
        ("readFile", &["read_file"][..]),
        ("bsah", &["bash"]),
        ("Bash", &["bash"]),
        ("search", &["search_web"]),
        ("file", &["read_file", "write_file"]),
        ("zzz", &[]),
        ("", &[]),
    ] {
        assert_eq!(nearest(wanted, known), expected, "{wanted}");
    }
}

/// A small generator, the same on every run: no clock, no dependency.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => self.one_of(&[json!(true), json!(false)]),
            2 => self.one_of(&[json!(0), json!(5), json!(-3), json!(u64::MAX)]),
            3 => self.one_of(&[json!(5.0), json!(0.5), json!(1e300), json!(-0.0)]),
            4 | 5 => {
                self.one_of(&["5", "true", "[1]", "{\"a\":1}", "", "null", "ä", "[\"5\"]", "1e3"].map(Value::from))
            }
            6 => (0..self.below(3)).map(|_| self.value(depth - 1)).collect(),
            _ => self.fields(depth),
        }
    }

    fn fields(&mut self, depth: usize) -> Value {
        let mut fields = Map::new();
        for _ in 0..self.below(4) {
            fields.insert(self.one_of(&["a", "b", "c"]).to_owned(), self.value(depth.saturating_sub(1)));
        }
        Value::Object(fields)
    }

    fn schema(&mut self, depth: usize) -> Value {
        if depth == 0 {
            let types = ["string", "integer", "number", "boolean", "array", "object", "null"];
            return json!({"type": self.one_of(&types)});
        }
        let depth = depth - 1;
        match self.below(12) {
            0 => json!({"type": [self.one_of(&["integer", "array"]), self.one_of(&["null", "string", "object"])]}),
            1 | 2 => {
                json!({"type": "object", "properties": {"a": self.schema(depth), "b": self.schema(depth)}, "required": ["a"]})
            }
            3 => json!({"properties": {"a": self.schema(depth)}, "additionalProperties": self.schema(depth)}),
            4 => json!({"type": "array", "items": self.schema(depth), "uniqueItems": true, "minItems": 1}),
            5 => json!({"prefixItems": [self.schema(depth)], "items": self.schema(depth)}),
            6 => json!({"anyOf": [self.schema(depth), self.schema(depth)]}),
            7 => json!({"oneOf": [self.schema(depth), self.schema(depth), {"$ref": "#/$defs/D"}]}),
            8 => json!({"allOf": [self.schema(depth), self.schema(depth)]}),
            9 => json!({"not": self.schema(depth), "$ref": "#/$defs/D"}),
            10 => json!({"enum": [self.value(1), self.value(1)], "minimum": self.value(0), "maxLength": self.value(0)}),
            // Not a schema at all.
            _ => self.value(2),
        }
    }
}

#[test]
fn rule_2_3_any_schema_and_any_arguments_end_and_coercing_twice_changes_nothing() {
    let mut random = Random(7);
    let (mut fitted, mut coerced, mut refused) = (0, 0, 0);
    for _ in 0..3_000 {
        let mut schema = random.schema(3);
        if let Value::Object(keywords) = &mut schema {
            keywords.insert("$defs".to_owned(), json!({"D": random.schema(2)}));
        }
        let said = check(&schema, &random.fields(3));
        match said.as_str() {
            "fits" => fitted += 1,
            said if said.starts_with('$') => refused += 1,
            _ => coerced += 1,
        }
    }
    assert!(fitted > 100 && coerced > 30 && refused > 100, "{fitted} {coerced} {refused}");
}
