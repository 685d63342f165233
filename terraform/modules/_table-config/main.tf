# The job's own schema says which keys there are, of what type, and which values are allowed: one owner for that knowledge. A key
# that the job learns is known here by the same commit.
locals {
  published = jsondecode(file("${path.module}/../../../docs/configuration.schema.json"))
  schema    = local.published["$defs"]

  # The one key that is not the job's: how DMS loads the table. The module replication says what is in it.
  load_key = { load = { type = "object" } }

  definitions = {
    table = {
      properties = merge(local.schema.Table.properties, local.load_key)
      required   = [for key in local.schema.Table.required : key if key != "target"]
    }
    defaults = { properties = local.schema.Defaults.properties, required = [] }
    column   = { properties = local.schema.Column.properties, required = local.schema.Column.required }
    rule     = { properties = local.schema.Rule.properties, required = local.schema.Rule.required }
    bronze   = { properties = { for key, schema in local.schema.Bronze.properties : key => schema if key != "uri" }, required = [] }
    csv      = { properties = local.schema.Csv.properties, required = [] }
    change   = { properties = local.schema.Change.properties, required = [] }
    settings = { properties = { for key in ["batch", "maintenance", "parallelism", "timestamps"] : key => local.published.properties[key] }, required = [] }
    batch    = { properties = local.schema.Batch.properties, required = [] }
    model    = { properties = local.schema.Model.properties, required = local.schema.Model.required }

    maintenance = { properties = local.schema.Maintenance.properties, required = [] }
  }

  paths = { for name in keys(var.tables) : name => "tables.\"${name}\"" }

  # The secret of a salt may be made by the same apply. What is not known yet makes all that it stands beside unknown, and so would put the checks of
  # everything off: salts are checked apart.
  written = { for name, table in var.tables : name => try(merge(table, {
    columns = [for column in table.columns : try(merge(column, contains(keys(column), "mask_salt") ? { mask_salt = "-" } : {}), column)]
  }), table) }

  # Every object that a user wrote, with its place. `try` skips what is no list or object: that is a problem of the key that holds it.
  objects = concat(
    [for name, table in local.written : { kind = "table", path = local.paths[name], value = table }],
    [
      { kind = "defaults", path = "table_defaults", value = var.defaults },
      { kind = "bronze", path = "bronze", value = var.bronze },
      { kind = "settings", path = "merge_job", value = var.settings },
    ],
    [for name, model in var.gold : { kind = "model", path = "gold.\"${name}\"", value = model }],
    [for key in ["csv", "change"] : { kind = key, path = "bronze.${key}", value = var.bronze[key] } if try(keys(var.bronze[key]), null) != null],
    [for key in ["batch", "maintenance"] : { kind = key, path = "merge_job.${key}", value = var.settings[key] } if try(keys(var.settings[key]), null) != null],
    [
      for name, table in local.written :
      { kind = "maintenance", path = "${local.paths[name]}.maintenance", value = table.maintenance }
      if try(keys(table.maintenance), null) != null
    ],
    flatten([for name, table in local.written : [
      for i, column in try([for c in table.columns : c], []) :
      { kind = "column", path = "${local.paths[name]}.columns[${i}]", value = column }
    ]]),
    flatten([for name, table in local.written : [
      for i, rule in try([for r in table.rules : r], []) : { kind = "rule", path = "${local.paths[name]}.rules[${i}]", value = rule }
    ]]),
    [for i, rule in try([for r in var.defaults.rules : r], []) : { kind = "rule", path = "table_defaults.rules[${i}]", value = rule }],
  )

  # Keys with null count as left out, as everywhere in Terraform.
  given = [for o in local.objects : merge(o, {
    keys    = [for key in try(keys(o.value), []) : key if o.value[key] != null]
    allowed = keys(local.definitions[o.kind].properties)
  })]

  values = flatten([for o in local.given : [for key in o.keys : {
    path   = "${o.path}.${key}"
    schema = local.definitions[o.kind].properties[key]
    json   = jsonencode(o.value[key])
  } if contains(o.allowed, key)]])

  judged = [for v in local.values : {
    path  = v.path
    json  = v.json
    shown = length(v.json) > 80 ? "${substr(v.json, 0, 77)}..." : v.json
    found = (
      startswith(v.json, "\"") ? "string" : startswith(v.json, "[") ? "array" : startswith(v.json, "{") ? "object" :
      contains(["true", "false"], v.json) ? "boolean" : can(regex("^-?[0-9]+$", v.json)) ? "integer" : "number"
    )
    wanted   = [for type in try(tolist(v.schema.type), [v.schema.type], can(v.schema["$ref"]) ? ["object"] : []) : type if type != "null"]
    choices  = [for choice in try(v.schema.enum, []) : jsonencode(choice) if choice != null]
    minimum  = try(v.schema.minimum, null)
    maximum  = try(v.schema.maximum, null)
    above    = try(v.schema.exclusiveMinimum, null)
    nonempty = try(v.schema.minItems, v.schema.minLength, 0) > 0
    element  = can(v.schema.items["$ref"]) ? "object" : try(v.schema.items.type, v.schema.additionalProperties.type, null)
    elements = try([for element in jsondecode(v.json) : jsonencode(element)], [])
  }]

  words = {
    string = "text", integer = "a whole number", number = "a number", boolean = "true or false", array = "a list", object = "an object"
  }
}

# What the job and DMS are given.
locals {
  # Null is a value of this key of `maintenance`: never.
  off_by_null = "orphan_files_older_than_hours"

  names = { for name in keys(var.tables) : name => try(regex("^([^.]+)[.](.+)$", name), ["", name]) }
  targets = {
    for name, table in var.tables : name => try(tostring(table.target), null) != null ? table.target : "${var.silver_database}.${lower(local.names[name][1])}"
  }

  tables = { for name, table in var.tables : name => merge(
    try({ for key, value in table : key => value if value != null && !contains(["load", "columns", "maintenance"], key) }, {}),
    { target = local.targets[name] },
    try({ maintenance = { for key, value in table.maintenance : key => value if value != null || key == local.off_by_null } }, {}),
    try({ columns = [for column in table.columns : { for key, value in column : key => value if value != null }] }, {}),
  ) }

  document = merge(
    { tables = local.tables },
    { for key, value in { defaults = { for key, value in var.defaults : key => value if value != null } } : key => value if length(value) > 0 },
    {
      for key, value in { gold = { for name, model in var.gold : name => try({ for key, value in model : key => value if value != null }, {}) } } :
      key => value
      if length(value) > 0
    },
    {
      for key, value in var.settings :
      key => try({ for inner, one in value : inner => one if one != null || inner == local.off_by_null }, value)
      if value != null
    },
    # In `change`, null says that the files have no such column.
    {
      bronze = {
        for key, value in var.bronze : key => try({ for inner, one in value : inner => one if one != null || key == "change" }, value) if value != null
      }
    },
  )

  salts = distinct(flatten([for name, table in var.tables : [
    for column in try(table.columns, []) : trimprefix(column.mask_salt, "secret:") if try(startswith(column.mask_salt, "secret:"), false)
  ]]))
}
