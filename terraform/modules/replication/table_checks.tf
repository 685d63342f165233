# What is wrong with var.tables, all of it at once.

locals {
  table_keys    = ["key", "load"]
  load_keys     = ["parallel", "columns_as_text"]
  parallel_keys = ["type", "columns", "boundaries", "partitions"]
  load_types    = ["ranges", "partitions-auto", "partitions-list"]

  table_problems = concat(
    try(length(keys(var.tables)), 0) > 0 ? [] : ["no table is named; give a map such as { \"public.orders\" = { key = [\"order_id\"] } }"],

    [for name in local.table_names : "${name}: a table is named schema.table, without /, \\ and %; each is named by itself, as each has its key"
    if !can(regex("^[^./\\\\%]+\\.[^/\\\\%]+$", name))],
    [for name in local.table_names : "${name}: names that begin with awsdms_ are DMS's own" if can(regex("(^|\\.)awsdms_", name))],

    [
      for name in local.table_names :
      "${name}: found ${try(jsonencode(var.tables[name]), "a value")}, expected { key = [...] }" if !can(keys(var.tables[name]))
    ],
    flatten(
      [
        for name in local.table_names :
        [for key in setsubtract(try(keys(var.tables[name]), []), local.table_keys) : "${name}.${key}: unknown key; allowed: ${join(", ", local.table_keys)}"]
      ],
    ),
    flatten(
      [
        for name in local.table_names :
        [
          for key in setsubtract(try(keys(var.tables[name].load), []), local.load_keys) :
          "${name}.load.${key}: unknown key; allowed: ${join(", ", local.load_keys)}"
        ]
      ],
    ),
    flatten(
      [
        for name in local.table_names :
        [
          for key in setsubtract(try(keys(var.tables[name].load.parallel), []), local.parallel_keys) :
          "${name}.load.parallel.${key}: unknown key; allowed: ${join(", ", local.parallel_keys)}"
        ]
      ],
    ),

    [
      for name in local.table_names :
      "${name}.key: expected the columns of the primary key, as a list of at least one text; without a primary key PostgreSQL sends no updates and no deletes"
      if length(local.tables[name].key) == 0 || contains(local.tables[name].key, "")
    ],

    [
      for name, table in local.parallel_tables :
      "${name}.load.parallel.type: found ${jsonencode(table.parallel.type)}; allowed: ${join(", ", local.load_types)}"
      if !contains(local.load_types, table.parallel.type)
    ],
    [
      for name, table in local.parallel_tables :
      "${name}.load.parallel.type: found ${jsonencode(table.parallel.type)}; from PostgreSQL DMS loads in parallel by ranges only"
      if local.is_postgres && contains(setsubtract(local.load_types, ["ranges"]), table.parallel.type)
    ],
    [
      for name, table in local.parallel_tables :
      join(" ", [
        "${name}.load.parallel: ranges need columns and boundaries, such as { columns = [\"order_id\"], boundaries = [[\"1000000\"], [\"2000000\"]] }, and no",
        "partitions",
      ])
      if(
        table.parallel.type == "ranges" &&
        (length(table.parallel.columns) == 0 || length(table.parallel.boundaries) == 0 || length(table.parallel.partitions) > 0)
      )
    ],
    [for name, table in local.parallel_tables : "${name}.load.parallel.boundaries: each needs one value per column (${length(table.parallel.columns)})"
    if anytrue([for boundary in table.parallel.boundaries : length(boundary) != length(table.parallel.columns)])],
    [
      for name, table in local.parallel_tables :
      join(" ", [
        "${name}.load.parallel.columns: ${join(", ", setsubtract(table.parallel.columns, table.key))} not in key; DMS leaves out rows with NULL in such a",
        "column, so only key columns are allowed",
      ])
      if length(setsubtract(table.parallel.columns, table.key)) > 0
    ],
    [
      for name, table in local.parallel_tables :
      "${name}.load.parallel: partitions-list needs partitions, partitions-auto takes none, and neither takes columns or boundaries"
      if(
        table.parallel.type != "ranges" &&
        (
          length(table.parallel.columns) + length(table.parallel.boundaries) > 0 ||
          (length(table.parallel.partitions) > 0) != (table.parallel.type == "partitions-list")
        )
      )
    ],

    [
      for name, table in local.tables :
      join(" ", [
        "${name}.load.columns_as_text: ${join(", ", setintersection(table.columns_as_text, table.key))} in key; DMS takes one transformation per column, and",
        "key columns have that of the before-image",
      ])
      if length(setintersection(table.columns_as_text, table.key)) > 0
    ],
    flatten(
      [
        for name, table in local.tables :
        [
          for column in table.columns_as_text :
          join(" ", [
            "${name}.load.columns_as_text: ${column}: DMS transforms no column with #, \\, /, % or - in its name; keep it out of silver with drop, or rename",
            "it in the source",
          ])
          if can(regex("[#\\\\/%-]", column))
        ]
      ],
    ),
    [
      for name in local.table_names :
      "${name}.load: expected { parallel = {...}, columns_as_text = [...] }"
      if try(var.tables[name].load, null) != null && !can(keys(var.tables[name].load))
    ],
    [
      for name in local.table_names :
      "${name}.load.parallel: expected { columns = [...], boundaries = [[...]] }"
      if try(var.tables[name].load.parallel, null) != null && !can(keys(var.tables[name].load.parallel))
    ],
    [
      for name in local.table_names :
      "${name}.load.columns_as_text: expected a list of texts"
      if try(var.tables[name].load.columns_as_text, null) != null && !can([for column in var.tables[name].load.columns_as_text : regex(".", column)])
    ],
  )
}
