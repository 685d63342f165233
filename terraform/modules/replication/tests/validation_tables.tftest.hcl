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
  }
  tables             = { "public.orders" = { key = ["order_id"] } }
  bronze             = { bucket = "acme-bronze", prefix = "dms/shop" }
  subnet_ids         = ["subnet-1", "subnet-2"]
  security_group_ids = ["sg-1"]
}

run "tables_none" {
  command = plan
  variables {
    tables = {}
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_no_map" {
  command = plan
  variables {
    tables = ["public.orders"]
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_wildcard" {
  command = plan
  variables {
    tables = { "public.%" = { key = ["id"] } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_without_schema" {
  command = plan
  variables {
    tables = { "orders" = { key = ["id"] } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_with_a_slash" {
  command = plan
  variables {
    tables = { "public.a/b" = { key = ["id"] } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_of_dms" {
  command = plan
  variables {
    tables = { "public.awsdms_status" = { key = ["id"] } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_misspelled_key" {
  command = plan
  variables {
    tables = { "public.orders" = { kye = ["order_id"] } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_without_key" {
  command = plan
  variables {
    tables = { "public.orders" = { key = [] } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_no_object" {
  command = plan
  variables {
    tables = { "public.orders" = "order_id" }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_misspelled_load" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { segments = {} } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_misspelled_parallel" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { parallel = { column = ["order_id"] } } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_load_no_object" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = "fast" } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_parallel_no_object" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { parallel = 8 } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_parallel_type" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { parallel = { type = "hash" } } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_partitions_of_postgres" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { parallel = { type = "partitions-auto" } } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_ranges_without_boundaries" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { parallel = { columns = ["order_id"] } } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_boundary_of_another_length" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { parallel = { columns = ["order_id"], boundaries = [["1", "2"]] } } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_ranges_of_a_column_that_may_be_null" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { parallel = { columns = ["created_at"], boundaries = [["2024-01-01"]] } } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_list_without_partitions" {
  command = plan
  variables {
    tables = { "shop.orders" = { key = ["order_id"], load = { parallel = { type = "partitions-list" } } } }
    source_database = {
      engine     = "mysql"
      database   = "shop"
      secret_arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf"
      tls        = { mode = "none" }
    }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_text_no_list" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { columns_as_text = "opens_at" } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_text_of_the_key" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["opens_at"], load = { columns_as_text = ["opens_at"] } } }
  }
  expect_failures = [terraform_data.epoch]
}

run "tables_text_of_a_name_that_dms_cannot" {
  command = plan
  variables {
    tables = { "public.orders" = { key = ["order_id"], load = { columns_as_text = ["opens-at"] } } }
  }
  expect_failures = [terraform_data.epoch]
}
