# Every problem at once, each with its place, what was found and what is allowed. SQL texts are left to the job, which parses them
# before it reads a row.
locals {
  form = flatten([for o in local.given : concat(
    can(keys(o.value)) ? [] : ["${o.path}: found ${jsonencode(o.value)}; expected an object"],
    [for key in o.keys : format(
      "%s.%s: unknown key; %sallowed: %s", o.path, key, try("did you mean '${local.hints["${o.kind} ${key}"][0]}'? ", ""),
      join(", ", o.allowed),
    ) if !contains(o.allowed, key)],
    [
      for key in local.definitions[o.kind].required :
      "${o.path}.${key}: missing${key == "key" ? local.why_key : ""}"
      if can(keys(o.value)) && !contains(o.keys, key)
    ],
  )])

  why_key = "; name the source columns that identify a row. A table without a key cannot be kept right: PostgreSQL sends DMS no updates and deletes for it"

  # A word with the same letters, else one that contains the other.
  hints = merge([for o in local.given : { for key in o.keys : "${o.kind} ${key}" => concat(
    [for word in o.allowed : word if join("", sort(split("", word))) == join("", sort(split("", key)))],
    [for word in o.allowed : word if length(key) > 2 && (strcontains(word, lower(key)) || strcontains(lower(key), word))],
  ) }]...)

  kinds = compact([for v in local.judged : (
    length(v.wanted) > 0 && !contains(v.wanted, v.found) && !(v.found == "integer" && contains(v.wanted, "number")) ?
    "${v.path}: found ${v.shown}; expected ${join(" or ", [for type in v.wanted : local.words[type]])}" :
    length(v.choices) > 0 && !contains(v.choices, v.json) ?
    "${v.path}: found ${v.shown}; allowed: ${join(", ", v.choices)}" :
    v.minimum != null && try(tonumber(v.json) < v.minimum, false) || v.maximum != null && try(tonumber(v.json) > v.maximum, false) ?
    format("%s: found %s; allowed: %s", v.path, v.shown, (
      v.maximum == null ? "from ${v.minimum}" : v.minimum == null ? "above ${v.above}, at most ${v.maximum}" : "${v.minimum} to ${v.maximum}"
    )) :
    v.above != null && try(tonumber(v.json) <= v.above, false) ?
    "${v.path}: found ${v.shown}; allowed: above ${v.above}" :
    v.nonempty && contains(["\"\"", "[]", "{}"], v.json) ?
    "${v.path}: must not be empty" :
    v.element != null && !alltrue([for e in v.elements : v.element == "object" ? startswith(e, "{") : startswith(e, "\"") && e != "\"\""]) ?
    format("%s: found %s; expected %s", v.path, v.shown, (
      v.found == "object" ? "an object of texts" : v.element == "object" ? "a list of objects" : "a list of texts, none of them empty"
    )) :
    ""
  )])

  # Texts in folded case, for comparisons as catalogs and Spark make them.
  keys_of = { for name, table in var.tables : name => try([for key in table.key : lower(tostring(key))], []) }
  drops   = { for name, table in var.tables : name => try([for key in table.drop : lower(tostring(key))], []) }
  columns_of = {
    for name, table in local.written : name => try([for column in table.columns : { for key, value in column : key => value if value != null }], [])
  }

  same_target = { for name, target in local.targets : lower(target) => name... }

  meaning = concat(
    [for name in keys(var.tables) : "${local.paths[name]}: expected schema.table, without '/' and control characters"
    if !can(regex("^[^./[:cntrl:]]+[.][^/[:cntrl:]]+$", name))],
    [for name in keys(var.tables) : "${local.paths[name]}: awsdms_* are control tables of DMS itself, which are never merged"
    if can(regex("^[^.]+[.](?i:awsdms_)", name))],
    [
      for name, target in local.targets :
      join(" ", [
        "${local.paths[name]}.target:",
        (
          can(var.tables[name].target) ?
          "found ${jsonencode(target)}; expected database.table" :
          "missing, and the name of the table cannot be used for it; write \"${var.silver_database}.<table>\""
        ),
        "in lower-case letters, digits and '_'",
      ])
      if !can(regex("^[a-z0-9_]{1,255}[.][a-z0-9_]{1,255}$", target))
    ],
    [
      for name, target in local.targets :
      "${local.paths[name]}.target: database '${var.quarantine_database}' is the quarantine's, which holds unmasked rows; use another"
      if try(split(".", target)[0], "") == var.quarantine_database
    ],
    [
      for target, names in local.same_target :
      "${join(", ", [for name in names : local.paths[name]])}: all have the target '${target}'; each table needs its own"
      if length(names) > 1
    ],
    [for name, key in local.keys_of : "${local.paths[name]}.key: a column is there twice" if length(distinct(key)) < length(key)],
    [
      for name, key in local.keys_of :
      "${local.paths[name]}.drop: '${join("', '", setintersection(key, local.drops[name]))}' is a key column; it must be in the silver table"
      if(
        length(setintersection(key, local.drops[name])) > 0 &&
        !anytrue([for column in local.columns_of[name] : contains(key, lower(try(column.from, column.name, "")))])
      )
    ],
    flatten(
      [
        for name, columns in local.columns_of :
        [
          for i, column in columns :
          concat(
            (
              try(column.from, null) != null && try(column.expr, null) != null ?
              ["${local.paths[name]}.columns[${i}]: has both from and expr; a column copies a source column or computes one"] :
              []
            ),
            (
              try(column.type, null) != null && !can(regex(local.type_pattern, lower(trimspace(column.type)))) ?
              ["${local.paths[name]}.columns[${i}].type: found ${jsonencode(column.type)}; allowed: ${local.types_shown}"] :
              []
            ),
            can(regex("(?i)^_cdc_", column.name)) ? ["${local.paths[name]}.columns[${i}].name: names that begin with _cdc_ are the job's own"] : [],
          )
        ]
      ],
    ),
    [for name, columns in local.columns_of : "${local.paths[name]}.columns: a name is there twice (case does not count)"
    if length(distinct([for column in columns : lower(try(column.name, ""))])) < length(columns)],
    flatten(
      [
        for name, table in var.tables :
        [
          for i, text in try([for t in table.partition_by : tostring(t)], []) :
          join(" ", [
            "${local.paths[name]}.partition_by[${i}]: found ${jsonencode(text)}; allowed: column, bucket(n, column), truncate(n, column), years(column),",
            "months(column), days(column), hours(column)",
          ])
          if !can(regex(local.partition_pattern, trimspace(text)))
        ]
      ],
    ),
  )

  types_shown = join(" ", [
    "boolean, tinyint, smallint, int, bigint, float, double, decimal(p,s), string, binary, date, timestamp, timestamp_ntz, array<..>, map<..,..>,",
    "struct<name:type,..>",
  ])
  type_pattern = join("|", [
    "^(boolean|tinyint|smallint|int|integer|bigint|long|float|real|double|string|binary|date|timestamp|timestamp_ntz",
    "(decimal|dec|numeric)\\s*\\(\\s*\\d+\\s*(,\\s*\\d+\\s*)?\\)|(array|map|struct)\\s*<.+>)$",
  ])
  salt_pattern      = "^secret:arn:[a-z0-9-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[^\\s:]+$"
  partition_pattern = "^((?i:bucket|truncate)\\s*\\(\\s*[1-9][0-9]*\\s*,[^()]+\\)|(?i:years|months|days|hours)\\s*\\([^()]+\\)|[^()]+)$"

  problems = concat(local.form, local.kinds, length(local.form) + length(local.kinds) > 0 ? [] : local.meaning)

  # A Glue job has no environment that could hold a salt unseen, so what is the default elsewhere would fail each run here.
  salt_problems = flatten(
    [
      for name, table in var.tables :
      [
        for i, column in try([for c in table.columns : c], []) :
        concat(
          (
            try(column.mask, null) == "sha256" && try(column.mask_salt, null) == null ?
            ["${local.paths[name]}.columns[${i}].mask_salt: missing; a Glue job takes the salt of sha256 from Secrets Manager: write secret:ARN"] :
            []
          ),
          (
            try(column.mask_salt, null) == null ?
            [] :
            (
              can(regex(local.salt_pattern, column.mask_salt)) ?
              [] :
              [
                join(" ", [
                  "${local.paths[name]}.columns[${i}].mask_salt: expected secret:ARN of Secrets Manager, never the salt itself, nor an environment variable,",
                  "which a Glue job has not (value not shown)",
                ]),
              ]
            )
          ),
        )
      ]
    ],
  )
}
