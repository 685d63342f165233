output "config" {
  description = <<-EOT
    What the tables come to, once nothing is wrong with them:
    `tables`: `target`, `key` and `load` of each table, for DMS and the Glue catalog;
    `document`: their part of the job's configuration document: `tables`, `defaults`, `gold`, what is given of `batch`,
      `maintenance`, `parallelism`, `timestamps`, and `bronze` without its `uri`;
    `databases`: Glue databases of the targets and of the gold models;
    `secret_arns`: Secrets Manager ARNs of the masks' salts, which the job's role must be allowed to read.
  EOT
  value = {
    tables = { for name, table in var.tables : name => {
      target = local.targets[name]
      key    = try(tolist(table.key), [])
      load   = try(table.load, null)
    } }
    document    = local.document
    databases   = sort(distinct([for target in concat(values(local.targets), keys(var.gold)) : split(".", target)[0]]))
    secret_arns = local.salts
  }

  precondition {
    condition = length(local.problems) == 0
    error_message = join(" ", [
      "${length(local.problems)} ${length(local.problems) == 1 ? "problem" : "problems"} with the",
      "configuration:\n${join("\n", [for problem in local.problems : "  - ${problem}"])}",
    ])
  }

  precondition {
    condition = length(local.salt_problems) == 0
    error_message = join(" ", [
      "${length(local.salt_problems)} ${length(local.salt_problems) == 1 ? "problem" : "problems"} with",
      "salts:\n${join("\n", [for problem in local.salt_problems : "  - ${problem}"])}",
    ])
  }
}
