variables {
  silver_database     = "shop"
  quarantine_database = "shop_quarantine"
  tables = {
    "public.orders" = {
      key          = ["order_id"]
      mode         = null
      partition_by = ["bucket(16, order_id)"]
      columns = [
        { name = "order_id", type = "bigint" },
        { name = "email", mask = "sha256", mask_salt = "secret:arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/salt-AbCdEf", from = null },
      ]
      load = { parallel = { type = "ranges", columns = ["order_id"], boundaries = [["1000"]] } }
    }
    "public.order_lines" = { key = ["order_id", "line_no"], target = "archive.lines", format_version = 3 }
  }
}

run "target_is_made_of_database_and_table" {
  command = plan
  assert {
    condition     = output.config.tables["public.orders"].target == "shop.orders" && output.config.document.tables["public.orders"].target == "shop.orders"
    error_message = "the default target is <silver_database>.<table>"
  }
  assert {
    condition     = output.config.document.tables["public.order_lines"] == { key = ["order_id", "line_no"], target = "archive.lines", format_version = 3 }
    error_message = "what is given is passed on as it is"
  }
  assert {
    condition     = output.config.databases == tolist(["archive", "shop"])
    error_message = "every target's database is listed once"
  }
}

run "document_has_neither_nulls_nor_keys_for_dms" {
  command = plan
  assert {
    condition     = keys(output.config.document.tables["public.orders"]) == ["columns", "key", "partition_by", "target"]
    error_message = "null means left out, and `load` is not the job's"
  }
  assert {
    condition     = keys(output.config.document.tables["public.orders"].columns[1]) == ["mask", "mask_salt", "name"]
    error_message = "null in a column means left out"
  }
  assert {
    condition     = output.config.tables["public.orders"].load.parallel.type == "ranges" && output.config.tables["public.order_lines"].load == null
    error_message = "`load` is for DMS"
  }
}

run "salts_are_listed_for_the_role" {
  command = plan
  assert {
    condition     = output.config.secret_arns == tolist(["arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/salt-AbCdEf"])
    error_message = "found ${jsonencode(output.config.secret_arns)}"
  }
}

run "further_sections" {
  command = plan
  variables {
    defaults = { schema_changes = "strict", mode = null }
    bronze   = { format = "csv", csv = { header = false, delimiter = null }, change = { sequence_column = null, op_column = "action" } }
    settings = { parallelism = 8, batch = { look_back_hours = 0.5, max_bytes = null }, timestamps = null }
  }
  assert {
    condition     = jsonencode({ for key, value in output.config.document : key => value if key != "tables" }) == jsonencode({ defaults = { schema_changes = "strict" }, bronze = { format = "csv", csv = { header = false }, change = { sequence_column = null, op_column = "action" } }, parallelism = 8, batch = { look_back_hours = 0.5 } })
    error_message = "found ${jsonencode(output.config.document)}"
  }
}

run "maintenance_of_all_tables_and_of_one" {
  command = plan
  variables {
    settings = { maintenance = { after_run = "all", orphan_files_older_than_hours = null, small_files = null } }
    tables   = { "public.orders" = { key = ["order_id"], maintenance = { snapshots_kept = 5, manifests = null } } }
  }
  assert {
    condition     = jsonencode(output.config.document.maintenance) == jsonencode({ after_run = "all", orphan_files_older_than_hours = null })
    error_message = "null is left out, but for the key in which it means never: found ${jsonencode(output.config.document.maintenance)}"
  }
  assert {
    condition     = output.config.document.tables["public.orders"].maintenance == { snapshots_kept = 5 }
    error_message = "a table has keys of its own"
  }
}

run "gold_models_are_passed_on_and_have_databases" {
  command = plan
  variables {
    gold = { "shop_gold.by_city" = { sql = "SELECT city, count(*) AS n FROM shop.orders GROUP BY city", refresh = "incremental", partition_by = null } }
  }
  assert {
    condition     = output.config.document.gold == { "shop_gold.by_city" = { sql = "SELECT city, count(*) AS n FROM shop.orders GROUP BY city", refresh = "incremental" } }
    error_message = "null means left out"
  }
  assert {
    condition     = output.config.databases == tolist(["archive", "shop", "shop_gold"])
    error_message = "models have databases too"
  }
}
