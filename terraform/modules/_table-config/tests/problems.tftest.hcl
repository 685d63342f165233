# Each run breaks one thing. What the messages say is checked in tests/terraform/test_table_messages.py.
variables {
  tables              = { "public.orders" = { key = ["order_id"] } }
  silver_database     = "shop"
  quarantine_database = "shop_quarantine"
}

run "no_tables" {
  command = plan
  variables { tables = {} }
  expect_failures = [var.tables]
}

run "tables_are_no_object" {
  command = plan
  variables { tables = "public.orders" }
  expect_failures = [var.tables]
}

run "defaults_are_no_object" {
  command = plan
  variables { defaults = "strict" }
  expect_failures = [var.defaults]
}

run "table_without_key" {
  command = plan
  variables { tables = { "public.orders" = {} } }
  expect_failures = [output.config]
}

run "empty_key" {
  command = plan
  variables { tables = { "public.orders" = { key = [] } } }
  expect_failures = [output.config]
}

run "misspelled_key" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], partitioned_by = ["id"] } } }
  expect_failures = [output.config]
}

run "misspelled_key_of_a_column" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ name = "a", typ = "int" }] } } }
  expect_failures = [output.config]
}

run "misspelled_key_of_a_model" {
  command = plan
  variables { gold = { "gold.m" = { sql = "SELECT 1", refrsh = "full" } } }
  expect_failures = [output.config]
}

run "models_are_no_object" {
  command = plan
  variables { gold = "SELECT 1" }
  expect_failures = [var.gold]
}

run "misspelled_key_of_a_rule" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], rules = [{ name = "a", expr = "b", onfail = "drop" }] } } }
  expect_failures = [output.config]
}

run "load_that_is_no_object" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], load = ["parallel"] } } }
  expect_failures = [output.config]
}

run "misspelled_default" {
  command = plan
  variables { defaults = { schema_change = "strict" } }
  expect_failures = [output.config]
}

run "default_that_only_a_table_may_have" {
  command = plan
  variables { defaults = { key = ["id"] } }
  expect_failures = [output.config]
}

run "column_without_name" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ type = "int" }] } } }
  expect_failures = [output.config]
}

run "wrong_type" {
  command = plan
  variables { tables = { "public.orders" = { key = "id" } } }
  expect_failures = [output.config]
}

run "wrong_element_type" {
  command = plan
  variables { tables = { "public.orders" = { key = [1] } } }
  expect_failures = [output.config]
}

run "number_as_text" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], format_version = "2" } } }
  expect_failures = [output.config]
}

run "value_that_is_no_choice" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], write_mode = "merge_on_read" } } }
  expect_failures = [output.config]
}

run "number_out_of_range" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], target_file_size_mb = 0 } } }
  expect_failures = [output.config]
}

run "name_without_schema" {
  command = plan
  variables { tables = { "orders" = { key = ["id"] } } }
  expect_failures = [output.config]
}

run "control_table" {
  command = plan
  variables { tables = { "public.awsdms_status" = { key = ["id"] } } }
  expect_failures = [output.config]
}

run "target_in_capitals" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], target = "shop.Orders" } } }
  expect_failures = [output.config]
}

run "name_that_makes_no_target" {
  command = plan
  variables { tables = { "public.Order Lines" = { key = ["id"] } } }
  expect_failures = [output.config]
}

run "target_in_the_quarantine" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], target = "shop_quarantine.orders" } } }
  expect_failures = [output.config]
}

run "two_tables_with_one_target" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"] }, "archive.orders" = { key = ["id"] } } }
  expect_failures = [output.config]
}

run "key_column_twice" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id", "ID"] } } }
  expect_failures = [output.config]
}

run "dropped_key_column" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], drop = ["id"] } } }
  expect_failures = [output.config]
}

run "column_with_two_origins" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ name = "a", from = "b", expr = "c" }] } } }
  expect_failures = [output.config]
}

run "column_twice" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ name = "a" }, { name = "A" }] } } }
  expect_failures = [output.config]
}

run "reserved_column_name" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ name = "_cdc_op" }] } } }
  expect_failures = [output.config]
}

run "column_type_of_another_database" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ name = "a", type = "varchar" }] } } }
  expect_failures = [output.config]
}

run "salt_in_the_document" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ name = "a", mask = "sha256", mask_salt = "pepper" }] } } }
  expect_failures = [output.config]
}

run "sha256_without_a_salt" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ name = "a", mask = "sha256" }] } } }
  expect_failures = [output.config]
}

run "salt_in_an_environment_that_glue_has_not" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], columns = [{ name = "a", mask = "sha256", mask_salt = "env:SALT" }] } } }
  expect_failures = [output.config]
}

run "partition_that_is_none" {
  command = plan
  variables { tables = { "public.orders" = { key = ["id"], partition_by = ["day(at)"] } } }
  expect_failures = [output.config]
}

run "sections_are_no_objects" {
  command = plan
  variables {
    bronze   = "csv"
    settings = 8
  }
  expect_failures = [var.bronze, var.settings]
}

run "misspelled_csv_key" {
  command = plan
  variables { bronze = { csv = { headers = true } } }
  expect_failures = [output.config]
}

run "misspelled_change_key" {
  command = plan
  variables { bronze = { change = { op = "action" } } }
  expect_failures = [output.config]
}

run "section_that_must_be_an_object" {
  command = plan
  variables { settings = { batch = 3 } }
  expect_failures = [output.config]
}

run "number_that_must_be_above_zero" {
  command = plan
  variables { settings = { batch = { look_back_hours = 0 } } }
  expect_failures = [output.config]
}

run "number_that_is_too_large" {
  command = plan
  variables { settings = { batch = { look_back_hours = 1000000000 } } }
  expect_failures = [output.config]
}

run "number_that_must_not_be_below_one" {
  command = plan
  variables { settings = { batch = { max_files = 0 } } }
  expect_failures = [output.config]
}
