# What is wrong with tables is refused at plan, all at once.

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

run "none" {
  command = plan
  variables {
    tables = {}
  }
  expect_failures = [terraform_data.epoch]
}

run "no_map" {
  command = plan
  variables {
    tables = ["public.orders"]
  }
  expect_failures = [terraform_data.epoch]
}

run "all_that_can_be_wrong" {
  command = plan
  variables {
    tables = {
      "public.%"              = { key = ["id"] }
      "orders"                = { key = ["id"] }
      "public.a/b"            = { key = ["id"] }
      "public.awsdms_status"  = { key = ["id"] }
      "public.misspelled"     = { kye = ["id"] }
      "public.keyless"        = { key = [] }
      "public.no_object"      = "id"
      "public.load_key"       = { key = ["id"], load = { segments = {} } }
      "public.load_text"      = { key = ["id"], load = "fast" }
      "public.parallel_key"   = { key = ["id"], load = { parallel = { column = ["id"], columns = ["id"], boundaries = [["1"]] } } }
      "public.parallel_text"  = { key = ["id"], load = { parallel = 8 } }
      "public.parallel_type"  = { key = ["id"], load = { parallel = { type = "hash" } } }
      "public.partitions"     = { key = ["id"], load = { parallel = { type = "partitions-auto" } } }
      "public.no_boundaries"  = { key = ["id"], load = { parallel = { columns = ["id"] } } }
      "public.boundaries"     = { key = ["id"], load = { parallel = { columns = ["id"], boundaries = [["1", "2"]] } } }
      "public.null_column"    = { key = ["id"], load = { parallel = { columns = ["created_at"], boundaries = [["2024-01-01"]] } } }
      "public.no_partitions"  = { key = ["id"], load = { parallel = { type = "partitions-list" } } }
      "public.text_no_list"   = { key = ["id"], load = { columns_as_text = "opens_at" } }
      "public.text_of_key"    = { key = ["opens_at"], load = { columns_as_text = ["opens_at"] } }
      "public.text_of_a_name" = { key = ["id"], load = { columns_as_text = ["opens-at"] } }
    }
  }
  expect_failures = [terraform_data.epoch]

  assert {
    condition = [for problem in local.table_problems : split(";", problem)[0]] == [
      "orders: a table is named schema.table, without /, \\ and %",
      "public.%: a table is named schema.table, without /, \\ and %",
      "public.a/b: a table is named schema.table, without /, \\ and %",
      "public.awsdms_status: names that begin with awsdms_ are DMS's own",
      "public.no_object: found \"id\", expected { key = [...] }",
      "public.misspelled.kye: unknown key",
      "public.load_key.load.segments: unknown key",
      "public.parallel_key.load.parallel.column: unknown key",
      "public.keyless.key: expected the columns of the primary key, as a list of at least one text",
      "public.misspelled.key: expected the columns of the primary key, as a list of at least one text",
      "public.no_object.key: expected the columns of the primary key, as a list of at least one text",
      "public.parallel_type.load.parallel.type: found \"hash\"",
      "public.no_partitions.load.parallel.type: found \"partitions-list\"",
      "public.partitions.load.parallel.type: found \"partitions-auto\"",
      "public.no_boundaries.load.parallel: ranges need columns and boundaries, such as { columns = [\"order_id\"], boundaries = [[\"1000000\"], [\"2000000\"]] }, and no partitions",
      "public.parallel_text.load.parallel: ranges need columns and boundaries, such as { columns = [\"order_id\"], boundaries = [[\"1000000\"], [\"2000000\"]] }, and no partitions",
      "public.boundaries.load.parallel.boundaries: each needs one value per column (1)",
      "public.null_column.load.parallel.columns: created_at not in key",
      "public.no_partitions.load.parallel: partitions-list needs partitions, partitions-auto takes none, and neither takes columns or boundaries",
      "public.text_of_key.load.columns_as_text: opens_at in key",
      "public.text_of_a_name.load.columns_as_text: opens-at: DMS transforms no column with #, \\, /, % or - in its name",
      "public.load_text.load: expected { parallel = {...}, columns_as_text = [...] }",
      "public.parallel_text.load.parallel: expected { columns = [...], boundaries = [[...]] }",
      "public.text_no_list.load.columns_as_text: expected a list of texts",
    ]
    error_message = join("\n", local.table_problems)
  }
}
