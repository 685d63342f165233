# Which tables and columns, and the names the job looks for.

mock_provider "aws" {
  source = "./tests/aws"
}

variables {
  name = "shop"
  source_database = {
    engine     = "aurora-postgresql"
    database   = "shop"
    secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
    tls        = { ca_certificate_pem = "-----BEGIN CERTIFICATE-----" }
  }
  tables             = { "public.orders" = { key = ["order_id"] } }
  bronze             = { bucket = "acme-bronze", prefix = "dms/shop" }
  subnet_ids         = ["subnet-1", "subnet-2"]
  security_group_ids = ["sg-1"]
}

run "wildcards_stand_for_themselves" {
  command = plan

  variables {
    tables = {
      "public.order_lines"   = { key = ["order_id"] }
      "my_app.a[1]"          = { key = ["id"] }
      "public.order.archive" = { key = ["id"] }
    }
  }
  assert {
    condition = [for rule in jsondecode(output.table_mappings_json).rules : rule.object-locator if rule.rule-type == "selection"] == [
      { schema-name = "my[_]app", table-name = "a[[]1]" },
      { schema-name = "public", table-name = "order.archive" },
      { schema-name = "public", table-name = "order[_]lines" },
    ]
    error_message = output.table_mappings_json
  }
}

run "load_settings" {
  command = plan

  variables {
    tables = {
      "public.order_lines" = {
        key = ["order_id", "line_no"]
        load = {
          parallel        = { columns = ["order_id"], boundaries = [[1000000], ["2000000"]] }
          columns_as_text = ["opens_at", "closes_at"]
        }
      }
      "public.order-lines" = { key = ["id"], load = null }
    }
  }
  assert {
    condition     = length(distinct([for rule in jsondecode(output.table_mappings_json).rules : rule.rule-id])) == 8 && length(distinct([for rule in jsondecode(output.table_mappings_json).rules : rule.rule-name])) == 8
    error_message = "ids and names are unique: ${output.table_mappings_json}"
  }
  assert {
    condition = [for rule in jsondecode(output.table_mappings_json).rules : rule if rule.rule-type == "table-settings"] == [{
      rule-type      = "table-settings"
      rule-id        = "8"
      rule-name      = "8-load-public-order-lines"
      object-locator = { schema-name = "public", table-name = "order_lines" }
      parallel-load = {
        type          = "ranges"
        columns       = ["order_id"]
        boundaries    = [["1000000"], ["2000000"]]
        segment-names = ["segment-01", "segment-02", "segment-03"]
      }
    }]
    error_message = "parallel load: no wildcards in its names, a folder for each segment"
  }
  assert {
    condition = [for rule in jsondecode(output.table_mappings_json).rules : [rule.object-locator, rule.data-type] if try(rule.rule-action, "") == "change-data-type"] == [
      [{ schema-name = "public", table-name = "order[_]lines", column-name = "opens_at" }, { type = "string", length = 255 }],
      [{ schema-name = "public", table-name = "order[_]lines", column-name = "closes_at" }, { type = "string", length = 255 }],
    ]
    error_message = "columns as text"
  }
}

run "partitions_of_mysql" {
  command = plan

  variables {
    source_database = {
      engine     = "mysql"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "none" }
    }
    tables = {
      "shop.a" = { key = ["id"], load = { parallel = { type = "partitions-auto" } } }
      "shop.b" = { key = ["id"], load = { parallel = { type = "partitions-list", partitions = ["p2023", "p2024"] } } }
    }
  }
  assert {
    condition = [for rule in jsondecode(output.table_mappings_json).rules : rule.parallel-load if rule.rule-type == "table-settings"] == [
      { type = "partitions-auto" },
      { type = "partitions-list", partitions = ["p2023", "p2024"] },
    ]
    error_message = output.table_mappings_json
  }
}

run "before_images_of_all_columns" {
  command = plan

  variables {
    before_images = "all"
  }
  assert {
    condition     = [for rule in jsondecode(output.table_mappings_json).rules : rule.before-image-def.column-filter if rule.rule-action == "add-before-image-columns"] == ["all"]
    error_message = output.table_mappings_json
  }
}
