# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Tasks.CustomizingTasks.TableMapping.SelectionTransformation.html

locals {
  tables = try({
    for name, table in var.tables : name => {
      schema          = split(".", name)[0]
      table           = join(".", slice(split(".", name), 1, length(split(".", name))))
      key             = try([for column in table.key : tostring(column)], [])
      columns_as_text = try([for column in table.load.columns_as_text : tostring(column)], [])
      parallel = try(table.load.parallel, null) == null ? null : {
        type       = try(coalesce(table.load.parallel.type, "ranges"), "ranges")
        columns    = try([for column in table.load.parallel.columns : tostring(column)], [])
        boundaries = try([for boundary in table.load.parallel.boundaries : [for value in boundary : tostring(value)]], [])
        partitions = try([for partition in table.load.parallel.partitions : tostring(partition)], [])
      }
    }
  }, {})

  parallel_tables = { for name, table in local.tables : name => table if table.parallel != null }
  table_names     = sort(keys(local.tables))

  # %, _ and [ are wildcards; in brackets they stand for themselves.
  locators = {
    for name, table in local.tables : name => {
      schema-name = replace(table.schema, "/([%_\\[])/", "[$1]")
      table-name  = replace(table.table, "/([%_\\[])/", "[$1]")
    }
  }

  # Rule names must be unique, and are letters, digits and hyphens.
  rule_labels = { for name in local.table_names : name => replace(name, "/[^A-Za-z0-9]+/", "-") }

  selections = [
    for name in local.table_names : {
      rule-type      = "selection"
      rule-action    = "include"
      rule-name      = "select-${local.rule_labels[name]}"
      object-locator = local.locators[name]
      filters        = []
    }
  ]

  every_table = { schema-name = "%", table-name = "%" }

  service_column_rules = [
    for rule in [
      { name = "change-sequence", column = local.service_columns.sequence_column, expression = "$AR_H_CHANGE_SEQ", length = 50 },
      { name = "stream-position", column = local.service_columns.stream_position_column, expression = "$AR_H_STREAM_POSITION", length = 128 },
      ] : {
      rule-type      = "transformation"
      rule-target    = "column"
      rule-action    = "add-column"
      rule-name      = rule.name
      object-locator = local.every_table
      value          = rule.column
      expression     = rule.expression
      data-type      = { type = "string", length = rule.length }
    }
  ]

  before_image_rules = [{
    rule-type      = "transformation"
    rule-target    = "column"
    rule-action    = "add-before-image-columns"
    rule-name      = "before-image-of-the-key"
    object-locator = local.every_table
    before-image-def = {
      column-prefix = local.service_columns.before_image_prefix
      column-suffix = ""
      column-filter = var.before_images
    }
  }]

  text_rules = flatten([
    for name in local.table_names : [
      for column in local.tables[name].columns_as_text : {
        rule-type      = "transformation"
        rule-target    = "column"
        rule-action    = "change-data-type"
        rule-name      = "text-${local.rule_labels[name]}-${replace(column, "/[^A-Za-z0-9]+/", "-")}"
        object-locator = merge(local.locators[name], { column-name = column })
        data-type      = { type = "string", length = 255 }
      }
    ]
  ])

  # Table settings know no wildcards, so their names stand as they are.
  parallel_rules = [
    for name in local.table_names : {
      rule-type      = "table-settings"
      rule-name      = "load-${local.rule_labels[name]}"
      object-locator = { schema-name = local.tables[name].schema, table-name = local.tables[name].table }
      parallel-load = { for key, value in {
        type       = local.tables[name].parallel.type
        columns    = local.tables[name].parallel.columns
        boundaries = local.tables[name].parallel.boundaries
        partitions = local.tables[name].parallel.partitions
        # N boundaries make N + 1 segments; each writes into a folder of its own.
        segment-names = (
          local.tables[name].parallel.type == "ranges" ?
          [for number in range(length(local.tables[name].parallel.boundaries) + 1) : format("segment-%02d", number + 1)] :
          []
        )
      } : key => value if length(value) > 0 }
    } if contains(keys(local.parallel_tables), name)
  ]

  # Kept apart until they are text: the rules are objects of different shapes.
  rules_json = concat(
    [for rule in local.selections : jsonencode(rule)],
    [for rule in local.service_column_rules : jsonencode(rule)],
    [for rule in local.before_image_rules : jsonencode(rule)],
    [for rule in local.text_rules : jsonencode(rule)],
    [for rule in local.parallel_rules : jsonencode(rule)],
  )

  table_mappings = {
    rules = [
      for index, rule in local.rules_json : merge(jsondecode(rule), {
        rule-id = tostring(index + 1)
        # Names of two tables can have the same label.
        rule-name = "${index + 1}-${jsondecode(rule).rule-name}"
      })
    ]
  }
}
